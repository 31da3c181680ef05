// Stores in a PostgreSQL database of a test file's own.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Clock } from '../../../src/base/time.ts';
import { Home } from '../../../src/memory/home/home.ts';
import { openStore } from '../../../src/memory/open.ts';
import { PostgresHome } from '../../../src/wings/fleet/home/postgres-home.ts';
import { CheckedOut } from '../../../src/wings/fleet/stores/checked-out.ts';
import type { FleetStore } from '../../../src/wings/fleet/stores/fleet-store.ts';
import { FleetStores, type StoresOptions } from '../../../src/wings/fleet/stores/fleet-stores.ts';
import { moveToDatabase } from '../../../src/wings/fleet/stores/move.ts';
import { type OwnDatabase, ownDatabase } from '../../support/own-database.ts';
import { dirWith, tempDir } from '../../support/temp.ts';

export { noPostgres, type OwnDatabase, ownDatabase } from '../../support/own-database.ts';

/** Opens the stores as another machine would: with a home of its own. */
export function openStores(url: string, options: Partial<StoresOptions> = {}): Promise<FleetStores> {
  return FleetStores.open({ home: tempDir(), ...options, database: url });
}

/** A database of a test file's own, with its stores as each of these machines has them. Called where tests are described. */
export function withStores<Machine extends string>(
  machines: Record<Machine, Partial<StoresOptions>>,
  of?: Parameters<typeof ownDatabase>[0],
): { database: OwnDatabase } & Record<Machine, FleetStores> {
  const made = {} as { database: OwnDatabase } & Record<string, FleetStores>;
  const opened: FleetStores[] = [];
  beforeAll(async () => {
    made.database = await ownDatabase(of);
    for (const [name, options] of Object.entries<Partial<StoresOptions>>(machines)) {
      const stores = await openStores(made.database.url, options);
      opened.push(stores);
      Object.assign(made, { [name]: stores });
    }
  });
  afterAll(async () => {
    for (const stores of opened) await stores.close();
    await made.database?.drop();
  });
  return made;
}

/** The store, until the test is over. */
export async function heldStore(stores: FleetStores, id: string): Promise<FleetStore> {
  const store = await stores.open(id);
  onTestFinished(() => store.close());
  return store;
}

/** The home as another machine has it, with connections of its own; to be closed. */
export function openHomeAt(url: string, clock: Clock): Home {
  return new Home(tempDir(), { database: new PostgresHome(url), clock, zone: 'UTC' });
}

/** Puts a memory with these files into the database; answers its id. */
export async function putStore(stores: FleetStores, files: Record<string, string>): Promise<string> {
  const dir = join(tempDir(), 'memory');
  dirWith(files, dir);
  if (Object.keys(files).length === 0) (await openStore(dir)).close();
  return (await moveToDatabase({ dir, name: dir }, { stores, now: new Date(), removes: false })).store;
}

/** What a new check-out holds, by path. */
export async function textsOf(stores: FleetStores, id: string): Promise<Record<string, string>> {
  const checkedOut = await CheckedOut.open(id, stores.deps);
  try {
    const { dir, paths } = checkedOut;
    return Object.fromEntries([...paths].map((path) => [path, readFileSync(join(dir, path), 'utf8')]));
  } finally {
    await checkedOut.close();
  }
}
