// Nights of one memory, with the real job and the SDK, in which a loopback model answers each call as a test says;
// and what was said by day, as an extraction leaves it.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from 'date-fns/addDays';
import { type DreamDeps, type DreamReport, type DreamRequest, dream } from '../../jobs/dream.ts';
import type { RunAgent } from '../../src/agent/agent-types.ts';
import { runAgent as loopInProcess } from '../../src/agent/loop.ts';
import { dayOf } from '../../src/base/time.ts';
import { insert, newId } from '../../src/db/sql.ts';
import { commit } from '../../src/memory/commit.ts';
import { beginJob, endJob } from '../../src/memory/job-rows.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import type { Entry, MemoryType } from '../../src/memory/memory-types.ts';
import { appendEntries, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import { type Engine, inWorld, type World } from './memory-world.ts';
import {
  calls,
  type MessagesRequest,
  type MessagesServer,
  says,
  startMessagesServer,
  toolResults,
} from './messages-server.ts';

export interface Said {
  type: MemoryType;
  text: string;
  /** Default: one per day. */
  session?: string;
  /** Where that ran. */
  cwd?: string;
  strength?: Entry['strength'];
  by?: string;
  /** What it changes of what was known. */
  changes?: string;
  /** The line that it says again. */
  again?: string;
  /** Which kind of lesson it is. */
  found?: Entry['found'];
}

type Place = Pick<World, 'db' | 'memories'>;

/** Records what was said at `at` (ISO-8601), a second apart; answers the entries. */
export async function record({ db, memories }: Place, memory: string, at: string, said: Said[]): Promise<Entry[]> {
  const day = dayOf(at, 'UTC');
  const sessions = new Map<string, string>();
  for (const { session = `session-${day}`, cwd } of said) {
    const known = await db.get<{ id: string }>('select id from session where memory = ? and name = ?', memory, session);
    const id = known?.id ?? newId('session');
    if (!known) await insert(db, 'session', [{ id, name: session, memory, cwd: cwd ?? null, created_at: at }]);
    sessions.set(session, id);
  }
  const entries = said.map(({ session = `session-${day}`, cwd: _, ...one }, index): Entry => {
    const { text } = one;
    const source = { message: `m-${at}-${index}`, quote: text };
    const saidAt = new Date(Date.parse(at) + index * 1_000).toISOString();
    return {
      ...{ strength: 'stated', by: 'human', ...one, id: entryId({ ...source, text }), evidence: [source] },
      ...{ session, turn: `t-${index}`, at: saidAt, day, prompt: 'p' },
    };
  });
  const job = await beginJob(db, { kind: 'extract', memory, startedBy: 'hook', at });
  const by = { job, actor: { kind: 'job', id: job } } as const;
  const path = logPath(day);
  await commit(memories, { memory, paths: [path] }, by, async () => ({
    files: [{ path, make: (current) => appendEntries(current, entries, { day, zone: 'UTC' }) }],
    async rows(change) {
      for (const { evidence, by: said_by, session, ...entry } of entries)
        await change.put('entry', {
          ...{ changes: null, again: null, ...entry, memory, session: sessions.get(session) ?? null, said_by, job },
          ...{ quotes: JSON.stringify(evidence), state: 'new', reason: null },
        });
    },
  }));
  await endJob(db, job, { outcome: 'recorded', at });
  return entries;
}

type Operations = (ids: string[], call: number) => object[] | null;

export interface Nights extends World {
  row: MemoryRow;
  dir: string;
  /** A file of the memory, as it stands in the directory, or, without one, in the database. */
  file(path: string): Promise<string>;
  has(path: string): boolean;
  /** A day on which this was said, and the night after it, in which each call is answered with operations, or the model is done. */
  night(
    said: (Said | string)[],
    operations: Operations,
  ): Promise<{ report: DreamReport; ids: string[]; requests: MessagesRequest[] }>;
  /** A dream at the time it is by now. */
  dream(request?: Partial<DreamRequest>, deps?: Partial<DreamDeps>): Promise<DreamReport>;
  /** Acts when somebody asks for the next time what time it is: in the middle of what they do. */
  atClock(act: () => void): void;
  /** Days go by. */
  wait(days: number): void;
  now(): Date;
  states(): Promise<Record<string, string>>;
}

export interface NightsOptions {
  /** In place of the loop and a model that answers as `night` says. */
  runAgent?: RunAgent;
  server?: MessagesServer;
  deps?: Partial<DreamDeps>;
  startsAt?: string;
}

/** Lets nights of one directory go by. */
export async function inNights(
  engine: Engine,
  work: (nights: Nights) => Promise<void>,
  of: NightsOptions = {},
): Promise<void> {
  let now = new Date(of.startsAt ?? '2026-11-20T03:00:00Z');
  let answer: Operations = () => null;
  let ids: string[] = [];
  let first = 0;
  let atClock: (() => void) | undefined;
  const server =
    of.server ??
    (await startMessagesServer((_, call) => {
      const operations = answer(ids, call - first);
      return operations ? calls('propose_operations', { operations }) : says('Done.');
    }));
  try {
    await inWorld(
      engine,
      async (world) => {
        const { row, dir } = await world.withDirectory();
        const { db } = world;
        const run: Nights['dream'] = (request = {}, deps = {}) =>
          dream(
            { startedBy: 'person', ...request },
            { ...dreamDeps(world, row, { server, runAgent: of.runAgent }), ...of.deps, ...deps },
          );
        await work({
          ...world,
          atClock(act) {
            atClock = act;
          },
          ...{ row, dir, dream: run, now: () => now, has: (path) => existsSync(join(dir, path)) },
          file: async (path) => readFileSync(join(dir, path), 'utf8'),
          wait(days) {
            now = addDays(now, days);
          },
          async night(said, operations) {
            now = addDays(now, 1);
            const all = said.map((each): Said => (typeof each === 'string' ? { type: 'project', text: each } : each));
            if (all.length > 0)
              ids = (await record(world, row.id, addDays(now, -0.5).toISOString(), all)).map(({ id }) => id);
            answer = operations;
            first = server.requests.length;
            const report = await run();
            return { report, ids, requests: server.requests.slice(first) };
          },
          async states() {
            const rows = await db.all<{ text: string; state: string }>(
              'select text, state from entry where memory = ?',
              row.id,
            );
            return Object.fromEntries(rows.map(({ text, state }) => [text, state]));
          },
        });
      },
      {
        clock: {
          now() {
            const act = atClock;
            atClock = undefined;
            act?.();
            return now;
          },
        },
      },
    );
  } finally {
    if (!of.server) await server.close();
  }
}

/** How a dream is run over a memory; it counts no spend. */
export function dreamDeps(
  { memories }: Pick<World, 'memories'>,
  memory: MemoryRow,
  { server, runAgent = loopInProcess }: { server: Pick<MessagesServer, 'access'>; runAgent?: RunAgent },
): DreamDeps {
  return {
    ...{ memories, memory, zone: 'UTC', runAgent, requestTokens: 12_000, holdDays: 30, needsApproval: false },
    agent: { model: 'test-model', access: server.access, maxTurns: 5, maxOutputTokens: 8_000, requestMs: 60_000 },
    spendOf: () => ({ reserve: async () => 1, settle: async () => {} }),
    archiveAfterDays: {
      pastDates: 60,
      reference: 180,
      project: 365,
      feedback: null,
      user: null,
      found: 180,
      state: 14,
    },
  };
}

export const put = (id: string | undefined, text: string, more: object = {}) => ({
  ...{ kind: 'put', topic: 'facts', type: 'project', description: 'Facts', reason: 'New.' },
  ...{ in: [{ text, entries: [id] }], ...more },
});

/** What code said of what a request follows. */
export const told = (request: MessagesRequest | undefined) => JSON.stringify(toolResults(request));
