// How SQLite files of ours are opened, and what their failures mean to a caller.
// Promises: private to the user, a write-ahead log, durable commits, 15 s of waiting for other writers; every failure of
// the file is an AppError that names it and what to do. What is in a file is the business of ledger.ts and home.ts.

import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { AppError, isAppError } from '../../errors.ts';
import { makeDirectory, makeFile, readBytesNow } from '../../files.ts';

/** As long as SQLite itself waits for other writers, in all. */
const MOST_TRIES = 1_500;
const BETWEEN_TRIES_MS = 10;

/**
 * @internal
 * Opens a SQLite file of ours: write-ahead log, durable commits, waits up to 15 s for other writers. `steps` of the
 * schema that the file has not seen yet are taken; how many it has is its `user_version`.
 */
export function openDatabase(path: string, options: { steps: string[]; ifDamaged?: string }): Database.Database {
  makeDirectory(dirname(path));
  // SQLite gives its files the mode of this one, which it would make readable by others.
  makeFile(path);
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { timeout: 15_000 });
    keepLog(db);
    db.pragma('synchronous = full');
    db.pragma('secure_delete = on');
    db.pragma('temp_store = memory');
    const opened = db;
    opened
      .transaction(() => {
        const found = opened.pragma('user_version', { simple: true }) as number;
        if (found > options.steps.length) {
          throw new AppError('storage', `${path} was written by a newer nocturne (version ${found}).`, {
            remedy: 'Update nocturne on this machine.',
          });
        }
        if (found === options.steps.length) return;
        const gaps = schemaGaps(opened, options.steps);
        if (gaps.length > 0) {
          throw new AppError(
            'storage',
            `${path} is not as nocturne makes it: it lacks ${gaps.slice(0, 3).join(', ')}.`,
            {
              remedy: options.ifDamaged,
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
 * What is in the file, in memory: where SQLite may make no write-ahead log beside it. What one that is there has more is
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

/** A SQLite file of ours. What SQLite fails with in writing it is an AppError that names the file and what to do. */
export class Sql {
  /** @internal Declarations are published without what is internal, so that nobody needs the types of SQLite. */
  protected readonly db: Database.Database;
  readonly #ifDamaged: string;
  readonly #statements = new Map<string, Database.Statement<Value[], Row>>();

  /** @internal */
  constructor(db: Database.Database, ifDamaged: string) {
    this.db = db;
    this.#ifDamaged = ifDamaged;
  }

  /** Runs `work` while no other process can write. A throw takes everything back. */
  transaction<T>(work: () => T): T {
    return this.#telling(() => this.db.transaction(work).immediate());
  }

  /** `Found`: what the statement selects, by column. */
  all<Found = Row>(sql: string, ...values: Value[]): Found[] {
    return this.#prepare(sql).all(...values) as Found[];
  }

  get<Found = Row>(sql: string, ...values: Value[]): Found | undefined {
    return this.#prepare(sql).get(...values) as Found | undefined;
  }

  /** Runs a statement that changes rows; answers how many. */
  run(sql: string, ...values: Value[]): number {
    return this.#telling(() => this.#prepare(sql).run(...values).changes);
  }

  close(): void {
    this.#statements.clear();
    this.db.close();
  }

  #telling<T>(work: () => T): T {
    return telling(this.db, { ifDamaged: this.#ifDamaged, work });
  }

  #prepare(sql: string): Database.Statement<Value[], Row> {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.db.prepare<Value[], Row>(sql);
      this.#statements.set(sql, statement);
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
    if (code.startsWith('SQLITE_BUSY')) {
      throw new AppError('conflict', `Another process has been writing to ${found}`, {
        remedy: 'Nothing was changed; try again when it is done.',
        cause: error,
      });
    }
    if (!isDamage(error) && !/^SQLITE_(?:FULL|IOERR|READONLY|CANTOPEN)/.test(code)) throw error;
    throw new AppError('storage', `Cannot write ${found}`, {
      remedy: isDamage(error) ? ifDamaged : 'Nothing was changed. Check that the disk is not full and may be written.',
      cause: error,
    });
  }
}

/** Whether SQLite found the file itself to be damaged. */
export function isDamage(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'SQLITE_NOTADB' || (code?.startsWith('SQLITE_CORRUPT') ?? false);
}
