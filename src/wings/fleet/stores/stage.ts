// What a copy is brought to: read from the database whole, in bounded memory, and laid beside the copy, or given by a change. Only
// then it is put in place, at one go.
// Promises: files are renamed into place, so that whoever reads one sees what was there or what comes; nothing is put in
// place before all of it is there.

import { dirname, join } from 'node:path';
import { removeEmptyParents, removeTree } from '../../../base/files/directories.ts';
import { copyPieces, writePiecesAt } from '../../../base/files/file-pieces.ts';
import { linkOrCopy, makeDirectoryInNoHurry, moveFile, removeFile, writeNew } from '../../../base/files/files.ts';
import { shaOf } from '../../../memory/ledger/version-rows.ts';
import type { Changes, Reading, StoreRow } from './store-rows.ts';

/** Reads from the database what was made since a revision (-1: all), and answers the row as it was then. */
export type Fetch = (since: number, to: Reading) => Promise<StoreRow>;

/** The files that a copy has of the database, by path. */
export type Held = Map<string, { sha: string; bytes: number }>;

export const LEDGER = '.nocturne/ledger.db';

/** A row of which nothing is known yet. */
export const NOTHING: StoreRow = {
  id: '',
  name: '',
  state: 'ready',
  revision: -1,
  lineage: '',
  pages: 0,
  pageBytes: 4_096,
};

export class Stage {
  row: StoreRow = NOTHING;
  /** Whether it is all of the store, not only what changed. */
  readonly isWhole: boolean;
  readonly #dir: string;
  readonly #onStep?: (step: 'pages' | 'files') => void;
  /** The pages that are there, in the order in which they lie in their file; of a whole ledger they lie where they belong. */
  readonly #pages: number[] = [];
  /** What comes. */
  readonly #files: Held = new Map();
  /** What was given, of which the files are in `from`. */
  #given: { pages: Changes['pages']; from: string } | null = null;
  /** All paths that are left. */
  #paths = new Set<string>();

  private constructor(dir: string, isWhole: boolean, onStep?: (step: 'pages' | 'files') => void) {
    this.#dir = dir;
    this.isWhole = isWhole;
    this.#onStep = onStep;
  }

  /** Reads what was made after `since` into `dir`; -1: all. */
  static async fetched(
    { dir, since, onStep }: { dir: string; since: number; onStep?(step: 'pages' | 'files'): void },
    fetch: Fetch,
  ): Promise<Stage> {
    const stage = new Stage(dir, since < 0, onStep);
    removeTree(dir);
    makeDirectoryInNoHurry(join(stage.memory, '.nocturne'));
    try {
      stage.row = await fetch(since, stage.#reading());
      return stage;
    } catch (error) {
      stage.discard();
      throw error;
    }
  }

  /** What a change made of the store that has files `held`; the changed ones are in `from`. `dir` is made only for a moment. */
  static ofChange(
    dir: string,
    { row, changes, held, from }: { row: StoreRow; changes: Changes; held: Held; from: string },
  ): Stage {
    const stage = new Stage(dir, false);
    stage.row = row;
    stage.#given = { pages: changes.pages, from };
    stage.#paths = new Set([...held.keys()].filter((path) => changes.files.get(path) !== null));
    for (const [path, bytes] of changes.files) {
      if (bytes !== null) stage.#files.set(path, { sha: shaOf(bytes), bytes: bytes.length });
    }
    return stage;
  }

  /** Where it lies as a memory directory; of one that is whole it is one. */
  get memory(): string {
    return join(this.#dir, 'memory');
  }

  /** Puts what came into a memory directory whose ledger nobody has open, and says so in `held`. */
  moveInto(memory: string, held: Held): void {
    this.#putPages(memory);
    this.#putFiles(memory, held, (path) => {
      if (this.#given) {
        // Left behind by a disk that failed: it may be a name of what is in place.
        removeFile(this.#dir);
        linkOrCopy(join(this.#given.from, path), this.#dir);
      }
      moveFile(this.#given ? this.#dir : join(this.memory, path), join(memory, path));
    });
  }

  /** The same into one that is made of the files of `from`, where they are already. */
  linkInto(memory: string, held: Held, from: string): void {
    this.#putPages(memory);
    this.#putFiles(memory, held, (path) => {
      removeFile(join(memory, path));
      linkOrCopy(join(from, path), join(memory, path));
    });
  }

  /** Of one that is whole and was renamed into place. */
  heldInto(held: Held): void {
    for (const [path, file] of this.#files) held.set(path, file);
  }

  discard(): void {
    removeTree(this.#dir);
  }

  #putPages(memory: string): void {
    const { pages, pageBytes } = this.row;
    if (this.isWhole) {
      moveFile(join(this.memory, LEDGER), join(memory, LEDGER));
      return;
    }
    if (this.#given) {
      const given = [...this.#given.pages.changed].map(([number, bytes]) => ({ at: (number - 1) * pageBytes, bytes }));
      writePiecesAt(join(memory, LEDGER), given, pages * pageBytes);
      return;
    }
    if (this.#pages.length === 0) return;
    const pieces = this.#pages.map((number, n) => ({
      from: n * pageBytes,
      at: (number - 1) * pageBytes,
      bytes: pageBytes,
    }));
    copyPieces({ from: this.#pagesAt, to: join(memory, LEDGER), size: pages * pageBytes }, pieces);
  }

  #putFiles(memory: string, held: Held, put: (path: string) => void): void {
    for (const path of held.keys()) {
      if (this.#paths.has(path) || this.#files.has(path)) continue;
      held.delete(path);
      removeFile(join(memory, path));
      removeEmptyParents(memory, join(memory, path));
    }
    const made = new Set([memory]);
    for (const [path, file] of this.#files) {
      const above = dirname(join(memory, path));
      if (!made.has(above)) makeDirectoryInNoHurry(above);
      made.add(above);
      put(path);
      held.set(path, file);
    }
  }

  #reading(): Reading {
    const made = new Set([this.memory]);
    return {
      onRow: (row) => {
        this.row = row;
        this.#onStep?.('pages');
        if (this.isWhole) writePiecesAt(join(this.memory, LEDGER), [], row.pages * row.pageBytes);
      },
      onPages: (numbers, bytes) => {
        const { pageBytes, pages } = this.row;
        const placeOf = (number: number, n: number) => (this.isWhole ? number - 1 : this.#pages.length + n) * pageBytes;
        const pieces = numbers.map((number, n) => ({
          at: placeOf(number, n),
          bytes: bytes.subarray(n * pageBytes, (n + 1) * pageBytes),
        }));
        const count = this.isWhole ? pages : this.#pages.length + numbers.length;
        writePiecesAt(this.isWhole ? join(this.memory, LEDGER) : this.#pagesAt, pieces, count * pageBytes);
        if (!this.isWhole) this.#pages.push(...numbers);
      },
      onPaths: (paths) => {
        this.#onStep?.('files');
        this.#paths = paths;
      },
      onFile: (path, bytes) => {
        const absolute = join(this.memory, path);
        if (!made.has(dirname(absolute))) makeDirectoryInNoHurry(dirname(absolute));
        made.add(dirname(absolute));
        writeNew(absolute, bytes);
        this.#files.set(path, { sha: shaOf(bytes), bytes: bytes.length });
      },
    };
  }

  get #pagesAt(): string {
    return join(this.#dir, 'pages');
  }
}
