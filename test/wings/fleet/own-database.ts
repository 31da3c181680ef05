// Stores in a PostgreSQL database of a test file's own.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openStore } from '../../../src/memory/open.ts';
import { CheckedOut } from '../../../src/wings/fleet/stores/checked-out.ts';
import { moveToDatabase } from '../../../src/wings/fleet/stores/move.ts';
import { FleetStores, type StoresOptions } from '../../../src/wings/fleet/stores/stores.ts';
import { tempDir } from '../../support/temp.ts';

export { noPostgres, type OwnDatabase, ownDatabase } from '../../support/own-database.ts';

/** Opens the stores as another machine would: with a home of its own. */
export function openStores(url: string, options: Partial<StoresOptions> = {}): Promise<FleetStores> {
  return FleetStores.open({ home: tempDir(), ...options, database: url });
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
export async function textsOf(stores: FleetStores, id: string): Promise<Record<string, string>> {
  const checkedOut = await CheckedOut.open(id, stores.deps);
  try {
    const { dir, paths } = checkedOut;
    return Object.fromEntries([...paths].map((path) => [path, readFileSync(join(dir, path), 'utf8')]));
  } finally {
    await checkedOut.close();
  }
}
