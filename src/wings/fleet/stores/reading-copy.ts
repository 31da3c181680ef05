// A private copy of a store at one revision, for all in this process who read: `memory/` with the ledger and the files, and
// beside it `mark.json`, which says which revision it is of. Nothing but what the database holds is ever in it.
// Promises: it is made under another name and renamed into place when it is whole; its directory and its `Ledger` stay the same
// for its whole life: what comes is laid beside it and put in place at one go, so that nobody who waits for something else
// meets a closed ledger or half a directory; without its mark it is of no revision, and is made again before anybody asks it; the
// ledger refuses every change, but for what is derived, which goes when the copy is brought on. It is opened when it is first
// asked: who only commits never opens it.
// A copy ends with its process: nothing in it waits for the disk.

import { join } from 'node:path';
import { canonicalPath, isDirectory, listNames, removeTree } from '../../../base/files/directories.ts';
import {
  copyFile,
  linkOrCopy,
  makeDirectoryInNoHurry,
  moveFile,
  removeFile,
  statNow,
  writeNew,
} from '../../../base/files/files.ts';
import { isDead } from '../../../base/process.ts';
import { type Ledger, openLedger } from '../../../memory/ledger/ledger.ts';
import type { StoreOptions } from '../../../memory/open.ts';
import { brokenCopy } from '../../../memory/store/apply.ts';
import { filesByName } from '../../../memory/store/confine.ts';
import { type Fetch, type Held, LEDGER, Stage } from './stage.ts';
import type { Changes, StoreRow } from './store-rows.ts';

/** Named before each is taken; tests end the process there. */
export type CopyStep = 'pages' | 'files' | 'mark' | 'rename' | 'open' | 'unmark' | 'swap';

export interface CopyPlace {
  /** Where the copies of this process are. */
  root: string;
  options: Pick<StoreOptions, 'clock' | 'limits' | 'startedBy'>;
  /** Makes what each connection to a copy has of its own. */
  furnish?(ledger: Ledger): void;
  onStep?(step: CopyStep): void;
}

const MARK = 'mark.json';
/** The heads of the ledger: all that the files of a store are. */
export const HEADS = `select memory.path, version.sha from memory join version on version.id = memory.head
  where memory.path is not null and version.sha is not null`;
/** So many files are linked before others get a turn. */
const LINKS_AT_ONCE = 500;

let copiesMade = 0;

export class ReadingCopy {
  /** With the copies of all who change it. */
  readonly outer: string;
  readonly dir: string;
  readonly ledger: Ledger;
  readonly held: Held = new Map();
  readonly #place: CopyPlace;
  #row: StoreRow;

  private constructor(outer: string, ledger: Ledger, { row, place }: { row: StoreRow; place: CopyPlace }) {
    this.outer = outer;
    this.dir = canonicalPath(join(outer, 'memory'));
    this.ledger = ledger;
    this.#row = row;
    this.#place = place;
  }

  /** Makes a copy in a new directory. Errors: `isBrokenCopy` where the database's files are not those of its ledger. */
  static async make(id: string, fetch: Fetch, place: CopyPlace): Promise<ReadingCopy> {
    copiesMade += 1;
    const outer = join(place.root, `${id}-${copiesMade}`);
    const { onStep } = place;
    const stage = await Stage.fetched({ dir: `${outer}.new`, since: -1, onStep }, fetch);
    let copy: ReadingCopy | undefined;
    try {
      mark(`${outer}.new`, stage.row, onStep);
      onStep?.('rename');
      moveFile(`${outer}.new`, outer);
      onStep?.('open');
      const ledger = openCopy(join(outer, 'memory'), place);
      copy = new ReadingCopy(outer, ledger, { row: stage.row, place });
      stage.heldInto(copy.held);
      copy.#refuseOtherHeads();
      return copy;
    } catch (error) {
      stage.discard();
      if (copy) copy.discard();
      else removeTree(outer);
      throw error;
    }
  }

  get row(): StoreRow {
    return this.#row;
  }

  /** Whether it is what the database holds at its revision. */
  get isWhole(): boolean {
    return statNow(join(this.outer, MARK)) !== null;
  }

  /** Bytes of its ledger, and of its files. */
  get bytes(): { ledger: number; files: number } {
    const files = [...this.held.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    return { ledger: this.#row.pages * this.#row.pageBytes, files };
  }

  /** From now on it is of no revision, until it is made again. */
  doubt(): void {
    removeFile(join(this.outer, MARK));
  }

  /**
   * Brings it to the newest revision, reading only what changed since its own, or all where it is in doubt or `isAnew`.
   * `whilePut` is run in the moment in which what came is in place and nobody else runs.
   */
  async bring(fetch: Fetch, { isAnew = false, whilePut }: { isAnew?: boolean; whilePut?(stage: Stage): void } = {}) {
    const since = isAnew || !this.isWhole ? -1 : this.#row.revision;
    const stage = await Stage.fetched({ dir: this.#beside, since, onStep: this.#place.onStep }, fetch);
    try {
      this.#put(stage, whilePut);
      this.#refuseOtherHeads();
    } catch (error) {
      this.doubt();
      throw error;
    } finally {
      stage.discard();
    }
  }

  /** Takes over what a change made of it, which is in the database now; its files are those of `from`. */
  take(row: StoreRow, changes: Changes, from: string): void {
    this.#put(Stage.ofChange(this.#beside, { row, changes, from, held: this.held }));
  }

  /** Opens its ledger where nobody has; false where that fails, and it is in doubt. */
  isReadable(): boolean {
    try {
      this.ledger.open();
      return true;
    } catch {
      this.doubt();
      return false;
    }
  }

  /** Makes a memory directory of the same files and the same ledger. */
  async lendTo(dir: string): Promise<void> {
    makeDirectoryInNoHurry(join(dir, '.nocturne'));
    const made = new Set([dir]);
    let links = 0;
    for (const path of this.held.keys()) {
      const to = join(dir, path);
      const above = join(to, '..');
      if (!made.has(above)) makeDirectoryInNoHurry(above);
      made.add(above);
      linkOrCopy(join(this.dir, path), to);
      links += 1;
      if (links % LINKS_AT_ONCE === 0) await new Promise((done) => setImmediate(done));
    }
    // No file of a database that is open is read past SQLite.
    this.ledger.closeWithoutLog();
    try {
      copyFile(join(this.dir, LEDGER), join(dir, LEDGER));
    } finally {
      this.#reopen();
    }
  }

  /** Lets go of the copy and leaves it to the caller; answers its memory directory. */
  handOver(): string {
    this.ledger.closeWithoutLog();
    return this.dir;
  }

  /** Throws the copy away. */
  discard(): void {
    this.ledger.closeWithoutLog();
    removeTree(this.outer);
  }

  #put(stage: Stage, whilePut?: (stage: Stage) => void): void {
    this.#place.onStep?.('unmark');
    this.doubt();
    this.ledger.closeWithoutLog();
    try {
      this.#place.onStep?.('swap');
      stage.moveInto(this.dir, this.held);
      if (stage.isWhole) this.#dropStrangers();
      this.#row = stage.row;
      whilePut?.(stage);
      mark(this.outer, this.#row, this.#place.onStep);
    } finally {
      this.#reopen();
    }
  }

  #reopen(): void {
    this.ledger.become(() => {
      this.#place.onStep?.('open');
      return openCopy(this.dir, this.#place);
    });
  }

  #dropStrangers(): void {
    for (const [path, spelled] of filesByName(this.dir)) {
      if (!this.held.has(path) && !this.held.has(spelled)) removeFile(join(this.dir, spelled));
    }
  }

  #refuseOtherHeads(): void {
    const heads = new Map(this.ledger.lists(HEADS) as [string, string][]);
    for (const path of [...heads.keys(), ...this.held.keys()]) {
      if (this.held.get(path)?.sha !== heads.get(path)) throw brokenCopy(path);
    }
  }

  get #beside(): string {
    return join(this.outer, 'next');
  }
}

/** The mark stands while the copy is what the database holds at its revision. */
function mark(dir: string, { id, revision, lineage }: StoreRow, onStep?: (step: 'mark') => void): void {
  onStep?.('mark');
  writeNew(join(dir, MARK), JSON.stringify({ store: id, revision, lineage }));
}

function openCopy(dir: string, { options, furnish }: CopyPlace): Ledger {
  // Steps of a newer schema are in its log alone: a change takes them along (working-copy.ts).
  const ledger = openLedger(dir, options.startedBy, { isCopy: true });
  try {
    ledger.run('create temp table history_look (path text primary key, look text not null)');
    furnish?.(ledger);
    ledger.onlyRead();
    return ledger;
  } catch (error) {
    ledger.close();
    throw error;
  }
}

/** Throws away the copies of processes that are dead. */
export function sweepCopies(root: string): void {
  for (const name of listNames(root)) {
    const dir = join(root, name);
    if (isDirectory(dir) && isDead(decodeURIComponent(name))) removeTree(dir);
  }
}
