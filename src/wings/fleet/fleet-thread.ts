// How a thread of the server has stores of the database open: with copies of its own, over two connections. It waits for no
// other process that writes to a store (see server-thread.ts).

import type { Config } from '../../base/config/config.ts';
import type { ThreadModule, ThreadStores } from '../../doors/shared.ts';
import { openDatabase } from './postgres.ts';
import { FleetStores } from './stores/fleet-stores.ts';

const CONNECTIONS = 2;
/** Who asked is told within seconds. */
const ANSWER_MS = 5_000;
/** There are several threads. */
const KEEP = { bytes: 2 ** 28, stores: 64 };

export const openStores: ThreadModule['openStores'] = async (config: Config): Promise<ThreadStores> => {
  const { databaseUrl = '', home, clock, leaseMs } = config;
  const limits = { memoryBytes: config.memoryBytes, memories: config.maxMemories, totalBytes: config.totalMemoryBytes };
  const database = await openDatabase(databaseUrl, { connections: CONNECTIONS });
  const stores = await FleetStores.open({
    ...{ database, home, leaseMs, waitMs: 0, answerMs: ANSWER_MS, keep: KEEP },
    open: { clock, limits },
  });
  return {
    async use(id, work) {
      const store = await stores.open(id);
      try {
        return await work(store, () => store.refresh());
      } finally {
        store.close();
      }
    },
    async close() {
      await stores.close();
      await database.close();
    },
  };
};
