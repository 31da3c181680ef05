// Plays as they are published: the model's answers without words of the transcripts, and a hash of what was told. With the
// transcripts each is played again as it was, without a model.

import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../../src/base/errors.ts';
import type { Parts } from '../../../src/worker/job-bounds.ts';
import { mapStrings } from '../reference/cassette.ts';
import { hiderOf } from './hidden.ts';
import { toldLines } from './lines.ts';
import { linksOf } from './links.ts';
import { readLines } from './needs.ts';
import { type Played, playChain, playIn, type ToldTo, toldIn } from './play.ts';
import { type Answered, answersIn, NO_ANSWER } from './recorded-model.ts';

export const PLAYS = join(import.meta.dirname, '../chains/plays');

interface KeptPlay extends Omit<Played, 'steps'> {
  /** Of what each session was told, in their order. */
  told: string[];
}

export const keptPlays = () => (existsSync(PLAYS) ? readdirSync(PLAYS).sort() : []).map((name) => join(PLAYS, name));

/** The play in `dir`, as it is published. Throws where an answer came in pieces, which this does not put together. */
export async function keptPlayOf(dir: string, sessions?: string): Promise<string> {
  const { steps: _, ...play } = playIn(dir);
  const { hide } = await hiderOfChain(play.chain, sessions);
  const answers = answersIn(join(dir, 'answers.jsonl')).map((answer) => {
    if (answer.body.startsWith('{')) return { ...answer, body: mapStrings(JSON.parse(answer.body), hide) };
    throw new AppError('bad-input', `The answer to ${answer.step} came as a stream, which is not published.`);
  });
  const kept: KeptPlay = { ...play, told: hashes(play.sessions, toldIn(dir)) };
  return [kept, ...answers].map((line) => `${JSON.stringify(line)}\n`).join('');
}

export interface PlayedAgain {
  play: KeptPlay;
  asked: number;
  /** How many requests are others now than those whose answers they got. */
  others: number;
  /** Whether more is asked now than was answered then: nothing is known of the rest. */
  isShort: boolean;
  isToldTheSame: boolean;
}

/** Of the characters that a session may be told, its memory's path takes some: as many on every machine. */
const PATH_LENGTH = 42;

/** Plays a published play again. `first`: only so many sessions of it. */
export async function playAgain(
  path: string,
  { sessions, first, parts }: { sessions?: string; first?: number; parts?: Parts },
): Promise<PlayedAgain> {
  const [play, ...answers] = readLines(path) as [KeptPlay, ...Answered[]];
  const { show } = await hiderOfChain(play.chain, sessions);
  const out = mkdtempSync(join(tmpdir(), 'nocturne-again-').padEnd(PATH_LENGTH - 6, '-'));
  try {
    const whole = answers.map((answer) => ({ ...answer, body: JSON.stringify(mapStrings(answer.body, show)) }));
    writeFileSync(join(out, 'answers.jsonl'), whole.map((answer) => `${JSON.stringify(answer)}\n`).join(''));
    const { system, model } = play;
    const environment = { PATH: process.env.PATH, ANTHROPIC_API_KEY: 'none' };
    const again = await playChain(play.chain, { out, system, model, sessions, environment, parts, first });
    const told = hashes(play.sessions.slice(0, first), again.told);
    return { play, ...again, isShort: false, isToldTheSame: told.every((hash, at) => hash === play.told[at]) };
  } catch (error) {
    // Code that takes or refuses something else asks more than was answered then.
    if (!(error as Error).message.includes(NO_ANSWER)) throw error;
    return { play, asked: 0, others: 0, isShort: true, isToldTheSame: false };
  } finally {
    rmSync(out, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function hiderOfChain(chain: string, sessions?: string) {
  return hiderOf((await linksOf(chain, sessions)).map(({ path }) => path));
}

function hashes(sessions: string[], told: ToldTo[]): string[] {
  return sessions.map((session) => {
    const lines = told.filter((each) => each.session === session).flatMap(toldLines);
    return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 16);
  });
}
