// An app on a home and a memory of its own, wired as the doors wire it; on SQLite, or on PostgreSQL where NOCTURNE_TEST_ENGINE
// says so.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runAgent as loopInProcess } from '../../src/agent/loop.ts';
import { type Environment, loadConfig } from '../../src/base/config/config.ts';
import { FIXED } from '../../src/base/config/settings.ts';
import { openApp, storeOf } from './doors.ts';
import { type MessagesServer, type Script, startMessagesServer } from './messages-server.ts';
import { ownDatabase } from './own-database.ts';
import { rowsOf } from './rows.ts';
import { COMPILED } from './run.ts';
import { jsonHere, runHere } from './run-here.ts';
import { asking, scriptedModel } from './scripted-model.ts';
import { giveTables } from './tables.ts';
import { ON_POSTGRES, tempDir } from './temp.ts';

export interface TestAppOptions {
  /** Where to reach the model; default: the scripted model of all tests. */
  server?: MessagesServer;
  now?: string;
  settings?: object;
  /** In the place of what no setting changes. */
  fixed?: Partial<typeof FIXED>;
  dir?: string;
  home?: string;
  /** The agent runs in a process of its own, as it does for users; for tests of that. Default: in this one. */
  isForked?: boolean;
  /** Further of its environment. */
  variables?: Environment;
  /** What is done when it is needed no more; default: when the test is done. */
  whenDone?(close: () => void | Promise<void>): void;
}

/** What a process of somebody has in its environment whose home that is, without a queue. */
export const environmentIn = (home: string, more: Environment = {}): Environment => ({
  ...{ PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED, HOME: home, NOCTURNE_MODEL: 'offline' },
  ...{ NOCTURNE_QUEUE_URL: '', NOCTURNE_ZONE: 'UTC', NOCTURNE_NOW: '2026-11-21T02:00:00Z', ...more },
});

/** What of these is a setting, and what no setting changes. */
export function apart(given: object): { fixed: object; settings: object } {
  const { fixed = [], settings = [] } = Object.groupBy(Object.entries(given), ([name]) =>
    Object.hasOwn(FIXED, name) ? 'fixed' : 'settings',
  );
  return { fixed: Object.fromEntries(fixed), settings: Object.fromEntries(settings) };
}

export type TestApp = Awaited<ReturnType<typeof testApp>>;

/** Where the memory of a home is kept, where that is PostgreSQL. */
const databases = new Map<string, string>();
/** What no setting changes, as it was given with a home. */
const fixedIn = new Map<string, string>();

export async function testApp(options: TestAppOptions = {}) {
  const [home, dir] = [options.home ?? tempDir(), options.dir ?? tempDir()];
  if (!ON_POSTGRES && options.home === undefined) await giveTables(home);
  const { fixed, settings } = apart({ ...options.settings, ...options.fixed });
  if (options.settings || options.fixed) fixedIn.set(home, JSON.stringify(fixed));
  if (options.settings) writeFileSync(join(home, 'config.json'), JSON.stringify(settings));
  const isOwn = ON_POSTGRES && !databases.has(home);
  const database = isOwn ? await ownDatabase() : undefined;
  if (database) databases.set(home, database.url);
  const url = databases.get(home);
  const environment = environmentIn(home, {
    NOCTURNE_HOME: home,
    NOCTURNE_MEMORY_DIR: dir,
    NOCTURNE_FIXED: fixedIn.get(home),
    ...(url && { NOCTURNE_DATABASE_URL: url }),
    ...(options.now !== undefined && { NOCTURNE_NOW: options.now }),
    ...asking(options.server ?? (await scriptedModel())),
    ...options.variables,
  });
  const runAgent = options.isForked ? undefined : loopInProcess;
  const config = await loadConfig({}, environment);
  const app = await openApp(config, { runAgent });
  (options.whenDone ?? onTestFinished)(async () => {
    await app.close();
    await database?.drop();
  });
  const memory = await app.memoryFor();
  return {
    ...{ app, home, dir, environment },
    /** The memory, with what tests ask of it beside its row. */
    store: { ...storeOf(app, memory), dir },
    /** What its memory keeps beside the files. */
    rows: rowsOf(app, memory),
    /** Runs `nocturne ARGS` with that, in this process (run-here.ts has more); `json`: reads its stdout as one JSON value. */
    nocturne: (...args: string[]) => runHere(args, environment),
    json: <T>(...args: string[]) => jsonHere<T>(args, environment),
  };
}

/** A scripted model that is closed when the test is done. */
export async function testModel(script: Script): Promise<MessagesServer> {
  const server = await startMessagesServer(script);
  onTestFinished(() => server.close());
  return server;
}
