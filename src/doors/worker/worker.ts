// The worker: works what the queue wakes it for. It notifies the queue of what comes due in the inboxes: when something
// was put there or ended here, at the instant the next item is due, and by a slow sweep, which finds what was missed.

import { hash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../base/config/config.ts';
import { AppError, describeError, isAppError, onAppError } from '../../base/errors.ts';
import type { Store } from '../../memory/store/store.ts';
import type { WakeQueue, WakeUp } from '../../queue/queue.ts';
import type { App } from '../compose.ts';
import { lanesFor } from '../job-bounds.ts';
import { type Keeping, wings } from '../wing.ts';
import type { Due, Taken } from './desk.ts';
import { endWaitsForKey, nextNightly, roundIfDue } from './hold.ts';
import { type WorkResult, workKey } from './work.ts';

export interface WorkerOptions {
  /** Ends the worker; jobs under way get `CLOSE_MS` to finish and are handed back after that. */
  signal: AbortSignal;
  /** End when nothing is due in any inbox. */
  untilIdle?: boolean;
  /** How long nothing was due when the embedded queue is let go of; default: a minute. */
  restMs?: number;
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
/** Measured: an open embedded queue costs 45 MB and 0.2 CPU s a minute, opening one 0.25 CPU s. */
const REST_MS = 60_000;
/** Opening takes less. */
const OPENS_BEFORE_MS = 2_000;

/** The queue of a home, or of all that share a database: several may share one server. */
export async function wakeQueueOptions({
  config,
  keeping,
}: {
  config: Config;
  keeping: Pick<Keeping, 'queue'> | null;
}) {
  const own = { namespace: `nocturne-${hash('sha256', config.home).slice(0, 8)}`, url: undefined };
  const { namespace, url } = (await keeping?.queue()) ?? own;
  return {
    url: config.queueUrl || url,
    dataDir: join(config.home, 'queue'),
    namespace,
    telemetry: config.telemetry,
  };
}

/** Works until it is told to end, until nothing is due, or until it hears its queue no more. */
export async function runWorker(app: App, options: WorkerOptions): Promise<WorkerEnding> {
  // Loaded only here: BullMQ and its drivers cost every other command a third of its start.
  const [{ openWakeQueue }, { backendKind }] = await Promise.all([
    import('../../queue/queue.ts'),
    import('../../queue/backend.ts'),
  ]);
  nextNightly(app.config, await app.home.nightlyAt());
  // Entered before the queue opens: the embedded one must never be opened by two processes.
  const place = await wakeQueueOptions(app);
  const kind = backendKind(place.url);
  await app.home.workers.enter(kind);
  try {
    return await runEngine(app, { kind, open: () => openWakeQueue(place) }, options);
  } finally {
    await app.home.workers.leave();
  }
}

/** Works everything that is due, without a queue, and ends; soon after an abort too, with the rest still waiting. */
export async function drainInboxes(app: App, options: Omit<WorkerOptions, 'untilIdle'>): Promise<void> {
  const busy = new Set<string>();
  await endWaitsForKey(app, options.onError);
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

/** What wakes, notifies and watches, as one. */
async function runEngine(
  app: App,
  { kind, open }: Pick<WakeQueue, 'kind'> & { open(): Promise<WakeQueue> },
  options: WorkerOptions,
): Promise<WorkerEnding> {
  const { desk, config, home } = app;
  const { signal: ending, untilIdle, onError, restMs = REST_MS } = options;
  /** Null: it rests. */
  let queue: WakeQueue | null = null;
  let idleTicks = 0;
  const counts = async () => (await awake()).counts();
  const watchdog = queueWatchdog({ kind, counts }, config.deafMs / TICK_MS);
  const lanes = lanesFor(config.concurrency);
  /** What the queue was notified of and is not worked yet: the state of the item, and how many looks ago. */
  const notified = new Map<string, { state: string; looks: number }>();
  let due: Due[] = [];
  /** When the next item is due that is not yet; ISO. */
  let nextDueAt: string | undefined;
  /** Something ended here: what waited for it may be due. */
  let hasEnded = false;
  /** The queue cannot be notified: what is handed out is worked all the same. */
  let isQueueAway = false;
  /** What is worked without a wake-up. */
  const unwoken = new Set<Promise<void>>();

  async function work(taken: Taken, signal: AbortSignal): Promise<void> {
    const { store, kind, key } = taken;
    try {
      await workTaken(app, taken, { ...options, signal });
    } finally {
      notified.delete(nameOf({ store: store.id, kind, key }));
      hasEnded = true;
    }
  }

  /** While the queue is away, as many as it would wake. */
  function workUnwoken(): void {
    if (!desk.handsOut || !isQueueAway) return;
    const lane = async () => {
      while (!ending.aborted && isQueueAway) {
        const taken = await desk.take();
        if (!taken) return;
        await work(taken, ending);
      }
    };
    while (unwoken.size < lanes) {
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
    if (isSweep) await endWaitsForKey(app, onError);
    const now = config.clock.now().toISOString();
    due = await desk.due(onError);
    nextDueAt = await desk.nextDueAt(now);
    if (isSweep) for (const each of notified.values()) each.looks += 1;
    try {
      for (const item of due) await notify(item);
      isQueueAway = false;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      onError(describeError(error));
      // Tried again at the next tick.
      hasEnded = true;
      isQueueAway = true;
      watchdog.queueFailed();
    }
  }

  async function notify(item: Due): Promise<void> {
    const { id, notBefore, kind, store, key } = item;
    const name = nameOf(item);
    const state = `${id} ${notBefore}`;
    const last = notified.get(name);
    if (last?.state === state && last.looks < SWEEPS_BEFORE_ANOTHER_NOTIFICATION) return;
    await (await awake()).notify({ kind, store, key });
    notified.set(name, { state, looks: 0 });
  }

  async function isStalled(): Promise<boolean> {
    const patience = `${config.deafMs / 1_000} s`;
    const stall = await watchdog.look({ hasWork: due.length > 0 });
    if (stall === 'silent') {
      onError(`stalled: the queue has work for this worker, and nothing of it arrived for ${patience}.`);
    } else if (stall === 'failing') {
      onError(`stalled: the embedded queue failed for ${patience}; a new worker makes it anew.`);
    }
    return stall !== null;
  }

  async function wake(wakeUp: WakeUp, signal: AbortSignal): Promise<void> {
    const taken = await desk.take(wakeUp);
    notified.delete(nameOf(wakeUp));
    if (taken) await watchdog.during(() => work(taken, signal));
    hasEnded = true;
  }

  async function awake(): Promise<WakeQueue> {
    if (queue) return queue;
    queue = await open();
    if (queue.rebuilt) onError('The embedded queue could not be read and was made anew; nothing is lost.');
    queue.listen(wake, {
      concurrency: lanes,
      onError: (error, wakeUp) => {
        if (!ending.aborted) onError(`${wakeUp ? `${wakeUp.kind}: ` : ''}${describeError(error)}`);
      },
    });
    return queue;
  }

  async function letGo(): Promise<void> {
    const held = queue;
    queue = null;
    await held?.close({ deadlineMs: CLOSE_MS });
  }

  /** The embedded queue rests where nothing was due for a while, and is open again a little before something is. */
  async function restIfIdle(): Promise<void> {
    if (kind !== 'embedded') return;
    const soon = new Date(config.clock.now().getTime() + OPENS_BEFORE_MS).toISOString();
    const isIdle = due.length === 0 && !watchdog.isWorking() && (nextDueAt === undefined || nextDueAt > soon);
    idleTicks = isIdle ? idleTicks + 1 : 0;
    if (!isIdle) await awake().catch(onAppError(() => watchdog.queueFailed()));
    else if (idleTicks * TICK_MS > restMs) await letGo();
  }

  async function run(): Promise<WorkerEnding> {
    await awake();
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
      await restIfIdle();
      if (await isStalled()) return 'stalled';
      await pause(TICK_MS, ending);
    }
    await Promise.all(unwoken);
    return 'ended';
  }

  try {
    return await run();
  } finally {
    await letGo();
  }
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
 * gone in which nothing could arrive, and while the server is away there is nothing to arrive. The embedded queue is never
 * away: where it keeps failing its directory is gone or broken, and only a new process opens it anew.
 */
function queueWatchdog(queue: Pick<WakeQueue, 'counts' | 'kind'>, patience: number) {
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
    isWorking: () => working > 0,
    /** The queue could not be notified. */
    queueFailed() {
      hasFailed = true;
    },
    /** To be asked once a tick: `silent` where wake-ups wait in the queue and none arrives, `failing` where the queue is broken. */
    async look({ hasWork }: { hasWork: boolean }): Promise<'silent' | 'failing' | null> {
      const isSilent = hasWork && working === 0 && !hasFailed && (await hasWaiting());
      const isFailing = hasFailed && queue.kind === 'embedded' && working === 0;
      const isServerAway = hasFailed && !isFailing;
      hasFailed = false;
      if (isServerAway) return null;
      silentTicks = isSilent || isFailing ? silentTicks + 1 : 0;
      if (silentTicks < patience) return null;
      return isFailing ? 'failing' : 'silent';
    },
  };
}
