// PostgreSQL behind the seam, for memory that several machines share; loaded only where there is a URL.
// Promises: no statement waits for a lock, and no transaction stays open, for longer than 15 s; a database that is down, silent
// or too busy, or refuses who asks, is an AppError `database-unavailable` that names the URL without its password. Where the
// answer to COMMIT is lost, the error says so, since it may have been done.

import type pg from 'pg';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { withoutSecrets } from './drivers.ts';
import { type Db, plain, type Row, type Sql, type Value } from './sql.ts';

const CONNECTIONS = 4;
const CONNECT_MS = 5_000;
const ANSWER_MS = 120_000;
const LOCKED_AT_MOST_MS = 15_000;
/** How values of types that SQLite lacks are told: counts, sums (none is beyond what a number holds), truth values. */
const PARSERS = new Map<number, (value: string) => number>([
  [20, Number],
  [1700, Number],
  [16, (value) => Number(value === 't')],
]);
/** SQLSTATEs that say something of the server, nothing of the statement: broken off, full, ending, a lock that is held. */
const UNAVAILABLE = /^(?:08...|53...|57P0.|57014|55P03|25P03|40P01)$/;
/** SQLSTATEs of a server that lets nobody in, knows no such database, allows too little, or may only be read. */
const REFUSED = /^(?:28...|3D000|42501|25006)$/;
/** What a connection that breaks rejects with, where it is none of the system's own codes. */
const BROKEN = /^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout)|not queryable/;
const SQLSTATE = /^[0-9FHPX][0-9A-Z]{4}$/;

/**
 * Connects with the first statement; the tables are open-database.ts's. Errors: `bad-input` for what is no URL of PostgreSQL and where
 * the package `pg` is not installed, `database-unavailable`.
 */
export async function openPostgres(url: string): Promise<Db> {
  if (!/^postgres(?:ql)?:$/.test(URL.parse(url)?.protocol ?? '') || /%(?![\da-f]{2})/i.test(url)) {
    throw new AppError('bad-input', 'The database URL is not a PostgreSQL URL.', {
      remedy:
        'Give one like postgres://host:5432/name, with user and password before the host; a % of a password is written as %25.',
    });
  }
  const driver = await import('pg').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new AppError('bad-input', 'The package pg is not installed; memory in PostgreSQL needs it.', {
      remedy: 'npm install --global pg, or npm install pg in the project that has nocturne.',
    });
  });
  const name = withoutSecrets(url);
  const pool = new driver.default.Pool({
    ...withOptions(
      url,
      `-c lock_timeout=${LOCKED_AT_MOST_MS} -c idle_in_transaction_session_timeout=${LOCKED_AT_MOST_MS}`,
    ),
    max: CONNECTIONS,
    types: {
      getTypeParser: (type, format) => PARSERS.get(type) ?? driver.default.types.getTypeParser(type, format),
    },
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
    keepAlive: true,
    allowExitOnIdle: true,
  });
  // What breaks rejects its own statement; what is told beside that would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const inTurn = turns(CONNECTIONS - 1);
  return {
    engine: 'postgres',
    name,
    ...asking(pool, name),
    write: (work) => inTurn(() => telling(name, () => inTransaction(pool, name, work))),
    lock: { wait: ' for update', skip: ' for update skip locked' },
    close: () => pool.end(),
  };
}

/** What the driver is given so that its sessions have these options, behind those of the URL: it would take those alone. */
function withOptions(url: string, options: string): { connectionString: string; options: string } {
  const at = new URL(url);
  const own = at.searchParams.get('options');
  at.searchParams.delete('options');
  return { connectionString: own === null ? url : at.href, options: own === null ? options : `${own} ${options}` };
}

async function inTransaction<T>(pool: pg.Pool, name: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    await client.query('begin');
    const done = await work(asking(client, name)).catch(async (error) => {
      await client.query('rollback').then(
        () => {
          isBroken = false;
        },
        () => undefined,
      );
      throw error;
    });
    await client.query('commit').catch((error) => {
      // What the server itself says of it is an answer, unless it is that it goes away.
      const { code = '' } = error as { code?: string };
      if (SQLSTATE.test(code) && !UNAVAILABLE.test(code)) throw error;
      throw new AppError('database-unavailable', `The database at ${name} did not say whether this was done.`, {
        remedy: 'Check that it runs. It was done completely, or not at all.',
        // The server tells it apart by this from a change that was not done.
        cause: new Error('the answer to COMMIT was lost', { cause: error }),
      });
    });
    isBroken = false;
    return done;
  } finally {
    client.release(isBroken);
  }
}

/** `?` as `$1`, `$2` …: no statement of ours has one in a literal. */
function inPostgres(sql: string): string {
  let n = 0;
  return sql.replace(/\?/g, () => `$${++n}`);
}

function asking(via: pg.Pool | pg.PoolClient, name: string): Sql {
  const ask = (sql: string, values: Value[]) => telling(name, () => via.query<Row>(inPostgres(sql), values.map(plain)));
  return {
    all: async <Found>(sql: string, ...values: Value[]) => (await ask(sql, values)).rows as Found[],
    get: async <Found>(sql: string, ...values: Value[]) => (await ask(sql, values)).rows[0] as Found | undefined,
    run: async (sql, ...values) => (await ask(sql, values)).rowCount ?? 0,
  };
}

/** Runs at most so many at once; others wait here, where no connection is held meanwhile and nothing runs out. */
function turns(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = most;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

async function telling<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code = '', message = '' } = Object(error) as { code?: string; message?: string };
    if (isAppError(error)) throw error;
    const unavailable = (what: string, remedy: string) =>
      new AppError('database-unavailable', `The database at ${name} ${what}: ${describeError(error)}.`, {
        remedy: `${remedy} Nothing is lost: work waits until it is back.`,
        cause: error,
      });
    if (REFUSED.test(code)) {
      throw unavailable(
        'refuses this',
        'Check the user, the password and the name in its URL, and what the user may do.',
      );
    }
    const isAway = UNAVAILABLE.test(code) || /^E[A-Z]{3,}$/.test(code) || BROKEN.test(message);
    if (isAway || error instanceof AggregateError)
      throw unavailable('does not answer', 'Check that it runs and that the URL is right.');
    throw error;
  }
}
