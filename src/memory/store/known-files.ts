// What the ledger says of how every file of the directory looked when it was last found to be its head, kept in
// memory: tens of thousands of rows are not read again before each commit.
// It follows the table by itself: rows that this connection changed are read again, and everything is where another
// process wrote to the ledger.

import type { Stat } from '../../base/files/files.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** A path as the ledger knows it. */
export interface Known {
  memory: string;
  path: string;
  /** Null: no file. */
  bytes: number | null;
  /** Null: not looked at since it was written. */
  modifiedMs: number | null;
  changedMs: number | null;
  missingSince: string | null;
  /** SHA-256 of its head, once the file was found to hold that. */
  sha?: string | null;
}

/** Files and their bytes, without daily logs. */
export interface Totals {
  memories: number;
  bytes: number;
}

/** Whether a file looks as it did when it was last found to be its head. */
export function matchesKnown(known: Pick<Known, 'bytes' | 'modifiedMs' | 'changedMs'>, stat: Stat): boolean {
  return known.bytes === stat.bytes && known.modifiedMs === stat.modifiedMs && known.changedMs === stat.changedMs;
}

/** Not under `.nocturne/`, where the store alone writes. */
export const VISIBLE = "path not like '.%'";

const SELECT = `select id, path, seen_bytes, seen_modified, seen_changed, missing_since from memory where ${VISIBLE}`;

export class KnownFiles {
  readonly #ledger: Ledger;
  readonly #byPath = new Map<string, Known>();
  readonly #byMemory = new Map<string, Known>();
  #dataVersion: number | null = null;
  #totals: Totals = { memories: 0, bytes: 0 };

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    // Of this connection alone, in memory, and taken back with the transaction that fired it.
    ledger.run('create temp table touched (memory text primary key)');
    for (const change of ['insert', 'update']) {
      ledger.run(`create temp trigger touched_by_${change} after ${change} on main.memory
        begin insert or ignore into touched values (new.id); end`);
    }
  }

  /** Catches up with the ledger. Belongs outside of a transaction: what that takes back must not be known here. */
  refresh(): void {
    const dataVersion = this.#ledger.dataVersion();
    const touched = this.#ledger.all('select memory from touched').map((row) => row.memory as string);
    if (dataVersion !== this.#dataVersion) this.#readAll();
    else for (const memory of touched) this.#readAgain(memory);
    if (touched.length > 0) this.#ledger.run('delete from touched');
    this.#dataVersion = dataVersion;
  }

  /** Nothing is known until the next refresh: for when a transaction was taken back. */
  invalidate(): void {
    this.#dataVersion = null;
  }

  get totals(): Totals {
    return { ...this.#totals };
  }

  get(path: string): Known | undefined {
    return this.#byPath.get(path);
  }

  all(): Iterable<Known> {
    return this.#byPath.values();
  }

  #readAll(): void {
    this.#byPath.clear();
    this.#byMemory.clear();
    this.#totals = { memories: 0, bytes: 0 };
    for (const row of this.#ledger.lists(SELECT)) this.#add(row as Tuple);
  }

  #readAgain(memory: string): void {
    const known = this.#byMemory.get(memory);
    if (known) {
      this.#byMemory.delete(memory);
      if (this.#byPath.get(known.path) === known) this.#byPath.delete(known.path);
      this.#count(known, -1);
    }
    for (const row of this.#ledger.lists(`${SELECT} and id = ?`, memory)) this.#add(row as Tuple);
  }

  #add([memory, path, bytes, modifiedMs, changedMs, missingSince]: Tuple): void {
    const known = { memory, path, bytes, modifiedMs, changedMs, missingSince };
    this.#byPath.set(path, known);
    this.#byMemory.set(memory, known);
    this.#count(known, 1);
  }

  #count({ path, bytes }: Known, sign: 1 | -1): void {
    if (bytes === null || path.startsWith('logs/')) return;
    this.#totals.memories += sign;
    this.#totals.bytes += sign * bytes;
  }
}

type Tuple = [string, string, number | null, number | null, number | null, string | null];
