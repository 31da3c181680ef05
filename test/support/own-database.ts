// A PostgreSQL database of a test's own, on DATABASE_URL. In a run of the suite the next test file of this process gets the
// same one, emptied, since to make one with its tables and to drop it costs more than most that a test does with them; they are
// dropped once the run is over (build.ts). Elsewhere each is dropped when it is needed no more.

import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename } from 'node:path';
import pg from 'pg';

const SERVER = process.env.DATABASE_URL ?? `postgres://${userInfo().username}@127.0.0.1:5432/postgres`;

async function onServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: SERVER, connectionTimeoutMillis: 2_000 });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** Why the tests cannot run here, in words for their titles; empty where they can. With `CI=true` they always run. */
export const noPostgres =
  process.env.CI === 'true'
    ? ''
    : await onServer('select 1').then(
        () => '',
        () => '(skipped: no PostgreSQL answers at DATABASE_URL)',
      );

/** A file that is there once the run has databases, whose names begin with its own. */
const OF_RUN = process.env.NOCTURNE_TEST_DATABASES ?? '';
/** Of this process, emptied, and nobody is connected to them. */
const free: string[] = [];

/** No row is left but those that the tables are made with, and it is another database. */
const EMPTY = `do $$ declare each record; begin
  perform pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend';
  set local session_replication_role = replica;
  for each in select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'setting' loop
    execute format('delete from public.%I', each.name);
  end loop;
  if to_regclass('public.setting') is not null then delete from public.setting where key <> 'schema'; end if;
end $$`;

export type OwnDatabase = Awaited<ReturnType<typeof ownDatabase>>;

/** `isNew`: without a table, and dropped when it is needed no more. */
export async function ownDatabase({ isNew = false } = {}) {
  const name = (!isNew && free.pop()) || (await newDatabase());
  const url = new URL(SERVER);
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href, max: 2 });
  pool.on('error', () => {});
  return {
    url: url.href,
    /** Asks as nobody of nocturne's. */
    ask: async <Row>(sql: string, values?: unknown[]): Promise<Row[]> => (await pool.query(sql, values)).rows,
    async drop(): Promise<void> {
      const isKept =
        !isNew &&
        OF_RUN !== '' &&
        (await pool.query(EMPTY).then(
          () => true,
          () => false,
        ));
      await pool.end();
      if (isKept) free.push(name);
      else await onServer(`drop database ${name} with (force)`);
    },
  };
}

async function newDatabase(): Promise<string> {
  const name = `${basename(OF_RUN) || 'nocturne_test'}_${process.pid}_${Math.random().toString(36).slice(2)}`;
  await onServer(`create database ${name}`);
  if (OF_RUN) writeFileSync(OF_RUN, '');
  return name;
}

/** Of a run that is over: all that are left. */
export async function dropDatabases(): Promise<void> {
  const client = new pg.Client({ connectionString: SERVER, connectionTimeoutMillis: 2_000 });
  await client.connect();
  try {
    const { rows } = await client.query('select datname from pg_database where starts_with(datname, $1)', [
      `${basename(OF_RUN)}_`,
    ]);
    for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`);
  } finally {
    await client.end();
  }
}
