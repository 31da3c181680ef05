// The home in PostgreSQL: what `home.db` is on one machine, for all machines that share a database. It has a schema of its
// own, since its tables are called as there.
// Promises: nothing is loaded or reached before the first statement, and a database that was away is asked again by the next;
// of transactions and statements that write one is done at a time, over all processes, as in a file; text compares as there,
// by bytes; whole numbers are numbers.

import { HomeDatabase, type Statement, type Steps } from '../../../memory/home/home-database.ts';
import type { Ask, Database, DatabaseOptions, Run, SqlValue } from '../postgres.ts';
import { HOME_SCHEMA, toPostgres } from './dialect.ts';

/** A transaction of a process that is stopped keeps nobody waiting for longer than a lock may be waited for. */
const IDLE_MS = 8_000;
const CONNECTIONS = 4;
/** Every statement that writes a table does the same before it (dialect.ts), and so waits until this transaction is over. */
const BEGIN = 'begin; update change set number = number + 1';

export class PostgresHome extends HomeDatabase {
  readonly sharedTime = `to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  readonly limitsPlace = 'by nocturne fleet limits';
  readonly #url: string;
  readonly #within: DatabaseOptions['within'];
  #opening: Promise<Database> | undefined;
  #closing: Promise<void> | undefined;

  constructor(url: string, { within }: Pick<DatabaseOptions, 'within'> = {}) {
    super();
    this.#url = url;
    this.#within = within;
  }

  protected async ask(statement: Statement): Promise<unknown> {
    const { ask, run } = await this.#open();
    return answer(statement, { ask, run });
  }

  async transaction<T>(work: () => Steps<T>): Promise<T> {
    const database = await this.#open();
    return database.transaction(BEGIN, async (ask, run) => {
      const steps = work();
      let next = steps.next();
      while (!next.done) next = steps.next(await answer(next.value, { ask, run }));
      return next.value;
    });
  }

  async sign(): Promise<string> {
    return String((await this.get<{ number: number }>('select number from change'))?.number);
  }

  close(): Promise<void> {
    this.#closing ??= Promise.resolve(this.#opening).then(
      (database) => database?.close(),
      () => {},
    );
    return this.#closing;
  }

  #open(): Promise<Database> {
    this.#opening ??= this.#connect().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<Database> {
    const { openDatabase } = await import('../postgres.ts');
    const options = { schema: HOME_SCHEMA, connections: CONNECTIONS, idleMs: IDLE_MS, within: this.#within };
    return openDatabase(this.#url, options);
  }
}

async function answer({ sql, values, wants }: Statement, { ask, run }: { ask: Ask; run: Run }): Promise<unknown> {
  const [text, given] = [toPostgres(sql), values as SqlValue[]];
  if (wants === 'count') return run(text, given);
  const found = await ask(text, given);
  return wants === 'row' ? found[0] : found;
}
