// What wakes a worker: BullMQ on Redis where one is set, and in any case time. The work is in the inbox, never in here.
// Promises: losing Redis, its data or a wake-up loses nothing and holds nothing up for longer than it takes until a worker looks by
// itself. Nobody waits for Redis longer than two seconds, and what is wrong with it is told once until it is right again.
// One BullMQ queue with a job name for each kind of work, and a delay for what is due later.

import { setTimeout as wait } from 'node:timers/promises';
import type { Queue, Worker } from 'bullmq';
import { AppError, describeError } from '../base/errors.ts';
import { checkQueueUrl, PREFIX } from '../db/drivers.ts';
import type { JobKind } from '../memory/job-rows.ts';
import type { RedisServer } from './redis.ts';

export interface Ring {
  kind: JobKind;
  key: string;
  /** From when it is due. */
  at: Date;
  /** How often it was put in: each time is a wake-up of its own. */
  news: number;
}

export type Wake = ReturnType<typeof openWake>;

export interface WakeOptions {
  /** `redis:` or `rediss:`; none: time alone wakes, and whoever rings in this process. */
  url?: string;
  /** Keeps homes apart that share a server: letters, digits, `_`, `-`; at most 60. */
  namespace: string;
  now(): Date;
  /** Told, in a sentence, what is wrong with the queue. */
  onError(message: string): void;
}

/** Between tries to reach a Redis that was away. */
const AGAIN_MS = 5_000;
const GRACE_MS = 500;

/** Opens nothing yet. Errors: `bad-input` for a URL or a namespace that cannot be one. */
export function openWake(options: WakeOptions) {
  const { url } = options;
  if (!/^[\w-]{1,60}$/.test(options.namespace)) {
    throw new AppError('bad-input', `The queue namespace ${JSON.stringify(options.namespace)} is not a plain name.`, {
      remedy: 'Use up to 60 letters, digits, _ and -.',
    });
  }
  if (url !== undefined) checkQueueUrl(url);
  /** Who waits for a ring; a ring without one is kept for the next who does. */
  let waiting: (() => void) | null = null;
  let hasRung = false;
  const wake = () => {
    hasRung = true;
    waiting?.();
  };
  let isThere = Promise.withResolvers<void>();
  const bell = url === undefined ? null : new Bell({ ...options, url }, () => isThere.promise.then(wake));
  return {
    /** Wakes a worker at an instant. Where the queue is away it does nothing: a worker looks by itself. */
    async ring(item: Ring): Promise<void> {
      if (item.at <= options.now()) wake();
      await bell?.ring(item);
    },
    /** Until something rings, `mostMs` are over, or `signal` aborts; never throws. */
    async next(mostMs: number, signal: AbortSignal): Promise<void> {
      bell?.listen();
      const rung = Promise.withResolvers<void>();
      waiting = rung.resolve;
      isThere.resolve();
      if (hasRung) rung.resolve();
      const rest = new AbortController();
      const over = AbortSignal.any([signal, rest.signal]);
      await Promise.race([rung.promise, wait(mostMs, undefined, { signal: over }).catch(() => undefined)]);
      rest.abort();
      waiting = null;
      hasRung = false;
      isThere = Promise.withResolvers();
    },
    /** Returns within two seconds. */
    async close(): Promise<void> {
      isThere.resolve();
      await bell?.close();
    },
  };
}

type Said = Pick<Ring, 'key'>;

class Bell {
  readonly #options: WakeOptions & { url: string };
  /** Ends once somebody hears it, so that no worker with full hands takes wake-ups from the others. */
  readonly #heard: () => Promise<void>;
  #opening: Promise<void> | undefined;
  #open: { redis: RedisServer; queue: Queue<Said>; worker?: Worker<Said> } | undefined;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #isTold = false;
  #isClosed = false;

  constructor(options: WakeOptions & { url: string }, heard: () => Promise<void>) {
    this.#options = options;
    this.#heard = heard;
  }

  async ring({ kind, key, at, news }: Ring): Promise<void> {
    await this.#connect();
    if (!this.#open) return;
    const { redis, queue } = this.#open;
    const delay = Math.max(0, at.getTime() - this.#options.now().getTime());
    const jobId = `${kind} ${key} ${news}`.replaceAll(':', '.');
    try {
      await redis.attempt('notify', () => queue.add(kind, { key }, { jobId, delay }));
      this.#isTold = false;
    } catch (error) {
      this.#tell(error);
    }
  }

  /** Hears from now on what is rung. */
  listen(): void {
    if (this.#open?.worker === undefined) void this.#connect({ listens: true });
  }

  async #connect({ listens = false } = {}): Promise<void> {
    const isDue = performance.now() - this.#triedAtMs > AGAIN_MS;
    if (this.#isClosed || (!this.#open && !this.#opening && !isDue)) return;
    this.#opening ??= this.#start().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
    if (listens && this.#open && !this.#open.worker && !this.#isClosed)
      this.#open.worker = await this.#hear(this.#open);
  }

  async #start(): Promise<void> {
    if (this.#open) return;
    this.#triedAtMs = performance.now();
    const { url, namespace } = this.#options;
    // Loaded only here: BullMQ costs a start a third of its time, and who is idle 20 MB.
    const [{ Queue }, { openRedis }] = await Promise.all([import('bullmq'), import('./redis.ts')]);
    try {
      const redis = await openRedis(url);
      const queue = new Queue<Said>(namespace, {
        connection: redis.producer,
        prefix: PREFIX,
        defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
      });
      // A queue without this listener ends the process. What fails is told by who asked for it.
      queue.on('error', () => undefined);
      await redis.attempt('reach', () => queue.waitUntilReady());
      if (this.#isClosed) redis.close();
      else this.#open = { redis, queue };
    } catch (error) {
      this.#tell(error);
    }
  }

  async #hear({ redis, queue }: { redis: RedisServer; queue: Queue<Said> }): Promise<Worker<Said>> {
    const bullmq = await import('bullmq');
    const worker = new bullmq.Worker<Said>(queue.name, this.#heard, {
      connection: redis.consumer(),
      prefix: PREFIX,
      autorun: false,
    });
    worker.on('error', (error) => this.#tell(error));
    // One that could not connect keeps that failure for good.
    worker
      .waitUntilReady()
      .then(() => worker.run())
      .catch((error) => this.#tell(error));
    return worker;
  }

  #tell(error: unknown): void {
    if (!this.#isTold && !this.#isClosed) this.#options.onError(describeError(error));
    this.#isTold = true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await endsWithin(this.#opening ?? Promise.resolve(), GRACE_MS);
    if (!this.#open) return;
    const { redis, queue, worker } = this.#open;
    // BullMQ waits for an absent server without end; its blocking connection would keep the process alive.
    if (worker && !(await endsWithin(worker.close(), GRACE_MS))) await endsWithin(worker.disconnect(), GRACE_MS);
    await endsWithin(queue.close(), GRACE_MS);
    redis.close();
  }
}

/** Whether `work` ended, well or badly, within `limitMs`. */
async function endsWithin(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  const rest = new AbortController();
  const ended = () => true;
  const late = wait(limitMs, false, { signal: rest.signal }).catch(ended);
  const isEnded = await Promise.race([work.then(ended, ended), late]);
  rest.abort();
  return isEnded;
}
