// SQLite behind the seam: one connection that writes, in turns, and one that reads what is committed.
// Promises: a commit has reached the disk; what is deleted is overwritten; whoever waits for another process lets the event loop
// go on, and gives up after 30 s with `conflict`; what the file fails with names it and says what to do; on a full disk it is read.

import { setTimeout as wait } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { AppError } from '../base/errors.ts';
import { type Db, plain, type Row, type Sql, type Value } from './sql.ts';

/** SQLite itself waits so long for a lock, which holds the event loop; the rest is waited between tries. */
const HELD_MS = 20;
const LONGEST_PAUSE_MS = 16;
/** At most so much waiting in all: pauses of up to 16 ms, each after a try of up to 20 ms. */
const MOST_TRIES = 1_200;

export const IF_DAMAGED =
  'Run nocturne check --restore: it puts the damaged file aside and takes the newest good copy, else begins anew from the Markdown.';

type Connection = Database.Database;

/** The connections to one file: `writer`, which made its tables or found them (open-database.ts), and one beside it. */
export function openSqlite(path: string, writer: Connection): Db {
  const isFull = writer.pragma('locking_mode', { simple: true }) === 'exclusive';
  const reader = isFull ? writer : telling(path, () => connect(path));
  if (!isFull) reader.pragma('query_only = on');
  const [writing, reading] = [asking(writer, path), asking(reader, path)];
  let turns: Promise<unknown> = Promise.resolve();

  const transaction = <T>(work: (sql: Sql) => Promise<T>): Promise<T> => {
    const mine = turns.then(() => inTransaction(writer, path, () => work(writing)));
    turns = mine.catch(() => undefined);
    return mine;
  };
  return {
    engine: 'sqlite',
    name: path,
    ...(isFull && { trouble: 'The disk is full: what is remembered is read, and nothing new is kept.' }),
    ...reading,
    run: (sql, ...values) => transaction((at) => at.run(sql, ...values)),
    write: transaction,
    lock: { wait: '', skip: '' },
    async close() {
      await turns;
      reader.close();
      writer.close();
    },
  };
}

/**
 * A connection with everything set that is a connection's own. Where the disk has no room for what processes share of a log, it
 * keeps the file to itself and needs nothing beside it.
 */
export function connect(path: string): Connection {
  let db = new Database(path, { timeout: HELD_MS });
  try {
    db.pragma('user_version');
  } catch (error) {
    // Who waits for a lock, or finds damage, is told at the first statement.
    if (isFull(error)) {
      db.close();
      db = new Database(path, { timeout: HELD_MS });
      db.pragma('locking_mode = exclusive');
    }
  }
  try {
    for (const each of ['synchronous = full', 'foreign_keys = on', 'secure_delete = on', 'temp_store = memory'])
      db.pragma(each);
    // As in PostgreSQL.
    db.pragma('case_sensitive_like = on');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

async function inTransaction<T>(db: Connection, path: string, work: () => Promise<T>): Promise<T> {
  await inTurn(path, () => db.exec('begin immediate'));
  try {
    const done = await work();
    telling(path, () => db.exec('commit'));
    return done;
  } catch (error) {
    if (db.inTransaction) db.exec('rollback');
    throw error;
  }
}

/** Does what needs a lock that another process may hold, as soon as it is free. */
export async function inTurn<T>(path: string, work: () => T): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || tries === MOST_TRIES) throw told(path, error);
      await wait(Math.min(LONGEST_PAUSE_MS, 2 ** tries) * (0.5 + Math.random() / 2));
    }
  }
}

function asking(db: Connection, path: string): Sql {
  const prepared = new Map<string, Database.Statement<Value[], Row>>();
  const on = <T>(sql: string, work: (statement: Database.Statement<Value[], Row>) => T): Promise<T> =>
    inTurn(path, () => {
      let statement = prepared.get(sql);
      if (!statement) {
        // Statements of lists have many lengths.
        if (prepared.size > 500) prepared.clear();
        statement = db.prepare<Value[], Row>(sql);
        prepared.set(sql, statement);
      }
      return work(statement);
    });
  return {
    all: <Found>(sql: string, ...values: Value[]) => on(sql, (each) => each.all(...values.map(plain)) as Found[]),
    get: <Found>(sql: string, ...values: Value[]) =>
      on(sql, (each) => each.get(...values.map(plain)) as Found | undefined),
    run: (sql, ...values) => on(sql, (each) => each.run(...values.map(plain)).changes),
  };
}

/** Runs `work`; what SQLite fails with comes out as an AppError that names the file. */
export function telling<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw told(path, error);
  }
}

function told(path: string, error: unknown): unknown {
  const code = error instanceof Database.SqliteError ? error.code : '';
  const found = `${path}: ${(error as Error).message}.`;
  if (isDamage(error)) return new AppError('storage', `Damaged: ${found}`, { remedy: IF_DAMAGED, cause: error });
  if (isBusy(error)) {
    const remedy = 'Nothing was changed; try again when it is done, or end it.';
    return new AppError('conflict', `Another process has been writing to ${found}`, { remedy, cause: error });
  }
  if (!/^SQLITE_(?:FULL|IOERR|READONLY|CANTOPEN)/.test(code)) return error;
  return new AppError('storage', `Cannot use ${found}`, {
    remedy: 'Nothing was changed. Check that the disk is not full and that this user may write there.',
    cause: error,
  });
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(?:BUSY|LOCKED|PROTOCOL)/.test(error.code);
}

/** Whether there was no room for what a reader needs beside the file. */
export function isFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(?:FULL|IOERR_SHM)/.test(error.code);
}

/** Whether SQLite found the file itself to be damaged. */
function isDamage(error: unknown): boolean {
  const { code, message } = Object(error) as { code?: string; message?: string };
  // A table that is not there was, under a name that a damaged page no longer has.
  if (code === 'SQLITE_ERROR') return /^no such (?:table|column)|^malformed|has no column named/.test(message ?? '');
  return code === 'SQLITE_NOTADB' || (code?.startsWith('SQLITE_CORRUPT') ?? false);
}

/** Takes the kernel's lock on a file that is nothing else, and answers what lets it go; null where another holds it. It ends with its process. */
export function takeLock(path: string): (() => void) | null {
  const db = telling(path, () => new Database(path, { timeout: 0 }));
  try {
    db.exec('begin exclusive');
    return () => db.close();
  } catch (error) {
    db.close();
    if (isBusy(error)) return null;
    throw error;
  }
}
