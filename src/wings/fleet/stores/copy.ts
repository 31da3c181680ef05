// A private copy of a store at one revision, in a directory of this process: `memory/` with the ledger and the files, and
// beside it `mark.json`, which says which revision it is of.
// Promises: the directory is made under another name and renamed into place when it is whole; one without its mark is never
// looked at again, and the mark is gone while the copy is changed; what is in the copy is what the database holds, every
// file the head that the ledger names, or the copy is broken (`isBrokenCopy`); what belongs to a machine is in no change:
// the lock, displaced and temporary files, and how files looked, which is kept in memory beside the copy.
// A copy ends with its process: nothing in it waits for the disk.

import { dirname, join } from 'node:path';
import { isDirectory, listNames, removeEmptyParents, removeTree } from '../../../base/files/directories.ts';
import { writePiecesAt } from '../../../base/files/file-pieces.ts';
import {
  makeDirectory,
  moveFile,
  readBytesNow,
  removeFile,
  type Stat,
  statNow,
  writeNew,
} from '../../../base/files/files.ts';
import { isDead, thisProcess } from '../../../base/process.ts';
import { getWingSchemas, LEDGER_STEPS } from '../../../memory/ledger/schema.ts';
import { shaOf } from '../../../memory/ledger/version-rows.ts';
import { openStore, type StoreOptions } from '../../../memory/open.ts';
import { brokenCopy } from '../../../memory/store/apply.ts';
import type { Store } from '../../../memory/store/store.ts';
import { type Pages, pageBytesOf, pagesOfFile, pagesOfLog } from './log-pages.ts';
import type { Changes, Reading, StoreRow } from './rows.ts';

/** Named before each is taken; tests end the process there. */
export type CopyStep = 'pages' | 'files' | 'mark' | 'rename' | 'open' | 'unmark' | 'read-log' | 'empty-log';

export interface CopyPlace {
  /** `copies/` of the home. */
  root: string;
  options: Pick<StoreOptions, 'clock' | 'limits' | 'startedBy'>;
  onStep?(step: CopyStep): void;
}

/** Reads from the database what the copy lacks, and answers the row as it was then. */
export type Fetch = (since: number, to: Reading) => Promise<StoreRow>;

const LEDGER = '.nocturne/ledger.db';
const MARK = 'mark.json';
/** How many wings' steps there may be before the ledger's own step counts again. */
const WING_STEPS = 1_000;
/** The heads of the ledger: all that the files of a store are. */
const HEADS = `select memory.path, version.sha from memory join version on version.id = memory.head
  where memory.path is not null and version.sha is not null`;

let copiesMade = 0;

/** Grows with each step of the schema that this nocturne knows, its wings' included. */
export function ledgerVersion(): number {
  return LEDGER_STEPS.length * WING_STEPS + getWingSchemas().reduce((sum, { schema = [] }) => sum + schema.length, 0);
}

export class Copy {
  readonly #dir: string;
  readonly #place: CopyPlace;
  readonly #looks = new Map<string, Stat>();
  /** SHA-256 of each file that the database holds at this revision. */
  readonly #held = new Map<string, string>();
  #row: StoreRow;
  #store: Store | null = null;
  #timesEmptied = 0;

  private constructor(dir: string, row: StoreRow, place: CopyPlace) {
    this.#dir = dir;
    this.#row = row;
    this.#place = place;
  }

  /** Makes a copy in a new directory and opens it. */
  static async make(id: string, fetch: Fetch, place: CopyPlace): Promise<Copy> {
    copiesMade += 1;
    const dir = join(place.root, encodeURIComponent(thisProcess()), `${id}-${copiesMade}`);
    const making = `${dir}.new`;
    makeDirectory(join(making, 'memory', '.nocturne'));
    const copy = new Copy(dir, NOTHING, place);
    try {
      copy.#row = await copy.#fetchInto(making, -1, fetch);
      copy.#mark(making);
      place.onStep?.('rename');
      moveFile(making, dir);
      await copy.#open();
      return copy;
    } catch (error) {
      removeTree(making);
      copy.discard();
      throw error;
    }
  }

  get row(): StoreRow {
    return this.#row;
  }

  get store(): Store {
    if (!this.#store) throw brokenCopy('all');
    return this.#store;
  }

  /** Brings the copy to the newest revision, reading only what changed since its own. */
  async bring(fetch: Fetch): Promise<void> {
    this.unmark();
    this.#store?.close();
    this.#store = null;
    this.#row = await this.#fetchInto(this.#dir, this.#row.revision, fetch);
    this.#mark(this.#dir);
    await this.#open();
  }

  /** From now on the copy is of no revision, until it is marked again. */
  unmark(): void {
    this.#place.onStep?.('unmark');
    removeFile(join(this.#dir, MARK));
  }

  /** What was committed in the copy is what the database holds at this revision now. */
  accept(row: StoreRow, changes: Changes): void {
    this.#row = row;
    for (const [path, bytes] of changes.files) {
      if (bytes === null) this.#held.delete(path);
      else this.#held.set(path, shaOf(bytes));
    }
    const { ledger } = this.store;
    ledger.run('delete from changed_path');
    this.#timesEmptied = ledger.timesEmptied;
    this.#mark(this.#dir);
  }

  /** The copy is still what its row says: nothing was committed in it. */
  acceptUnchanged(): void {
    this.#mark(this.#dir);
  }

  /** Whether nothing was committed in the copy since it was made, brought or accepted. */
  isUnchanged(): boolean {
    return this.store.ledger.timesEmptied === this.#timesEmptied && this.#logged() === null;
  }

  /**
   * What was committed in the copy since it was made, brought or accepted; null for nothing. The ledger's log is empty then, so
   * the copy must be accepted or thrown away.
   */
  changes(): Changes | null {
    const { ledger } = this.store;
    const step = this.#place.onStep;
    step?.('read-log');
    const logged = this.#logged();
    // A log that was emptied, as a redaction does, says nothing of what was in it.
    const wasEmptied = ledger.timesEmptied !== this.#timesEmptied;
    if (logged === null && !wasEmptied) return null;
    step?.('empty-log');
    if (!ledger.emptyLog()) throw brokenCopy('the ledger, which another process reads,');
    const all = wasEmptied ? ledger.bytes() : null;
    const pages: Pages = all ? pagesOfFile(all) : (logged as Pages);
    return {
      pages,
      pageBytes: all ? pageBytesOf(all) : (pages.changed.values().next().value?.length ?? this.#row.pageBytes),
      ledgerVersion: ledgerVersion(),
      files: this.#changedFiles(),
    };
  }

  /** Lets go of the copy and leaves it to the caller; answers its memory directory. */
  handOver(): string {
    this.#store?.close();
    this.#store = null;
    return join(this.#dir, 'memory');
  }

  /** Throws the copy away, whatever is in it. */
  discard(): void {
    this.#store?.close();
    this.#store = null;
    removeTree(this.#dir);
    removeEmptyParents(this.#place.root, this.#dir);
  }

  #logged(): Pages | null {
    return pagesOfLog(readBytesNow(join(this.#dir, 'memory', `${LEDGER}-wal`)) ?? Buffer.alloc(0));
  }

  #changedFiles(): Changes['files'] {
    const { ledger, dir } = this.store;
    const files: Changes['files'] = new Map();
    for (const { path } of ledger.all<{ path: string }>('select path from changed_path')) {
      const head = ledger.get<{ sha: string }>(`${HEADS} and memory.path = ?`, path);
      const held = this.#held.get(path);
      if (head?.sha === held) continue;
      const bytes = head ? readBytesNow(join(dir, path)) : null;
      if (head && shaOf(bytes) !== head.sha) throw brokenCopy(path);
      files.set(path, bytes);
    }
    return files;
  }

  /** Writes what was made after revision `since` into the memory of `dir`, and takes away what is gone. */
  async #fetchInto(dir: string, since: number, fetch: Fetch): Promise<StoreRow> {
    const memory = join(dir, 'memory');
    const made = new Set([memory]);
    let row = NOTHING;
    const writePages = (numbers: number[], bytes: Buffer) => {
      const { pageBytes, pages } = row;
      const slice = (n: number) => bytes.subarray(n * pageBytes, (n + 1) * pageBytes);
      const pieces = numbers.map((number, n) => ({ at: (number - 1) * pageBytes, bytes: slice(n) }));
      writePiecesAt(join(memory, LEDGER), pieces, pages * pageBytes);
    };
    return fetch(since, {
      onRow: (found) => {
        row = found;
        this.#place.onStep?.('pages');
        writePages([], Buffer.alloc(0));
      },
      onPages: writePages,
      onPaths: (paths) => {
        this.#place.onStep?.('files');
        for (const path of this.#held.keys()) {
          if (paths.has(path)) continue;
          this.#held.delete(path);
          this.#looks.delete(path);
          removeFile(join(memory, path));
          removeEmptyParents(memory, join(memory, path));
        }
      },
      onFile: (path, bytes) => {
        const absolute = join(memory, path);
        if (!made.has(dirname(absolute))) makeDirectory(dirname(absolute));
        made.add(dirname(absolute));
        if (since >= 0) removeFile(absolute);
        writeNew(absolute, bytes);
        this.#held.set(path, shaOf(bytes));
      },
    });
  }

  /** The mark stands while the copy is what the database holds at its revision. */
  #mark(dir: string): void {
    this.#place.onStep?.('mark');
    const { id, revision, lineage } = this.#row;
    removeFile(join(dir, MARK));
    writeNew(join(dir, MARK), JSON.stringify({ store: id, revision, lineage }));
  }

  async #open(): Promise<void> {
    this.#place.onStep?.('open');
    const store = await openStore(join(this.#dir, 'memory'), {
      ...this.#place.options,
      isCheckedIn: false,
      looks: this.#looks,
    });
    this.#store = store;
    const { ledger } = store;
    this.#timesEmptied = ledger.timesEmptied;
    const heads = new Map(ledger.lists(HEADS) as [string, string][]);
    for (const path of [...heads.keys(), ...this.#held.keys()]) {
      if (this.#held.get(path) !== heads.get(path)) throw brokenCopy(path);
    }
    ledger.run('create temp table changed_path (path text primary key)');
    for (const [change, paths] of Object.entries({ insert: ['new'], update: ['old', 'new'], delete: ['old'] })) {
      const noted = paths.map(
        (row) => `insert or ignore into changed_path select ${row}.path where ${row}.path is not null;`,
      );
      ledger.run(
        `create temp trigger changed_path_by_${change} after ${change} on main.memory begin ${noted.join(' ')} end`,
      );
    }
  }
}

const NOTHING: StoreRow = {
  id: '',
  name: '',
  state: 'ready',
  revision: -1,
  lineage: '',
  pages: 0,
  pageBytes: 4_096,
  ledgerVersion: 0,
};

/** Throws away the copies of processes that are dead, and what of this one's is not whole. */
export function sweepCopies(root: string): void {
  for (const name of listNames(root)) {
    const process = decodeURIComponent(name);
    const dir = join(root, name);
    if (process === thisProcess()) {
      for (const copy of listNames(dir)) if (statNow(join(dir, copy, MARK)) === null) removeTree(join(dir, copy));
    } else if (isDirectory(dir) && isDead(process)) removeTree(dir);
  }
}
