// A store of the database as this process has it. It reads a private copy, at one revision, over which model calls run, too; that
// takes no lease. `change` makes a revision:
//
// 1. Take the store's lease, which answers the revision that the store is at.
// 2. Bring the copies to it: the one that is read, and the one that is worked in; where they are there already, nothing is read.
// 3. Do the work in the latter, of which nobody else sees anything.
// 4. Check in what it changed, in one statement that compares revision and fence. Nothing changed: nothing is sent.
// 5. Put what was checked in into the copy that is read. Where it failed, or its answer was lost, throw the working copy away, and
//    find out whether the commit is in the store.
//
// Promises: all of a change is in the store, or nothing; a change that is told to have failed is not in it, however late; what
// is not in it is read by nobody; `dir` and `ledger` are the same for the whole life of a check-out.

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError, isAppError } from '../../../base/errors.ts';
import { thisProcess } from '../../../base/process.ts';
import { refreshTopics } from '../../../memory/dream/topic-table.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { brokenCopy, isBrokenCopy } from '../../../memory/store/apply.ts';
import type { Store } from '../../../memory/store/store.ts';
import type { Database } from '../postgres.ts';
import { type CopyPlace, type CopyStep, ReadingCopy } from './reading-copy.ts';
import type { Fetch, Stage } from './stage.ts';
import {
  bytesOf,
  type Changes,
  checkIn,
  readStore,
  releaseStore,
  renewStore,
  type StoreLease,
  type StoreRow,
  storeRow,
  takeStore,
  type WorkLease,
  wasCheckedIn,
} from './store-rows.ts';
import { WorkingCopy, type WorkingStep } from './working-copy.ts';

/** Named before each is taken; tests end the process there. */
export type Step = CopyStep | WorkingStep | 'take' | 'work' | 'check-in' | 'done';

export interface CheckOutDeps {
  database: Pick<Database, 'ask' | 'readAtOnce'>;
  /** Where copies are, and what their stores are opened with. */
  place: Omit<CopyPlace, 'onStep'>;
  /** How long the lease of a process that died or hangs keeps others from the store: 10 s, or less where less is given. */
  leaseMs?: number;
  /** How long others that write to the store are waited for; default: for longer than one that died keeps the lease. */
  waitMs?: number;
  /** How long a lost answer is asked for; default: 15 s. */
  answerMs?: number;
  onStep?(step: Step): void;
  /** Told the bytes of pages and files that a change sent. */
  onSent?(bytes: number): void;
}

/** Of who writes to a store: a commit and its check-in take milliseconds. */
const MOST_LEASE_MS = 10_000;
const DEFAULT_ANSWER_MS = 15_000;
/** Longer than the lease. */
const WAITED_MS = 5_000;
const BETWEEN_TRIES_MS = 40;
/** So many topics of which the tables know nothing yet are taken into them by a change of topics, which sends pages of them anyway. */
const TOPICS_A_CHANGE = 200;

/** A store as this process has it. */
export class CheckedOut {
  readonly id: string;
  readonly #deps: CheckOutDeps;
  readonly #owner = `${thisProcess()}/${randomUUID()}`;
  readonly #leaseMs: number;
  /** There once it was opened. */
  #reading!: ReadingCopy;
  #working: WorkingCopy | null = null;
  /** What was asked for last: changes are made one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(id: string, deps: CheckOutDeps) {
    this.id = id;
    this.#deps = deps;
    this.#leaseMs = Math.min(deps.leaseMs ?? MOST_LEASE_MS, MOST_LEASE_MS);
  }

  /**
   * Makes a copy of the store; to be closed. Errors: `bad-input` where there is no such store, `conflict` where it is not there
   * to work in; `database-unavailable`.
   */
  static async open(id: string, deps: CheckOutDeps): Promise<CheckedOut> {
    const opened = new CheckedOut(id, deps);
    opened.#reading = await ReadingCopy.make(id, opened.#fetch, { ...deps.place, onStep: deps.onStep });
    return opened;
  }

  /** Where the files of the copy can be read. */
  get dir(): string {
    return this.#reading.dir;
  }

  /** For reading: what is written here but derived rows is refused. */
  get ledger(): Ledger {
    return this.#reading.ledger;
  }

  /** The row of the store at the revision that is read. */
  get row(): StoreRow {
    return this.#reading.row;
  }

  /** The paths of all its files. */
  get paths(): Iterable<string> {
    return this.#reading.held.keys();
  }

  get revision(): number {
    return this.row.revision;
  }

  /** Whether what is read is what the database holds at its revision, and can be read: not so after a disk failed. */
  get isWhole(): boolean {
    return this.#reading.isWhole && this.#reading.isReadable();
  }

  /** Bytes on this disk. */
  get bytes(): number {
    const { ledger, files } = this.#reading.bytes;
    return files + ledger * (this.#working ? 2 : 1);
  }

  /** Brings what is read to the newest revision after one look at it; answers whether it was another. */
  refresh(): Promise<boolean> {
    return this.#afterOthers(async () => {
      const { revision, lineage } = this.row;
      await this.#bring(await storeRow(this.#deps.database.ask, this.id));
      return this.revision !== revision || this.row.lineage !== lineage;
    });
  }

  /**
   * Runs `work` on the newest revision, while nobody else writes to the store, and makes what it changed the next one. `work`
   * is run again where its copy was found broken. `only`: where that is another's when it is checked in, nothing is kept.
   * Errors: what `work` throws; `conflict` where another writes for longer than is waited; `fenced` where the store was taken
   * over meanwhile; `database-unavailable`, after which it is not known whether the change was kept. After each of these but
   * the last nothing was.
   */
  change<T>(work: (store: Store) => Promise<T>, only?: WorkLease): Promise<T> {
    return this.#afterOthers(() => this.#againWhereBroken(() => this.#changeOnce(work, only)));
  }

  /** Runs `work`, which changes nothing in the end, where a change would be made: on what is read, and no newer. */
  rehearse<T>(work: (store: Store) => Promise<T>): Promise<T> {
    return this.#afterOthers(() =>
      this.#againWhereBroken(async () => {
        if (!this.#reading.isWhole) await this.#bring(null);
        const copy = await this.#workingCopy();
        try {
          return await work(await copy.open());
        } finally {
          if (!copy.isWhole) this.#dropWorking();
        }
      }),
    );
  }

  /** Throws the copies away. */
  async close(): Promise<void> {
    await this.#afterOthers(async () => {
      this.#dropWorking();
      this.#reading.discard();
    });
  }

  async #againWhereBroken<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isBrokenCopy(error)) throw error;
        this.#dropWorking();
        this.#reading.doubt();
        if (tries > 0) throw error;
      }
    }
  }

  async #changeOnce<T>(work: (store: Store) => Promise<T>, only?: WorkLease): Promise<T> {
    const { database, onStep } = this.#deps;
    const leaseMs = this.#leaseMs;
    // 1.
    onStep?.('take');
    const { row, lease } = await this.#take();
    const renewing = setInterval(() => renewStore(database.ask, lease, leaseMs).catch(() => {}), leaseMs / 3).unref();
    let isHeld = true;
    let isSent = false;
    try {
      // 2.
      await this.#bring(row);
      const copy = await this.#workingCopy();
      const store = await copy.open();
      copy.begin();
      // 3.
      onStep?.('work');
      const done = await work(store);
      if (copy.hasChangedTopics()) refreshTopics(store.ledger, { most: TOPICS_A_CHANGE });
      const changes = copy.changes();
      if (!changes) {
        copy.acceptUnchanged();
        return done;
      }
      // 4.
      onStep?.('check-in');
      clearInterval(renewing);
      isSent = true;
      const id = randomUUID();
      const revision = await checkIn(database.ask, { lease, on: copy.row, id, changes, only }).catch((error) =>
        this.#afterLostAnswer(error, lease, id),
      );
      if (revision === null) throw takenOver(this.id);
      isHeld = false;
      onStep?.('done');
      this.#deps.onSent?.(bytesOf(changes));
      // 5.
      await this.#accept(copy, revision, changes);
      return done;
    } catch (error) {
      const copy = this.#working;
      if (!isSent && copy && !isBrokenCopy(error) && copy.isUnchanged()) copy.acceptUnchanged();
      else this.#dropWorking();
      throw error;
    } finally {
      clearInterval(renewing);
      // Where that fails the lease ends by the database's time.
      if (isHeld) await releaseStore(database.ask, lease).catch(() => {});
    }
  }

  /** The change is in the store, whatever becomes of the copies. */
  async #accept(copy: WorkingCopy, revision: number, changes: Changes): Promise<void> {
    const { pages, pageBytes } = changes;
    const row = { ...copy.row, revision, pages: pages.count, pageBytes };
    try {
      this.#reading.take(row, changes, copy.dir);
      copy.accept(row, changes);
    } catch {
      this.#dropWorking();
      // Who changed something is to read it.
      await this.#bring(null).catch(() => {});
    }
  }

  /** The revision that the commit made after all; throws `error` where it made none, and never will. */
  async #afterLostAnswer(error: unknown, lease: StoreLease, id: string): Promise<number> {
    const { database, answerMs = DEFAULT_ANSWER_MS } = this.#deps;
    for (const until = performance.now() + answerMs; ; ) {
      try {
        const revision = await wasCheckedIn(database.ask, lease, id);
        if (revision === null) throw error;
        return revision;
      } catch (failed) {
        if (failed === error || !isAppError(failed, 'database-unavailable')) throw failed;
        if (performance.now() > until) {
          throw new AppError(
            'database-unavailable',
            `The database was lost while ${this.id} was written: it is not known whether the last change was kept.`,
            { remedy: 'Try again when it is back: what was kept is not done twice.', cause: error },
          );
        }
        await wait(BETWEEN_TRIES_MS);
      }
    }
  }

  async #take(): Promise<{ row: StoreRow; lease: StoreLease }> {
    const { database, waitMs = this.#leaseMs + WAITED_MS } = this.#deps;
    const taking = { store: this.id, owner: this.#owner, leaseMs: this.#leaseMs };
    for (const until = performance.now() + waitMs; ; ) {
      const taken = await takeStore(database.ask, taking);
      if (taken) return taken;
      const row = await storeRow(database.ask, this.id);
      if (row?.state !== 'ready') throw notReady(this.id, row);
      if (performance.now() > until) throw held(this.id, waitMs);
      await wait(BETWEEN_TRIES_MS * (0.5 + Math.random()));
    }
  }

  /** Brings what is read to this row of the store; null: to its newest. What is worked in follows, or goes. */
  async #bring(row: StoreRow | null): Promise<void> {
    const reading = this.#reading;
    if (reading.isWhole && row && isSameRevision(reading.row, row)) return;
    const working = this.#working?.isWhole ? this.#working : null;
    if (!working) this.#dropWorking();
    const whilePut = (stage: Stage) => {
      if (working && !stage.isWhole) working.follow(stage, reading);
      else this.#dropWorking();
    };
    const isAnew = row !== null && row.lineage !== reading.row.lineage;
    try {
      await reading.bring(this.#fetch, { isAnew, whilePut });
    } catch (error) {
      this.#dropWorking();
      if (!isBrokenCopy(error) || isAnew) throw error;
      await reading.bring(this.#fetch, { isAnew: true });
    }
  }

  async #workingCopy(): Promise<WorkingCopy> {
    if (this.#working?.isWhole) return this.#working;
    this.#dropWorking();
    this.#working = await WorkingCopy.of(this.#reading, { ...this.#deps.place, onStep: this.#deps.onStep });
    return this.#working;
  }

  /** Reads the store from the database. Throws what keeps this nocturne from it. */
  readonly #fetch: Fetch = async (since, to) => {
    const onRow = (found: StoreRow) => {
      if (found.state === 'arriving') throw notReady(this.id, found);
      // The database was restored since: what is there is no change of what is here.
      if (since >= 0 && found.lineage !== this.row.lineage) throw brokenCopy('all');
      to.onRow(found);
    };
    const found = await readStore(this.#deps.database, { id: this.id, since }, { ...to, onRow });
    if (!found) throw notReady(this.id, null);
    return found;
  };

  #dropWorking(): void {
    this.#working?.discard();
    this.#working = null;
  }

  #afterOthers<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}

function isSameRevision(a: StoreRow, b: StoreRow): boolean {
  return a.revision === b.revision && a.lineage === b.lineage;
}

/** A store that is not there to work in. */
export function notReady(id: string, row: StoreRow | null): AppError {
  if (!row) return new AppError('bad-input', `There is no memory store ${id} in the database.`);
  if (row.state === 'removed') {
    return passing(`${row.name} was deleted.`, `It comes back with nocturne undo ${id}, as long as it is kept.`);
  }
  return passing(
    `${row.name} is still being moved into the database.`,
    'Finish it: nocturne move --to-database, as it was begun.',
  );
}

/** Others write to the store for longer than is waited. */
export function held(id: string, waitMs = 0): AppError {
  return passing(
    `Others have been writing to ${id} for ${waitMs / 1_000} seconds.`,
    'Nothing was changed; try again when they are done.',
  );
}

/** What does not go now, whatever is asked: the server tells it by the code of the cause from what a caller did. */
function passing(message: string, remedy: string): AppError {
  return new AppError('conflict', message, { remedy, cause: { code: 'STORE_HELD' } });
}

function takenOver(id: string): AppError {
  return new AppError('fenced', `The writing to ${id} was taken over meanwhile; nothing of this change was kept.`);
}
