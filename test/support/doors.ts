// Functions behind the doors that tests call without a door; and an app with what tests ask of a home and of a memory.

import type { Config } from '../../src/base/config/config.ts';
import { type ProcessName, thisProcess } from '../../src/base/process.ts';
import { dayOf } from '../../src/base/time.ts';
import { enqueueExtract } from '../../src/cli/learn-command.ts';
import { beginJob as begin } from '../../src/memory/job-rows.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import { declineBefore, enterSession } from '../../src/memory/session-rows.ts';
import { breakerOf } from '../../src/queue/breaker.ts';
import { take } from '../../src/queue/inbox.ts';
import { spentOn } from '../../src/queue/spend.ts';
import { allWorkers, queueNamespace } from '../../src/queue/workers.ts';
import { openSession } from '../../src/transcript/session.ts';
import { type App, openApp as open } from '../../src/worker/compose.ts';
import { announceSession as announce, ingestSpool as ingest, type SessionNews } from '../../src/worker/ingest.ts';
import type { Parts } from '../../src/worker/job-bounds.ts';
import { runWorker, type WorkerOptions } from '../../src/worker/worker.ts';
import { rowsOf } from './rows.ts';
import type { SessionFile } from './session-file.ts';

export { serveMemory } from '../../src/cli/serve-command.ts';
export { sweepSessions } from '../../src/worker/ingest.ts';
export { enqueueExtract };

export const rowsIn = (app: App, memory: MemoryRow) => rowsOf(app, memory);

const USER = { job: 'job_user', actor: { kind: 'user', id: null } } as const;

export async function openApp(config: Config, parts: Parts = {}) {
  return withHome(await open(config, parts));
}

/** An app with what tests ask of a home. */
export function withHome(app: App) {
  const { db, clock, config } = app;
  const setting = async (key: string) =>
    (await db.get<{ value: string }>('select value from setting where key = ?', key))?.value;
  const home = {
    days: {
      async spendOf(day: string) {
        const [all, plan] = [await spentOn(db, dayOf(day, 'UTC')), await spentOn(db, dayOf(day, 'UTC'), 'plan')];
        const { tokens, reservedTokens, microUsd, reservedMicroUsd, calls } = all;
        const used = { usedTokens: tokens - reservedTokens, usedMicroUsd: microUsd - reservedMicroUsd };
        return { ...used, reservedTokens, reservedMicroUsd, calls, planRequests: plan.calls };
      },
    },
    workers: { all: () => allWorkers(db) },
    breaker: { read: () => breakerOf(db, { after: config.breakerAfter, now: clock.now() }) },
    decline: (until: Date) => declineBefore(db, until),
    lastNightAt: () => setting('night'),
    async stores() {
      const rows = await db.all<{ place: string }>(
        'select coalesce(dir, id) as place from memory where deleted_at is null',
      );
      return rows.map(({ place }) => place);
    },
  };
  const store = async (dir: string) => {
    const of = { scope: 'project', name: 'other', origin: null } as const;
    return storeOf(
      app,
      await (db.engine === 'sqlite' ? app.memories.ofDirectory(dir, of) : app.memories.ofPlace(dir, of)),
    );
  };
  const hasMemory = async (at: { cwd?: string }) => (await app.findMemory(at)) !== null;
  return Object.assign(app, {
    home,
    hasMemory,
    store,
    storeFor: async (at: { cwd?: string }) => storeOf(app, await app.memoryFor(at)),
  });
}

/** A memory with what tests ask of a store. */
export function storeOf(app: App, memory: MemoryRow) {
  const files = () => app.files(memory);
  return Object.assign(memory, {
    list: async () => (await files().list()).items.flatMap((file) => ('path' in file ? [file.path] : [])),
    read: async (path: string) => (await files().read({ path }))?.text ?? null,
    write: (_: object, file: { path: string; text: string }) => files().write(USER, file),
  });
}

/** Where its queue is. */
export async function wakeQueueOptions({ db, config }: App) {
  return { url: config.queueUrl ?? '', namespace: await queueNamespace(db, config.home) };
}

export async function ingestSpool(app: App, { onProblem }: { onProblem(message: string): void }) {
  const ingested = await ingest(app, onProblem);
  return { ...ingested, announced: ingested.announced.length };
}

interface News extends Pick<SessionNews, 'environment'> {
  transcript: string;
  cwd?: string;
  ended: boolean;
  isDueNow?: boolean;
}

export async function announceSession(app: App, { transcript, cwd, ...news }: News) {
  const session = await openSession(transcript, { isLive: true });
  return announce(app, { ...news, session: Object.assign(session, cwd !== undefined && { cwd }) });
}

/** A session of it ran there. */
export async function ranIn({ db, machine }: App, { id: memory }: MemoryRow, cwd: string): Promise<void> {
  const at = '2026-11-20T09:00:00Z';
  const session = { id: cwd, cwd, path: '/gone', format: 'claude-code', sizeBytes: 0, modifiedAt: at } as const;
  await db.write((sql) => enterSession(sql, { memory, machine, at }, session));
}

/** Another process is at work on a session of it; default: on any. */
export async function workElsewhere(app: App, { id }: MemoryRow, of?: SessionFile): Promise<void> {
  const { key } = of ? await enqueueExtract(app, { transcript: of.path, ended: true }) : { key: 'session_elsewhere' };
  const item = { kind: 'extract', key, memory: id, payload: { ended: true } } as const;
  await take(app.db, { owner: thisProcess(), item, now: app.clock.now(), forMs: 600_000 });
}

/** An extraction that runs since an hour; default: in this process. Answers its id. */
export function beginJob({ db, clock }: App, { id: memory }: MemoryRow, process?: string): Promise<string> {
  const at = { memory, startedBy: 'person', at: new Date(clock.now().getTime() - 3_600_000).toISOString() } as const;
  return begin(db, { kind: 'extract', ...at, process: process as ProcessName });
}

export function workUntilIdle(app: App, told: Pick<WorkerOptions, 'onResult' | 'onError'>): Promise<void> {
  return runWorker(app, { ...told, ends: 'idle', signal: new AbortController().signal });
}
