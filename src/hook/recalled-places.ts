// Which memories are recalled for a session, each as recall reads it: the one that is asked for, and beside a project's the user's and
// the repository's. Nothing is made, looked into or waited for.

import { join } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { isDirectory, isStoreId } from '../base/files/directories.ts';
import type { Db } from '../db/sql.ts';
import { type Memories, type MemoryRow, memoryRow } from '../memory/memories.ts';
import { isCheckedIn } from '../memory/paths.ts';
import { originOf } from '../memory/projects.ts';
import type { RecallPlace } from '../memory/recall/recall.ts';
import { sourceOfDirectory, sourceOfRows } from '../memory/recall/recall-source.ts';

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

/** `place`: the canonical path of a directory, or an id. `isForeign`: see `RecallPlace`; default: whether a repository carries it. `cwd`: of the project whose it is. */
export async function findPlace(
  { config, opened }: { config: Config; opened: Opened | null },
  place: string,
  { isForeign = isCheckedIn(place), cwd }: { isForeign?: boolean; cwd?: string } = {},
): Promise<FoundPlace> {
  const row = opened && (await rowOf(config, opened, { place, cwd }));
  if (!opened || !row) {
    // What lies in a directory is not what is kept in a database.
    const dir = config.databaseUrl === undefined || isForeign ? place : join(config.home, 'none');
    const source = sourceOfDirectory(dir);
    return { source, called: place, id: place, isForeign, row: null, isThere: isDirectory(dir) };
  }
  const dir = row.machine === opened.memories.machine ? row.dir : null;
  const source = sourceOfRows(opened.db, { id: row.id, dir, zone: config.zone });
  const elsewhere = `the memory ${row.id} of a database (nocturne show FILE --memory ${row.id} prints a file of it)`;
  return { source, called: dir ?? elsewhere, id: dir ?? row.id, isForeign, row, isThere: true };
}

async function rowOf(
  config: Config,
  { db, memories }: Opened,
  { place, cwd }: { place: string; cwd?: string },
): Promise<MemoryRow | null> {
  if (isStoreId(place, config)) return (await memoryRow(db, place)) ?? null;
  if (db.engine === 'sqlite') return memories.findDirectory(place);
  return memories.findPlace(place, cwd === undefined || config.memoryDir !== undefined ? null : originOf(cwd));
}
