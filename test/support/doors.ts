// Functions behind the doors that tests call without a door, in the house that is asked.

import { thisProcess } from '../../src/base/process.ts';
import { enqueueExtract as enqueueOld, put } from '../../src/doors/cli/commands/enqueue.ts';
import * as mcp from '../../src/doors/cli/commands/mcp-command.ts';
import * as compose from '../../src/doors/compose.ts';
import * as hooks from '../../src/doors/hook/ingest.ts';
import * as sweeps from '../../src/doors/hook/sweep.ts';
import * as workers from '../../src/doors/worker/worker.ts';
import { writeSession } from '../../src/memory/ledger/coverage.ts';
import { beginJob as beginJobOld, takeLease } from '../../src/memory/ledger/job-rows.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { type Rows, rowsOf } from './rows.ts';
import type { SessionFile } from './session-file.ts';
import { HOUSE } from './temp.ts';

const next = HOUSE === 'old' ? null : await import('../next/doors-next.ts');
const inNext = next as unknown as Record<string, never> | null;

export const openApp: typeof compose.openApp = inNext?.openApp ?? compose.openApp;
export const serveMemory: typeof mcp.serveMemory = inNext?.serveMemory ?? mcp.serveMemory;
export const ingestSpool: typeof hooks.ingestSpool = inNext?.ingestSpool ?? hooks.ingestSpool;
export const announceSession: typeof hooks.announceSession = inNext?.announceSession ?? hooks.announceSession;
export const sweepSessions: typeof sweeps.sweepSessions = inNext?.sweepSessions ?? sweeps.sweepSessions;
export const enqueueExtract: typeof enqueueOld = inNext?.enqueueExtract ?? enqueueOld;
export const rowsIn = (app: compose.App, store: Store): Rows =>
  next ? (next.rowsIn(app as never, store as never) as unknown as Rows) : rowsOf(store);
/** Where its queue is. */
export const wakeQueueOptions: typeof workers.wakeQueueOptions = inNext?.wakeQueueOptions ?? workers.wakeQueueOptions;
export async function enqueueDream(app: compose.App, store: Store): Promise<void> {
  if (next) await next.enqueueDream(app as never, store as never);
  else await put(app, { store, kind: 'dream', key: 'dream' }, {});
}

/** A session of it ran there. */
export async function ranIn(app: compose.App, store: Store, cwd: string): Promise<void> {
  const session = {
    id: cwd,
    cwd,
    path: '/gone',
    format: 'claude-code' as const,
    sizeBytes: 0,
    modifiedAt: '2026-11-20T09:00:00Z',
  };
  if (next) return next.ranIn(app as never, store as never, session);
  await store.commit({ actor: 'person' }, () => ({ files: [], rows: (sql) => void writeSession(sql, session) }));
}

/** Another process is at work on a session of it; default: one that nobody knows. */
export async function workElsewhere({ config, ...app }: compose.App, store: Store, session?: SessionFile) {
  if (next) return next.workElsewhere({ config, ...app } as never, store as never, session?.path);
  const taking = { now: config.clock.now(), ttlMs: 600_000, owner: `${thisProcess()}/x` };
  const key = `session:${session?.id ?? 'elsewhere'}`;
  if (!takeLease(store.ledger, { ...taking, key })) throw new Error('it is leased');
}

/** An extraction that runs since an hour; default: in this process. Answers its id. */
export async function beginJob({ config, ...app }: compose.App, store: Store, process?: string): Promise<string> {
  const now = new Date(config.clock.now().getTime() - 3_600_000);
  if (next) return next.beginJob(app as never, { memory: store as never, process, now });
  const id = beginJobOld(store.ledger, { kind: 'extract', now });
  if (process !== undefined) store.ledger.run('update job set process = ? where id = ?', process, id);
  return id;
}
/** Works what is due, as `worker --once` does. */
export const workUntilIdle = (app: compose.App, told: Pick<workers.WorkerOptions, 'onResult' | 'onError'>) =>
  next
    ? next.workUntilIdle(app as never, told as never)
    : workers.runWorker(app, { ...told, until: workers.untilIdle, signal: new AbortController().signal });
