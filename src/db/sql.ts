// The seam to SQL: one shape of asking for both engines, and the few helpers that statements share.
// Values stand for `?`. Rows come as plain objects; counts, sums and sizes as numbers, truth values as 1 and 0, bytes as Buffers.
// The engines differ only in `lock`; everything else that a statement may use means the same in both
// (test/db/statements.test.ts).

import { randomBytes } from 'node:crypto';

export type Value = string | number | null | Uint8Array;
export type Row = Record<string, Value>;

export interface Sql {
  all<Found = Row>(sql: string, ...values: Value[]): Promise<Found[]>;
  get<Found = Row>(sql: string, ...values: Value[]): Promise<Found | undefined>;
  /** Answers how many rows changed. */
  run(sql: string, ...values: Value[]): Promise<number>;
}

export interface Db extends Sql {
  readonly engine: 'sqlite' | 'postgres';
  /** What messages call it: the file's path, or the server's URL without its password. */
  readonly name: string;
  /** What people are told of it, where it can be read only. */
  readonly trouble?: string;
  /**
   * Does all of `work`, or nothing where it throws. `work` awaits nothing but `sql`: no file, no network (a move alone reads the
   * database that it leaves), no clock; it does not ask the database itself (test/support/memory-world.ts refuses it), and goes on
   * behind no statement that failed.
   */
  write<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Behind a select: rows that others wait for, or pass over. SQLite has one writer, and needs neither. */
  readonly lock: { readonly wait: string; readonly skip: string };
  close(): Promise<void>;
}

/** A value as both engines keep it: no text has U+0000 in it, nor half a character. */
export function plain(value: Value): Value {
  if (typeof value !== 'string') return value;
  const text = value.toWellFormed();
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}

/** A new id: `mem_` and 24 hex digits. */
export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`;
}

/** `?, ?, ?` for a list of values. */
export function marks(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}

/** Both engines take more values in a statement than this. */
export const MOST_VALUES = 900;

/** Inserts rows with the same columns, as few statements as it takes. `or`: what follows, such as `on conflict do nothing`. */
export async function insert(sql: Sql, table: string, rows: readonly Row[], or = ''): Promise<void> {
  const [first] = rows;
  if (!first) return;
  const columns = Object.keys(first);
  const each = Math.max(1, Math.floor(MOST_VALUES / columns.length));
  for (let at = 0; at < rows.length; at += each) {
    const some = rows.slice(at, at + each);
    const values = some.flatMap((row) => columns.map((column) => row[column] ?? null));
    const places = some.map(() => `(${marks(columns)})`).join(', ');
    await sql.run(`insert into ${table} (${columns.join(', ')}) values ${places} ${or}`, ...values);
  }
}

/** Inserts a row, in place of the one with the same key. */
export async function replace(sql: Sql, table: string, key: readonly string[], row: Row): Promise<void> {
  const others = Object.keys(row).filter((column) => !key.includes(column));
  const set = others.map((column) => `${column} = excluded.${column}`).join(', ');
  await insert(sql, table, [row], `on conflict (${key.join(', ')}) do ${set ? `update set ${set}` : 'nothing'}`);
}

/** A single value that the database keeps under a name. */
export async function settingOf(sql: Sql, key: string): Promise<string | undefined> {
  return (await sql.get<{ value: string }>('select value from setting where key = ?', key))?.value;
}

/** Keeps it, in place of the one before. */
export function keepSetting(sql: Sql, key: string, value: string): Promise<void> {
  return replace(sql, 'setting', ['key'], { key, value });
}

/** Asks for a list of values, in as many statements as it needs: `(#)` stands for the list, and `before` for what is before it. */
export async function allOf<Found = Row>(
  sql: Sql,
  text: string,
  list: readonly Value[],
  ...before: Value[]
): Promise<Found[]> {
  const found: Found[] = [];
  for (let at = 0; at < list.length; at += MOST_VALUES) {
    const some = list.slice(at, at + MOST_VALUES);
    found.push(...(await sql.all<Found>(text.replace('(#)', `(${marks(some)})`), ...before, ...some)));
  }
  return found;
}
