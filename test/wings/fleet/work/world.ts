// Stores of tenants in a database of a test file's own, of which nothing is there but their rows.

import { afterAll, beforeAll } from 'vitest';
import { type Database, openDatabase } from '../../../../src/wings/fleet/postgres.ts';
import { DatabaseWorkRows } from '../../../../src/wings/fleet/work/work-rows.ts';
import { type OwnDatabase, ownDatabase } from '../own-database.ts';

export interface World {
  database: Database;
  own: OwnDatabase;
  /** Makes a store; answers its id. */
  store(tenant?: string | null): Promise<string>;
  rows(store: string): DatabaseWorkRows;
}

/** Called where tests are described; what it answers can be used in them. */
export function world(): World {
  let count = 0;
  const here = {
    async store(tenant: string | null = null) {
      count += 1;
      const id = `s${String(count).padStart(6, '0')}`;
      await here.own.ask(
        `insert into store (id, name, state, revision, pages, page_bytes, tenant)
         values ($1, $1, 'ready', 0, 0, 4096, $2)`,
        [id, tenant],
      );
      return id;
    },
    rows: (store: string) => new DatabaseWorkRows(here.database.ask, store),
  } as World;
  beforeAll(async () => {
    here.own = await ownDatabase();
    here.database = await openDatabase(here.own.url);
  });
  afterAll(async () => {
    await here.database?.close();
    await here.own?.drop();
  });
  return here;
}
