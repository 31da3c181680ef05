// The PostgreSQL database of memory that several machines share: its connections, and the making of its tables (fleet-schema.ts).
// What the tables mean is told where they are read (stores/store-rows.ts and its neighbours).
// Promises: nothing is loaded or reached before `openDatabase`; all times are the database's own (`clock_timestamp()`);
// no statement waits for a lock, and no transaction stays open, for longer than 15 s; a database that is down, silent or
// too busy, or refuses who asks, is an AppError `database-unavailable` that names the URL without its password.

import type pg from 'pg';
import { AppError, describeError, isAppError } from '../../base/errors.ts';
import { SCHEMA_VERSION } from '../../memory/ledger/schema.ts';
import { optionalPackage, withoutSecrets } from '../../queue/drivers.ts';
import { SCHEMA, tablesBySchema } from './fleet-schema.ts';

/** A statement without an answer must not hold its place for ever. The longest carry a whole ledger. */
const WITHIN = { connectMs: 5_000, answerMs: 120_000 };
const LOCKED_AT_MOST_MS = 15_000;
const CONNECTIONS = 8;
const OLDEST_POSTGRES = 13;
/** The type of `bigint`: what is kept in one is counted, and no count is beyond what a number holds. */
const BIGINT = 20;
/** SQLSTATEs that say something of the server, nothing of the statement: broken off, full, ending, a lock that is held. */
const UNAVAILABLE = /^(?:08...|53...|57P0.|57014|55P03|25P03)$/;
/** SQLSTATEs of a server that lets nobody in, knows no such database, allows too little, or may only be read. */
const REFUSED = /^(?:28...|3D000|42501|25006)$/;
/** What a connection that breaks rejects with, where it is none of the system's own codes. */
const BROKEN = /^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout)|not queryable/;

/** Buffers go as `bytea`, arrays as arrays. */
export type SqlValue = string | number | boolean | Buffer | null | readonly string[] | readonly number[];

/** Asks one statement; answers its rows by column. */
export type Ask = <Row extends object>(sql: string, values?: SqlValue[]) => Promise<Row[]>;

/** Asks one statement; answers how many rows it changed. */
export type Run = (sql: string, values?: SqlValue[]) => Promise<number>;

export interface DatabaseOptions {
  /** The PostgreSQL schema whose tables are asked; default: `nocturne`. */
  schema?: string;
  connections?: number;
  /** For how long a transaction may stand open between two statements. */
  idleMs?: number;
  /** Beyond which it is away: to be connected to, and to answer a statement. */
  within?: { connectMs: number; answerMs: number };
}

export interface Database {
  /** The same as long as the database is, and after it was restored. */
  readonly id: string;
  /** Its URL without the password. */
  readonly server: string;
  /** A transaction of its own: all of the statement is done, or nothing. */
  readonly ask: Ask;
  /** The same, for what is changed. */
  readonly run: Run;
  /** Begins by `begin`, one statement or several; a throw takes everything back. */
  transaction<T>(begin: string, work: (ask: Ask, run: Run) => Promise<T>): Promise<T>;
  /** Runs `work` over what stands at one moment; what it writes is refused. */
  readAtOnce<T>(work: (ask: Ask) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * Connects, and makes the tables where there are none; to be closed. Errors: `bad-input` for what is no URL of PostgreSQL and
 * where the package `pg` is not installed, `storage` where another nocturne made the tables, `database-unavailable`.
 */
export async function openDatabase(
  url: string,
  { schema = SCHEMA, connections = CONNECTIONS, idleMs = LOCKED_AT_MOST_MS, within = WITHIN }: DatabaseOptions = {},
): Promise<Database> {
  if (!/^postgres(?:ql)?:$/.test(URL.parse(url)?.protocol ?? '') || /%(?![\da-f]{2})/i.test(url)) {
    throw new AppError('bad-input', 'The database URL is no URL of PostgreSQL.', {
      remedy:
        'Give one like postgres://host:5432/name, with user and password before the host; a % of a password is written as %25.',
    });
  }
  const driver = await optionalPackage(['pg'], 'memory in PostgreSQL', () => import('pg'));
  const server = withoutSecrets(url);
  const pool = new driver.default.Pool({
    ...withSessionOptions(
      url,
      `-c search_path=${schema} -c lock_timeout=${LOCKED_AT_MOST_MS} -c idle_in_transaction_session_timeout=${idleMs}`,
    ),
    max: connections,
    types: {
      getTypeParser: (type, format) => (type === BIGINT ? Number : driver.default.types.getTypeParser(type, format)),
    },
    connectionTimeoutMillis: within.connectMs,
    query_timeout: within.answerMs,
    keepAlive: true,
    allowExitOnIdle: true,
  });
  // What breaks rejects its own statement; what is told beside that would end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  try {
    const id = await telling(server, async () => {
      const { rows } = await pool.query(
        `select current_setting('server_version') as version, to_regclass('${SCHEMA}.database') is not null as "isMade"`,
      );
      checkPostgresVersion(String(rows[0]?.version), server);
      return rows[0]?.isMade
        ? idOf(asking(pool), server)
        : inTransaction(pool, 'begin', (ask) => makeTables(ask, server));
    });
    return {
      id,
      server,
      ask: (sql, values) => telling(server, () => asking(pool)(sql, values)),
      run: (sql, values) => telling(server, () => running(pool)(sql, values)),
      transaction: (begin, work) => telling(server, () => inTransaction(pool, begin, work)),
      readAtOnce: (work) =>
        telling(server, () => inTransaction(pool, 'begin isolation level repeatable read read only', work)),
      close: () => pool.end(),
    };
  } catch (error) {
    await pool.end();
    throw error;
  }
}

/** Errors: `database-unavailable`. */
export function checkPostgresVersion(version: string, server: string): void {
  if (Number.parseInt(version, 10) >= OLDEST_POSTGRES) return;
  throw new AppError('database-unavailable', `PostgreSQL at ${server} is version ${version}, which is too old.`, {
    remedy: `Use PostgreSQL ${OLDEST_POSTGRES} or newer.`,
  });
}

/** What a driver is given so that its sessions have these options, behind those of the URL: the driver would take those alone. */
export function withSessionOptions(url: string, options: string): { connectionString: string; options: string } {
  const at = new URL(url);
  const own = at.searchParams.get('options');
  at.searchParams.delete('options');
  return { connectionString: own === null ? url : at.href, options: own === null ? options : `${own} ${options}` };
}

/** The id of the database, whose tables are those that this nocturne knows. */
async function idOf(ask: Ask, server: string): Promise<string> {
  const [found] = await ask<{ id: string; schema: string | null }>(
    `select id, to_jsonb(database) ->> 'schema' as schema from ${SCHEMA}.database`,
  );
  const schema = Number(found?.schema ?? 0);
  if (schema === SCHEMA_VERSION) return found?.id as string;
  if (schema > SCHEMA_VERSION) {
    throw new AppError('storage', `The tables at ${server} were made by a newer nocturne (version ${schema}).`, {
      remedy: 'Update nocturne on this machine.',
    });
  }
  throw new AppError('storage', `The tables at ${server} were made by an earlier nocturne, and are not taken in.`, {
    remedy:
      'Bring its memory to the disk by that nocturne (nocturne move --to-directory), then into a new database by this one.',
  });
}

/** One process makes them; answers the id of the database. */
async function makeTables(ask: Ask, server: string): Promise<string> {
  await ask("select pg_advisory_xact_lock(hashtext('nocturne'))");
  const [found] = await ask<{ isMade: boolean }>(`select to_regclass('${SCHEMA}.database') is not null as "isMade"`);
  if (!found?.isMade) {
    for (const [schema, tables] of tablesBySchema()) {
      await ask(`create schema if not exists ${schema}; set local search_path = ${schema}`);
      await ask(tables);
    }
    await ask(
      `create table ${SCHEMA}.database (id text not null default gen_random_uuid()::text, schema int not null)`,
    );
    await ask(`insert into ${SCHEMA}.database (schema) values (${SCHEMA_VERSION})`);
  }
  return idOf(ask, server);
}

async function inTransaction<T>(pool: pg.Pool, begin: string, work: (ask: Ask, run: Run) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    await client.query(begin);
    const done = await work(asking(client), running(client)).catch(async (error) => {
      await client.query('rollback').then(
        () => {
          isBroken = false;
        },
        () => {},
      );
      throw error;
    });
    await client.query('commit');
    isBroken = false;
    return done;
  } finally {
    client.release(isBroken);
  }
}

function asking(via: pg.Pool | pg.PoolClient): Ask {
  return async (sql, values) => (await via.query(sql, values as unknown[])).rows;
}

function running(via: pg.Pool | pg.PoolClient): Run {
  return async (sql, values) => (await via.query(sql, values as unknown[])).rowCount ?? 0;
}

async function telling<T>(server: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code = '', message = '' } = Object(error) as { code?: string; message?: string };
    if (isAppError(error)) throw error;
    const unavailable = (what: string, remedy: string) =>
      new AppError('database-unavailable', `The database at ${server} ${what}: ${describeError(error)}.`, {
        remedy: `${remedy} Nothing is lost: work waits until it is back.`,
        cause: error,
      });
    if (REFUSED.test(code)) {
      throw unavailable(
        'refuses this',
        'Check the user, the password and the name in its URL, and what the user may do.',
      );
    }
    if (
      UNAVAILABLE.test(code) ||
      /^E[A-Z]{3,}$/.test(code) ||
      BROKEN.test(message) ||
      error instanceof AggregateError
    ) {
      throw unavailable('does not answer', 'Check that it runs and that the URL is right.');
    }
    throw error;
  }
}
