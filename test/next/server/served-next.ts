// The server of the next house as test/wings/server/served.ts has that of the old one: a home of its own, on SQLite, or on
// PostgreSQL where NOCTURNE_TEST_NEXT says so; and the official SDK that speaks to it.

import { onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/base/config/config.ts';
import { openLog } from '../../../src/base/logger.ts';
import { systemClock } from '../../../src/base/time.ts';
import { isCheckedInDir } from '../../../src/memory/home/paths.ts';
import { openDatabase } from '../../../src/next/db/open-database.ts';
import { addMemory, Memories, removedMemories, restoreMemory } from '../../../src/next/memory/memories.ts';
import { dropOld } from '../../../src/next/memory/versions.ts';
import { type NewKey, RIGHTS } from '../../../src/next/server/api-keys.ts';
import { startServer } from '../../../src/next/server/serve.ts';
import { environmentIn } from '../../support/app.ts';
import { ownDatabase } from '../../support/own-database.ts';
import { tempDir } from '../../support/temp.ts';
import { clientOf, type ServedOptions, type StoresAtHand } from '../../wings/server/served.ts';

export async function servedNext({ app: of = {}, ...options }: ServedOptions) {
  const whenDone = of.whenDone ?? onTestFinished;
  const [home, dir] = [of.home ?? tempDir(), of.dir ?? tempDir()];
  const database = process.env.NOCTURNE_TEST_NEXT === 'postgres' ? await ownDatabase() : undefined;
  const environment = environmentIn(home, { NOCTURNE_HOME: home, NOCTURNE_MEMORY_DIR: dir, ...of.variables });
  const config = await loadConfig({}, environment);
  const db = await openDatabase({ home, url: database?.url });
  const memories = new Memories({ db, home, clock: systemClock });
  // As whoever worked there did.
  await memories.ofDirectory(dir, { scope: 'project', name: 'project' });
  const log = openLog({ home, maxBytes: config.logBytes, clock: systemClock });
  const { openPages: _, ...given } = { port: 0, createsPerMinute: 0, readsPerMinute: 0, ...options };
  const server = await startServer({ config, log, memories }, given);
  whenDone(async () => {
    await server.close(0);
    await memories.close();
    await db.close();
    await database?.drop();
  });
  const now = () => systemClock.now().toISOString();
  const stores: StoresAtHand = {
    async create({ name, allowsSecrets }) {
      const flags = JSON.stringify({ allowsSecrets });
      return { id: await addMemory(db, { scope: 'store', name, flags }, now()) };
    },
    async adopt(at) {
      const kind = isCheckedInDir(at) ? 'team' : 'project';
      return { ...(await memories.ofDirectory(at, { scope: kind, name: 'adopted' })), kind };
    },
    restore: (id) => restoreMemory(db, id),
    async dropRemoved(days) {
      const later = new Date(systemClock.now().getTime() + 1);
      await dropOld(db, { now: later, versionDays: days, versionsKept: 10 });
    },
    removed: () => removedMemories(db),
  };
  return {
    home,
    dir,
    environment,
    server,
    url: server.url,
    stores,
    async client(key: { stores?: 'all' | string[] } & Partial<NewKey> = {}, more = {}) {
      const { stores: memories = [], ...rest } = key;
      const made = { name: 'test', rights: RIGHTS, memories, dayMicroUsd: null, ...rest };
      const created = await server.deps.keys.create(made);
      return clientOf({ url: server.url, key: created.key, id: created.row.id }, more);
    },
  };
}
