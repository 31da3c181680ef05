// The wake-up queue: wakes a worker so that it looks into an inbox. The work itself is in the ledger, never in here.
// Promises that a notification arrives at least once while the queue lives, that many of one key are one wake-up, and
// that one during a wake-up brings exactly one more. Losing the queue loses nothing: a worker's sweep notifies again.
// One BullMQ queue with the job names extract, dream and reprocess, rather than a queue for each: its concurrency then
// bounds all work together, and a worker holds two connections instead of six.

import { hash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { type Job, Queue, type Telemetry, Worker } from 'bullmq';
import { z } from 'zod';
import { AppError } from '../base/errors.ts';
import { openRedis, type RedisServer } from './redis.ts';

const wakeUpSchema = z.object({
  kind: z.enum(['extract', 'dream', 'reprocess']),
  /** The memory directory, absolute, or the id of a store that is kept elsewhere. */
  store: z.string().refine((id) => isAbsolute(id) || /^[\w-]{1,80}$/.test(id), 'must be an absolute path or an id'),
  /** The key in that store's inbox. */
  key: z.string().min(1),
});

/** What a worker is woken for: a key of one inbox. */
export type WakeUp = z.infer<typeof wakeUpSchema>;

/**
 * Contract: looks into the inbox and does what is due. It may be called twice for one notification, and even at the same time
 * (a lease that was lost), so it takes the ledger's lease itself. When `signal` aborts it ends soon, committing nothing.
 * What it throws is reported and not tried again from here: the inbox decides on retries.
 */
type WakeUpHandler = (wakeUp: WakeUp, signal: AbortSignal) => Promise<void>;

interface ListenOptions {
  /** Wake-ups handled side by side in this process, all kinds together. */
  concurrency: number;
  /** Told of everything that goes wrong: a connection, or with its wake-up a handler. Must not throw. */
  onError(error: unknown, wakeUp?: WakeUp): void;
}

export interface WakeQueueOptions {
  /** `redis:` or `rediss:`. */
  url: string;
  /** Keeps homes apart that share a server: letters, digits, `_`, `-`; at most 60. Default `nocturne`. */
  namespace?: string;
  /** Spans of adding and handling wake-ups, by bullmq-otel. */
  telemetry?: boolean;
}

/**
 * Measured: a killed worker's wake-up arrives again after 7.5 to 15 s, and it may kill five workers before it is
 * dropped.
 */
const WATCH = { lockDuration: 10_000, stalledInterval: 5_000, maxStalledCount: 5 };

// Finished jobs are kept for a person who looks, not for the program. `age` is in seconds.
const KEEP = { removeOnComplete: { count: 100, age: 86_400 }, removeOnFail: { count: 500, age: 7 * 86_400 } };

export const PREFIX = 'nocturne';
const GRACE_MS = 500;
/** How long one waits for a server where nothing is under way. */
const IDLE_MS = 2_000;

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
    await wakeQueue.close({ deadlineMs: 0 });
    throw error;
  }
}

export class WakeQueue {
  readonly #redis: RedisServer;
  readonly #queue: WakeUpQueue;
  readonly #telemetry: Telemetry | undefined;
  #worker: WakeUpWorker | undefined;
  /** One for each running handler: lets BullMQ go on as if that handler had failed. */
  readonly #abandon = new Set<(reason: Error) => void>();
  #closing: Promise<void> | undefined;
  #isClosed = false;

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
   * Errors: `queue-unavailable`, within two seconds on a server; the notification may still arrive then.
   */
  async notify(wakeUp: WakeUp, options: { delayMs?: number } = {}): Promise<void> {
    const { kind, store, key } = wakeUp;
    const delay = options.delayMs ?? 0;
    const deduplication = { id: keyOf(wakeUp), keepLastIfActive: true, reschedule: delay === 0 };
    await this.#redis.attempt('notify', () => this.#queue.add(kind, { store, key }, { delay, deduplication }));
  }

  /** Starts handling wake-ups. Once per queue. */
  listen(handler: WakeUpHandler, options: ListenOptions): void {
    if (this.#worker) throw new AppError('bad-input', 'This queue is listened to already.');
    const telemetry = this.#telemetry;
    const worker: WakeUpWorker = new Worker(
      this.#queue.name,
      // BullMQ makes a signal only for a processor that declares three parameters.
      (job, _token, signal) => this.#handle(job, signal ?? new AbortController().signal, handler),
      {
        connection: this.#redis.consumer(),
        prefix: PREFIX,
        concurrency: options.concurrency,
        telemetry,
        autorun: false,
        ...WATCH,
      },
    );
    const report = (error: Error, job?: WakeUpJob) => {
      if (!this.#isClosed) options.onError(error, job && wakeUpSchema.safeParse(fieldsOf(job)).data);
    };
    worker.on('error', (error) => report(error));
    worker.on('failed', (job, error) => report(error, job));
    // After a laptop's sleep another worker may have the job by now: this one must not go on beside it.
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) worker.cancelJob(id, 'the lock of this wake-up was lost');
    });
    // One that could not connect keeps that failure for good, and would meet it again without a pause, for ever, while no
    // timer of the process runs. It gets nothing instead, which its owner notices.
    worker
      .waitUntilReady()
      .then(() => this.#closing ?? worker.run(), report)
      .catch(report);
    this.#worker = worker;
  }

  async #handle(job: WakeUpJob, signal: AbortSignal, handler: WakeUpHandler): Promise<void> {
    const parsed = wakeUpSchema.safeParse(fieldsOf(job));
    if (!parsed.success) {
      throw new AppError('bad-input', `A wake-up that is none was in the queue: ${z.prettifyError(parsed.error)}.`);
    }
    const { promise: abandoned, reject } = Promise.withResolvers<never>();
    this.#abandon.add(reject);
    try {
      await Promise.race([handler(parsed.data, signal), abandoned]);
    } finally {
      this.#abandon.delete(reject);
    }
  }

  /** How many wake-ups are in the queue now. */
  async counts(): Promise<{ waiting: number; active: number; delayed: number }> {
    const counts = await this.#redis.attempt('ask', () => this.#queue.getJobCounts('waiting', 'active', 'delayed'));
    return { waiting: counts.waiting ?? 0, active: counts.active ?? 0, delayed: counts.delayed ?? 0 };
  }

  /**
   * Takes no more wake-ups, waits up to `deadlineMs` for running handlers, then aborts their signals, and soon leaves
   * behind those that do not end. Returns at most three seconds after the deadline, whatever the server does. While a
   * server is away BullMQ may keep timers, so a process that wants to end then must exit.
   */
  close(options: { deadlineMs: number }): Promise<void> {
    this.#closing ??= this.#close(options.deadlineMs);
    return this.#closing;
  }

  async #close(deadlineMs: number): Promise<void> {
    if (this.#worker) await this.#closeWorker(this.#worker, deadlineMs);
    this.#isClosed = true;
    await endsWithin(this.#queue.close(), GRACE_MS);
    this.#redis.close();
  }

  async #closeWorker(worker: WakeUpWorker, deadlineMs: number): Promise<void> {
    const closed = worker.close();
    // Where nothing is under way it waits for its server alone.
    if (await endsWithin(closed, this.#abandon.size > 0 ? deadlineMs : Math.min(deadlineMs, IDLE_MS))) return;
    worker.cancelAllJobs('the worker is closing');
    if (await endsWithin(closed, GRACE_MS)) return;
    for (const abandon of this.#abandon) abandon(new Error('left behind at the closing of the worker'));
    if (await endsWithin(closed, GRACE_MS)) return;
    // BullMQ waits for an absent server without end; its blocking connection would keep the process alive.
    await endsWithin(worker.disconnect(), GRACE_MS);
  }
}

type WakeUpQueue = Queue<unknown, void, string>;
type WakeUpWorker = Worker<unknown, void, string>;
type WakeUpJob = Job<unknown, void, string>;

function fieldsOf(job: WakeUpJob): unknown {
  return { ...(job.data as object), kind: job.name };
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
