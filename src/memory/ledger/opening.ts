// How SQLite files of ours are opened and made.
// Promises: private to the user, a write-ahead log, durable commits, 15 s of waiting for other writers. A new file is put
// there whole, as one that took the steps one after the other is: a process takes them once, in memory. One that is
// there already, however little of it, takes the steps that it lacks.

import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { AppError, attempt } from '../../base/errors.ts';
import { makeDirectory, makeFile, makeWhole, readBytesNow, statNow } from '../../base/files/files.ts';
import { damaged, isDamage, isUnwritable, Sql, telling, type Value } from './database.ts';
import type { WingSchema } from './schema.ts';

/** Steps are counted from 1: so many there will never be. */
const NO_VERSION = 1_000;
/** As long as SQLite itself waits for other writers, in all. */
const MOST_TRIES = 1_500;
const BETWEEN_TRIES_MS = 10;

/**
 * @internal
 * Opens a SQLite file of ours: write-ahead log, durable commits, waits up to 15 s for other writers. `steps` of the
 * schema that the file has not seen yet are taken; how many it has is its `user_version`. `isCopy`: of what is kept
 * elsewhere; its log is emptied by `Ledger.emptyLog` alone, and nothing waits for the disk. `wings`: whose steps a new
 * file has taken, too.
 */
export function openDatabase(
  path: string,
  options: {
    steps: string[];
    wings?: readonly WingSchema[];
    ifDamaged?: string;
    waitMs?: number;
    isCopy?: boolean;
  },
): Database.Database {
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
    opened
      .transaction(() => {
        const found = opened.pragma('user_version', { simple: true }) as number;
        if (found > NO_VERSION || found < 0) throw damaged(`its header names version ${found}`);
        if (found > options.steps.length) {
          throw new AppError('storage', `${path} was written by a newer nocturne (version ${found}).`, {
            remedy: 'Update nocturne on this machine.',
          });
        }
        if (found === options.steps.length) return;
        const gaps = found === 0 ? [] : schemaGaps(opened, options.steps);
        if (gaps.length > 0) {
          throw new AppError(
            'storage',
            `${path} is not as nocturne makes it: it lacks ${gaps.slice(0, 3).join(', ')}.`,
            {
              remedy: options.ifDamaged,
              cause: damaged('a column is missing'),
            },
          );
        }
        for (const step of options.steps.slice(found)) opened.exec(step);
        opened.pragma(`user_version = ${options.steps.length}`);
      })
      .immediate();
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

interface Begun {
  wings: readonly WingSchema[];
  /** The file. */
  bytes: Buffer;
  /** What the steps alone make. */
  columns: string[];
}

/** Where the header says whether there is a write-ahead log, and how: a database in memory has none. */
const MODE = [18, 20] as const;
const LOGGED = 2;
const UNLOGGED = 1;

const NO_WINGS: readonly WingSchema[] = [];
/** By the steps: what was made last. */
const begun = new WeakMap<string[], Begun>();

/** What a file is when all steps were taken and nothing else happened. */
function begin(steps: string[], wings = NO_WINGS): Begun {
  const known = begun.get(steps);
  if (known?.wings === wings) return known;
  const db = new Database(':memory:');
  try {
    for (const step of steps) db.exec(step);
    db.pragma(`user_version = ${steps.length}`);
    const columns = columnsOf(db);
    const sql = new Sql(db, '');
    for (const wing of wings) sql.takeStepsOf(wing);
    const made = { wings, bytes: db.serialize().fill(LOGGED, ...MODE), columns };
    begun.set(steps, made);
    return made;
  } finally {
    db.close();
  }
}

/** @internal In memory: what a new file is. */
export function openBegun(steps: string[], wings: readonly WingSchema[]): Database.Database {
  return new Database(Buffer.from(begin(steps, wings).bytes).fill(UNLOGGED, ...MODE));
}

/** Makes the file where none is. SQLite gives its other files the mode of this one, which it would let others read. */
function makeNew(
  path: string,
  { steps, wings, isCopy = false }: { steps: string[]; wings?: readonly WingSchema[]; isCopy?: boolean },
): void {
  if (statNow(path)) return;
  // What a copy does not have from elsewhere must be in its log. And a log that was left behind would be taken for this
  // file's: SQLite drops it next to an empty one.
  const isEmpty = isCopy || statNow(`${path}-wal`) !== null || statNow(`${path}-journal`) !== null;
  if (isEmpty || !makeWhole(path, begin(steps, wings).bytes)) makeFile(path);
}

/**
 * @internal
 * The columns, as `table.column`, that a file lacks of what the steps make that it says it has taken.
 */
export function schemaGaps(db: Database.Database, steps: string[]): string[] {
  const taken = db.pragma('user_version', { simple: true }) as number;
  const there = new Set(columnsOf(db));
  const { columns } = taken < steps.length ? begin(steps.slice(0, taken)) : (begun.get(steps) ?? begin(steps));
  return columns.filter((column) => !there.has(column));
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
 * Opens a SQLite file of ours that is there for looking alone: SQLite refuses every change. Null where it has not taken
 * exactly these steps, or this user may not read it.
 */
export function openForLooking(
  path: string,
  { steps, isInUse }: { steps: string[]; isInUse: boolean },
): Database.Database | null {
  let db: Database.Database | undefined;
  try {
    // A read-only connection would leave the files of the write-ahead log behind where there are none; one that may
    // write takes them away again, and has nothing to write.
    db = new Database(path, { readonly: isInUse, fileMustExist: true, timeout: 15_000 });
    if (hasSteps(db, steps)) return db;
  } catch (error) {
    db?.close();
    const found = new AppError('storage', `Cannot look into ${path}: ${(error as Error).message}.`, { cause: error });
    if (!isUnwritable(found)) throw found;
    db = openCopy(path) ?? undefined;
    if (db && hasSteps(db, steps)) return db;
  }
  db?.close();
  return null;
}

function hasSteps(db: Database.Database, steps: string[]): boolean {
  db.pragma('query_only = on');
  db.pragma('temp_store = memory');
  return db.pragma('user_version', { simple: true }) === steps.length;
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
 * Throws what `isDamagedFile` knows where pages of an open database are damaged, or its tables are not those of `steps`.
 */
export function requireSound(
  db: Database.Database,
  { steps, ifDamaged }: { steps: string[]; ifDamaged: string },
): void {
  telling(db, {
    ifDamaged,
    work() {
      const [row] = db.pragma('quick_check(1)') as { quick_check: string }[];
      if (row?.quick_check !== 'ok') throw damaged(row?.quick_check ?? 'it cannot be checked');
      const [gap] = schemaGaps(db, steps);
      if (gap) throw damaged(`it lacks ${gap}`);
    },
  });
}

/**
 * @internal
 * Copies the rows that a damaged file still gives into a new database, table by table; answers the tables of which some
 * may be lacking.
 */
export function salvageRows(from: string, into: Database.Database, tables: string[]): Set<string> {
  let old: Database.Database;
  try {
    old = new Database(from, { readonly: true, fileMustExist: true });
  } catch {
    return new Set(tables);
  }
  try {
    return new Set(tables.filter((table) => !salvageTable(old, { table, into })));
  } finally {
    old.close();
  }
}

/**
 * @internal
 * Makes the tables that wings have in a damaged file in a new one, where it still says what they are; answers them, with
 * the table that notes them.
 */
export function makeTablesOfWings(from: string, into: Database.Database): string[] {
  let old: Database.Database | undefined;
  try {
    old = new Database(from, { readonly: true, fileMustExist: true });
    const noted = old.prepare<[], string>('select tables from wing_version').pluck().all();
    const tables = noted.flatMap((each) => JSON.parse(each) as string[]);
    const made = old.prepare<[string], string>(
      "select sql from sqlite_master where tbl_name = ? and sql is not null order by type = 'index'",
    );
    const steps = tables.flatMap((table) => made.pluck().all(table));
    into.transaction(() => {
      for (const sql of steps) into.exec(sql);
    })();
    return tables.length > 0 ? [...tables, 'wing_version'] : [];
  } catch {
    return [];
  } finally {
    old?.close();
  }
}

/** Whether all rows of the table are sure to be there. */
function salvageTable(old: Database.Database, { table, into }: { table: string; into: Database.Database }): boolean {
  try {
    const namesOf = (db: Database.Database) =>
      (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name);
    const known = new Set(namesOf(into));
    const columns = namesOf(old).filter((name) => known.has(name));
    const insert = into.prepare(
      `insert or replace into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
    );
    let isWhole = true;
    for (const row of old
      .prepare<[], Value[]>(`select ${columns.join(', ')} from ${table}`)
      .raw(true)
      .iterate()) {
      try {
        insert.run(...row);
      } catch {
        isWhole = false;
      }
    }
    const [checked] = old.pragma(`quick_check('${table}')`) as { quick_check: string }[];
    return isWhole && checked?.quick_check === 'ok';
  } catch {
    return false;
  }
}
