// Where the queue hangs: a Redis, through ioredis.
// Owns the connections and their options. Promises that opening and asking end, in time, with an answer or with an
// AppError `queue-unavailable` that names the URL without its password. Holds no truth.

import { Redis, type RedisOptions } from 'ioredis';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { checkQueueUrl, withoutSecrets } from '../db/drivers.ts';

export type RedisServer = Awaited<ReturnType<typeof openRedis>>;

const ANSWER_WITHIN_MS = 1_500;
/** The driver counts by the clock alone, so it gives up later than `ANSWER_WITHIN_MS`, by which everybody here is answered. */
const CONNECT_WITHIN_MS = 5_000;
const RECONNECT_AT_MOST_MS = 2_000;
/** Longer than BullMQ's longest wait for a job, ten seconds: a connection silent for so long is dead. */
const SILENT_AT_MOST_MS = 20_000;

/** Errors: those of `checkQueueUrl`, and `queue-unavailable` for one that is down. */
export async function openRedis(url: string) {
  checkQueueUrl(url);
  const server = withoutSecrets(url);
  const producer = connect(url, { maxRetriesPerRequest: 1, socketTimeout: ANSWER_WITHIN_MS });
  let consumer: Redis | undefined;
  /** The answer of `ask`, or AppError `queue-unavailable` after a failure or after 1.5 s of silence. */
  const attempt = <T>(action: string, ask: () => Promise<T>): Promise<T> => answered(server, action, ask);
  try {
    await attempt('reach', () => ready(producer));
  } catch (error) {
    producer.disconnect();
    throw error;
  }
  return {
    /** What a BullMQ Queue connects through. */
    producer,
    /** What a BullMQ Worker connects through; made when first asked for. */
    consumer: () => {
      consumer ??= connect(url, { maxRetriesPerRequest: null, lazyConnect: false, socketTimeout: SILENT_AT_MOST_MS });
      return consumer;
    },
    attempt,
    /** Ends all connections at once; what BullMQ still holds open must have been closed before. */
    close: () => {
      producer.disconnect();
      consumer?.disconnect();
    },
  };
}

function connect(url: string, options: RedisOptions): Redis {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_WITHIN_MS,
    // ioredis waits up to 20 s between tries by default; a restarted server should be found again sooner.
    retryStrategy: (tries) => Math.min(tries * 200, RECONNECT_AT_MOST_MS),
    ...options,
  });
  // BullMQ passes connection errors on only while it listens; outside of that ioredis would print them.
  redis.on('error', () => {});
  return redis;
}

/** Like `connect()`, but rejects with the reason, where ioredis says only that the connection is closed. */
async function ready(redis: Redis): Promise<void> {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  redis.once('error', reject);
  try {
    await Promise.race([redis.connect(), failed]);
  } finally {
    redis.off('error', reject);
  }
}

async function answered<T>(server: string, action: string, ask: () => Promise<T>): Promise<T> {
  const unavailable = (reason: string, cause?: unknown) =>
    new AppError('queue-unavailable', `Cannot ${action} the queue at ${server}: ${reason}.`, {
      remedy: 'Check that it runs and that the URL is right. Nothing is lost: the work waits.',
      cause,
    });
  const { promise: silence, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(unavailable(`no answer within ${ANSWER_WITHIN_MS} ms`)), ANSWER_WITHIN_MS);
  try {
    return await Promise.race([ask(), silence]);
  } catch (error) {
    throw isAppError(error) ? error : unavailable(describeError(error), error);
  } finally {
    clearTimeout(timer);
  }
}
