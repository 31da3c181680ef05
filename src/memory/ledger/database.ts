// How SQLite files of ours are opened, and what their failures mean to a caller.
// Promises: private to the user, a write-ahead log, durable commits, 15 s of waiting for other writers; every failure of
// the file is an AppError that names it and what to do. What is in a file is the business of ledger.ts and home.ts.

import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { AppError, isAppError } from '../../base/errors.ts';
import { makeDirectory, makeFile, readBytesNow } from '../../base/files/files.ts';
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
 * elsewhere; its log is emptied by `Ledger.emptyLog` alone, and nothing waits for the disk.
 */
export function openDatabase(
  path: string,
  options: { steps: string[]; ifDamaged?: string; waitMs?: number; isCopy?: boolean },
): Database.Database {
  makeDirectory(dirname(path));
  // SQLite gives its files the mode of this one, which it would make readable by others.
  makeFile(path);
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

/**
 * @internal
 * The columns, as `table.column`, that a file lacks of what the steps make that it says it has taken.
 */
export function schemaGaps(db: Database.Database, steps: string[]): string[] {
  const made = new Database(':memory:');
  try {
    for (const step of steps.slice(0, db.pragma('user_version', { simple: true }) as number)) made.exec(step);
    const there = new Set(columnsOf(db));
    return columnsOf(made).filter((column) => !there.has(column));
  } finally {
    made.close();
  }
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

/** Whether it failed because nothing can be written there: this user may not, nobody may, or the disk is full. */
export function isUnwritable(error: unknown): boolean {
  const { code } = Object((error as AppError).cause ?? error) as { code?: string };
  return (
    isAppError(error, 'storage') &&
    /^(?:SQLITE_(?:CANTOPEN|READONLY|FULL|IOERR)|EROFS$|EACCES$|EPERM$|ENOSPC$|EDQUOT$)/.test(code ?? '')
  );
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
 * not in it. Nobody in this process can have the file open, so its locks are nobody's. Null where it cannot be read.
 */
function openCopy(path: string): Database.Database | null {
  try {
    const bytes = readBytesNow(path);
    // A database in memory has no write-ahead log: the two bytes of the header that ask for one.
    return bytes && new Database(bytes.fill(1, 18, 20));
  } catch (error) {
    if (isAppError(error, 'storage')) return null;
    throw error;
  }
}

export type Value = string | number | Buffer | null;
export type Row = Record<string, Value>;

interface Connection {
  db: Database.Database;
  statements: Map<string, Database.Statement<Value[], Row>>;
  /** It refuses every change. */
  onlyReads: boolean;
}

/** A SQLite file of ours. What SQLite fails with in writing it is an AppError that names the file and what to do. */
export class Sql {
  #connection: Connection | (() => Connection);
  readonly #ifDamaged: string;

  /** @internal */
  constructor(db: Database.Database, ifDamaged: string) {
    this.#connection = { db, statements: new Map(), onlyReads: false };
    this.#ifDamaged = ifDamaged;
  }

  /** @internal Declarations are published without what is internal, so that nobody needs the types of SQLite. */
  protected get connection(): Connection {
    if (typeof this.#connection === 'function') this.#connection = this.#connection();
    return this.#connection;
  }

  /** @internal A function is asked when the connection is first needed, and again where it throws. */
  protected set connection(given: Connection | (() => Connection)) {
    this.#connection = given;
  }

  /** @internal */
  protected get isOpened(): boolean {
    return typeof this.#connection !== 'function';
  }

  /** @internal Runs `work`, which waits for nothing, on another connection. */
  protected on<T>(connection: Connection, work: () => T): T {
    const own = this.#connection;
    this.#connection = connection;
    try {
      return work();
    } finally {
      this.#connection = own;
    }
  }

  /** @internal */
  protected get db(): Database.Database {
    return this.connection.db;
  }

  /** Runs `work` while no other process can write. A throw takes everything back. */
  transaction<T>(work: () => T): T {
    const { db, onlyReads } = this.connection;
    return this.telling(() => db.transaction(work)[onlyReads ? 'deferred' : 'immediate']());
  }

  /** `Found`: what the statement selects, by column. */
  all<Found = Row>(sql: string, ...values: Value[]): Found[] {
    return this.telling(() => this.#prepare(sql).all(...values) as Found[]);
  }

  get<Found = Row>(sql: string, ...values: Value[]): Found | undefined {
    return this.telling(() => this.#prepare(sql).get(...values) as Found | undefined);
  }

  /** Runs a statement that changes rows; answers how many. */
  run(sql: string, ...values: Value[]): number {
    return this.telling(() => this.#prepare(sql).run(...values).changes);
  }

  /** Inserts a row, by its columns. */
  insert(table: string, row: Row): void {
    this.#enter('insert', table, row);
  }

  /** The same, in place of a row with the same key. */
  replace(table: string, row: Row): void {
    this.#enter('insert or replace', table, row);
  }

  /** Takes the steps of a wing's own tables that the file has not taken yet, and notes the tables. */
  takeStepsOf({ name, tables = [], schema = [] }: WingSchema): void {
    const noted = JSON.stringify(tables);
    const isBehind = () => {
      const row = this.wingVersion(name);
      return row?.version !== schema.length || row.tables !== noted;
    };
    if (!isBehind()) return;
    this.transaction(() => {
      if (!isBehind()) return;
      const taken = this.wingVersion(name)?.version ?? 0;
      if (taken > schema.length) {
        throw new AppError('storage', `${this.db.name} was written by a newer nocturne (${name} ${taken}).`, {
          remedy: 'Update nocturne on this machine.',
        });
      }
      for (const step of schema.slice(taken)) this.db.exec(step);
      this.replace('wing_version', { wing: name, version: schema.length, tables: noted });
    });
  }

  protected wingVersion(wing: string): { version: number; tables: string } | undefined {
    return this.get('select version, tables from wing_version where wing = ?', wing);
  }

  #enter(how: string, table: string, row: Row): void {
    const columns = Object.keys(row);
    const named = columns.map((column) => `"${column}"`).join(', ');
    this.run(`${how} into "${table}" (${named}) values (${columns.map(() => '?').join(', ')})`, ...Object.values(row));
  }

  close(): void {
    this.connection.statements.clear();
    this.db.close();
  }

  /** What SQLite fails with in `work` comes out as an AppError. */
  protected telling<T>(work: () => T): T {
    return telling(this.db, { ifDamaged: this.#ifDamaged, work });
  }

  #prepare(sql: string): Database.Statement<Value[], Row> {
    const { db, statements } = this.connection;
    let statement = statements.get(sql);
    if (!statement) {
      statement = db.prepare<Value[], Row>(sql);
      statements.set(sql, statement);
    }
    return statement;
  }
}

/** Runs `work`; what SQLite itself fails with comes out as an AppError that names the file and what to do. */
function telling<T>(db: Database.Database, { ifDamaged, work }: { ifDamaged: string; work(): T }): T {
  try {
    return work();
  } catch (error) {
    const code = error instanceof Database.SqliteError ? error.code : '';
    const found = `${db.name}: ${(error as Error).message}.`;
    if (isDamage(error)) throw new AppError('storage', `Damaged: ${found}`, { remedy: ifDamaged, cause: error });
    if (code.startsWith('SQLITE_BUSY')) {
      throw new AppError('conflict', `Another process has been writing to ${found}`, {
        remedy: 'Nothing was changed; try again when it is done.',
        cause: error,
      });
    }
    if (!/^SQLITE_(?:FULL|IOERR|READONLY|CANTOPEN)/.test(code)) throw error;
    throw new AppError('storage', `Cannot write ${found}`, {
      remedy: 'Nothing was changed. Check that the disk is not full and may be written.',
      cause: error,
    });
  }
}

/** Whether SQLite found the file itself to be damaged. */
export function isDamage(error: unknown): boolean {
  const { code, message } = Object(error) as { code?: string; message?: string };
  // A table that is not there was, under a name that a damaged page no longer has.
  if (code === 'SQLITE_ERROR') return /^no such (?:table|column)|^malformed|has no column named/.test(message ?? '');
  return code === 'SQLITE_NOTADB' || (code?.startsWith('SQLITE_CORRUPT') ?? false);
}

/** Whether an error of `openDatabase`, or of asking the database, says that the file is damaged. */
export function isDamagedFile(error: unknown): boolean {
  return isAppError(error, 'storage') && isDamage(error.cause);
}

function damaged(what: string): Error {
  return Object.assign(new Error(what), { code: 'SQLITE_CORRUPT' });
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
