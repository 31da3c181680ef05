// Where the queue hangs: Redis or a Postgres server; BullMQ speaks to both alike.
// Owns the connections and their options. Promises that opening and asking end, in time, with an answer or with an
// AppError `queue-unavailable` that names the URL without its password. Holds no truth.

import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  DEFAULT_SCHEMA,
  type IQueueBackend,
  type PgPool,
  runMigrations,
} from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { checkPostgresVersion, loadPgForQueue, withoutSecrets, withSessionOptions } from './drivers.ts';

export interface BackendOptions {
  /** `redis:`, `rediss:`, `postgres:` or `postgresql:`. */
  url: string;
}

export interface Backend {
  readonly kind: 'redis' | 'postgres';
  readonly factory: BackendFactory<IQueueBackend, unknown>;
  /** What a BullMQ Queue connects through. */
  readonly producer: unknown;
  /** What a BullMQ Worker connects through; made when first asked for. */
  consumer(): unknown;
  /** The answer of `ask`, or AppError `queue-unavailable` after a failure or after 1.5 s of silence. */
  attempt<T>(action: string, ask: () => Promise<T>): Promise<T>;
  /** Ends all connections at once; what BullMQ still holds open must have been closed before. */
  close(): Promise<void>;
}

const ANSWER_WITHIN_MS = 1_500;
/** Silence is counted in so many pieces: one in which this process was stopped, or got no CPU, is one piece, however long. */
const PIECES = 10;
/** The drivers count by the clock alone, so they give up later than `ANSWER_WITHIN_MS`, by which everybody here is answered. */
const CONNECT_WITHIN_MS = 5_000;
const MIGRATE_WITHIN_MS = 30_000;
const RECONNECT_AT_MOST_MS = 2_000;
/** Longer than BullMQ's longest wait for a job, ten seconds: a connection silent for so long is dead. */
const SILENT_AT_MOST_MS = 20_000;
const OLDEST_REDIS = [6, 2];
/** What Postgres answers where a table, a function or a type that is to be made is there already. */
const IS_THERE = /^(42P07|42723|42710)$/;
/** What it answers where a function, a table or the schema is not there. */
const NOT_THERE = /^(42883|42P01|3F000)$/;

/** What a queue URL leads to. Nothing is opened. Errors: `bad-input` for a URL it does not know. */
export function backendKind(url: string): Backend['kind'] {
  const protocol = URL.parse(url)?.protocol;
  // The drivers decode what is in it, and fall over a password with a bare %.
  if (/%(?![\da-f]{2})/i.test(url)) {
    throw new AppError('bad-input', 'The queue URL holds a % that does not stand before two hexadecimal digits.', {
      remedy: 'Write the % of a password as %25, and what else is special in it likewise.',
    });
  }
  if (protocol === 'redis:' || protocol === 'rediss:') return 'redis';
  if (protocol === 'postgres:' || protocol === 'postgresql:') return 'postgres';
  // The value itself may hold a password, so only what is known to be harmless is shown.
  throw new AppError('bad-input', `The queue URL ${protocol ? `begins with ${protocol}` : 'is not a URL'}.`, {
    remedy: 'Give one that begins with redis:, rediss:, postgres: or postgresql:, or none: a worker needs none.',
  });
}

/**
 * Connects, checks the server, and prepares what BullMQ needs there.
 * Errors: those of `backendKind`, and `queue-unavailable` for a server that is down or unfit.
 */
export async function openBackend({ url }: BackendOptions): Promise<Backend> {
  return backendKind(url) === 'redis' ? openRedis(url) : openPostgres(url);
}

async function openRedis(url: string): Promise<Backend> {
  const attempt = attempts(withoutSecrets(url), ANSWER_WITHIN_MS);
  const producer = connectRedis(url, { maxRetriesPerRequest: 1, socketTimeout: ANSWER_WITHIN_MS });
  let consumer: Redis | undefined;
  try {
    await attempt('reach', () => ready(producer));
    checkRedis(await attempt('ask for the version of', () => producer.info()), withoutSecrets(url));
  } catch (error) {
    producer.disconnect();
    throw error;
  }
  return {
    kind: 'redis',
    factory: createRedisBackend as BackendFactory<IQueueBackend, unknown>,
    producer,
    consumer: () => {
      consumer ??= connectRedis(url, {
        maxRetriesPerRequest: null,
        lazyConnect: false,
        socketTimeout: SILENT_AT_MOST_MS,
      });
      return consumer;
    },
    attempt,
    close: async () => {
      producer.disconnect();
      consumer?.disconnect();
    },
  };
}

function connectRedis(url: string, options: RedisOptions): Redis {
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

function checkRedis(info: string, server: string): void {
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const version = field('redis_version') ?? '0';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_REDIS;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throw new AppError('queue-unavailable', `The queue at ${server} is Redis ${version}.`, {
      remedy: `Use Redis ${OLDEST_REDIS.join('.')} or newer, or Valkey.`,
    });
  }
  const policy = field('maxmemory_policy') ?? 'noeviction';
  // An evicted job leaves its deduplication key behind, and that key would swallow every later ring.
  if (policy !== 'noeviction') {
    throw new AppError('queue-unavailable', `The queue at ${server} may evict keys: maxmemory-policy is ${policy}.`, {
      remedy: 'Set it to noeviction (CONFIG SET maxmemory-policy noeviction), or use another Redis.',
    });
  }
}

async function openPostgres(url: string): Promise<Backend> {
  const server = withoutSecrets(url);
  const { default: pg } = await loadPgForQueue();
  const pool = new pg.Pool({
    // A pool that is handed to BullMQ must find BullMQ's schema by itself.
    ...withSessionOptions(url, `-c search_path=${DEFAULT_SCHEMA}`),
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    // A query without an answer must not hold its place in the pool for ever.
    query_timeout: MIGRATE_WITHIN_MS,
    keepAlive: true,
  });
  // A connection that breaks is replaced at the next query and its query rejects; what is told beside that, of an idle
  // one or of one in use, would end the process without these listeners.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const reach = attempts(server, ANSWER_WITHIN_MS);
  const attempt: Backend['attempt'] = (action, ask) =>
    reach(action, () =>
      ask().catch(async (error) => {
        // The schema was dropped meanwhile: nobody else in a worker that runs would make it again.
        if (!NOT_THERE.test(String(error?.code))) throw error;
        await migrate(pool);
        return ask();
      }),
    );
  try {
    const { rows } = await reach('reach', () => pool.query("SELECT current_setting('server_version') AS version"));
    checkPostgresVersion(String(rows[0]?.version), server);
    await attempts(server, MIGRATE_WITHIN_MS)('prepare', () => migrate(pool));
  } catch (error) {
    void pool.end();
    throw error;
  }
  return {
    kind: 'postgres',
    factory: createPostgresBackend as BackendFactory<IQueueBackend, unknown>,
    producer: pool,
    consumer: () => pool,
    attempt,
    close: () => pool.end(),
  };
}

async function migrate(pool: PgPool): Promise<void> {
  const client = await pool.connect();
  try {
    await runMigrations(client).catch(async (error) => {
      if (!IS_THERE.test(String(error?.code))) throw error;
      // The tables were emptied, that of the migrations with them: BullMQ would make all of them again.
      const { rows } = await client.query(`select (select count(*) from ${DEFAULT_SCHEMA}.migration) as migrations,
        (select count(*) from ${DEFAULT_SCHEMA}.job) as jobs`);
      if (Number(rows[0]?.migrations) > 0 || Number(rows[0]?.jobs) > 0) throw error;
      await client.query(`drop schema ${DEFAULT_SCHEMA} cascade`);
      await runMigrations(client);
    });
  } catch (error) {
    if (!IS_THERE.test(String((error as { code?: string }).code))) throw error;
    throw new AppError(
      'queue-unavailable',
      `The schema ${DEFAULT_SCHEMA} of the queue is damaged: ${describeError(error)}.`,
      {
        remedy: `Drop it (drop schema ${DEFAULT_SCHEMA} cascade): it is made anew. Nothing is lost: waiting work is in the inbox.`,
        cause: error,
      },
    );
  } finally {
    client.release();
  }
}

/** An `attempt` on `server`. */
function attempts(server: string, limitMs: number): Backend['attempt'] {
  return async (action, ask) => {
    const unavailable = (reason: string, cause?: unknown) =>
      new AppError('queue-unavailable', `Cannot ${action} the queue at ${server}: ${reason}.`, {
        remedy: 'Check that it runs and that the URL is right. Nothing is lost: waiting work is in the inbox.',
        cause,
      });
    const { promise: silence, reject } = Promise.withResolvers<never>();
    let timer: NodeJS.Timeout | undefined;
    const wait = (limit: number, pieces: number) => {
      if (pieces === 0) reject(unavailable(`no answer within ${limit} ms`));
      else timer = setTimeout(wait, limit / PIECES, limit, pieces - 1);
    };
    wait(limitMs, PIECES);
    try {
      return await Promise.race([ask(), silence]);
    } catch (error) {
      throw isAppError(error) ? error : unavailable(describeError(error), error);
    } finally {
      clearTimeout(timer);
    }
  };
}
