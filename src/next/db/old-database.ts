// Databases of the nocturne of before, read once, to be taken in: the ledger of a memory directory, and the home's. They are only
// read; what was taken in is put aside under another name, and stays a database that every SQLite opens.

import Database from 'better-sqlite3';
import { moveFile, removeFile, statNow } from '../../base/files/files.ts';
import type { Row } from './sql.ts';

export interface OldDatabase {
  /** All rows of a table, in the order in which they came; none where it has no such table. */
  rows<Found = Row>(table: string): Found[];
  close(): void;
}

/** Null where there is no such file. Errors: SQLite's, where it is none of ours or damaged. */
export function openOld(path: string): OldDatabase | null {
  if (!statNow(path)) return null;
  const db = new Database(path, { fileMustExist: true, timeout: 15_000 });
  const tables = new Set(db.prepare<[], string>("select name from sqlite_master where type = 'table'").pluck().all());
  return {
    rows: <Found>(table: string) =>
      tables.has(table) ? (db.prepare(`select * from "${table}"`).all() as Found[]) : [],
    close: () => db.close(),
  };
}

/** Gives a database of before another name, with all that stood in its log. Answers that name. */
export function putAside(path: string): string {
  const db = new Database(path, { timeout: 15_000 });
  db.pragma('wal_checkpoint(truncate)');
  db.pragma('journal_mode = delete');
  db.close();
  const aside = `${path}.before`;
  moveFile(path, aside);
  for (const end of ['-wal', '-shm']) if (statNow(path + end)) removeFile(path + end);
  return aside;
}
