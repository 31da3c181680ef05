// The worker: wakes when the queue rings, looks into inboxes, and works what is due. What the queue forgot, its own
// sweep of all known inboxes finds again.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../../base/config/config.ts';
import { AppError, describeError, isAppError } from '../../base/errors.ts';
import { isDirectory } from '../../base/files/directories.ts';
import type { Store } from '../../memory/store/store.ts';
import type { Bell } from '../../queue/queue.ts';
import type { App } from '../compose.ts';
import { Hearing } from './hearing.ts';
import { lanesFor } from './model-slots.ts';
import { nextNightly, roundIfDue } from './nightly.ts';
import type { WorkResult } from './settle.ts';
import { dueItems, workKey } from './work.ts';

export interface WorkerOptions {
  /** Ends the worker; jobs under way get `CLOSE_MS` to finish and are handed back after that. */
  signal: AbortSignal;
  /** End when nothing is due in any inbox. */
  untilIdle?: boolean;
  /** Called before each look into the inboxes: puts into them what has come meanwhile. */
  takeIn?(): Promise<void>;
  onResult(result: WorkResult, store: Store): void;
  onError(message: string): void;
}

/** `deaf`: work waits in the queue and nobody does it, because the queue is no longer heard in this process. */
export type WorkerEnding = 'ended' | 'deaf';

const SWEEP_MS = 1_000;
const CLOSE_MS = 10_000;
/** Sweeps after which a wake-up is rung again that was rung already: the queue may have lost it. */
const SWEEPS_BEFORE_ANOTHER_RING = 30;
const SWEEPS_BETWEEN_SIGNS_OF_LIFE = 30;

/** The queue of a home: several homes may share one server. */
export function bellOptions(config: Config) {
  const namespace = `nocturne-${createHash('sha256').update(config.home).digest('hex').slice(0, 8)}`;
  return {
    url: config.queueUrl || undefined,
    dataDir: join(config.home, 'queue'),
    namespace,
    telemetry: config.telemetry,
  };
}

/** Works until it is told to end, until nothing is due, or until it hears its queue no more. */
export async function runWorker(app: App, options: WorkerOptions): Promise<WorkerEnding> {
  // Loaded only here: BullMQ and its drivers cost every other command a third of its start.
  const [{ openBell }, { backendKind }] = await Promise.all([
    import('../../queue/queue.ts'),
    import('../../queue/backend.ts'),
  ]);
  nextNightly(app.config, app.home);
  // Entered before the queue opens: the embedded one must never be opened by two processes.
  const queue = bellOptions(app.config);
  app.home.enterWorker(backendKind(queue.url));
  let bell: Bell | undefined;
  try {
    bell = await openBell(queue);
    if (bell.rebuilt) options.onError('The embedded queue could not be read and was made anew; nothing is lost.');
    const rung: Rung = new Map();
    const hearing = new Hearing(bell, app.config.deafMs / SWEEP_MS);
    listen(app, { bell, rung, hearing }, options);
    return await sweepUntilEnd(app, { bell, rung, hearing }, options);
  } finally {
    await bell?.close({ deadlineMs: CLOSE_MS });
    app.home.leaveWorker();
  }
}

/** Works everything that is due, without a queue, and ends; soon after an abort too, with the rest still waiting. */
export async function drainInboxes(app: App, options: Omit<WorkerOptions, 'untilIdle'>): Promise<void> {
  const busy = new Set<string>();
  for (;;) {
    const due = (await dueEverywhere(app, options)).filter((work) => !busy.has(nameOf(work)));
    if (due.length === 0 || options.signal.aborted) return;
    const lane = async () => {
      for (let work = due.shift(); work && !options.signal.aborted; work = due.shift()) {
        const result = await workKey(app, { ...work, signal: options.signal });
        if (result?.outcome === 'busy') busy.add(nameOf(work));
        if (result) options.onResult(result, work.store);
      }
    };
    // Every lane ends before the stores may be closed; what an abort cut short waits in its inbox as before.
    const lanes = await Promise.allSettled(Array.from({ length: lanesFor(app.config.concurrency) }, lane));
    const failed = lanes.find((ended) => ended.status === 'rejected');
    if (failed && !options.signal.aborted) throw failed.reason;
  }
}

/** The known memory directories that are there; one that cannot be opened is named and keeps nobody from the others. */
export async function openStores(app: App, onError: (message: string) => void): Promise<Store[]> {
  const stores: Store[] = [];
  for (const dir of app.home.stores().filter(isDirectory)) {
    try {
      stores.push(await app.store(dir));
    } catch (error) {
      if (!isAppError(error)) throw error;
      onError(`${dir}: ${describeError(error)}`);
    }
  }
  return stores;
}

/** What was rung and not yet heard: the state of the item, and how many sweeps ago. */
type Rung = Map<string, { state: string; sweeps: number }>;

interface Listening {
  bell: Bell;
  rung: Rung;
  hearing: Hearing;
}

function listen(app: App, { bell, rung, hearing }: Listening, options: WorkerOptions): void {
  bell.listen(
    async (wakeUp, signal) => {
      const store = await app.store(wakeUp.store);
      const { kind, key } = wakeUp;
      const result = await hearing.during(() => workKey(app, { store, kind, key, signal }));
      // What came for the key meanwhile is rung for by the next sweep.
      rung.delete(nameOf({ store, kind, key }));
      if (result) options.onResult(result, store);
    },
    {
      concurrency: lanesFor(app.config.concurrency),
      onError: (error, wakeUp) => {
        if (!options.signal.aborted) options.onError(`${wakeUp ? `${wakeUp.kind}: ` : ''}${describeError(error)}`);
      },
    },
  );
}

async function sweepUntilEnd(app: App, listening: Listening, options: WorkerOptions): Promise<WorkerEnding> {
  const patience = `${app.config.deafMs / 1_000} s`;
  for (let sweep = 1; !options.signal.aborted; sweep += 1) {
    if (sweep % SWEEPS_BETWEEN_SIGNS_OF_LIFE === 0) app.home.seeWorker();
    const due = await dueEverywhere(app, options);
    if (due.length === 0 && options.untilIdle) return 'ended';
    try {
      await ringFor(due, listening);
      if (await listening.hearing.isDeaf({ hasWork: due.length > 0 })) {
        options.onError(`deaf: the queue has work for this worker, which heard nothing of it for ${patience}.`);
        return 'deaf';
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      options.onError(describeError(error));
      if (listening.hearing.isDeafByFailure()) {
        options.onError(`deaf: the embedded queue failed for ${patience}; a new worker makes it anew.`);
        return 'deaf';
      }
    }
    await pause(SWEEP_MS, options.signal);
  }
  return 'ended';
}

/** Rings for what is due, unless it was rung for a short while ago. */
async function ringFor(due: Due[], { bell, rung }: Listening): Promise<void> {
  for (const item of due) {
    const name = nameOf(item);
    const state = `${item.id} ${item.notBefore}`;
    const last = rung.get(name);
    if (last?.state === state && last.sweeps < SWEEPS_BEFORE_ANOTHER_RING) {
      last.sweeps += 1;
      continue;
    }
    await bell.ring({ kind: item.kind, store: item.store.dir, key: item.key });
    rung.set(name, { state, sweeps: 0 });
  }
}

type Due = ReturnType<typeof dueItems>[number] & { store: Store };

async function dueEverywhere(app: App, { onError, takeIn }: Pick<WorkerOptions, 'onError' | 'takeIn'>): Promise<Due[]> {
  await takeIn?.();
  await deliverEverywhere(app, onError);
  await roundIfDue(app, () => openStores(app, onError));
  const stores = await openStores(app, onError);
  return stores.flatMap((store) => dueItems(app, store).map((item) => ({ store, ...item })));
}

/** Delivers what an earlier process left in an outbox; what cannot be is named. */
export async function deliverEverywhere(app: App, onError: (message: string) => void): Promise<void> {
  for (const store of await openStores(app, onError)) {
    try {
      await app.userScope.deliver(store);
    } catch (error) {
      if (!isAppError(error)) throw error;
      onError(`${store.dir}: what is about the user waits in the outbox: ${describeError(error)}`);
    }
  }
}

function nameOf({ store, kind, key }: { store: Store; kind: string; key: string }): string {
  return `${store.dir}\n${kind}\n${key}`;
}

/** Waits, or ends early when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}
