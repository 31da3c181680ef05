// Rows that a change can take back: each is written with what it was before, in the same transaction as the change's files.
// It owns which tables these are and what names a row of each.

import { insert, newId, type Row, replace, type Sql, type Value } from '../db/sql.ts';

type UndoTable = 'turn' | 'entry' | 'rests' | 'proposal' | 'snapshot_base' | 'place' | 'memory';

/** The columns that name a row. */
const KEYS: Record<UndoTable, readonly string[]> = {
  turn: ['session', 'id', 'begins'],
  entry: ['memory', 'id'],
  rests: ['memory', 'file', 'line', 'source'],
  proposal: ['id'],
  snapshot_base: ['memory', 'path'],
  place: ['machine', 'path'],
  memory: ['id'],
};

export class Change {
  readonly id = newId('chg');
  readonly job: string;
  readonly at: string;
  readonly sql: Sql;
  /** Rows and versions that it wrote so far. */
  rows = 0;
  versions = 0;

  constructor(sql: Sql, of: { job: string; at: string }) {
    this.sql = sql;
    this.job = of.job;
    this.at = of.at;
  }

  /** Enters the change, as the last thing of it; one that changed nothing is none. */
  async end(): Promise<void> {
    if (this.rows + this.versions > 0) await insert(this.sql, 'change', [{ id: this.id, job: this.job, at: this.at }]);
  }

  /** Writes a row, in place of the one with its key. */
  async put(table: UndoTable, row: Row): Promise<void> {
    await this.#keep(table, row);
    await replace(this.sql, table, KEYS[table], row);
  }

  /** Adds rows of which none is there, as few statements as it takes. */
  async add(table: UndoTable, rows: readonly Row[]): Promise<void> {
    const none = { change: this.id, tbl: table, before: null };
    const images = rows.map((row, at) => ({ ...none, n: this.rows + at, key: keyOf(table, row) }));
    this.rows += rows.length;
    await insert(this.sql, 'undo', images);
    await insert(this.sql, table, rows);
  }

  /** Takes away the row with this key; none there is fine. */
  async drop(table: UndoTable, key: Row): Promise<void> {
    if ((await this.#keep(table, key)) === null) return;
    const { where, values } = byKey(table, key);
    await this.sql.run(`delete from ${table} where ${where}`, ...values);
  }

  async #keep(table: UndoTable, row: Row): Promise<Row | null> {
    const before = (await rowOf(this.sql, table, row)) ?? null;
    const image = { change: this.id, n: this.rows, tbl: table, key: keyOf(table, row) };
    await insert(this.sql, 'undo', [{ ...image, before: before && JSON.stringify(before) }]);
    this.rows += 1;
    return before;
  }
}

export async function rowOf(sql: Sql, table: UndoTable, key: Row): Promise<Row | undefined> {
  const { where, values } = byKey(table, key);
  return sql.get(`select * from ${table} where ${where}`, ...values);
}

function byKey(table: UndoTable, row: Row) {
  const where = KEYS[table].map((column) => `${column} = ?`).join(' and ');
  return { where, values: valuesOf(table, row) };
}

function valuesOf(table: UndoTable, row: Row): Value[] {
  return KEYS[table].map((column) => row[column] ?? null);
}

/** A row's key as one text. */
export function keyOf(table: UndoTable, row: Row): string {
  return JSON.stringify(valuesOf(table, row));
}

/** The same of a text from `undo.key`. */
export function keyFrom(table: UndoTable, key: string): Row {
  const values = JSON.parse(key) as string[];
  return Object.fromEntries(KEYS[table].map((column, at) => [column, values[at] ?? null]));
}

/** A row that a job wrote. */
export interface RowChange {
  table: UndoTable;
  key: Row;
  /** As the job left it. Null, here and below: no row. */
  after: Row | null;
  current: Row | null;
  /** As it is once the job is taken back, with what others made of it before the job wrote it last. */
  back: Row | null;
  /** The change that made something else of it since, which stays; null where none did. */
  changedBy: string | null;
}

type Write = { change: string; job: string; before: string | null };

/** The rows that a job's changes wrote, each once, those written last first. */
export async function rowsWrittenBy(sql: Sql, job: string): Promise<{ table: UndoTable; key: string }[]> {
  const written = 'select u.tbl as "table", u.key from undo u join change c on c.id = u.change where c.job = ?';
  const rows = await sql.all<{ table: UndoTable; key: string }>(`${written} order by c.n desc, u.n desc`, job);
  return [...new Map(rows.map((row) => [`${row.table} ${row.key}`, row])).values()];
}

/** What became of each of them. */
export async function rowChangesOf(sql: Sql, job: string): Promise<RowChange[]> {
  const changes: RowChange[] = [];
  for (const row of await rowsWrittenBy(sql, job)) changes.push(await rowChange(sql, { job, ...row }));
  return changes;
}

async function rowChange(
  sql: Sql,
  { job, table, key: of }: { job: string; table: UndoTable; key: string },
): Promise<RowChange> {
  const key = keyFrom(table, of);
  const current = (await rowOf(sql, table, key)) ?? null;
  const writes = await sql.all<Write>(
    `select c.id as change, c.job, u.before from undo u join change c on c.id = u.change
     where u.tbl = ? and u.key = ? order by c.n, u.n`,
    ...[table, of],
  );
  const afterWrite = (at: number) => (at + 1 < writes.length ? imageOf(writes[at + 1]?.before) : current);
  const change: RowChange = { table, key, after: null, current, back: current, changedBy: null };
  const last = writes.findLastIndex((write) => write.job === job);
  change.after = afterWrite(last);
  for (let at = last; at >= 0 && change.changedBy === null; at -= 1) {
    const write = writes[at] as Write;
    const before = imageOf(write.before);
    if (write.job !== job || isSameRow(change.back, before)) continue;
    if (isSameRow(change.back, afterWrite(at))) change.back = before;
    else change.changedBy = writes[at + 1]?.change ?? '';
  }
  return change;
}

function imageOf(before: string | null | undefined): Row | null {
  if (before == null) return null;
  // Of a database that was made before these columns went.
  const { seen_at: _, paused_until: __, ...row } = JSON.parse(before);
  return row;
}

/** An image that was made before a column was there lacks it. */
function isSameRow(a: Row | null, b: Row | null): boolean {
  const columns = (row: Row | null) =>
    row &&
    JSON.stringify(
      Object.entries(row)
        .filter(([, value]) => value !== null)
        .sort(),
    );
  return columns(a) === columns(b);
}
