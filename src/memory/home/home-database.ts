// What a home is kept in, as all who keep something there see it: statements in the SQL that SQLite and PostgreSQL both
// speak, answered by promises, so that what asks is written once. Here too: the file of this machine behind it, which is
// kept aside where it is damaged; a new one is made, and what can still be read is taken over.
// Promises: a transaction is done whole or not at all, and no other runs meanwhile. It is a generator that yields its
// statements, so that it can wait for nothing else; on the file it runs at one go, and nobody waits for it longer than
// SQLite takes. Of processes that find it damaged at once one mends it; what today's spend was counts as all there is
// where it cannot be read, and everything unasked is paused where the pauses cannot; what happened is noted in the new one.

import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { isAppError } from '../../base/errors.ts';
import { makeDirectory, moveFile, readTextNow, removeFile, writeNew } from '../../base/files/files.ts';
import { isDead, type ProcessName, thisProcess } from '../../base/process.ts';
import type { Clock } from '../../base/time.ts';
import { isDamagedFile, type Row, type Sql, type Value } from '../ledger/database.ts';
import { openDatabase, requireSound, salvageRows } from '../ledger/opening.ts';
import { HOME } from '../ledger/schema.ts';

export type { Row, Value } from '../ledger/database.ts';

export interface Statement {
  /** With `?` for each value. */
  sql: string;
  values: Value[];
  /** The first row or undefined, all rows, or how many rows were changed. */
  wants: 'row' | 'rows' | 'count';
}

/** Statements that are asked one after another, and what is made of their answers. */
export type Steps<T> = Generator<Statement, T, unknown>;

export function* rows<Found = Row>(sql: string, ...values: Value[]): Steps<Found[]> {
  return (yield { sql, values, wants: 'rows' }) as Found[];
}

export function* row<Found = Row>(sql: string, ...values: Value[]): Steps<Found | undefined> {
  return (yield { sql, values, wants: 'row' }) as Found | undefined;
}

/** Answers how many rows were changed. */
export function* run(sql: string, ...values: Value[]): Steps<number> {
  return (yield { sql, values, wants: 'count' }) as number;
}

/** Inserts a row, by its columns. */
export function* insert(table: string, row: Row): Steps<void> {
  yield inserting(table, row);
}

/** The same, in place of a row that has the same key. */
export function* put(table: string, row: Row, key: string[]): Steps<void> {
  const { sql, ...rest } = inserting(table, row);
  const others = Object.keys(row).filter((column) => !key.includes(column));
  const set = others.map((column) => `"${column}" = excluded."${column}"`).join(', ');
  yield { ...rest, sql: `${sql} on conflict (${key.join(', ')}) do ${set ? `update set ${set}` : 'nothing'}` };
}

function inserting(table: string, row: Row): Statement {
  const columns = Object.keys(row);
  const named = columns.map((column) => `"${column}"`).join(', ');
  const sql = `insert into "${table}" (${named}) values (${columns.map(() => '?').join(', ')})`;
  return { sql, values: Object.values(row), wants: 'count' };
}

/** On several machines, a process that was not seen for so long works no more. */
const GONE_AFTER_MS = 2 * 60_000;

export abstract class HomeDatabase {
  /**
   * Where several machines write: the expression for the one time by which they see each other. Null where all are on this
   * machine, which has a clock and knows which processes run.
   */
  abstract readonly sharedTime: string | null;

  /** Where a person raises the limits of the day, as the end of a sentence. */
  abstract readonly limitsPlace: string;

  /** Asks one statement, which is done whole or not at all. */
  protected abstract ask(statement: Statement): Promise<unknown>;

  /** A throw takes everything back. */
  abstract transaction<T>(work: () => Steps<T>): Promise<T>;

  /** Another one where another process wrote here. */
  abstract sign(): Promise<string>;

  abstract close(): Promise<void>;

  /** What time it is to all who write here. */
  *now(clock: Clock): Steps<string> {
    if (this.sharedTime === null) return clock.now().toISOString();
    return ((yield* row<{ now: string }>(`select ${this.sharedTime} as now`)) as { now: string }).now;
  }

  /** Whether a process works no more that was seen last at an instant; `now` as `now` above answers it. */
  isGone({ process, seenAt }: { process: ProcessName; seenAt: string | null }, now: string): boolean {
    if (this.sharedTime === null) return isDead(process);
    return seenAt === null || Date.parse(now) - Date.parse(seenAt) > GONE_AFTER_MS;
  }

  /** Asks these, each by itself: others may change something in between. */
  async do<T>(steps: Steps<T>): Promise<T> {
    let next = steps.next();
    while (!next.done) next = steps.next(await this.ask(next.value));
    return next.value;
  }

  /** `Found`: what the statement selects, by column. */
  all<Found = Row>(sql: string, ...values: Value[]): Promise<Found[]> {
    return this.ask({ sql, values, wants: 'rows' }) as Promise<Found[]>;
  }

  get<Found = Row>(sql: string, ...values: Value[]): Promise<Found | undefined> {
    return this.ask({ sql, values, wants: 'row' }) as Promise<Found | undefined>;
  }

  /** Answers how many rows were changed. */
  run(sql: string, ...values: Value[]): Promise<number> {
    return this.ask({ sql, values, wants: 'count' }) as Promise<number>;
  }

  insert(table: string, row: Row): Promise<void> {
    return this.do(insert(table, row));
  }

  put(table: string, row: Row, key: string[]): Promise<void> {
    return this.do(put(table, row, key));
  }
}

/** What keeps rows of its own in a home. */
export abstract class HomePart {
  protected readonly database: HomeDatabase;
  protected readonly clock: Clock;

  constructor(database: HomeDatabase, clock: Clock) {
    this.database = database;
    this.clock = clock;
  }
}

/** `home.db`: answered at once, behind a promise that is kept already. */
export class FileDatabase extends HomeDatabase {
  readonly sharedTime = null;
  readonly limitsPlace = 'in config.json of the nocturne home';
  readonly #sql: Sql;

  constructor(sql: Sql) {
    super();
    this.#sql = sql;
  }

  protected async ask(statement: Statement): Promise<unknown> {
    return answer(this.#sql, statement);
  }

  async transaction<T>(work: () => Steps<T>): Promise<T> {
    return this.#sql.transaction(() => answerNow(this.#sql, work()));
  }

  async sign(): Promise<string> {
    return String(this.#sql.get<{ data_version: number }>('pragma data_version')?.data_version);
  }

  close(): Promise<void> {
    this.#sql.close();
    return Promise.resolve();
  }
}

/** For those who must not wait: asks a file of this machine. */
export function answerNow<T>(sql: Sql, steps: Steps<T>): T {
  let next = steps.next();
  while (!next.done) next = steps.next(answer(sql, next.value));
  return next.value;
}

function answer(sql: Sql, { sql: text, values, wants }: Statement): unknown {
  if (wants === 'count') return sql.run(text, ...values);
  return wants === 'row' ? sql.get(text, ...values) : sql.all(text, ...values);
}

const MOST_TRIES = 1_000;
const BETWEEN_TRIES_MS = 10;

interface HomeFile {
  path: string;
  ifDamaged: string;
  now: Date;
  today: string;
}

/** @internal Opens the database of a home; a damaged one is made again. */
export function openSoundHome(file: HomeFile): Database.Database {
  try {
    return openSound(file);
  } catch (error) {
    if (!isDamagedFile(error)) throw error;
    return alone(`${file.path}.mending`, () => openOrMend(file));
  }
}

function openSound({ path, ifDamaged }: HomeFile): Database.Database {
  const db = openDatabase(path, { schema: HOME, ifDamaged });
  try {
    requireSound(db, { schema: HOME, ifDamaged });
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function openOrMend(file: HomeFile): Database.Database {
  try {
    return openSound(file);
  } catch (error) {
    if (!isDamagedFile(error)) throw error;
  }
  const { path, now, today } = file;
  const kept = `${path}.broken-${now.toISOString().replaceAll(':', '-')}`;
  for (const end of ['-shm', '-wal', '']) moveFile(path + end, kept + end);
  const db = openDatabase(path, { schema: HOME, ifDamaged: file.ifDamaged });
  db.transaction(() => {
    const lacking = salvageRows(kept, db);
    if (lacking.has('spend')) {
      db.prepare(
        `insert into spend (day, reserved, used, calls, full_from, unreadable) values (?, 0, 0, 0, ?, 1)
           on conflict (day) do update set unreadable = 1, full_from = excluded.full_from`,
      ).run(today, now.toISOString());
    }
    if (lacking.has('pause')) {
      db.prepare("insert or replace into pause (project, until, at, assumed) values ('', null, ?, 1)").run(
        now.toISOString(),
      );
    }
    db.prepare('insert or replace into damage (id, at, kept, looked, lost) values (1, ?, ?, 0, ?)').run(
      now.toISOString(),
      kept,
      [...lacking].join(' '),
    );
  }).immediate();
  return db;
}

/** Runs `work` while no other process does. */
function alone<T>(lock: string, work: () => T): T {
  makeDirectory(dirname(lock));
  for (let tries = MOST_TRIES; ; tries -= 1) {
    try {
      writeNew(lock, thisProcess());
      break;
    } catch (error) {
      if (!isAppError(error) || (error.cause as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const owner = readTextNow(lock);
      if (tries === 0 || (owner && isDead(owner as ProcessName))) removeFile(lock);
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BETWEEN_TRIES_MS);
    }
  }
  try {
    return work();
  } finally {
    removeFile(lock);
  }
}
