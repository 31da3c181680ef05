// Whether two stores are the same: every file to the byte, every version, row and id of their ledgers. Left out is what
// belongs to one machine: how files looked, and who holds a lease.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readBytesNow } from '../../../base/files/files.ts';
import type { Ledger, Row } from '../../../memory/ledger/ledger.ts';
import { shaOf } from '../../../memory/ledger/version-rows.ts';
import type { Store } from '../../../memory/store/store.ts';

/** What two stores are compared by: a sum for each file and each table, and how much there is. */
export interface Census {
  files: Map<string, string | null>;
  tables: Map<string, { rows: number; sum: string }>;
}

/** What is known of files by their dates, on one machine. */
const OF_A_MACHINE = ['history_look'];
/** Columns that say something of one machine, by table. */
const MACHINE_COLUMNS: Record<string, string[]> = {
  memory: ['seen_modified', 'seen_changed'],
  lease: ['owner', 'until'],
};

/** `leavingOut`: tables that are not compared. */
export function censusOf({ dir, ledger }: Pick<Store, 'dir' | 'ledger'>, leavingOut: string[] = []): Census {
  const heads = ledger.all<{ path: string }>(
    `select memory.path from memory join version on version.id = memory.head
     where memory.path is not null and version.sha is not null`,
  );
  const files = new Map(heads.map(({ path }) => [path, shaOf(readBytesNow(join(dir, path)))]));
  const tables = tablesOf(ledger).filter((table) => !leavingOut.includes(table));
  return { files, tables: new Map(tables.map((table) => [table, censusOfTable(ledger, table)])) };
}

/** The first difference, as a sentence without its stop; null where there is none. */
export function difference(a: Census, b: Census): string | null {
  for (const path of new Set([...a.files.keys(), ...b.files.keys()])) {
    if (a.files.get(path) !== b.files.get(path)) return `the file ${path} differs`;
  }
  for (const table of new Set([...a.tables.keys(), ...b.tables.keys()])) {
    const [here, there] = [a.tables.get(table), b.tables.get(table)];
    if (here?.sum !== there?.sum) return `rows of ${table} differ (${here?.rows ?? 'none'}, ${there?.rows ?? 'none'})`;
  }
  return null;
}

/** One sum of all. */
export function sumOf({ files, tables }: Census): string {
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  return shaOf(JSON.stringify([sorted, [...tables].map(([table, { sum }]) => [table, sum])]));
}

/** By name; what a full-text index keeps is in tables beside it. */
function tablesOf(ledger: Ledger): string[] {
  const sql = `select name from main.sqlite_master where type = 'table' and sql not like 'create virtual table%' order by name`;
  return ledger.all<{ name: string }>(sql).flatMap(({ name }) => (OF_A_MACHINE.includes(name) ? [] : name));
}

function censusOfTable(ledger: Ledger, table: string): { rows: number; sum: string } {
  const leftOut = MACHINE_COLUMNS[table] ?? [];
  const rows = ledger.all<Row>(`select * from main."${table}"`).map((row) => sumOfRow(row, leftOut));
  return { rows: rows.length, sum: shaOf(rows.sort().join()) };
}

function sumOfRow(row: Row, leftOut: string[]): string {
  const sum = createHash('sha256');
  for (const [column, value] of Object.entries(row)) {
    if (leftOut.includes(column)) continue;
    const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value));
    sum.update(`${column}:${value === null ? 'null' : typeof value}:${bytes.length}:`).update(bytes);
  }
  return sum.digest('hex');
}
