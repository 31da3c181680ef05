// A chain: real sessions of one repository in the order of their days, in one memory, with a night after each. Kept is what
// each session was told: where it began, with each prompt, at each call that failed; the memory as it stood after each night;
// and what the model answered, so that the same play can be made again without it.

import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { renderPrompt } from '../../../src/base/prompt.ts';
import type { Parts } from '../../../src/worker/job-bounds.ts';
import { measuredOn } from '../../support/evidence.ts';
import { append, nothing, own, summary } from './files.ts';
import { CHAINS, linksOf } from './links.ts';
import { memoryServer } from './memory-server.ts';
import { nocturne } from './nocturne.ts';
import { recordedModel } from './recorded-model.ts';
import type { System, SystemAt, Told } from './system.ts';

export const SYSTEMS = { nocturne, nothing, own, summary, append, server: memoryServer } satisfies Record<
  string,
  (at: SystemAt) => System | Promise<System>
>;
export type SystemName = keyof typeof SYSTEMS;

export interface Play {
  /** A directory of the play's own; what was done in it before is not done again. */
  out: string;
  model: string;
  environment: NodeJS.ProcessEnv;
  system?: SystemName;
  /** Where the transcripts of a chain lie that is named in chains.json. */
  sessions?: string;
  /** Only so many sessions of the chain. */
  first?: number;
  parts?: Parts;
  say?(text: string): void;
}

/** What is known of a play beside what it told and kept: play.json. */
export interface Played {
  chain: string;
  system: SystemName;
  model: string;
  commit: string;
  date: string;
  /** Of the prompts that nocturne asked with. */
  prompts: string;
  /** Whether somebody at a loopback bridge answered in the model's place. */
  isReaders?: boolean;
  /** In their order. */
  sessions: string[];
  /** What was done: how long it took beside the model's answers, and how long those took. */
  steps: Record<string, { seconds: number; waited: number }>;
}

export interface ToldTo extends Told {
  session: string;
}

/** Plays the chain; what it is told and keeps stands in `out`: told.jsonl, after/N, answers.jsonl, play.json. */
export async function playChain(
  chain: string,
  { out, model, environment, system = 'nocturne', sessions, first, parts, say = () => {} }: Play,
): Promise<{ sessions: number; told: ToldTo[]; asked: number; others: number }> {
  mkdirSync(join(out, 'tree'), { recursive: true });
  mkdirSync(join(out, 'memory'), { recursive: true });
  const links = (await linksOf(chain, sessions)).slice(0, first);
  const { date, commit } = measuredOn();
  const prompts = await promptsToday();
  const isReaders = /^http:\/\/(?:127\.|localhost)/.test(environment.ANTHROPIC_BASE_URL ?? '');
  const about = {
    chain: nameOf(chain),
    system,
    model,
    isReaders,
    commit,
    date,
    prompts,
    sessions: links.map(({ id }) => id),
  };
  const played: Played = existsSync(join(out, 'play.json')) ? playIn(out) : { ...about, steps: {} };
  const answers = await recordedModel(join(out, 'answers.jsonl'), environment.ANTHROPIC_BASE_URL);
  const at = { out, model, parts, environment: { ...environment, ANTHROPIC_BASE_URL: answers.url } };
  let playing: System | undefined;
  try {
    playing = await SYSTEMS[system](at);
    for (const [index, link] of links.entries()) {
      const take = async (step: string, work: () => void | Promise<void>) => {
        if (played.steps[`${step} ${link.id}`]) return;
        say(`${index + 1} of ${chain}: ${link.id}: ${step}`);
        answers.begin(`${step} ${index + 1}`);
        const since = performance.now();
        await work();
        const waited = answers.waitedSeconds();
        played.steps[`${step} ${link.id}`] = { seconds: (performance.now() - since) / 1_000 - waited, waited };
        writeFileSync(join(out, 'play.json'), `${JSON.stringify(played, null, 1)}\n`);
      };
      const { tell, learn = () => {}, dream } = playing;
      const keep = (told: Told) =>
        appendFileSync(join(out, 'told.jsonl'), `${JSON.stringify({ session: link.id, ...told })}\n`);
      await take('told', () => tell(link, keep));
      await take('learn', () => learn(link));
      if (dream) await take('dream', () => dream(link));
      const after = join(out, 'after', String(index + 1));
      if (!existsSync(after)) cpSync(join(out, 'memory'), after, { recursive: true });
    }
    return { sessions: links.length, told: toldIn(out), ...answers.counts() };
  } finally {
    await playing?.close?.();
    await answers.close();
  }
}

/** A directory of a chain's sessions stands for the chain. */
const nameOf = (chain: string) => CHAINS.find(({ name }) => name === basename(chain))?.name ?? chain;

/** Changes where nocturne's jobs would ask otherwise. */
export async function promptsToday(): Promise<string> {
  const made = await Promise.all(['extract', 'dream'].map((name) => renderPrompt(name, {})));
  return made.map(({ fingerprint }) => fingerprint).join(' ');
}

export function playIn(out: string): Played {
  return JSON.parse(readFileSync(join(out, 'play.json'), 'utf8'));
}

/** What the sessions of a play in `out` were told. */
export function toldIn(out: string): ToldTo[] {
  const path = join(out, 'told.jsonl');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  return lines.map((line) => JSON.parse(line));
}
