// A copy of a store in which changes are made, of the files and the ledger of the copy for reading, which shows nothing of them
// before they are checked in. It lies beside that one and is only of who changes the store (checked-out.ts).
// Promises: it is made under another name and renamed into place when it is whole; while it is changed it is not whole, and one
// that is not is thrown away; every file is the head that the ledger names, or the copy is broken (`isBrokenCopy`);
// what belongs to a machine is in no change: the lock, displaced and temporary files, and how files looked, which is kept in
// memory beside the copy.

import { join } from 'node:path';
import { removeTree } from '../../../base/files/directories.ts';
import { moveFile, readBytesNow, type Stat } from '../../../base/files/files.ts';
import { shaOf } from '../../../memory/ledger/version-rows.ts';
import { openStore } from '../../../memory/open.ts';
import { timesForgotten } from '../../../memory/recall/recall-uses.ts';
import { brokenCopy } from '../../../memory/store/apply.ts';
import type { Store } from '../../../memory/store/store.ts';
import { isArchivePath, isTopicPath } from '../../../memory/text/topic.ts';
import { type Pages, pageBytesOf, pagesOfFile, pagesOfLog } from './log-pages.ts';
import { type CopyPlace, HEADS, type ReadingCopy } from './reading-copy.ts';
import { type Held, LEDGER, type Stage } from './stage.ts';
import type { Changes, StoreRow } from './store-rows.ts';

/** Named before each is taken; tests end the process there. */
export type WorkingStep = 'link' | 'rename' | 'open' | 'read-log' | 'empty-log';

type WorkingPlace = Omit<CopyPlace, 'onStep'> & { onStep?(step: WorkingStep): void };

export class WorkingCopy {
  readonly #dir: string;
  readonly #place: WorkingPlace;
  readonly #looks = new Map<string, Stat>();
  /** Of each file that the database holds at this revision. */
  readonly #held: Held;
  #row: StoreRow;
  #store: Store | null = null;
  #timesEmptied = 0;
  /** Nobody works in it. */
  #isAtRest = true;

  private constructor(dir: string, { row, held }: ReadingCopy, place: WorkingPlace) {
    this.#dir = dir;
    this.#row = row;
    this.#held = new Map(held);
    this.#place = place;
  }

  /** Makes one of what is read; to be opened. */
  static async of(reading: ReadingCopy, place: WorkingPlace): Promise<WorkingCopy> {
    const dir = join(reading.outer, 'work');
    const making = `${dir}.new`;
    for (const left of [dir, making]) removeTree(left);
    try {
      place.onStep?.('link');
      await reading.lendTo(join(making, 'memory'));
      place.onStep?.('rename');
      moveFile(making, dir);
      return new WorkingCopy(dir, reading, place);
    } catch (error) {
      removeTree(making);
      throw error;
    }
  }

  get dir(): string {
    return join(this.#dir, 'memory');
  }

  get row(): StoreRow {
    return this.#row;
  }

  get store(): Store {
    if (!this.#store) throw brokenCopy('all');
    return this.#store;
  }

  /** Whether it is what the database holds at its revision, with nothing committed in it since. */
  get isWhole(): boolean {
    return this.#isAtRest && (this.#store === null || this.isUnchanged());
  }

  /** Opens it where it is not, and looks at every file that changed. */
  async open(): Promise<Store> {
    if (this.#store) return this.#store;
    this.#place.onStep?.('open');
    const options = { ...this.#place.options, isCheckedIn: false, looks: this.#looks };
    const store = await openStore(this.dir, options);
    this.#store = store;
    const { ledger } = store;
    this.#place.furnish?.(ledger);
    this.#timesEmptied = ledger.timesEmptied;
    ledger.run('create temp table changed_path (path text primary key)');
    for (const [change, paths] of Object.entries({ insert: ['new'], update: ['old', 'new'], delete: ['old'] })) {
      const noted = paths.map(
        (row) => `insert or ignore into changed_path select ${row}.path where ${row}.path is not null;`,
      );
      ledger.run(
        `create temp trigger changed_path_by_${change} after ${change} on main.memory begin ${noted.join(' ')} end`,
      );
    }
    return store;
  }

  /** Follows the copy for reading, in which `stage` is in place. */
  follow(stage: Stage, { dir, row }: ReadingCopy): void {
    this.#isAtRest = false;
    this.#close();
    stage.linkInto(this.dir, this.#held, dir);
    this.#row = row;
    this.#isAtRest = true;
  }

  /** From now on the copy is of no revision, until what became of it is accepted. */
  begin(): void {
    this.#isAtRest = false;
  }

  /** What was committed in the copy is what the database holds at this revision now. */
  accept(row: StoreRow, changes: Changes): void {
    this.#row = row;
    for (const [path, bytes] of changes.files) {
      if (bytes === null) this.#held.delete(path);
      else this.#held.set(path, { sha: shaOf(bytes), bytes: bytes.length });
    }
    const { ledger } = this.store;
    ledger.run('delete from changed_path');
    this.#timesEmptied = ledger.timesEmptied;
    this.#isAtRest = true;
  }

  /** The copy is still what its row says: nothing was committed in it. */
  acceptUnchanged(): void {
    this.#isAtRest = true;
  }

  /** Whether nothing was committed in the copy since it was opened or accepted. */
  isUnchanged(): boolean {
    return this.store.ledger.timesEmptied === this.#timesEmptied && this.#logged() === null;
  }

  /** Whether topics were committed, archived ones too. */
  hasChangedTopics(): boolean {
    const changed = this.store.ledger.all<{ path: string }>('select path from changed_path');
    return changed.some(({ path }) => isTopicPath(path) || isArchivePath(path));
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
      files: this.#changedFiles(),
      forgotten: timesForgotten(ledger),
    };
  }

  /** Throws the copy away, whatever is in it. */
  discard(): void {
    this.#close();
    removeTree(this.#dir);
  }

  #close(): void {
    this.#store?.close();
    this.#store = null;
  }

  #logged(): Pages | null {
    return pagesOfLog(readBytesNow(join(this.dir, `${LEDGER}-wal`)) ?? Buffer.alloc(0));
  }

  #changedFiles(): Changes['files'] {
    const { ledger, dir } = this.store;
    const files: Changes['files'] = new Map();
    for (const { path } of ledger.all<{ path: string }>('select path from changed_path')) {
      const head = ledger.get<{ sha: string }>(`${HEADS} and memory.path = ?`, path);
      const held = this.#held.get(path);
      if (head?.sha === held?.sha) continue;
      const bytes = head ? readBytesNow(join(dir, path)) : null;
      if (head && shaOf(bytes) !== head.sha) throw brokenCopy(path);
      files.set(path, bytes);
    }
    return files;
  }
}
