// A process that is killed at any step of any job leaves all of the job's commit or nothing; the next opening ends what was begun, and
// the same act done again ends as it would have. Every step from the first until a run ends unkilled, by KILLED_EVERY=1; else each so many.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixedClock } from '../../src/base/time.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { Memories } from '../../src/memory/memories.ts';
import { broken } from '../laws/laws.ts';
import type { Lived } from '../laws/lived-plan.ts';
import { SEED, sized } from '../support/depth.ts';
import { ENGINES, type Engine, skipped } from '../support/memory-world.ts';
import type { MessagesServer } from '../support/messages-server.ts';
import { ownDatabase } from '../support/own-database.ts';
import { scriptedModel } from '../support/scripted-model.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';
import { ACTS, BY_HAND, stateNow } from './one-life.ts';

const EVERY = Number(process.env.KILLED_EVERY ?? sized({ quick: 800, deep: 50 }));
const LIFE = join(import.meta.dirname, 'one-life.ts');
const STEPS = join(import.meta.dirname, 'killing-steps.ts');
const SAID = [
  ['Always use pnpm instead of npm.', 'Never log customer names of quillfeather.'],
  ['Always run the linter before a commit.', 'Never deploy on a Friday.'],
];

type Told = { act: string; state: string[]; steps?: number };

interface Place {
  home: string;
  dir: string;
  sessions: string[];
  url: string | undefined;
}

async function live({ home, dir, sessions, url }: Place, server: MessagesServer, killedAt: number): Promise<Told[]> {
  const { apiKey, baseURL } = server.access;
  const child = spawn(process.execPath, ['--import', STEPS, LIFE, home, dir, sessions.join(','), url ?? ''], {
    env: { ...process.env, KILLED_AT: String(killedAt), ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseURL },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  const [code, signal] = await once(child, 'close');
  if (signal !== 'SIGKILL' && code !== 0) throw new Error(`killed at ${killedAt}, it ended with ${code}: ${err}`);
  return out
    .split('\n')
    .filter(Boolean)
    .map((line): Told => JSON.parse(line));
}

const engines = process.env.KILLED_EVERY ? ENGINES : sized<readonly Engine[]>({ quick: ['sqlite'], deep: ENGINES });

test.each(engines.filter((engine) => skipped(engine) === ''))(
  'killed at any step, a job is done whole or not at all, and the next opening ends it, on %s',
  async (engine) => {
    const server = await scriptedModel();
    const sessions = SAID.map((said, n) => aSession(said, { id: `${n}1111111-2222-4333-8444-555555555555` }).path);
    const inPlace = async <T>(work: (place: Place) => Promise<T>): Promise<T> => {
      const database = engine === 'postgres' ? await ownDatabase() : undefined;
      const done = await work({ home: tempDir(), dir: tempDir(), sessions, url: database?.url });
      await database?.drop();
      return done;
    };
    const reference = await inPlace((place) => live(place, server, 0));
    const steps = reference.at(-1)?.steps ?? 0;
    const states = reference.slice(0, -1);
    expect(states.map(({ act }) => act)).toEqual(['open', ...ACTS.map(([act]) => act)]);
    const faults: string[] = [];
    for (let at = 1 + (SEED % EVERY); at <= steps; at += EVERY)
      faults.push(...(await inPlace((place) => killedAt(at, { place, server, states }))));
    console.log(`${steps} steps on ${engine}, killed at each ${EVERY}th`);
    expect(faults).toEqual([]);
  },
  // Some thousand starts of a process.
  process.env.KILLED_EVERY ? 10_800_000 : undefined,
);

/** What is wrong after it was killed there; `states`: what it is after each act. */
async function killedAt(
  at: number,
  { place, server, states }: { place: Place; server: MessagesServer; states: Told[] },
): Promise<string[]> {
  const last = (await live(place, server, at)).at(-1)?.act;
  const n = states.findIndex(({ act }) => act === last);
  const allowed = [states[n]?.state ?? [], states[n + 1]?.state ?? []];
  const db = await openDatabase(place);
  const memories = new Memories({ db, home: place.home, clock: fixedClock('2026-11-21T02:00:00.000Z') });
  try {
    const row = await memories.ofDirectory(place.dir, { scope: 'project', name: 'memory' });
    const found = await stateNow({ db, memories, row, dir: place.dir });
    const isWhole = allowed.some((state) => JSON.stringify(state) === JSON.stringify(found));
    const between = `${JSON.stringify(found)} is neither ${JSON.stringify(allowed)}`;
    const lived = { world: { db, memories, home: place.home }, memories, row, dir: place.dir } as unknown as Lived;
    const faults = await broken({ ...lived, said: SAID.flat(), byHand: new Set([BY_HAND]), redacted: [], wrong: [] });
    if (!isWhole && !isPartOf(found, states[n + 1]?.act)) faults.push(between);
    return faults.map((fault) => `${at} (after ${last ?? 'nothing'}): ${fault}`);
  } finally {
    await memories.close();
    await db.close();
  }
}

/** A night and an extraction commit excerpt by excerpt; a redaction writes new heads, and then takes the old texts out. */
function isPartOf(_: string[], act: string | undefined): boolean {
  return act === 'redact';
}
