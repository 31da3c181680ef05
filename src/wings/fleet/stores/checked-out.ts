// Stores in the database, by optimistic check-out: `checkOut` makes a private copy, over which model calls run and readers
// read; it takes no lease. `change` makes a revision:
//
// 1. Take the store's lease, which answers the revision that the store is at.
// 2. Bring the copy to it; where it is there already, nothing is read.
// 3. Do the work in the copy.
// 4. Check in what it changed, in one statement that compares revision and fence. Nothing changed: nothing is sent.
// 5. Where that failed, or its answer was lost, throw the copy away, and find out whether the commit is in the store.
//
// Promises: all of a change is in the store, or nothing; a change that is told to have failed is not in it, however late.

import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError, isAppError } from '../../../base/errors.ts';
import { thisProcess } from '../../../base/process.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { isBrokenCopy } from '../../../memory/store/apply.ts';
import type { By, CommitPlan, CommitResult, Store } from '../../../memory/store/store.ts';
import type { Database } from '../database.ts';
import { Copy, type CopyPlace, type CopyStep, type Fetch, ledgerVersion } from './copy.ts';
import {
  bytesOf,
  type Changes,
  checkIn,
  isReadByAll,
  readStore,
  releaseStore,
  renewStore,
  type StoreLease,
  type StoreRow,
  storeRow,
  takeStore,
  wasCheckedIn,
} from './rows.ts';

/** Named before each is taken; tests end the process there. */
export type Step = CopyStep | 'take' | 'bring' | 'work' | 'check-in' | 'done';

export interface CheckOutDeps {
  database: Pick<Database, 'ask' | 'readAtOnce'>;
  /** Where copies are, and what their stores are opened with. */
  place: Omit<CopyPlace, 'onStep'>;
  /** How long the lease of a process that hangs keeps others from the store; default: 60 s. */
  leaseMs?: number;
  /** How long others that write to the store are waited for, and how long a lost answer is asked for; default: 15 s. */
  waitMs?: number;
  onStep?(step: Step): void;
  /** Told the bytes of pages and files that a change sent. */
  onSent?(bytes: number): void;
}

const DEFAULT_LEASE_MS = 60_000;
const DEFAULT_WAIT_MS = 15_000;
const BETWEEN_TRIES_MS = 40;

/** A store as this process has it. */
export class CheckedOut {
  readonly id: string;
  readonly #deps: CheckOutDeps;
  readonly #owner = `${thisProcess()}/${randomUUID()}`;
  #copy: Copy | null = null;
  /** What was asked for last: changes are made one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(id: string, deps: CheckOutDeps) {
    this.id = id;
    this.#deps = deps;
  }

  /**
   * Makes a copy of the store; to be closed. Errors: `bad-input` where there is no such store, `conflict` where its ledger is not
   * to be read by this nocturne yet, or any more; `database-unavailable`.
   */
  static async open(id: string, deps: CheckOutDeps): Promise<CheckedOut> {
    const opened = new CheckedOut(id, deps);
    await opened.#atRevision(null);
    return opened;
  }

  /** The copy as a store, for reading. Another one after each `refresh` or `change`: ask anew. */
  get store(): Store {
    if (!this.#copy)
      throw new AppError('conflict', `The copy of ${this.id} was thrown away.`, { remedy: 'Refresh it.' });
    return this.#copy.store;
  }

  get revision(): number {
    return this.#copy?.row.revision ?? -1;
  }

  /** Brings the copy to the newest revision after one look at it; answers whether it was another. */
  refresh(): Promise<boolean> {
    return this.#afterOthers(async () => {
      const before = this.#copy;
      const revision = before?.row.revision;
      const row = await storeRow(this.#deps.database.ask, this.id);
      if (before && row && isSameRevision(before.row, row)) return false;
      await this.#atRevision(null);
      return this.#copy !== before || this.revision !== revision;
    });
  }

  /** A commit as `Store.commit` makes it, on what the store is at now. */
  commit(by: By, plan: (ledger: Ledger) => CommitPlan): Promise<CommitResult> {
    return this.change((store) => store.commit(by, plan));
  }

  /**
   * Runs `work` on the newest revision, while nobody else writes to the store, and makes what it changed the next one. `work`
   * is run again where its copy was found broken. Errors: what `work` throws; `conflict` where another writes for longer
   * than is waited; `fenced` where the store was taken over meanwhile; `database-unavailable`, after which it is not known
   * whether the change was kept. After each of these but the last nothing was.
   */
  change<T>(work: (store: Store) => Promise<T>): Promise<T> {
    return this.#afterOthers(async () => {
      for (let tries = 0; ; tries += 1) {
        try {
          return await this.#changeOnce(work);
        } catch (error) {
          if (!isBrokenCopy(error) || tries > 0) throw error;
        }
      }
    });
  }

  /** Throws the copy away. */
  async close(): Promise<void> {
    await this.#afterOthers(async () => this.#discard());
  }

  async #changeOnce<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const { database, leaseMs = DEFAULT_LEASE_MS, onStep } = this.#deps;
    // 1.
    onStep?.('take');
    const { row, lease } = await this.#take();
    const renewing = setInterval(() => renewStore(database.ask, lease, leaseMs).catch(() => {}), leaseMs / 3).unref();
    let isHeld = true;
    let isSent = false;
    try {
      // 2.
      const copy = await this.#atRevision(row);
      copy.unmark();
      // 3.
      onStep?.('work');
      const done = await work(copy.store);
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
      const revision = await checkIn(database.ask, { lease, on: copy.row, id, changes }).catch((error) =>
        this.#afterLostAnswer(error, lease, id),
      );
      if (revision === null) throw takenOver(this.id);
      isHeld = false;
      onStep?.('done');
      this.#deps.onSent?.(bytesOf(changes));
      if (this.#copy === copy) this.#accept(copy, revision, changes);
      return done;
    } catch (error) {
      // 5.
      if (!isSent && this.#copy && !isBrokenCopy(error) && this.#copy.isUnchanged()) this.#copy.acceptUnchanged();
      else this.#discard();
      throw error;
    } finally {
      clearInterval(renewing);
      // Where that fails the lease ends by the database's time.
      if (isHeld) await releaseStore(database.ask, lease).catch(() => {});
    }
  }

  /** The change is in the store, whatever becomes of the copy. */
  #accept(copy: Copy, revision: number, changes: Changes): void {
    const { pages, pageBytes, ledgerVersion } = changes;
    try {
      copy.accept({ ...copy.row, revision, pages: pages.count, pageBytes, ledgerVersion }, changes);
    } catch {
      this.#discard();
    }
  }

  /** The revision that the commit made after all; throws `error` where it made none, and never will. */
  async #afterLostAnswer(error: unknown, lease: StoreLease, id: string): Promise<number> {
    this.#discard();
    const { database, waitMs = DEFAULT_WAIT_MS } = this.#deps;
    for (const until = performance.now() + waitMs; ; ) {
      try {
        if (await wasCheckedIn(database.ask, lease, id)) return 0;
        throw error;
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
    const { database, leaseMs = DEFAULT_LEASE_MS, waitMs = DEFAULT_WAIT_MS } = this.#deps;
    const taking = { store: this.id, owner: this.#owner, leaseMs };
    for (const until = performance.now() + waitMs; ; ) {
      const taken = await takeStore(database.ask, taking);
      if (taken) return taken;
      const row = await storeRow(database.ask, this.id);
      if (row?.state !== 'ready') throw notReady(this.id, row);
      if (performance.now() > until) {
        throw new AppError(
          'conflict',
          `Another process has been writing to ${this.id} for ${waitMs / 1_000} seconds.`,
          {
            remedy: 'Nothing was changed; try again when it is done.',
          },
        );
      }
      await wait(BETWEEN_TRIES_MS * (0.5 + Math.random()));
    }
  }

  /** The copy at the revision of the row, or where there is none at the newest; made where it cannot be brought there. */
  async #atRevision(row: StoreRow | null): Promise<Copy> {
    if (this.#copy && row && isSameRevision(this.#copy.row, row)) return this.#copy;
    const { database, place, onStep } = this.#deps;
    const fetch: Fetch = async (since, to) => {
      const checked = {
        ...to,
        onRow: (found: StoreRow) => {
          if (found.state === 'arriving') throw notReady(this.id, found);
          refuseUnreadable(found);
          to.onRow(found);
        },
      };
      const found = await readStore(database, { id: this.id, since }, checked);
      if (!found) throw notReady(this.id, null);
      return found;
    };
    if (row) refuseUnreadable(row);
    const known = row ?? (await storeRow(database.ask, this.id));
    if (known && known.ledgerVersion < ledgerVersion() && !(await isReadByAll(database.ask, ledgerVersion()))) {
      throw new AppError('conflict', `${this.id} waits until processes of an older nocturne have ended.`, {
        remedy: 'Update them: this nocturne would write what they cannot read.',
      });
    }
    if (this.#copy && known && this.#copy.row.lineage === known.lineage && this.#copy.isUnchanged()) {
      onStep?.('bring');
      try {
        await this.#copy.bring(fetch);
        return this.#copy;
      } catch (error) {
        this.#discard();
        if (!isBrokenCopy(error)) throw error;
      }
    }
    this.#discard();
    this.#copy = await Copy.make(this.id, fetch, { ...place, onStep });
    return this.#copy;
  }

  #discard(): void {
    this.#copy?.discard();
    this.#copy = null;
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

function refuseUnreadable({ id, ledgerVersion: version }: StoreRow): void {
  if (version <= ledgerVersion()) return;
  throw new AppError('conflict', `${id} was written by a newer nocturne.`, {
    remedy: 'Update nocturne on this machine; the work waits.',
  });
}

function notReady(id: string, row: StoreRow | null): AppError {
  if (!row) return new AppError('bad-input', `There is no memory store ${id} in the database.`);
  return new AppError('conflict', `${row.name} is still being moved into the database.`, {
    remedy: 'Finish it: nocturne move --to-database, as it was begun.',
  });
}

function takenOver(id: string): AppError {
  return new AppError('fenced', `The writing to ${id} was taken over meanwhile; nothing of this change was kept.`);
}
