// An app of which the home alone is in PostgreSQL.

import { basename, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type Config, loadConfig } from '../../../../src/base/config/config.ts';
import { type Keep, useKeeping } from '../../../../src/doors/keeping.ts';
import { localDesk } from '../../../../src/doors/worker/desk.ts';
import { Home } from '../../../../src/memory/home/home.ts';
import { openStore } from '../../../../src/memory/open.ts';
import type { Store } from '../../../../src/memory/store/store.ts';
import { PostgresHome } from '../../../../src/wings/fleet/home/database.ts';
import { keepInDatabase } from '../../../../src/wings/fleet/keeping.ts';
import { tempDir } from '../../../support/temp.ts';
import { type OwnDatabase, ownDatabase } from '../own-database.ts';

export const homeKept: Keep = ({ databaseUrl = '', home: dir, clock, zone }) => {
  const homeDatabase = new PostgresHome(databaseUrl);
  const home = new Home(dir, { database: homeDatabase, clock, zone });
  const stores = new Map<string, Promise<Store>>();
  const openKept = async (place: string) => {
    const store = stores.get(place) ?? openStore(place, { clock });
    stores.set(place, store);
    await home.addStore(place);
    return store;
  };
  const close = async () => {
    for (const each of stores.values()) (await each).close();
    await home.close();
  };
  return {
    homeDatabase,
    openStore: openKept,
    findStore: openKept,
    stores: async () => [],
    desk: (parts) => localDesk(parts),
    queueNamespace: async () => basename(dir),
    shared: null,
    close,
  };
};

export async function keptConfig(url: string, of: Partial<Config> = {}): Promise<Config> {
  const home = tempDir();
  const environment = {
    HOME: home,
    NOCTURNE_HOME: home,
    NOCTURNE_MEMORY_DIR: join(home, 'memory'),
    NOCTURNE_MODEL: 'offline',
  };
  return { ...(await loadConfig({}, environment)), zone: 'UTC', databaseUrl: url, ...of };
}

/** Each app of the file's tests has its home in a database of the file's own, whose URL is answered once they begin. */
export function withHomeKept(): { readonly url: string } {
  let own: OwnDatabase;
  beforeAll(async () => {
    own = await ownDatabase();
    useKeeping(homeKept);
  });
  afterAll(async () => {
    useKeeping(keepInDatabase);
    await own.drop();
  });
  return {
    get url() {
      return own.url;
    },
  };
}
