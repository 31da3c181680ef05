// Databases of an earlier nocturne, read once, to be taken in: the ledger of a memory directory, and the home's. They are only
// read; what was taken in is put aside under another name, and stays a database that every SQLite opens. In its place a mark is
// left, an empty database of a number that the earlier one does not know: by that it says that a newer one works there.

import Database from 'better-sqlite3';
import { makeWhole, moveFile, removeFile, statNow } from '../base/files/files.ts';
import type { Row } from './sql.ts';
import { telling } from './sqlite.ts';

export interface OldDatabase {
  /** All rows of a table, in the order in which they came; none where it has no such table. */
  rows<Found = Row>(table: string): Found[];
  close(): void;
}

/** Higher than any that it used, and no damage to it. */
const MARK_VERSION = 900;
/** SQLite's smallest: no database with a table has so few bytes. */
const MARK_BYTES = 512;

/** Whether a database is there that is to be taken in. */
export function isOld(path: string): boolean {
  return (statNow(path)?.bytes ?? 0) > MARK_BYTES;
}

/** Leaves the mark where nothing is. */
export function leaveMark(path: string): void {
  if (statNow(path)) return;
  const db = new Database(':memory:');
  db.pragma(`page_size = ${MARK_BYTES}`);
  db.pragma(`user_version = ${MARK_VERSION}`);
  makeWhole(path, db.serialize());
  db.close();
}

/** Null where there is none. Errors: SQLite's, where it is none of ours or damaged. */
export function openOld(path: string): OldDatabase | null {
  return isOld(path) ? reading(new Database(path, { fileMustExist: true, timeout: 15_000 })) : null;
}

/** The same of its bytes. */
export function readOld(bytes: Buffer): OldDatabase {
  // Where its header says that there is a write-ahead log: in memory there is none.
  return reading(new Database(bytes.fill(1, 18, 20)));
}

function reading(db: Database.Database): OldDatabase {
  const tables = new Set(db.prepare<[], string>("select name from sqlite_master where type = 'table'").pluck().all());
  return {
    rows: <Found>(table: string) =>
      tables.has(table) ? (db.prepare(`select * from "${table}"`).all() as Found[]) : [],
    close: () => db.close(),
  };
}

/** Gives such a database another name, with all that stood in its log, and leaves the mark. Answers that name. */
export function putAside(path: string): string {
  const db = new Database(path, { fileMustExist: true, timeout: 15_000 });
  try {
    // A process of the earlier one that still works holds it.
    telling(path, () => db.exec('pragma wal_checkpoint(truncate); pragma journal_mode = delete'));
  } finally {
    db.close();
  }
  let aside = `${path}.before`;
  for (let n = 2; statNow(aside); n += 1) aside = `${path}.before-${n}`;
  moveFile(path, aside);
  for (const end of ['-wal', '-shm']) if (statNow(path + end)) removeFile(path + end);
  leaveMark(path);
  return aside;
}
