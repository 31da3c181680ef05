// The app of the next house as test/support/app.ts has that of the old one: a home and a memory of its own, on SQLite, or on
// PostgreSQL where NOCTURNE_TEST_NEXT says so.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runAgent as loopInProcess } from '../../src/agent/loop.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { environmentIn, type TestAppOptions } from '../support/app.ts';
import { ownDatabase } from '../support/own-database.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { asking, scriptedModel } from '../support/scripted-model.ts';
import { tempDir } from '../support/temp.ts';
import { openApp, storeOf } from './doors-next.ts';
import { rowsOfNext } from './rows-next.ts';

/** Where the memory of a home is kept, where that is PostgreSQL. */
const databases = new Map<string, string>();

export async function testAppNext(options: TestAppOptions = {}) {
  const [home, dir] = [options.home ?? tempDir(), options.dir ?? tempDir()];
  if (options.settings) writeFileSync(join(home, 'config.json'), JSON.stringify(options.settings));
  const isOwn = process.env.NOCTURNE_TEST_NEXT === 'postgres' && !databases.has(home);
  const database = isOwn ? await ownDatabase() : undefined;
  if (database) databases.set(home, database.url);
  const url = databases.get(home);
  const environment = environmentIn(home, {
    NOCTURNE_HOME: home,
    NOCTURNE_MEMORY_DIR: dir,
    ...(url && { NOCTURNE_DATABASE_URL: url }),
    ...(options.now !== undefined && { NOCTURNE_NOW: options.now }),
    ...asking(options.server ?? (await scriptedModel())),
    ...options.variables,
  });
  const runAgent = options.isForked ? undefined : loopInProcess;
  const app = await openApp(await loadConfig({}, environment), { runAgent });
  (options.whenDone ?? onTestFinished)(async () => {
    await app.close();
    await database?.drop();
  });
  const memory = await app.memoryFor();
  return {
    ...{ app, home, dir, environment },
    store: { ...storeOf(app, memory), dir },
    rows: rowsOfNext(app, memory),
    nocturne: (...args: string[]) => runHere(args, environment),
    json: <T>(...args: string[]) => jsonHere<T>(args, environment),
  };
}
