// The files of a memory directory as they stand, for those who only look: which are listed, which changed, their texts.
// A file that looks as it did when it was last found to be its head (size and times: `KnownFiles`) is not opened: the
// ledger has its text in one place, where ten thousand files are ten thousand seeks. Every other file is read, so what a
// person wrote a second ago is seen, and a directory without a ledger is read whole.
// Promises: nothing is changed, made or locked; a link that leads out of the directory leads nowhere.

import { join, resolve } from 'node:path';
import { AppError, isAppError } from '../../base/errors.ts';
import { canonicalPath } from '../../base/files/directories.ts';
import { MOST_MEMORY_BYTES, readMemoryBytesNow, readMemoryNow, type Stat, statNow } from '../../base/files/files.ts';
import { shownText } from '../conflicts/conflict.ts';
import { emptyLedger, type Ledger, lookIntoLedger } from '../ledger/ledger.ts';
import { headAt, memoryAt, missingIn, shaOf } from '../ledger/version-rows.ts';
import { confine, filesByName, isMemoryPath, locateFile } from './confine.ts';

export interface LiveFile extends Stat {
  path: string;
  /** Where it is, as the disk spells it. */
  absolute: string;
  /** The version that it is known to hold; null where it has to be read. */
  head: string | null;
}

type SeenRow = [string, number | null, number | null, number | null, string | null];

/** The files by path; `ledger` is null where nocturne has not worked. */
export function liveFiles(dir: string, ledger: Ledger | null): LiveFile[] {
  const seen = new Map(ledger && isApplied(ledger) ? seenRows(ledger).map((row) => [row[0], row]) : []);
  const paths = [...filesByName(dir)].filter(([path]) => path.endsWith('.md'));
  paths.sort(([a], [b]) => (a < b ? -1 : 1));
  return paths.flatMap(([path, spelled]) => {
    const absolute = join(dir, spelled);
    const stat = statNow(absolute);
    if (!stat) return [];
    const [, bytes = null, modifiedMs = null, changedMs = null, head = null] = seen.get(path) ?? [];
    const isHead = stat.isFile && matchesKnown({ bytes, modifiedMs, changedMs }, stat);
    return [{ ...stat, path, absolute, head: isHead ? head : null }];
  });
}

/** The text of one, as it stands and as readers are shown it. */
export function textOf({ path, absolute, head }: LiveFile, ledger: Ledger | null): { raw: string; shown: string } {
  const known =
    head === null ? undefined : ledger?.get('select cast(content as text) as text from version where id = ?', head);
  const raw = (known?.text as string | null | undefined) ?? readMemoryNow(absolute) ?? '';
  return { raw, shown: shownText(raw, { path, ledger }) };
}

/** After a crash heads may be ahead of the files, until the store is opened. */
function isApplied(ledger: Ledger): boolean {
  return ledger.get('select 1 from "commit" where applied = 0') === undefined;
}

function seenRows(ledger: Ledger): SeenRow[] {
  const sql = `select path, seen_bytes, seen_modified, seen_changed, head from memory
    where ${VISIBLE} and missing_since is null`;
  return ledger.lists(sql) as SeenRow[];
}

export interface ListChoice {
  /** Only what is under this directory; ends with `/`. */
  prefix?: string;
  /**
   * How many levels below it are shown (default 0: all); what is deeper is folded into the path of its directory, which
   * ends with `/`.
   */
  depth?: number;
}

/** The paths of all Markdown files and of whatever else went through the store, sorted, without hidden ones; of those `there`. */
export function listPaths(
  { dir, ledger, there = filesByName(dir).keys() }: { dir: string; ledger: Ledger | null; there?: Iterable<string> },
  { prefix = '', depth = 0 }: ListChoice = {},
): string[] {
  if (prefix !== '' && !prefix.endsWith('/')) {
    throw new AppError('bad-input', `The prefix ${JSON.stringify(prefix)} does not end with "/".`);
  }
  const isKnown = (path: string) => ledger !== null && memoryAt(ledger, path) !== null;
  const kept = [...there].filter(
    (path) => path.startsWith(prefix) && isMemoryPath(path) && (path.endsWith('.md') || isKnown(path)),
  );
  return [...new Set(kept.map((path) => fold(path, { prefix, depth })))].sort();
}

function fold(path: string, { prefix, depth }: { prefix: string; depth: number }): string {
  const levels = path.slice(prefix.length).split('/');
  return depth > 0 && levels.length > depth ? `${prefix}${levels.slice(0, depth).join('/')}/` : path;
}

/** The Markdown files among `paths` that are too large to be read whole. */
export function oversized(dir: string, paths: string[]): { path: string; bytes: number }[] {
  return paths.flatMap((path) => {
    const bytes = path.endsWith('.md') ? (statNow(join(dir, path))?.bytes ?? 0) : 0;
    return bytes > MOST_MEMORY_BYTES ? { path, bytes } : [];
  });
}

/**
 * A text as readers are shown it: what git left in it is told by conflict.ts. Null where no file stands, or where a path
 * cannot be that of a memory. `dir` is canonical.
 */
export function readShown(dir: string, path: string, ledger: Ledger | null): string | null {
  const absolute = findConfined(dir, path);
  const text = absolute && readMemoryNow(absolute);
  return text === null ? null : shownText(text, { path, ledger });
}

/** Where the file stands, without any link in it. */
export function findConfined(dir: string, path: string): string | null {
  try {
    const { absolute, kind } = confine(dir, path);
    return kind === 'file' ? absolute : null;
  } catch (error) {
    if (!isAppError(error, 'bad-input')) throw error;
    return null;
  }
}

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
  readonly byPath = new Map<string, Known>();
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

  #readAll(): void {
    this.byPath.clear();
    this.#byMemory.clear();
    this.#totals = { memories: 0, bytes: 0 };
    for (const row of this.#ledger.lists(SELECT)) this.#add(row as Tuple);
  }

  #readAgain(memory: string): void {
    const known = this.#byMemory.get(memory);
    if (known) {
      this.#byMemory.delete(memory);
      if (this.byPath.get(known.path) === known) this.byPath.delete(known.path);
      this.#count(known, -1);
    }
    for (const row of this.#ledger.lists(`${SELECT} and id = ?`, memory)) this.#add(row as Tuple);
  }

  #add([memory, path, bytes, modifiedMs, changedMs, missingSince]: Tuple): void {
    const known = { memory, path, bytes, modifiedMs, changedMs, missingSince };
    this.byPath.set(path, known);
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

/** A file as it stands, with what is known of it. */
export interface ReadMemory {
  /** `mem_…`; null where the ledger does not know the file yet. */
  id: string | null;
  path: string;
  /** The version that it holds, `memver_…`; null where the ledger does not know that yet. */
  version: string | null;
  text: string;
  contentSha256: string;
  sizeBytes: number;
}

/** What a store and a directory that is only looked at have in common. */
export interface MemoryReader {
  /**
   * What a person, the home, the queue and other stores know it by: its canonical directory, or its id where it is kept
   * elsewhere.
   */
  readonly id: string;
  /** Where its files can be read, canonical. */
  readonly dir: string;
  readonly ledger: Ledger;
  /** The text of a file as it stands now, or null. */
  read(path: string): Promise<string | null>;
  /** A file as it stands now with what is known of it, or null. Bytes that are no UTF-8 are shown as U+FFFD. */
  lookUp(given: string): Promise<ReadMemory | null>;
  /** The paths of all Markdown files and of whatever else went through a store, sorted, without hidden ones. */
  list(choice?: ListChoice): Promise<string[]>;
  /**
   * Files that were gone or emptied so many at once that it looks like an accident, and are not back; and each log that
   * was lost. They are not taken for deleted; what writes to one of them begins it again.
   */
  missing(): Promise<string[]>;
}

export class ReadOnlyStore implements MemoryReader {
  readonly dir: string;
  /** Empty where nocturne has not worked. */
  readonly ledger: Ledger;

  /** The directory need not be there. Close it when done. */
  constructor(dir: string) {
    this.dir = canonicalPath(resolve(dir));
    this.ledger = lookIntoLedger(this.dir) ?? emptyLedger();
  }

  get id(): string {
    return this.dir;
  }

  /** Conflict markers are not shown. */
  async lookUp(given: string): Promise<ReadMemory | null> {
    const { path, absolute } = locateFile(this.dir, given);
    const content = readMemoryBytesNow(absolute);
    if (content === null) return null;
    const contentSha256 = shaOf(content);
    const head = headAt(this.ledger, path);
    const version = head?.sha === contentSha256 ? head.id : null;
    const text = shownText(content.toString(), { path, ledger: this.ledger });
    return { id: head?.memory ?? null, path, version, text, contentSha256, sizeBytes: content.length };
  }

  async read(given: string): Promise<string | null> {
    return (await this.lookUp(given))?.text ?? null;
  }

  async list(choice?: ListChoice): Promise<string[]> {
    return listPaths(this, choice);
  }

  async missing(): Promise<string[]> {
    return missingIn(this.ledger);
  }

  close(): void {
    this.ledger.close();
  }
}
