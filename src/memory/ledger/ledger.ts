// The ledger: `.nocturne/ledger.db`, the truth of what nocturne did in one memory directory.
// It owns the connection and the transaction. Every change of a row inside a commit goes through
// a `Transaction`, which keeps what stood there before, so that undo has it. What the rows mean is told in the other files
// here. Nothing here knows the files of a memory, or the store.
// Its functions are synchronous because files are swapped while the write lock is held.

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '../../base/errors.ts';
import { readOverlapping } from '../../base/files/file-pieces.ts';
import { moveFile, readText, removeFile, statNow } from '../../base/files/files.ts';
import { isDamage, isUnwritable, type Row, Sql, type Value } from './database.ts';
import { openBegun, openDatabase, openForLooking, schemaGaps } from './opening.ts';
import { LEDGER } from './schema.ts';

const IF_DAMAGED =
  'Run nocturne check --repair: it keeps the damaged file and rebuilds the ledger from the logs and dream reports.';

/** The tables whose rows a commit may change, with their key columns: what undo can put back. */
export const KEYS = {
  session: ['id'],
  coverage: ['session', 'turn', 'from_message'],
  entry: ['id'],
  support: ['path', 'line', 'entry'],
  index_line: ['line'],
  held: ['entry'],
  memory_snapshot: ['id'],
  snapshot_topic: ['path'],
  proposal: ['id'],
} as const;

export type { Row } from './database.ts';
export type UndoableTable = keyof typeof KEYS;

/** Who begins what is done through a ledger: a person at this machine, or a night, a hook, a client. */
export type StartedBy = 'person' | 'program';

export class Ledger extends Sql {
  readonly startedBy: StartedBy;
  /** How often the write-ahead log was emptied through this object. */
  timesEmptied = 0;

  /** @internal */
  constructor(db: Database.Database, startedBy: StartedBy = 'program') {
    super(db, IF_DAMAGED);
    this.startedBy = startedBy;
  }

  /** Like `transaction`, for what is found again after a power loss took it back: it does not wait for the disk. */
  transactionInNoHurry<T>(work: () => T): T {
    const { connection } = this;
    connection.synchronous ??= this.db.pragma('synchronous', { simple: true }) as number;
    const usual = connection.synchronous;
    if (usual !== 0) this.db.pragma('synchronous = normal');
    try {
      return this.transaction(work);
    } finally {
      this.db.pragma(`synchronous = ${usual}`);
    }
  }

  /**
   * Runs `work`, which writes what follows from other rows, or tells of this machine alone. Of a copy that only reads it is
   * lost when the copy is brought on.
   */
  deriving<T>(work: () => T): T {
    return this.#writing(() => this.transaction(work));
  }

  #writing<T>(work: () => T): T {
    const { connection } = this;
    if (!connection.onlyReads) return work();
    this.db.pragma('query_only = off');
    connection.onlyReads = false;
    try {
      return work();
    } finally {
      connection.onlyReads = true;
      this.db.pragma('query_only = on');
    }
  }

  /** @internal From now on only `deriving` changes anything. */
  onlyRead(): void {
    this.db.pragma('query_only = on');
    this.connection.onlyReads = true;
  }

  /** @internal From now on this is what `open` makes, when it is first asked. What this was is let go before. */
  become(open: () => Ledger): void {
    this.connection = () => open().connection;
  }

  /** @internal Makes now what it is to become when it is first asked. */
  open(): void {
    void this.connection;
  }

  /** @internal Runs `work`, which waits for nothing, on the connection of another. */
  over<T>(other: Ledger, work: () => T): T {
    return this.on(other.connection, work);
  }

  /** @internal Closes it so that the file stays as it is: what is in the write-ahead log goes. */
  closeWithoutLog(): void {
    if (!this.isOpened) {
      this.connection = () => {
        throw new TypeError('The database connection is not open');
      };
      return;
    }
    const { name, open } = this.db;
    if (!open) return;
    // The last connection to close brings the log into the file, unless it may only read.
    const last = statNow(`${name}-wal`)?.bytes ? new Database(name, { readonly: true }) : null;
    last?.prepare('select 1 from sqlite_master').get();
    this.close();
    last?.close();
    for (const end of ['-wal', '-shm']) removeFile(name + end);
  }

  /** Replaces what `scrub` changes in all rows of a text column; answers in how many. `isDry`: only counts. */
  scrub(at: { table: string; column: string; isDry: boolean }, scrub: (text: string) => string): number {
    this.db.function('scrub', { deterministic: true }, (text) => (typeof text === 'string' ? scrub(text) : text));
    const [table, column] = [`"${at.table}"`, `"${at.column}"`];
    const where = `where ${column} is not scrub(${column})`;
    if (at.isDry) return this.db.prepare(`select count(*) from ${table} ${where}`).pluck().get() as number;
    return this.db.prepare(`update or replace ${table} set ${column} = scrub(${column}) ${where}`).run().changes;
  }

  /** Rewrites the file, so that nothing that was deleted is left in its pages or its write-ahead log. */
  compact(): void {
    this.db.exec('vacuum');
    if (this.emptyLog()) return;
    throw new AppError(
      'conflict',
      'Another process reads the ledger, so deleted text is still in its write-ahead log.',
      { remedy: 'End it, for example the worker, and run the same command again.' },
    );
  }

  /** Brings what is in the write-ahead log into the file; false where another process reads it, which keeps it as it is. */
  emptyLog(): boolean {
    const [state] = this.db.pragma('wal_checkpoint(truncate)') as { busy: number }[];
    this.timesEmptied += 1;
    return state?.busy === 0;
  }

  /** The database file as it is at this moment. */
  bytes(): Buffer {
    return this.db.serialize();
  }

  /** Copies the database, as it is at this moment, to a new file. */
  copyTo(path: string): void {
    this.#writing(() => this.telling(() => this.db.prepare('vacuum into ?').run(path)));
  }

  /** Changes whenever another connection has committed to this file. */
  dataVersion(): number {
    return this.get<{ data_version: number }>('pragma data_version')?.data_version as number;
  }
}

/** A commit being written. What it changes of the tables in `KEYS` goes through here, so that undo has what stood there before. */
export class Transaction {
  readonly ledger: Ledger;
  readonly commit: number;

  constructor(ledger: Ledger, commit: number) {
    this.ledger = ledger;
    this.commit = commit;
  }

  /** Inserts or replaces a row. */
  put(table: UndoableTable, row: Row): void {
    this.#remember(table, row);
    this.ledger.replace(table, row);
  }

  /** Deletes the row with these key columns. */
  drop(table: UndoableTable, key: Row): void {
    this.#remember(table, key);
    this.ledger.run(`delete from ${table} where ${keyClause(table)}`, ...keyValues(table, key));
  }

  #remember(table: UndoableTable, row: Row): void {
    const key = keyValues(table, row);
    const before = this.ledger.get(`select * from ${table} where ${keyClause(table)}`, ...key);
    const image = before ? JSON.stringify(before) : null;
    this.ledger.insert('undo', { commit: this.commit, tbl: table, key: JSON.stringify(key), before: image });
  }
}

/** Opens the ledger of a memory directory, making both where they are missing. */
export function openLedger(
  dir: string,
  startedBy?: StartedBy,
  { waitMs, isCopy }: { waitMs?: number; isCopy?: boolean } = {},
): Ledger {
  return new Ledger(
    openDatabase(ledgerPath(dir), { schema: LEDGER, ifDamaged: IF_DAMAGED, waitMs, isCopy }),
    startedBy,
  );
}

/** What is wrong with the ledger of a memory directory as a database; nothing where it is sound or not there. */
export function ledgerDamage(dir: string): string[] {
  const path = ledgerPath(dir);
  if (!existsSync(path)) return [];
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { fileMustExist: true, timeout: 15_000 });
    const rows = db.pragma('integrity_check(10)') as { integrity_check: string }[];
    const damage = rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
    const gaps = damage.length > 0 ? damage : schemaGaps(db, LEDGER).map((column) => `it lacks ${column}`);
    return gaps.length > 0 ? gaps : brokenRows(db);
  } catch (error) {
    if (isDamage(error)) return [(error as Error).message];
    throw new AppError('storage', `Cannot open ${path}: ${(error as Error).message}.`, {
      remedy: 'Check that this user may write there.',
      cause: error,
    });
  } finally {
    db?.close();
  }
}

const JSON_COLUMNS = [
  ['entry', 'evidence'],
  ['inbox', 'payload'],
  ['failure', 'payload'],
  ['undo', 'key'],
  ['proposal', 'operations'],
  ['proposal', 'entries'],
  ['proposal', 'topics'],
] as const;

/** Rows whose JSON is none: SQLite itself finds nothing wrong with them. */
function brokenRows(db: Database.Database): string[] {
  return JSON_COLUMNS.flatMap(([table, column]) => {
    const count = db.prepare(`select count(*) from "${table}" where not json_valid(${column})`).pluck().get() as number;
    return count > 0 ? [`${count} of its rows (${table}.${column}) cannot be read`] : [];
  });
}

/** What a column holds as JSON. Throws `storage` where damage has made it none. */
export function jsonOf<Found>(text: unknown): Found {
  try {
    return JSON.parse(text as string);
  } catch (cause) {
    throw new AppError('storage', 'A row of the ledger is damaged: it cannot be read.', { remedy: IF_DAMAGED, cause });
  }
}

/** Keeps a damaged ledger next to its place, with its write-ahead log; answers the name. Nobody may have it open. */
export function setLedgerAside(dir: string, at: Date): string {
  const path = ledgerPath(dir);
  const kept = `${path}.broken-${at.toISOString().replaceAll(':', '-')}`;
  if (existsSync(kept)) throw new AppError('conflict', `${kept} is there already.`);
  for (const end of ['-shm', '-wal', '']) moveFile(path + end, kept + end);
  return basename(kept);
}

export function ledgerPath(dir: string): string {
  return join(dir, '.nocturne', 'ledger.db');
}

/**
 * The ledger of a memory directory in which nocturne has worked, or null: nothing is made. One that cannot be written is
 * looked into. `waitMs`: so long for others that write, and no longer.
 */
export function findLedger(dir: string, { waitMs }: { waitMs?: number } = {}): Ledger | null {
  if (!existsSync(ledgerPath(dir))) return null;
  try {
    return openLedger(dir, undefined, { waitMs });
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    return lookIntoLedger(dir);
  }
}

/**
 * The ledger of a memory directory for looking alone: whatever is asked of it, it changes nothing, and no file is left
 * behind. Null where nocturne has not worked, or a newer one has, or where the ledger cannot be opened so.
 */
export function lookIntoLedger(dir: string): Ledger | null {
  const path = ledgerPath(dir);
  if (!existsSync(path)) return null;
  const db = openForLooking(path, { schema: LEDGER, isInUse: existsSync(`${path}-wal`) });
  return db && new Ledger(db);
}

/** The ledger of a memory directory in which nothing is known, in memory. */
export function emptyLedger(): Ledger {
  const db = openBegun(LEDGER);
  db.pragma('query_only = on');
  return new Ledger(db);
}

/** How much of a file is held at once, and what its pieces share: a text of up to 1 MB stands whole in one of them. */
const PIECES = { bytes: 8 * 2 ** 20, overlap: 2 ** 20 };

/**
 * The text of a file of any size that may be a database of ours, in overlapping pieces; none where there is no file. A
 * database that this process has open is looked into through SQLite only: closing the file would drop every lock that
 * the process holds on it, whoever took it, and the next process to close the database would then take the write-ahead
 * log away from under this one.
 */
export async function* readTextOrDatabase(path: string): AsyncGenerator<string> {
  // What is locked and holds no text: the locks of a write-ahead log, and the store's own. And what a process that was
  // killed left of making a database: one in which nothing is yet, or a second name of it.
  if (/\.db-shm$|(?:^|\/)lock\.db$|\.db\.[0-9a-f-]{36}\.tmp$/.test(path) || !existsSync(path)) return;
  if (!/(?:^|\/)(?:ledger|home)\.db$/.test(path)) {
    const isLarge = (statNow(path)?.bytes ?? 0) > PIECES.bytes;
    if (!isLarge) yield (await readText(path)) ?? '';
    else for await (const piece of readOverlapping(path, PIECES)) yield piece.toString('utf8');
    return;
  }
  const bytes = readDatabase(path);
  for (let at = 0; at < bytes.length; at += PIECES.bytes - PIECES.overlap) {
    yield bytes.toString('utf8', at, at + PIECES.bytes);
  }
}

function readDatabase(path: string): Buffer {
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { readonly: true, fileMustExist: true, timeout: 15_000 });
    return db.serialize();
  } catch (error) {
    throw new AppError('storage', `Cannot look into ${path}: ${(error as Error).message}.`, { cause: error });
  } finally {
    db?.close();
  }
}

/** `prefix_` and twelve hex digits that nobody else will draw. */
export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
}

function keyClause(table: UndoableTable): string {
  return KEYS[table].map((column) => `${column} = ?`).join(' and ');
}

function keyValues(table: UndoableTable, row: Row): Value[] {
  return KEYS[table].map((column) => row[column] as Value);
}
