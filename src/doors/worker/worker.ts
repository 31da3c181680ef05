// The worker, one loop for all: takes in what has come, looks into the inboxes, works what is due, and rests until something
// wakes it: the next second, the instant the next item is due, an end of work here, or BullMQ where a Redis is set.
// Promises: the inboxes are looked into every second, and where BullMQ wakes the worker every five, so that what a queue
// loses, or never says, comes seconds later; what cannot be worked just now keeps nothing else waiting.

import { hash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import type { Config } from '../../base/config/config.ts';
import { type AppError, describeError, isAppError, onAppError } from '../../base/errors.ts';
import type { Store } from '../../memory/store/store.ts';
import { checkQueueUrl } from '../../queue/drivers.ts';
import type { WakeQueue } from '../../queue/queue.ts';
import { takeIn as takeInOfClients } from '../clients/client-work.ts';
import type { App } from '../compose.ts';
import { lanesFor } from '../job-bounds.ts';
import type { Keeping } from '../keeping.ts';
import type { Due, Taken } from './desk.ts';
import { endWaitsForCeiling, endWaitsForKey, nextNightly, roundIfDue } from './hold.ts';
import type { WorkResult } from './work.ts';

/** What came in, and whether something is expected that is not there yet. */
export interface TakenIn {
  hasCome: boolean;
  mayCome: boolean;
  /** Sessions are being looked for beside the work. */
  isSweeping?: boolean;
}

export interface WorkerOptions {
  /** Ends the worker. Jobs of one that goes on until then get `CLOSE_MS` to finish; what is not done waits in its inbox. */
  signal: AbortSignal;
  /** Puts into the inboxes what has come meanwhile. */
  takeIn?(): Promise<TakenIn>;
  /** It ends where nothing is due, and nothing comes due until this instant. Default: at the signal alone. */
  until?(): Date;
  onResult(result: WorkResult, store: Store): void;
  onError(message: string): void;
}

/** Ends a worker where nothing is due. */
export const untilIdle = () => new Date(0);

const TICK_MS = 1_000;
/** Between looks into all inboxes where BullMQ tells of what comes, and between all that is done besides looking. */
const SWEEP_MS = 5_000;
/** What is expected may be there any moment. */
const EXPECTING_MS = 250;
const SEEN_MS = 30_000;
const CLOSE_MS = 10_000;
/** The clock that tells what is due and the one that rests are not one. */
const LEAST_REST_MS = 10;

/** The queue of a home, or of all that share a database: several may share one server. Without a `url` there is none. */
export async function wakeQueueOptions({
  config,
  keeping,
}: {
  config: Config;
  keeping: Pick<Keeping, 'queueNamespace'> | null;
}) {
  const url = config.queueUrl || undefined;
  const namespace = (await keeping?.queueNamespace()) ?? `nocturne-${hash('sha256', config.home).slice(0, 8)}`;
  return { url, namespace, telemetry: config.telemetry };
}

/** Works until it is told to end, or has nothing to do any more. Errors: `bad-input` for a queue URL or a `dreamCron` that cannot be one. */
export async function runWorker(app: App, options: WorkerOptions): Promise<void> {
  if (options.until) return loop(app, options);
  const { config, home } = app;
  nextNightly(config, await home.nightlyAt());
  if (config.queueUrl) checkQueueUrl(config.queueUrl);
  await home.workers.enter(config.queueUrl ? 'redis' : 'polling');
  try {
    await loop(app, options);
  } finally {
    await home.workers.leave();
  }
}

async function loop(app: App, options: WorkerOptions): Promise<void> {
  const { desk, config, home } = app;
  const { signal, until, onError } = options;
  const lanes = lanesFor(config.concurrency);
  /** Due, and begun by no lane of this worker. */
  let left: Due[] = [];
  /** The next item that is not due yet. */
  let next: Due | undefined;
  /** Names of what is worked here, and of what could not be worked when it was tried: that waits for the next sweep. */
  const underWay = new Set<string>();
  const passed = new Set<string>();
  const working = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let sweptAt = -Infinity;
  let seenAt = performance.now();
  let isWoken = false;
  let endRest = () => {};
  const wake = () => {
    isWoken = true;
    endRest();
  };
  /** Aborts what is still under way some time after the end began. */
  const late = new AbortController();
  const bell = until || !config.queueUrl ? null : openBell(app, { wake, onError });

  async function lane(): Promise<void> {
    for (let item = left.shift(); item && !signal.aborted; item = left.shift()) {
      let name = nameOf(item);
      underWay.add(name);
      try {
        const taken = await desk.take(item);
        // Where a desk hands out items in turn it may be another; where it has none, it has none for the others either.
        if (!taken) left = [];
        else {
          underWay.delete(name);
          name = nameOf({ ...taken, store: taken.store.id });
          underWay.add(name);
        }
        const result = taken && (await workTaken(app, taken, { ...options, signal: until ? signal : late.signal }));
        if (!result || result.outcome === 'busy') passed.add(name);
      } catch (error) {
        passed.add(name);
        if (signal.aborted) return;
        if (until) failures.push(error);
        else onError(describeError(error));
      } finally {
        underWay.delete(name);
      }
    }
  }

  async function look({ isSweep, hasCome }: { isSweep: boolean; hasCome: boolean }): Promise<void> {
    if (isSweep) {
      sweptAt = performance.now();
      passed.clear();
      await endWaitsForKey(app, onError);
      await endWaitsForCeiling(app, onError);
      await roundIfDue(app, onError);
    }
    const isQuick = !isSweep && !hasCome && !isWoken;
    if (isSweep || isWoken) await desk.deliver(onError);
    isWoken = false;
    const now = config.clock.now().toISOString();
    const due = await desk.due(onError, isQuick);
    next = await desk.nextDue(now);
    left = due.filter((item) => !underWay.has(nameOf(item)) && !passed.has(nameOf(item)));
    while (left.length > 0 && working.size < lanes && !signal.aborted) {
      const ended = lane().finally(() => {
        working.delete(ended);
        wake();
      });
      working.add(ended);
    }
    bell?.ring(due, next);
  }

  /** Answers whether something is expected. */
  async function turn(): Promise<boolean> {
    if (!until && performance.now() - seenAt >= SEEN_MS) {
      seenAt = performance.now();
      await home.workers.see();
    }
    const { hasCome, mayCome, isSweeping } = await takeInAll(app, options);
    const isSweep = performance.now() - sweptAt >= SWEEP_MS;
    const isDue = next !== undefined && next.notBefore <= config.clock.now().toISOString();
    if (!bell?.isHeard() || hasCome || isSweep || isDue || isWoken) await look({ isSweep, hasCome });
    if (isSweep && !until && working.size === 0 && !isSweeping) await desk.rest?.();
    return mayCome;
  }

  const isOver = (mayCome: boolean) => {
    if (signal.aborted || failures.length > 0) return true;
    if (!until || isWoken || working.size > 0 || left.length > 0) return false;
    if (mayCome && until() > config.clock.now()) return false;
    return next === undefined || next.notBefore > until().toISOString();
  };

  function rest(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    endRest = resolve;
    if (isWoken || signal.aborted) resolve();
    return promise.finally(() => clearTimeout(timer));
  }

  const endAtOnce = () => endRest();
  signal.addEventListener('abort', endAtOnce);
  try {
    for (;;) {
      const mayCome = await turn().catch((error: unknown) => {
        if (until || !isAppError(error, 'database-unavailable')) throw error;
        onError(describeError(error));
        return false;
      });
      if (isOver(mayCome)) break;
      const untilDueMs = next ? Date.parse(next.notBefore) - config.clock.now().getTime() : Infinity;
      await rest(Math.min(mayCome ? EXPECTING_MS : TICK_MS, Math.max(untilDueMs, LEAST_REST_MS)));
    }
  } finally {
    signal.removeEventListener('abort', endAtOnce);
    left = [];
    const patience = setTimeout(() => late.abort(new Error('the worker ends')), CLOSE_MS);
    await Promise.all(working).finally(() => clearTimeout(patience));
    await bell?.close();
  }
  if (failures.length > 0 && !signal.aborted) throw failures[0];
}

let isPrepared = false;

/** Gets what a worker that waits, perhaps for days, does without: the code of the work, and V8's optimizing compiler. */
function prepareWork() {
  if (!isPrepared) for (const flag of ['--opt', '--no-optimize-for-size']) setFlagsFromString(flag);
  isPrepared = true;
  return import('./work.ts');
}

async function workTaken(
  app: App,
  { done, ...taken }: Taken,
  { signal, onResult }: Pick<WorkerOptions, 'signal' | 'onResult'>,
): Promise<WorkResult | null> {
  const { workKey } = await prepareWork();
  let result: WorkResult | null = null;
  try {
    result = await workKey(app, { ...taken, signal });
  } finally {
    await done(result?.outcome);
  }
  if (result) onResult(result, taken.store);
  return result;
}

/**
 * What BullMQ does for a worker: rings for what is due, and with its delay for what is due next, so that all workers of the queue
 * look; and wakes this one. Where Redis is away it is asked again, and nothing waits for it.
 */
function openBell(app: App, { wake, onError }: { wake(): void; onError(message: string): void }) {
  let queue: WakeQueue | null = null;
  let ringing: Promise<void> | null = null;
  let isAway = false;
  /** The state of each item that was rung for. */
  let rung = new Map<string, string>();

  async function open(): Promise<WakeQueue> {
    // Loaded only here: BullMQ costs every other command a third of its start.
    const { openWakeQueue } = await import('../../queue/queue.ts');
    const { url = '', ...place } = await wakeQueueOptions(app);
    const opened = await openWakeQueue({ url, ...place });
    opened.listen(wake, (error) => onError(describeError(error)));
    return opened;
  }

  async function ringFor(items: Due[]): Promise<void> {
    try {
      queue ??= await open();
      const before = rung;
      rung = new Map(items.flatMap((item) => [[nameOf(item), before.get(nameOf(item)) ?? '']]));
      for (const item of items) {
        const { id, notBefore, kind, store, key } = item;
        const state = `${id} ${notBefore}`;
        if (rung.get(nameOf(item)) === state) continue;
        const delayMs = Math.max(0, Date.parse(notBefore) - app.config.clock.now().getTime());
        await queue.notify({ kind, store, key }, { delayMs });
        rung.set(nameOf(item), state);
      }
      isAway = false;
    } catch (error) {
      isAway = true;
      onError(describeError(error));
    }
  }

  return {
    isHeard: () => queue !== null && !isAway,
    ring(due: Due[], next: Due | undefined): void {
      ringing ??= ringFor(next ? [...due, next] : due).finally(() => {
        ringing = null;
      });
    },
    async close(): Promise<void> {
      await ringing;
      await queue?.close();
    },
  };
}

/** Puts into the inboxes what has come for the worker, and what clients of a server asked for; what goes wrong there is named. */
async function takeInAll(app: App, options: Pick<WorkerOptions, 'takeIn' | 'onError'>): Promise<TakenIn> {
  const taken = (await options.takeIn?.()) ?? { hasCome: false, mayCome: false };
  const told = (error: AppError) => options.onError(describeError(error));
  if (await takeInOfClients(app).catch(onAppError(told))) taken.hasCome = true;
  return taken;
}

function nameOf({ store, kind, key }: Pick<Due, 'store' | 'kind' | 'key'>): string {
  return `${store}\n${kind}\n${key}`;
}
