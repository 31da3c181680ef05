// A memory, on either engine, with a working copy or without one.

import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, fixedClock } from '../../src/base/time.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import type { Db, Sql } from '../../src/db/sql.ts';
import type { By } from '../../src/memory/commit.ts';
import type { Limits } from '../../src/memory/file-rows.ts';
import { addMemory, Memories, type MemoryRow } from '../../src/memory/memories.ts';
import { MemoryFiles } from '../../src/memory/memory-files.ts';
import { sized } from './depth.ts';
import { noPostgres, ownDatabase } from './own-database.ts';
import { giveTables } from './tables.ts';
import { tempDir } from './temp.ts';

export const ENGINES = ['sqlite', 'postgres'] as const;
export type Engine = (typeof ENGINES)[number];
/** Of most that is asked of memory: SQLite in `npm test`, PostgreSQL in the deep run, which has the files that name this one. */
export const ENGINE_TAKEN: readonly Engine[] = [sized({ quick: 'sqlite', deep: 'postgres' })];
/** Why an engine cannot be tried here; empty where it can. */
export const skipped = (engine: Engine) => (engine === 'postgres' ? noPostgres : '');

export const NOW = '2026-03-02T09:00:00.000Z';
export const USER: By = { job: 'job_user', actor: { kind: 'user', id: null } };
export const JOB: By = { job: 'job_1', actor: { kind: 'job', id: 'job_1' } };
export const API: By = { job: 'job_api', actor: { kind: 'api', id: 'apikey_1' } };

export interface World {
  home: string;
  db: Db;
  url: string | undefined;
  memories: Memories;
  /** Another process's view: opened anew on the same home and database; closed with the world. */
  again(): Promise<Memories>;
  /** A memory with a working copy at `name` of the temporary directory. */
  withDirectory(name?: string): Promise<{ dir: string; row: MemoryRow; files: MemoryFiles }>;
  /** A memory without one. */
  store(): Promise<{ row: MemoryRow; files: MemoryFiles }>;
}

/** A database that refuses a write which asks anything but its sql, or on SQLite awaits something else: that takes no turn of the event loop. */
export function strictly(db: Db): Db {
  const inside = new AsyncLocalStorage<true>();
  const outside = async <T>(work: () => Promise<T>): Promise<T> => {
    // It would wait for itself, or be no part of the transaction.
    if (inside.getStore()) throw new Error('inside a write nothing is asked but its own sql');
    return work();
  };
  const write = <T>(work: (sql: Sql) => Promise<T>) =>
    db.write(async (sql) => {
      if (db.engine !== 'sqlite') return inside.run(true, () => work(sql));
      let isLate = false;
      const turn = setImmediate(() => {
        isLate = true;
      });
      const done = await inside.run(true, () => work(sql));
      clearImmediate(turn);
      if (isLate) throw new Error('a write awaited something else than its sql');
      return done;
    });
  return {
    ...{ ...db, write: (work) => outside(() => write(work)) },
    all: (text, ...values) => outside(() => db.all(text, ...values)),
    get: (text, ...values) => outside(() => db.get(text, ...values)),
    run: (text, ...values) => outside(() => db.run(text, ...values)),
  };
}

interface WorldOptions {
  clock?: Clock;
  limits?: Partial<Limits>;
}

/** Runs `work` in a world of its own, and closes it. */
export async function inWorld(
  engine: Engine,
  work: (world: World) => Promise<void>,
  of: WorldOptions = {},
): Promise<void> {
  const { world, close } = await openWorld(engine, of);
  try {
    await work(world);
  } finally {
    await close();
  }
}

/** A world of its own, until it is closed. */
export async function openWorld(
  engine: Engine,
  of: WorldOptions = {},
): Promise<{ world: World; close(): Promise<void> }> {
  const top = tempDir();
  const home = join(top, 'home');
  const database = engine === 'postgres' ? await ownDatabase() : undefined;
  mkdirSync(home);
  if (!database) await giveTables(home);
  const clock = of.clock ?? fixedClock(NOW);
  const opened: { db: Db; memories: Memories }[] = [];
  const open = async () => {
    const db = strictly(await openDatabase({ home, url: database?.url }));
    const memories = new Memories({ db, home, clock, limits: of.limits });
    opened.push({ db, memories });
    return { db, memories };
  };
  const close = async () => {
    for (const each of opened) {
      await each.memories.close();
      await each.db.close();
    }
    await database?.drop();
  };
  const { db, memories } = await open().catch(async (error) => {
    await close();
    throw error;
  });
  const world: World = {
    ...{ home, db, memories, url: database?.url },
    again: async () => (await open()).memories,
    async withDirectory(name = 'memory') {
      const dir = join(top, name);
      mkdirSync(dir, { recursive: true });
      const row = await memories.ofDirectory(dir, { scope: 'project', name });
      return { dir: row.dir as string, row, files: new MemoryFiles(memories, row) };
    },
    async store() {
      const id = await addMemory(db, { scope: 'store', name: 'Notes' }, NOW);
      const row = await memories.of(id);
      return { row, files: new MemoryFiles(memories, row) };
    },
  };
  return { world, close };
}
