// Which memories are recalled for a session, each as recall reads it: the one that is asked for, and beside a project's the user's and
// the repository's. Nothing is made, looked into or waited for.

import { join } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { isDirectory, isStoreId } from '../base/files/directories.ts';
import type { Db } from '../db/sql.ts';
import { type Memories, type MemoryRow, memoryRow } from '../memory/memories.ts';
import { isCheckedIn } from '../memory/paths.ts';
import { type MemoryScope, scopesBeside } from '../memory/places.ts';
import type { ExtraScope, RecallPlace } from '../memory/recall/recall.ts';
import { sourceOf } from '../memory/recall/recall-source.ts';

/** What is opened of a home; null where that is not there, or cannot be read: then the files of directories alone are. */
export interface Opened {
  db: Db;
  memories: Memories;
}

export interface FoundPlace extends RecallPlace {
  /** Its row; null where nocturne has not worked there. */
  row: MemoryRow | null;
  /** Its directory, or its id. */
  id: string;
  isThere: boolean;
}

/** `place`: the canonical path of a directory, or an id. `isForeign`: see `RecallPlace`; default: whether a repository carries it. `cwd`: of the session. */
export async function findPlace(
  { config, opened }: { config: Config; opened: Opened | null },
  place: string,
  { isForeign = isCheckedIn(place), cwd }: { isForeign?: boolean; cwd?: string } = {},
): Promise<FoundPlace> {
  const row = opened && (await rowOf(config, opened, place));
  if (!opened || !row) {
    // What lies in a directory is not what is kept in a database.
    const dir = config.databaseUrl === undefined || isForeign ? place : join(config.home, 'none');
    const source = sourceOf({ dir });
    return { source, called: place, id: place, isForeign, row: null, isThere: isDirectory(dir) };
  }
  const dir = row.machine === opened.memories.machine ? row.dir : null;
  const here = { cwd, machine: opened.memories.machine, userName: config.userName };
  const source = sourceOf({ db: opened.db, id: row.id, dir, here });
  const elsewhere = `the memory ${row.id} of a database (nocturne show FILE --memory ${row.id} prints a file of it)`;
  return { source, called: dir ?? elsewhere, id: dir ?? row.id, isForeign, row, isThere: true };
}

export type ScopedPlace = FoundPlace & { scope: MemoryScope };

/** The place of `scope`, and those beside a project's. */
export async function placesFor(
  at: { config: Config; opened: Opened | null },
  memory: string,
  { cwd, scope = 'project', isAlone = false }: { cwd: string; scope?: MemoryScope; isAlone?: boolean },
): Promise<{ own: ScopedPlace; beside: (ScopedPlace & { scope: ExtraScope })[] }> {
  const isElsewhere = at.config.databaseUrl !== undefined;
  const own = { ...(await findPlace(at, memory, scope === 'project' ? { cwd } : {})), scope };
  const beside = [];
  for (const { scope, dir } of isAlone ? [] : scopesBeside(at.config, { cwd, memory, isElsewhere })) {
    const isForeign = scope === 'local';
    // What the repository carries lies in no database.
    const { opened } = isForeign && isElsewhere ? { opened: null } : at;
    beside.push({ ...(await findPlace({ ...at, opened }, dir, { isForeign })), scope });
  }
  return { own, beside };
}

/** The memory with which is kept what a session was given: where a project has none yet, all of that is from beside. */
export function keeperOf(own: FoundPlace, beside: readonly ScopedPlace[]): string | undefined {
  return (own.isThere ? own : beside.find(({ scope }) => scope === 'user'))?.row?.id;
}

async function rowOf(config: Config, { db, memories }: Opened, place: string): Promise<MemoryRow | null> {
  if (isStoreId(place, config)) return (await memoryRow(db, place)) ?? null;
  return db.engine === 'sqlite' ? memories.findDirectory(place) : memories.findPlace(place);
}
