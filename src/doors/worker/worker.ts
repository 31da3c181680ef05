// The worker: works what is due in the inboxes. It looks into them when something was put there or ended here, at the
// instant the next item is due, and by a slow sweep, which finds what was missed. Where a queue is set it notifies that
// of what it found, and works what the queue wakes it for; without one it works what it found itself.

import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../base/config/config.ts';
import { AppError, describeError, isAppError, onAppError } from '../../base/errors.ts';
import type { Store } from '../../memory/store/store.ts';
import type { WakeQueue, WakeUp } from '../../queue/queue.ts';
import type { App } from '../compose.ts';
import { lanesFor } from '../job-bounds.ts';
import { type Keeping, wings } from '../wing.ts';
import type { Due, Taken } from './desk.ts';
import { endWaitsForCeiling, endWaitsForKey, nextNightly, roundIfDue } from './hold.ts';
import { type WorkResult, workKey } from './work.ts';

export interface WorkerOptions {
  /** Ends the worker; jobs under way get `CLOSE_MS` to finish and are handed back after that. */
  signal: AbortSignal;
  /** End when nothing is due in any inbox. */
  untilIdle?: boolean;
  /** Puts into the inboxes what has come meanwhile; answers whether anything did. */
  takeIn?(): Promise<boolean>;
  onResult(result: WorkResult, store: Store): void;
  onError(message: string): void;
}

/** `stalled`: work waits in the queue and nobody does it, because nothing of the queue arrives in this process any more. */
export type WorkerEnding = 'ended' | 'stalled';

/** How often the worker takes in what hooks left, and asks the clock; in between it sleeps. */
const TICK_MS = 1_000;
const CLOSE_MS = 10_000;
/** Ticks between looks into all inboxes where nothing calls for one. */
const SWEEP_TICKS = 5;
/** Sweeps after which the queue is notified again of the same: it may have lost it. */
const SWEEPS_BEFORE_ANOTHER_NOTIFICATION = 6;
const TICKS_BETWEEN_SIGNS_OF_LIFE = 30;

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

/** Works until it is told to end, until nothing is due, or until it hears its queue no more. */
export async function runWorker(app: App, options: WorkerOptions): Promise<WorkerEnding> {
  nextNightly(app.config, await app.home.nightlyAt());
  const { url, ...place } = await wakeQueueOptions(app);
  if (url === undefined) return asWorker(app, 'polling', () => runEngine(app, null, options));
  // Loaded only here: BullMQ costs every other command a third of its start.
  const { openWakeQueue } = await import('../../queue/queue.ts');
  return asWorker(app, 'redis', async () => {
    const queue = await openWakeQueue({ url, ...place });
    return runEngine(app, queue, options).finally(() => queue.close({ deadlineMs: CLOSE_MS }));
  });
}

/** Named among the workers of the home for as long. */
async function asWorker<T>({ home }: App, wokenBy: string, work: () => Promise<T>): Promise<T> {
  await home.workers.enter(wokenBy);
  try {
    return await work();
  } finally {
    await home.workers.leave();
  }
}

/** Works everything that is due, without a queue, and ends; soon after an abort too, with the rest still waiting. */
export async function drainInboxes(app: App, options: Omit<WorkerOptions, 'untilIdle'>): Promise<void> {
  const busy = new Set<string>();
  await endWaits(app, options.onError);
  for (;;) {
    await takeInAll(app, options);
    await app.desk.deliver(options.onError);
    await roundIfDue(app, options.onError);
    const due = (await app.desk.due(options.onError)).filter((work) => !busy.has(nameOf(work)));
    if (due.length === 0 || options.signal.aborted) return;
    const lane = async () => {
      for (let work = due.shift(); work && !options.signal.aborted; work = due.shift()) {
        const taken = await app.desk.take(work);
        const result = taken && (await workTaken(app, taken, options));
        if (!taken || result?.outcome === 'busy') busy.add(nameOf(work));
      }
    };
    // Every lane ends before the stores may be closed; what an abort cut short waits in its inbox as before.
    const lanes = await Promise.allSettled(Array.from({ length: lanesFor(app.config.concurrency) }, lane));
    const failed = lanes.find((ended) => ended.status === 'rejected');
    if (failed && !options.signal.aborted) throw failed.reason;
  }
}

async function workTaken(
  app: App,
  { done, ...taken }: Taken,
  { signal, onResult }: Pick<WorkerOptions, 'signal' | 'onResult'>,
): Promise<WorkResult | null> {
  let result: WorkResult | null = null;
  try {
    result = await workKey(app, { ...taken, signal });
  } finally {
    await done(result?.outcome);
  }
  if (result) onResult(result, taken.store);
  return result;
}

/** What looks, wakes, notifies and watches, as one; null: no queue wakes it. */
async function runEngine(app: App, queue: WakeQueue | null, options: WorkerOptions): Promise<WorkerEnding> {
  const { desk, config, home } = app;
  const { signal: ending, untilIdle, onError } = options;
  const watchdog = queue && queueWatchdog(queue, config.deafMs / TICK_MS);
  const lanes = lanesFor(config.concurrency);
  /** What the queue was notified of and is not worked yet: the state of the item, and how many looks ago. */
  const notified = new Map<string, { state: string; looks: number }>();
  let due: Due[] = [];
  /** Of these, what no lane has begun since the last look. */
  let left: Due[] = [];
  /** When the next item is due that is not yet; ISO. */
  let nextDueAt: string | undefined;
  /** Something ended here: what waited for it may be due. */
  let hasEnded = false;
  /** The queue cannot be notified: what is handed out is worked all the same. */
  let isQueueAway = false;
  /** What is worked without a wake-up, and the names of what this worker chose itself. */
  const unwoken = new Set<Promise<void>>();
  const underWay = new Set<string>();
  /** Aborts what is still under way `CLOSE_MS` after the end began. */
  const late = new AbortController();

  async function work(taken: Taken, signal: AbortSignal): Promise<void> {
    const { store, kind, key } = taken;
    try {
      await workTaken(app, taken, { ...options, signal });
    } finally {
      notified.delete(nameOf({ store: store.id, kind, key }));
      hasEnded = true;
    }
  }

  /** As many as a queue would wake: what is due, or while the queue is away what is handed out. */
  function workUnwoken(): void {
    const mayGoOn = () => !ending.aborted && (queue === null || (desk.handsOut && isQueueAway));
    const lane = async () => {
      while (mayGoOn()) {
        const next = left.shift();
        if (next) underWay.add(nameOf(next));
        try {
          const taken = await desk.take(next);
          if (taken) await work(taken, queue ? ending : late.signal);
          else if (!next) return;
        } finally {
          if (next) underWay.delete(nameOf(next));
        }
      }
    };
    while (mayGoOn() && unwoken.size < lanes && (queue || left.length > 0)) {
      const working = lane()
        .catch((error: unknown) => {
          if (!ending.aborted) onError(describeError(error));
        })
        .finally(() => unwoken.delete(working));
      unwoken.add(working);
    }
  }

  async function hasNews(isSweep: boolean): Promise<boolean> {
    const hasCome = await takeInAll(app, options);
    const hasBegun = isSweep && (await roundIfDue(app, onError));
    const isDue = nextDueAt !== undefined && nextDueAt <= config.clock.now().toISOString();
    const isAny = hasCome || hasBegun || isDue || hasEnded;
    hasEnded = false;
    return isAny;
  }

  /** Looks into all inboxes, and notifies the queue of what is due. */
  async function look(isSweep: boolean): Promise<void> {
    await desk.deliver(onError);
    if (isSweep) await endWaits(app, onError);
    const now = config.clock.now().toISOString();
    due = await desk.due(onError);
    nextDueAt = await desk.nextDueAt(now);
    if (queue) await notifyOf(queue, isSweep);
    else left = due.filter((item) => !underWay.has(nameOf(item)));
  }

  async function notifyOf(there: WakeQueue, isSweep: boolean): Promise<void> {
    if (isSweep) for (const each of notified.values()) each.looks += 1;
    try {
      for (const item of due) await notify(there, item);
      isQueueAway = false;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      onError(describeError(error));
      // Tried again at the next tick.
      hasEnded = true;
      isQueueAway = true;
      watchdog?.queueFailed();
    }
  }

  async function notify(there: WakeQueue, item: Due): Promise<void> {
    const { id, notBefore, kind, store, key } = item;
    const name = nameOf(item);
    const state = `${id} ${notBefore}`;
    const last = notified.get(name);
    if (last?.state === state && last.looks < SWEEPS_BEFORE_ANOTHER_NOTIFICATION) return;
    await there.notify({ kind, store, key });
    notified.set(name, { state, looks: 0 });
  }

  async function isStalled(): Promise<boolean> {
    if (!watchdog || !(await watchdog.look({ hasWork: due.length > 0 }))) return false;
    const patience = `${config.deafMs / 1_000} s`;
    onError(`stalled: the queue has work for this worker, and nothing of it arrived for ${patience}.`);
    return true;
  }

  async function wake(wakeUp: WakeUp, signal: AbortSignal): Promise<void> {
    const taken = await desk.take(wakeUp);
    notified.delete(nameOf(wakeUp));
    if (taken) await watchdog?.during(() => work(taken, signal));
    hasEnded = true;
  }

  async function run(): Promise<WorkerEnding> {
    queue?.listen(wake, {
      concurrency: lanes,
      onError: (error, wakeUp) => {
        if (!ending.aborted) onError(`${wakeUp ? `${wakeUp.kind}: ` : ''}${describeError(error)}`);
      },
    });
    for (let tick = 0; !ending.aborted; tick += 1) {
      try {
        if (tick % TICKS_BETWEEN_SIGNS_OF_LIFE === 0) await home.workers.see();
        const isSweep = tick % SWEEP_TICKS === 0;
        if ((await hasNews(isSweep)) || isSweep || untilIdle) await look(isSweep);
        workUnwoken();
      } catch (error) {
        if (!isAppError(error, 'database-unavailable') || untilIdle) throw error;
        onError(describeError(error));
        // Whatever was missed is looked for as soon as it answers again.
        hasEnded = true;
      }
      if (due.length === 0 && untilIdle) return 'ended';
      if (await isStalled()) return 'stalled';
      await pause(TICK_MS, ending);
    }
    return 'ended';
  }

  try {
    return await run();
  } finally {
    const patience = setTimeout(() => late.abort(new Error('the worker ends')), CLOSE_MS);
    await Promise.all(unwoken).finally(() => clearTimeout(patience));
  }
}

async function endWaits(app: App, onError: (message: string) => void): Promise<void> {
  await endWaitsForKey(app, onError);
  await endWaitsForCeiling(app, onError);
}

/** Puts into the inboxes what has come for the worker, and for wings; what goes wrong with one is named. */
async function takeInAll(app: App, options: Pick<WorkerOptions, 'takeIn' | 'onError'>): Promise<boolean> {
  let hasCome = (await options.takeIn?.()) === true;
  for (const { worker } of wings()) {
    const told = (error: AppError) => options.onError(describeError(error));
    if (await worker?.takeIn(app).catch(onAppError(told))) hasCome = true;
  }
  return hasCome;
}

function nameOf({ store, kind, key }: Pick<Due, 'store' | 'kind' | 'key'>): string {
  return `${store}\n${kind}\n${key}`;
}

/** Waits, or ends early when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

/**
 * Notices a worker that is stalled: after an outage of the queue's server a connection may look alive and never bring a
 * wake-up again. Counted in ticks with work that could ask the queue, not in time: after the sleep of a laptop much time is
 * gone in which nothing could arrive, and while the server is away there is nothing to arrive.
 */
function queueWatchdog(queue: Pick<WakeQueue, 'counts'>, patience: number) {
  let working = 0;
  let silentTicks = 0;
  let hasFailed = false;
  const hasWaiting = async () => {
    const found = await queue.counts().catch(onAppError(() => null));
    hasFailed ||= found === null;
    return (found?.waiting ?? 0) > 0;
  };
  return {
    /** A wake-up arrived, and `work` is what came of it. */
    async during<T>(work: () => Promise<T>): Promise<T> {
      silentTicks = 0;
      working += 1;
      try {
        return await work();
      } finally {
        working -= 1;
      }
    },
    /** The queue could not be notified. */
    queueFailed() {
      hasFailed = true;
    },
    /** To be asked once a tick: whether wake-ups wait in the queue and for too long none arrived. */
    async look({ hasWork }: { hasWork: boolean }): Promise<boolean> {
      const isSilent = hasWork && working === 0 && !hasFailed && (await hasWaiting());
      const isAway = hasFailed;
      hasFailed = false;
      if (!isAway) silentTicks = isSilent ? silentTicks + 1 : 0;
      return silentTicks >= patience;
    },
  };
}
