// A PostgreSQL database of a test file's own, on DATABASE_URL, dropped when the file is done; and stores in it.

import { mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { openStore } from '../../../src/memory/open.ts';
import type { CheckOutDeps } from '../../../src/wings/fleet/stores/checked-out.ts';
import { moveToDatabase } from '../../../src/wings/fleet/stores/move.ts';
import { FleetStores } from '../../../src/wings/fleet/stores/stores.ts';
import { tempDir } from '../../support/temp.ts';

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

/** Opens the stores as another machine would: with a home of its own. */
export function openStores(url: string, options: Partial<CheckOutDeps> = {}): Promise<FleetStores> {
  return FleetStores.open({ ...options, url, home: tempDir() });
}

/** Puts a memory with these files into the database; answers its id. */
export async function putStore(stores: FleetStores, files: Record<string, string>): Promise<string> {
  const dir = join(tempDir(), 'memory');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  if (Object.keys(files).length === 0) (await openStore(dir)).close();
  return (await moveToDatabase({ dir, name: dir }, { stores, now: new Date(), removes: false })).store;
}

/** What a new check-out holds, by path. */
export async function textsOf(stores: FleetStores, id: string): Promise<Record<string, string | null>> {
  const checkedOut = await stores.checkOut(id);
  try {
    const paths = await checkedOut.store.list();
    return Object.fromEntries(await Promise.all(paths.map(async (path) => [path, await checkedOut.store.read(path)])));
  } finally {
    await checkedOut.close();
  }
}
