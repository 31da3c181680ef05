// A PostgreSQL database of a test's own, on DATABASE_URL, dropped when it is needed no more.

import { userInfo } from 'node:os';
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

export interface OwnDatabase {
  url: string;
  /** Asks as nobody of nocturne's. */
  ask<Row>(sql: string, values?: unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

export async function ownDatabase(): Promise<OwnDatabase> {
  const name = `nocturne_test_${process.pid}_${Math.random().toString(36).slice(2)}`;
  await onServer(`create database ${name}`);
  const url = new URL(SERVER);
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href, max: 2, options: '-c search_path=nocturne' });
  pool.on('error', () => {});
  return {
    url: url.href,
    ask: async (sql, values) => (await pool.query(sql, values)).rows,
    async drop() {
      await pool.end();
      await onServer(`drop database ${name} with (force)`);
    },
  };
}
