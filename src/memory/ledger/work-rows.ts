// What changes in a store without a commit of files: who works on which key, what waits to be worked, when a key was
// worked last, what was left out and what failed. Asked by promises, because a store that several machines share keeps
// these rows where all of them see them at once; in a directory they are rows of its ledger.
// Promises: each call is done whole or not at all; of several that take a lease at once one gets it; of an item that was
// replaced meanwhile neither the end nor the postponing of the earlier one takes anything away.

import {
  announceInInbox,
  dropFailure,
  dueInInbox,
  type FailureRow,
  failureRow,
  failureRows,
  finishInboxItem,
  type InboxItem,
  inboxItem,
  inboxItems,
  type JobKind,
  type NewItem,
  noteSkip,
  noteWork,
  type Pace,
  postponeInboxItem,
  putInInbox,
  type Skip,
  skips,
  wasWorked,
  writeFailure,
} from './inbox.ts';
import { checkFence, isLeased, type Lease, type LeaseTaking, releaseLease, renewLease, takeLease } from './job-rows.ts';
import type { Ledger } from './ledger.ts';

/** An item that may be worked, without its payload: `id` and `notBefore` name one state of it. */
export type DueItem = Pick<InboxItem, 'id' | 'kind' | 'key' | 'notBefore'>;

export interface WorkRows {
  /** Takes the lease, or answers null where another live owner holds it. */
  takeLease(taking: LeaseTaking): Promise<Lease | null>;
  /** Makes the lease last longer; false where it is lost. */
  renewLease(lease: Lease, span: { now: Date; ttlMs: number }): Promise<boolean>;
  /** Lets the lease go; the fence stays, so that it never repeats. */
  releaseLease(lease: Lease): Promise<void>;
  /** Throws `fenced` where a commit under the lease would: it was taken over, or the work is wanted no more. */
  requireLease(lease: Lease): Promise<void>;
  /** Whether somebody works on a key that begins with `prefix`. */
  isLeased(asked: { prefix: string; now: Date }): Promise<boolean>;
  /** Puts work in, replacing what waits under the same key. `notBefore` is an instant, and so is `since`, when it came. */
  put(item: NewItem & { notBefore: string; since?: string }): Promise<void>;
  /** The same unless something waits under the key; answers whether it was put in. */
  putIfNone(item: NewItem & { notBefore: string }): Promise<boolean>;
  /** Puts in what failed, or waits, and forgets its failure. */
  putAgain(item: NewItem & { notBefore: string }): Promise<void>;
  /** Puts in what happened by itself, at a pace (see `announceInInbox`); answers the instant from which it is due. */
  announce(item: NewItem & { payload: object }, pace: Pace): Promise<string>;
  item(kind: JobKind, key: string): Promise<InboxItem | undefined>;
  /** Everything that waits, extractions first and dreams last, each in the order it came. */
  items(): Promise<InboxItem[]>;
  /** What may be worked at an instant, in the same order. */
  due(now: string): Promise<DueItem[]>;
  /** The work is done: takes it out, unless new input came meanwhile, and the failure that was to be tried again. */
  finish(id: number): Promise<void>;
  /** The work waits until `notBefore`, with the reason; null: nothing holds it back any more. */
  postpone(id: number, to: { notBefore: string; attempts: number; failure: string | null }): Promise<void>;
  /** Notes that the work on a key begins. */
  noteWork(work: { kind: JobKind; key: string; now: Date }): Promise<void>;
  /** Whether work on a key was ever begun. */
  wasWorked(work: { kind: JobKind; key: string }): Promise<boolean>;
  /** Counts work that was left out on purpose, by its reason: a short, closed sentence. */
  noteSkip(skip: { kind: JobKind; reason: string; now: Date }): Promise<void>;
  /** What was left out, the latest first. */
  skips(): Promise<Skip[]>;
  /** Notes what work failed with, unless it waits no more: then another, who took it over, is done with it. */
  writeFailure(failure: FailureRow): Promise<void>;
  dropFailure(of: { kind: JobKind; key: string }): Promise<void>;
  failure(kind: JobKind, key: string): Promise<FailureRow | undefined>;
  /** All failures, the latest first. */
  failures(): Promise<FailureRow[]>;
}

/** The rows of a ledger, answered at once behind a promise that is kept already. */
export class LedgerWorkRows implements WorkRows {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  takeLease = async (taking: LeaseTaking) => takeLease(this.#ledger, taking);
  renewLease = async (lease: Lease, span: { now: Date; ttlMs: number }) => renewLease(this.#ledger, lease, span);
  releaseLease = async (lease: Lease) => releaseLease(this.#ledger, lease);
  requireLease = async (lease: Lease) => checkFence(this.#ledger, lease);
  isLeased = async (asked: { prefix: string; now: Date }) => isLeased(this.#ledger, asked);
  put = async (item: NewItem & { notBefore: string; since?: string }) => putInInbox(this.#ledger, item);
  putIfNone = async (item: NewItem & { notBefore: string }) =>
    this.#ledger.transaction(() => {
      if (inboxItem(this.#ledger, item.kind, item.key)) return false;
      putInInbox(this.#ledger, item);
      return true;
    });
  putAgain = async (item: NewItem & { notBefore: string }) =>
    this.#ledger.transaction(() => {
      dropFailure(this.#ledger, item);
      putInInbox(this.#ledger, item);
    });
  announce = async (item: NewItem & { payload: object }, pace: Pace) => announceInInbox(this.#ledger, item, pace);
  item = async (kind: JobKind, key: string) => inboxItem(this.#ledger, kind, key);
  items = async () => inboxItems(this.#ledger);
  due = async (now: string) => dueInInbox(this.#ledger, now);
  finish = async (id: number) => finishInboxItem(this.#ledger, id);
  postpone = async (id: number, to: { notBefore: string; attempts: number; failure: string | null }) =>
    postponeInboxItem(this.#ledger, id, to);
  noteWork = async (work: { kind: JobKind; key: string; now: Date }) => noteWork(this.#ledger, work);
  wasWorked = async (work: { kind: JobKind; key: string }) => wasWorked(this.#ledger, work);
  noteSkip = async (skip: { kind: JobKind; reason: string; now: Date }) => noteSkip(this.#ledger, skip);
  skips = async () => skips(this.#ledger);
  writeFailure = async (failure: FailureRow) => writeFailure(this.#ledger, failure);
  dropFailure = async (of: { kind: JobKind; key: string }) => dropFailure(this.#ledger, of);
  failure = async (kind: JobKind, key: string) => failureRow(this.#ledger, kind, key);
  failures = async () => failureRows(this.#ledger);
}
