// A thread that has stores open and does what it is asked with them, one thing after the other: SQLite and the files of a
// store are worked with at once, which would keep the server from answering others. It waits for nobody: a store that
// another process holds is told as held, and whoever asked asks again (store/threads.ts).

import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { type Config, type Environment, loadConfig } from '../../base/config/config.ts';
import { describeError, isAppError } from '../../base/errors.ts';
import { refuseSentLedger } from '../../doors/sent-ledger.ts';
import { openHome } from '../../memory/home/home.ts';
import { openStore } from '../../memory/open.ts';
import type { Store } from '../../memory/store/store.ts';
import { ApiError, isHeld, type Told, toldOf } from './errors.ts';
import { WORK, type WorkName } from './store/work.ts';

export interface ThreadData {
  environment: Environment;
  user: string;
}

export interface Asked {
  id: number;
  /** The memory directory. */
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

const { environment, user } = workerData as ThreadData;
const opened = new Map<string, Promise<Store>>();
let settings: Promise<Config> | undefined;

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
  const store = await storeAt(dir, config);
  const look = async () => {
    const looking = looked.get(store) ?? store.missing();
    looked.set(store, looking);
    await looking;
  };
  const at = { store, config, user, look };
  return (WORK[work] as (at: unknown, args: unknown) => Promise<unknown>)(at, args);
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
  const store = opened.get(dir);
  opened.delete(dir);
  (await store?.catch(() => null))?.close();
}

function failureOf(error: unknown): Failure {
  const isTrouble = !(error instanceof ApiError || isHeld(error)) && (!isAppError(error) || error.code === 'storage');
  return { told: toldOf(error), isHeld: isHeld(error), ...(isTrouble && { trouble: describeError(error) }) };
}
