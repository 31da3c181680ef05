// What a home is kept in, as all who keep something there see it: statements in the SQL that SQLite and PostgreSQL both
// speak, answered by promises, so that what asks is written once. Here too: the file of this machine behind it.
// Promises: a transaction is done whole or not at all, and no other runs meanwhile. It is a generator that yields its
// statements, so that it can wait for nothing else; on the file it runs at one go, and nobody waits for it longer than
// SQLite takes.

import { isDead, type ProcessName } from '../../base/process.ts';
import type { Clock } from '../../base/time.ts';
import type { Row, Sql, Value } from '../ledger/database.ts';
import type { WingSchema } from '../ledger/schema.ts';

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
export const GONE_AFTER_MS = 2 * 60_000;

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

  /** The same with the tables of a wing in it, which its steps make. */
  abstract tablesOf(wing: WingSchema): HomeDatabase;

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

  tablesOf(wing: WingSchema): HomeDatabase {
    this.#sql.takeStepsOf(wing);
    return this;
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
