// SQLite files of ours as they are asked, and what their failures mean to a caller.
// Promises: every failure of the file is an AppError that names it and what to do. How they are opened is told in
// opening.ts; what is in a file is the business of ledger.ts and home.ts.

import Database from 'better-sqlite3';
import { AppError, isAppError } from '../../base/errors.ts';

/** Whether it failed because nothing can be written there: this user may not, nobody may, or the disk is full. */
export function isUnwritable(error: unknown): boolean {
  const { code } = Object((error as AppError).cause ?? error) as { code?: string };
  return (
    isAppError(error, 'storage') &&
    /^(?:SQLITE_(?:CANTOPEN|READONLY|FULL|IOERR)|EROFS$|EACCES$|EPERM$|ENOSPC$|EDQUOT$)/.test(code ?? '')
  );
}

/** Where nothing can be written, that is not noted, and all else goes on. */
export async function ifWritable(note: () => Promise<void>): Promise<void> {
  try {
    await note();
  } catch (error) {
    if (!isUnwritable(error)) throw error;
  }
}

export type Value = string | number | Buffer | null;
export type Row = Record<string, Value>;

interface Connection {
  db: Database.Database;
  statements: Map<string, Database.Statement<Value[], Row>>;
  /** It refuses every change. */
  onlyReads: boolean;
  /** How its transactions wait for the disk, once it was asked. */
  synchronous?: number;
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

  /** Like `all`, with each row as a list of its columns: for tables of many thousand rows. */
  lists(sql: string, ...values: Value[]): Value[][] {
    return this.telling(() => {
      const statement = this.#prepare(sql).raw(true);
      try {
        return statement.all(...values) as unknown as Value[][];
      } finally {
        statement.raw(false);
      }
    });
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

/** @internal Runs `work`; what SQLite itself fails with comes out as an AppError that names the file and what to do. */
export function telling<T>(db: Database.Database, { ifDamaged, work }: { ifDamaged: string; work(): T }): T {
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

/** @internal What `isDamage` knows. */
export function damaged(what: string): Error {
  return Object.assign(new Error(what), { code: 'SQLITE_CORRUPT' });
}
