// The wake-up queue: wakes workers so that they look into the inboxes. The work itself is in the ledger, never in here.
// Promises that many notifications of one key that wait are one wake-up. Losing the queue, or a wake-up, loses nothing:
// workers look by themselves, too.
// One BullMQ queue with the job names extract, dream and reprocess, rather than a queue for each: a worker holds two
// connections instead of six.

import { hash } from 'node:crypto';
import { type Job, Queue, type Telemetry, Worker } from 'bullmq';
import { AppError } from '../base/errors.ts';
import { PREFIX } from './drivers.ts';
import { openRedis, type RedisServer } from './redis.ts';

/** What workers are woken for: a key of one inbox. */
export interface WakeUp {
  kind: 'extract' | 'dream' | 'reprocess';
  /** The memory directory, absolute, or the id of a store that is kept elsewhere. */
  store: string;
  /** The key in that store's inbox. */
  key: string;
}

export interface WakeQueueOptions {
  /** `redis:` or `rediss:`. */
  url: string;
  /** Keeps homes apart that share a server: letters, digits, `_`, `-`; at most 60. Default `nocturne`. */
  namespace?: string;
  /** Spans of adding and handling wake-ups, by bullmq-otel. */
  telemetry?: boolean;
}

// Finished jobs are kept for a person who looks, not for the program. `age` is in seconds.
const KEEP = { removeOnComplete: { count: 100, age: 86_400 }, removeOnFail: { count: 500, age: 7 * 86_400 } };

const GRACE_MS = 500;
/** Wake-ups heard side by side: each is over in a moment. */
const CONCURRENCY = 10;

/** Opens the queue. Errors: those of `openRedis`, and `bad-input` for a namespace that cannot be one. */
export async function openWakeQueue(options: WakeQueueOptions): Promise<WakeQueue> {
  const namespace = options.namespace ?? PREFIX;
  if (!/^[\w-]{1,60}$/.test(namespace)) {
    throw new AppError('bad-input', `The queue namespace ${JSON.stringify(namespace)} is not a plain name.`, {
      remedy: 'Use up to 60 letters, digits, _ and -.',
    });
  }
  // Loaded only where it is wanted.
  const telemetry = options.telemetry
    ? new (await import('bullmq-otel')).BullMQOtel({ tracerName: PREFIX })
    : undefined;
  const wakeQueue = new WakeQueue(await openRedis(options.url), { namespace, telemetry });
  try {
    await wakeQueue.ready();
    return wakeQueue;
  } catch (error) {
    await wakeQueue.close();
    throw error;
  }
}

export class WakeQueue {
  readonly #redis: RedisServer;
  readonly #queue: Queue<Omit<WakeUp, 'kind'>, void, WakeUp['kind']>;
  readonly #telemetry: Telemetry | undefined;
  #worker: Worker<Omit<WakeUp, 'kind'>, void, WakeUp['kind']> | undefined;
  #closing: Promise<void> | undefined;

  constructor(redis: RedisServer, { namespace, telemetry }: { namespace: string; telemetry?: Telemetry }) {
    this.#redis = redis;
    this.#telemetry = telemetry;
    this.#queue = new Queue(namespace, {
      connection: redis.producer,
      prefix: PREFIX,
      defaultJobOptions: { attempts: 1, ...KEEP },
      telemetry,
    });
    // A queue without this listener ends the process. What fails is told by the call that asked for it.
    this.#queue.on('error', () => {});
  }

  /** Connects the queue. One whose first connection fails keeps that failure for good: every notification would fail. */
  async ready(): Promise<void> {
    await this.#redis.attempt('reach', () => this.#queue.waitUntilReady());
  }

  /**
   * Wakes a worker now, or after `delayMs`; if none listens, the next one that does. Without a delay it overtakes a
   * delayed one of its key; with a delay it changes nothing about one that waits already.
   * Errors: `queue-unavailable`, within two seconds; the notification may still arrive then.
   */
  async notify(wakeUp: WakeUp, options: { delayMs?: number } = {}): Promise<void> {
    const { kind, store, key } = wakeUp;
    const delay = options.delayMs ?? 0;
    const deduplication = { id: keyOf(wakeUp), keepLastIfActive: true, reschedule: delay === 0 };
    await this.#redis.attempt('notify', () => this.#queue.add(kind, { store, key }, { delay, deduplication }));
  }

  /** Calls `onWake` for each wake-up, and `onError` where a connection fails; neither may throw. Once per queue. */
  listen(onWake: (wakeUp: WakeUp) => unknown, onError: (error: unknown) => void): void {
    if (this.#worker) throw new AppError('bad-input', 'This queue is listened to already.');
    const worker = new Worker(
      this.#queue.name,
      async ({ name, data }: Job<Omit<WakeUp, 'kind'>, void, WakeUp['kind']>) => {
        await onWake({ ...data, kind: name });
      },
      {
        connection: this.#redis.consumer(),
        prefix: PREFIX,
        concurrency: CONCURRENCY,
        telemetry: this.#telemetry,
        autorun: false,
      },
    );
    const report = (error: unknown) => {
      if (!this.#closing) onError(error);
    };
    worker.on('error', report);
    // One that could not connect keeps that failure for good, and would meet it again without a pause, for ever, while no
    // timer of the process runs. It hears nothing instead.
    worker
      .waitUntilReady()
      .then(() => this.#closing ?? worker.run(), report)
      .catch(report);
    this.#worker = worker;
  }

  /** How many wake-ups are in the queue now. */
  async counts(): Promise<{ waiting: number; active: number; delayed: number }> {
    const counts = await this.#redis.attempt('ask', () => this.#queue.getJobCounts('waiting', 'active', 'delayed'));
    return { waiting: counts.waiting ?? 0, active: counts.active ?? 0, delayed: counts.delayed ?? 0 };
  }

  /** Takes no more wake-ups. Returns within two seconds; while a server is away BullMQ may keep timers after that. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // BullMQ waits for an absent server without end; its blocking connection would keep the process alive.
    if (this.#worker && !(await endsWithin(this.#worker.close(), GRACE_MS))) {
      await endsWithin(this.#worker.disconnect(), GRACE_MS);
    }
    await endsWithin(this.#queue.close(), GRACE_MS);
    this.#redis.close();
  }
}

function keyOf(wakeUp: WakeUp): string {
  const parts = JSON.stringify([wakeUp.store, wakeUp.kind, wakeUp.key]);
  return hash('sha256', parts).slice(0, 32);
}

/** Whether `work` ended, well or badly, within `limitMs`. */
async function endsWithin(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), limitMs);
  try {
    return await Promise.race([work.then(ended, ended), late]);
  } finally {
    clearTimeout(timer);
  }
}

const ended = () => true;
