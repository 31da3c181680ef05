// How SQLite files of ours are opened and made, and how one of an earlier schema is taken in.
// Promises: private to the user, a write-ahead log, durable commits, 15 s of waiting for other writers. A new file is put
// there whole. One of an earlier schema is copied to `.before-` and its number, then gets today's tables with its rows in
// them, in one transaction: it is taken in whole or stays as it was, once, whoever else has it open. Who only looks takes it
// in in memory.

import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { AppError, attempt } from '../../base/errors.ts';
import { makeDirectory, makeFile, makeWhole, readBytesNow, statNow, writeWhole } from '../../base/files/files.ts';
import { damaged, isDamage, isUnwritable, telling, type Value } from './database.ts';
import { DERIVED, SCHEMA_VERSION } from './schema.ts';

/** A number that no schema will have: the header is damaged. */
const NO_VERSION = 1_000;
/** As long as SQLite itself waits for other writers, in all. */
const MOST_TRIES = 1_500;
const BETWEEN_TRIES_MS = 10;

interface Opening {
  /** The text that makes its tables. */
  schema: string;
  ifDamaged?: string;
  waitMs?: number;
  /** Of what is kept elsewhere: its log is emptied by `Ledger.emptyLog` alone, and nothing waits for the disk. */
  isCopy?: boolean;
}

/** @internal Opens a SQLite file of ours, making it where it is missing. */
export function openDatabase(path: string, options: Opening): Database.Database {
  makeDirectory(dirname(path));
  makeNew(path, options);
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { timeout: options.waitMs ?? 15_000 });
    keepLog(db);
    db.pragma(`synchronous = ${options.isCopy ? 'off' : 'full'}`);
    if (options.isCopy) db.pragma('wal_autocheckpoint = 0');
    db.pragma('secure_delete = on');
    db.pragma('temp_store = memory');
    const opened = db;
    opened.transaction(() => bringToSchema(opened, options.schema)).immediate();
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof AppError) throw error;
    throw new AppError('storage', `Cannot open ${path}: ${(error as Error).message}.`, {
      remedy:
        (isDamage(error) ? options.ifDamaged : undefined) ??
        'Check that this user may write there and that the disk is not full.',
      cause: error,
    });
  }
}

function bringToSchema(db: Database.Database, schema: string): void {
  const found = versionOf(db);
  if (found === SCHEMA_VERSION) return;
  if (found > NO_VERSION || found < 0) throw damaged(`its header names version ${found}`);
  if (found > SCHEMA_VERSION) {
    throw new AppError('storage', `${db.name} was written by a newer nocturne (version ${found}).`, {
      remedy: 'Update nocturne on this machine.',
    });
  }
  if (found === 0) db.exec(schema);
  else takeIn(db, { schema, found });
  db.pragma(`user_version = ${SCHEMA_VERSION}`);
}

function versionOf(db: Database.Database): number {
  return db.pragma('user_version', { simple: true }) as number;
}

/** Makes the tables again, with the rows that are in them, and a copy of what there was: a part of the transaction that is open. */
function takeIn(db: Database.Database, { schema, found }: { schema: string; found: number }): void {
  const bytes = db.serialize().fill(UNLOGGED, ...MODE);
  // A virtual table first: those that it is made of go with it.
  const tables = db.prepare<[], string>(
    `select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by sql not like 'create virtual%'`,
  );
  for (const name of tables.pluck().all()) db.exec(`drop table if exists "${name}"`);
  db.exec(schema);
  const old = new Database(bytes);
  try {
    copyAllRows(old, db);
  } finally {
    old.close();
  }
  writeWhole(`${db.name}.before-${found}`, bytes);
}

interface Begun {
  /** The file. */
  bytes: Buffer;
  /** As `table.column`. */
  columns: string[];
}

/** Where the header says whether there is a write-ahead log, and how: a database in memory has none. */
const MODE = [18, 20] as const;
const LOGGED = 2;
const UNLOGGED = 1;

const begun = new Map<string, Begun>();

/** What a file is when its tables were made and nothing else happened. */
function begin(schema: string): Begun {
  const known = begun.get(schema);
  if (known) return known;
  const db = new Database(':memory:');
  try {
    db.exec(schema);
    db.pragma(`user_version = ${SCHEMA_VERSION}`);
    const made = { bytes: db.serialize().fill(LOGGED, ...MODE), columns: columnsOf(db) };
    begun.set(schema, made);
    return made;
  } finally {
    db.close();
  }
}

/** @internal In memory: what a new file is. */
export function openBegun(schema: string): Database.Database {
  return new Database(Buffer.from(begin(schema).bytes).fill(UNLOGGED, ...MODE));
}

/** Makes the file where none is. SQLite gives its other files the mode of this one, which it would let others read. */
function makeNew(path: string, { schema, isCopy = false }: Opening): void {
  if (statNow(path)) return;
  // What a copy does not have from elsewhere must be in its log. And a log that was left behind would be taken for this
  // file's: SQLite drops it next to an empty one.
  const isEmpty = isCopy || statNow(`${path}-wal`) !== null || statNow(`${path}-journal`) !== null;
  if (isEmpty || !makeWhole(path, begin(schema).bytes)) makeFile(path);
}

/** @internal The columns, as `table.column`, that a file of today's schema lacks. */
export function schemaGaps(db: Database.Database, schema: string): string[] {
  if (versionOf(db) !== SCHEMA_VERSION) return [];
  const there = new Set(columnsOf(db));
  return begin(schema).columns.filter((column) => !there.has(column));
}

function columnsOf(db: Database.Database): string[] {
  const columns = `select t.name || '.' || c.name from sqlite_master t, pragma_table_info(t.name) c where t.type = 'table'`;
  return db.prepare<[], string>(columns).pluck().all();
}

/**
 * Switches to a write-ahead log where the file has none yet. SQLite does not wait for another process that does so at the
 * same moment, as the first hook and the first recall of a new home may: this does.
 */
function keepLog(db: Database.Database): void {
  for (let tries = MOST_TRIES; ; tries -= 1) {
    try {
      db.pragma('journal_mode = wal');
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY' || tries === 0) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BETWEEN_TRIES_MS);
    }
  }
}

/**
 * @internal
 * Opens a SQLite file of ours that is there for looking alone: SQLite refuses every change. Null where a newer nocturne wrote
 * it, or nothing is in it yet, or this user may not read it.
 */
export function openForLooking(
  path: string,
  { schema, isInUse }: { schema: string; isInUse: boolean },
): Database.Database | null {
  let db: Database.Database | undefined;
  try {
    // A read-only connection would leave the files of the write-ahead log behind where there are none; one that may
    // write takes them away again, and has nothing to write.
    db = new Database(path, { readonly: isInUse, fileMustExist: true, timeout: 15_000 });
    return lookInto(db, schema);
  } catch (error) {
    db?.close();
    const found = new AppError('storage', `Cannot look into ${path}: ${(error as Error).message}.`, { cause: error });
    if (!isUnwritable(found)) throw found;
    const copy = openCopy(path);
    return copy && lookInto(copy, schema);
  }
}

function lookInto(db: Database.Database, schema: string): Database.Database | null {
  db.pragma('query_only = on');
  db.pragma('temp_store = memory');
  const found = versionOf(db);
  if (found === SCHEMA_VERSION) return db;
  try {
    if (found <= 0 || found > SCHEMA_VERSION) return null;
    const taken = openBegun(schema);
    copyAllRows(db, taken);
    taken.pragma('query_only = on');
    return taken;
  } finally {
    db.close();
  }
}

/**
 * What is in the file, in memory: where SQLite may make no write-ahead log next to it. What one that is there has more is
 * not in it. This process cannot have the file open, so there is no lock of its own to drop. Null where it cannot be read.
 */
function openCopy(path: string): Database.Database | null {
  const bytes = attempt(
    () => readBytesNow(path),
    () => null,
    'storage',
  );
  return bytes && new Database(bytes.fill(UNLOGGED, ...MODE));
}

/**
 * @internal
 * Throws what `isDamagedFile` knows where pages of an open database are damaged, or it lacks columns of the schema.
 */
export function requireSound(
  db: Database.Database,
  { schema, ifDamaged }: { schema: string; ifDamaged: string },
): void {
  telling(db, {
    ifDamaged,
    work() {
      const [row] = db.pragma('quick_check(1)') as { quick_check: string }[];
      if (row?.quick_check !== 'ok') throw damaged(row?.quick_check ?? 'it cannot be checked');
      const [gap] = schemaGaps(db, schema);
      if (gap) throw damaged(`it lacks ${gap}`);
    },
  });
}

/**
 * @internal
 * Copies the rows that a damaged file still gives into a new database, table by table; answers the tables of which some
 * may be lacking.
 */
export function salvageRows(from: string, into: Database.Database): Set<string> {
  const tables = tablesOf(into);
  let old: Database.Database;
  try {
    old = new Database(from, { readonly: true, fileMustExist: true });
  } catch {
    return new Set(tables);
  }
  try {
    return copyRows(old, { into, tables });
  } finally {
    old.close();
  }
}

/** Copies the rows of a sound database into one that has just been made. */
function copyAllRows(old: Database.Database, into: Database.Database): void {
  const there = new Set(tablesOf(old));
  const [lacking] = copyRows(old, { into, tables: tablesOf(into).filter((table) => there.has(table)) });
  if (lacking) throw damaged(`rows of ${lacking} cannot be read`);
}

/** The tables whose rows are made of no others; numbers of rows that are given out but once come last. */
function tablesOf(db: Database.Database): string[] {
  const tables = `select name from pragma_table_list where schema = 'main' and type = 'table' and name <> 'sqlite_schema'
    order by name = 'sqlite_sequence'`;
  const found = db.prepare<[], string>(tables).pluck().all();
  return found.filter((table) => !DERIVED.includes(table));
}

function copyRows(
  old: Database.Database,
  { into, tables }: { into: Database.Database; tables: string[] },
): Set<string> {
  const triggers = into
    .prepare<[], { name: string; sql: string }>("select name, sql from sqlite_master where type = 'trigger'")
    .all();
  for (const { name } of triggers) into.exec(`drop trigger "${name}"`);
  const lacking = tables.filter((table) => !copyTable(old, { table, into }));
  for (const { sql } of triggers) into.exec(sql);
  return new Set(lacking);
}

/** Copies the columns that both have. Whether all rows of the table are sure to be there. */
function copyTable(old: Database.Database, { table, into }: { table: string; into: Database.Database }): boolean {
  try {
    const namesOf = (db: Database.Database) =>
      (db.pragma(`table_info("${table}")`) as { name: string }[]).map(({ name }) => name);
    const known = new Set(namesOf(into));
    const columns = namesOf(old).filter((name) => known.has(name));
    const named = columns.map((name) => `"${name}"`).join(', ');
    if (table === 'sqlite_sequence') into.exec('delete from sqlite_sequence');
    const insert = into.prepare(
      `insert or replace into "${table}" (${named}) values (${columns.map(() => '?').join(', ')})`,
    );
    let isWhole = true;
    for (const row of old.prepare<[], Value[]>(`select ${named} from "${table}"`).raw(true).iterate()) {
      try {
        insert.run(...row);
      } catch (error) {
        if (isDiskFull(error)) throw error;
        isWhole = false;
      }
    }
    const [checked] = old.pragma(`quick_check("${table}")`) as { quick_check: string }[];
    return isWhole && checked?.quick_check === 'ok';
  } catch (error) {
    if (isDiskFull(error)) throw error;
    return false;
  }
}

function isDiskFull(error: unknown): boolean {
  return /^SQLITE_(?:FULL|IOERR_WRITE)/.test((error as { code?: string }).code ?? '');
}
