// Copies of the one database of a home, in `backups/` of it, and the way back to the newest good one. SQLite alone: PostgreSQL has its
// own (pg_dump, PITR).
// Promises: a copy is made page by page while others work, and counts once it was checked and has reached the disk; no other is
// removed before that; of what is damaged nothing is deleted, it is put aside.

import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import { AppError, describeError } from '../base/errors.ts';
import { listNames, syncTree } from '../base/files/directories.ts';
import {
  copyFile,
  makeDirectory,
  makePrivate,
  moveFile,
  removeFile,
  statNow,
  syncDirectory,
} from '../base/files/files.ts';
import { databasePath, isCopy } from './open-database.ts';
import { connect, IF_DAMAGED, inTurn, isFull, telling } from './sqlite.ts';

const MOST_KEPT = 7;

function backupDir(home: string): string {
  return join(home, 'backups');
}

/** Paths of the copies that there are, the newest first. */
export function backupsIn(home: string): string[] {
  return listNames(backupDir(home))
    .filter(isCopy)
    .sort()
    .reverse()
    .map((name) => join(backupDir(home), name));
}

function copyName(at: Date): string {
  return `nocturne-${at.toISOString().replaceAll(':', '-')}.db`;
}

/** Whether something was written since the newest copy, and that was made before then. */
export function isBackupDue(home: string, madeBefore?: Date): boolean {
  const [newest] = backupsIn(home);
  if (madeBefore && newest !== undefined && basename(newest) > copyName(madeBefore)) return false;
  const path = databasePath(home);
  const writtenMs = Math.max(...[path, `${path}-wal`].map((each) => statNow(each)?.modifiedMs ?? 0));
  return writtenMs > (newest === undefined ? 0 : (statNow(newest)?.modifiedMs ?? 0));
}

/**
 * Makes a copy; answers its path. `isOnly`: no older one stays, else the seven newest do. Errors: `storage` where the database is
 * damaged, or the disk is full: the copies that there were are still there.
 */
export async function backUp(home: string, { now, isOnly = false }: { now: Date; isOnly?: boolean }): Promise<string> {
  const path = databasePath(home);
  makeDirectory(backupDir(home));
  for (const name of listNames(backupDir(home)))
    if (name.startsWith('making.')) removeFile(join(backupDir(home), name));
  const copy = join(backupDir(home), `making.${crypto.randomUUID()}`);
  const older = backupsIn(home);
  try {
    const db = telling(path, () => connect(path));
    try {
      await db.backup(copy);
    } finally {
      db.close();
    }
    const problem = damageOf(copy);
    if (problem !== null) throw new AppError('storage', `Damaged: ${path}: ${problem}.`, { remedy: IF_DAMAGED });
    makePrivate(copy);
    syncTree(backupDir(home));
    const made = join(backupDir(home), copyName(now));
    moveFile(copy, made);
    syncDirectory(backupDir(home));
    for (const each of older.slice(isOnly ? 0 : MOST_KEPT - 1)) if (each !== made) removeFile(each);
    return made;
  } finally {
    for (const each of [copy, `${copy}-journal`, `${copy}-wal`, `${copy}-shm`]) removeFile(each);
  }
}

/** What is wrong with a database as a file, in words; null where nothing is. It must not be open in this process. */
export function damageOf(path: string): string | null {
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { readonly: true, fileMustExist: true });
    const [first] = db.pragma('quick_check(1)') as { quick_check: string }[];
    if (first?.quick_check !== 'ok') return first?.quick_check ?? 'nothing is read of it';
    return (db.pragma('user_version', { simple: true }) as number) > 0 ? null : 'it holds no tables';
  } catch (error) {
    return isFull(error) ? null : describeError(error);
  } finally {
    db?.close();
  }
}

/**
 * Puts the database aside and the newest good copy in its place; answers where it is kept now, null where there was none, and which
 * copy was taken, null where there is no good one: the next opening begins a new one. Nobody may have it open.
 */
export function restoreNewest(home: string, now: Date): { aside: string | null; from: string | null } {
  const path = databasePath(home);
  const dir = join(home, 'damaged', now.toISOString().replaceAll(':', '-'));
  makeDirectory(dir);
  // What belongs to it goes with it: a log of other pages would damage the copy.
  const moved = ['', '-wal', '-shm'].filter((end) => moveFile(path + end, join(dir, basename(path) + end)));
  const copies = backupsIn(home);
  const from = copies.find((each) => damageOf(each) === null) ?? null;
  // Where there are copies, no new database is begun.
  if (from === null) for (const each of copies) moveFile(each, join(dir, basename(each)));
  else {
    const copy = join(backupDir(home), `making.${crypto.randomUUID()}`);
    copyFile(from, copy);
    makePrivate(copy);
    syncTree(backupDir(home));
    moveFile(copy, path);
  }
  syncDirectory(home);
  return { aside: moved.length > 0 ? dir : null, from };
}

/** Leaves no byte of what was deleted in the database's file and its log. Errors: `conflict` where another process keeps it open. */
export async function compact(home: string): Promise<void> {
  const path = databasePath(home);
  const db = telling(path, () => connect(path));
  try {
    await inTurn(path, () => db.exec("insert into line_fts (line_fts) values ('optimize')"));
    await inTurn(path, () => db.exec('vacuum'));
    await inTurn(path, () => {
      const [{ busy } = { busy: 1 }] = db.pragma('wal_checkpoint(truncate)') as { busy: number }[];
      if (busy !== 0) throw new Database.SqliteError('its log is still read', 'SQLITE_BUSY');
    });
  } finally {
    db.close();
  }
}
