// A thread that has stores open and does what it is asked with them, one thing after the other: SQLite and the files of a
// store are worked with at once, which would keep the server from answering others. It waits for nobody: a store that
// another process holds is told as held, and whoever asked asks again (store/threads.ts). Of stores that several machines share it
// has copies, and looks whether they are the newest before it answers from them.

import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { type Config, type Environment, loadConfig } from '../../base/config/config.ts';
import { describeError, isAppError } from '../../base/errors.ts';
import type { ThreadModule, ThreadStores } from '../../doors/shared.ts';
import { openHome } from '../../memory/home/home.ts';
import { openStore, refuseSentLedger } from '../../memory/open.ts';
import type { Store } from '../../memory/store/store.ts';
import { ApiError, isHeld, type Told, toldOf } from './api-errors.ts';
import type { At } from './store/stored-memories.ts';
import { ofCommits, ofNoStore, WORK, type WorkName } from './store/thread-work.ts';

export interface ThreadData {
  environment: Environment;
  user: string;
  /** Where several machines share the stores: the module that opens them. */
  shared: string | null;
}

export interface Asked {
  id: number;
  /** By what the store is opened: its memory directory, or its id; empty: all of them. */
  dir: string;
  /** Null: the store is closed. */
  work: WorkName | null;
  args: unknown;
}

export interface Answered {
  id: number;
  value?: unknown;
  failure?: Failure;
}

export interface Failure {
  told: Told;
  /** Another process works there: nothing was changed. */
  isHeld: boolean;
  /** For the log, where it is not the caller's doing. */
  trouble?: string;
}

/** So many stores are open at once; who was not asked for longest is closed. */
const MOST_OPEN = 32;

const { environment, user, shared } = workerData as ThreadData;
const opened = new Map<string, Promise<Store>>();
let settings: Promise<Config> | undefined;
let sharing: Promise<ThreadStores> | undefined;

parentPort?.on('message', (all: Asked[]) => {
  // All of this was asked before any of it is done: one look at a store is enough for all.
  const looked: Looked = new Map();
  for (const asked of all) void answer(asked, looked);
});

const outgoing: Answered[] = [];

async function answer({ id, dir, work, args }: Asked, looked: Looked): Promise<void> {
  const answered: Answered = { id };
  try {
    if (work === null) await close(dir);
    else answered.value = await doWork(dir, { work, args, looked });
  } catch (error) {
    answered.failure = failureOf(error);
  }
  if (outgoing.length === 0) setImmediate(() => parentPort?.postMessage(outgoing.splice(0)));
  outgoing.push(answered);
}

/** The stores that were looked at whole for what was asked together. */
type Looked = Map<Store, Promise<unknown>>;

interface Work {
  work: WorkName;
  args: unknown;
  looked: Looked;
}

async function doWork(dir: string, { work, args, looked }: Work): Promise<unknown> {
  settings ??= loadConfig({}, environment);
  const config = await settings;
  const run = (at: Partial<At>) =>
    (WORK[work] as (at: unknown, args: unknown) => Promise<unknown>)({ ...at, config, user }, args);
  if (ofNoStore.has(work)) return run({});
  const once = (store: Store, look: () => Promise<unknown>) => async () => {
    const looking = looked.get(store) ?? look();
    looked.set(store, looking);
    await looking;
  };
  if (!shared) {
    const store = await storeAt(dir, config);
    return run({ store, look: once(store, () => store.missing()) });
  }
  return (await sharedStores(config, shared)).use(dir, async (store, look) => {
    const lookOnce = once(store, look);
    // A commit is made on what the store is in any case.
    if (!ofCommits.has(work)) await lookOnce();
    return run({ store, look: lookOnce });
  });
}

function sharedStores(config: Config, module: string): Promise<ThreadStores> {
  const open = async () => {
    const { openStores } = (await import(module)) as ThreadModule;
    return openStores(config);
  };
  sharing ??= open().catch((error) => {
    // Asked again the next time.
    sharing = undefined;
    throw error;
  });
  return sharing;
}

async function storeAt(dir: string, config: Config): Promise<Store> {
  const before = opened.get(dir);
  if (before && (await before).isInPlace()) {
    // The last in the map was asked for last.
    opened.delete(dir);
    opened.set(dir, before);
    return before;
  }
  await close(dir);
  const [oldest] = opened.keys();
  if (opened.size >= MOST_OPEN && oldest !== undefined) await close(oldest);
  const opening = open(dir, config);
  opened.set(dir, opening);
  opening.catch(() => opened.delete(dir));
  return opening;
}

async function open(dir: string, config: Config): Promise<Store> {
  // Where the user's own directory is a repository, memory in it is the user's all the same.
  const isCheckedIn = dir === join(config.claudeDir, 'memory') ? false : undefined;
  const home = openHome(config.home, config.clock, config.zone);
  try {
    await refuseSentLedger(dir, { config, home, isCheckedIn });
  } finally {
    await home.close();
  }
  const limits = { memoryBytes: config.memoryBytes, memories: config.maxMemories, totalBytes: config.totalMemoryBytes };
  return openStore(dir, { clock: config.clock, limits, isCheckedIn, lockWaitMs: 0 });
}

async function close(dir: string): Promise<void> {
  if (dir === '') {
    await Promise.all([...opened.keys()].map(close));
    await (await sharing)?.close();
    return;
  }
  const store = opened.get(dir);
  opened.delete(dir);
  (await store?.catch(() => null))?.close();
}

function failureOf(error: unknown): Failure {
  const isTrouble = !(error instanceof ApiError || isHeld(error)) && (!isAppError(error) || error.code === 'storage');
  return { told: toldOf(error), isHeld: isHeld(error), ...(isTrouble && { trouble: describeError(error) }) };
}
