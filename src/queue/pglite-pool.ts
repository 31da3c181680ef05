// A PGlite database in the shape of a `pg.Pool`, for BullMQ's Postgres backend.
// Promises BullMQ what one server session can: queries in order, notifications to every client. "Clients" share that
// one session, so a transaction is safe only while nobody else asks anything (BullMQ's migrations, at open).
// PGlite does not lock its directory: the caller guarantees that one process at a time opens it.

import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { PGlite } from '@electric-sql/pglite';
import type { PgPool, PgPoolClient, PgQueryable, PgQueryResult } from 'bullmq';

// Measured: they halve the memory of an open database, to about 160 MB.
const SMALL = ['shared_buffers=8MB', 'max_wal_size=64MB'];

// One job is a handful of queries and leaves about 2 KB of dead rows; single-user Postgres never cleans up by itself.
const QUERIES_BETWEEN_VACUUMS = 20_000;

/** Opens (or makes) the database in `dataDir`. Rejects with PGlite's own error where it cannot be opened. */
export async function openPglitePool(dataDir: string, schema: string): Promise<PgPool> {
  const database = await PGlite.create(dataDir, { postgresqlconf: SMALL });
  // Not created here: the migrations do it, and a search path may name what is not there yet.
  await database.exec(`SET search_path TO ${schema}`);
  let queriesLeft = QUERIES_BETWEEN_VACUUMS;

  const query = async <R>(text: string, params?: readonly unknown[]): Promise<PgQueryResult<R>> => {
    // PGlite answers in microtasks only: without a pause BullMQ's polling starves every timer of the process.
    await setImmediate();
    queriesLeft -= 1;
    if (queriesLeft === 0) {
      queriesLeft = QUERIES_BETWEEN_VACUUMS;
      await database.exec('VACUUM');
    }
    // Without parameters it may be a migration, which is many statements; only `exec` takes those.
    const result = params
      ? await database.query<R>(text, [...params])
      : ((await database.exec(text)).at(-1) as { rows: R[]; affectedRows?: number } | undefined);
    return { rows: result?.rows ?? [], rowCount: result?.affectedRows ?? result?.rows.length ?? 0 };
  };
  return new PglitePool(database, query);
}

class PglitePool extends EventEmitter implements PgPool {
  readonly query: PgQueryable['query'];
  readonly #database: PGlite;

  constructor(database: PGlite, query: PgQueryable['query']) {
    super();
    this.#database = database;
    this.query = query;
  }

  async connect(): Promise<PgPoolClient> {
    return new PgliteClient(this.#database, this.query);
  }

  async end(): Promise<void> {
    if (!this.#database.closed) await this.#database.close();
  }
}

class PgliteClient extends EventEmitter implements PgPoolClient {
  readonly query: PgQueryable['query'];
  readonly #stopForwarding: () => void;

  constructor(database: PGlite, query: PgQueryable['query']) {
    super();
    this.query = query;
    this.#stopForwarding = database.onNotification((channel, payload) =>
      this.emit('notification', { channel, payload }),
    );
  }

  release(): void {
    this.#stopForwarding();
    this.removeAllListeners();
  }
}
