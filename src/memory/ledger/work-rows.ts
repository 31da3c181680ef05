// What changes in a store without a commit of files: who works on which key, what waits to be worked, when a key was
// worked last, what was left out and what failed. Asked by promises, because a store that several machines share keeps
// these rows where all of them see them at once; in a directory they are rows of its ledger.
// Promises: each call is done whole or not at all; of several that take a lease at once one gets it; of an item that was
// replaced meanwhile neither the end nor the postponing of the earlier one takes anything away.

import {
  dueByPace,
  type FailureRow,
  IN_ORDER,
  type InboxItem,
  inboxItem,
  inboxItems,
  type JobKind,
  type NewItem,
  type Pace,
  putInInbox,
  type Skip,
  withPayload,
} from './inbox.ts';
import { checkFence, isLeased, type Lease, type LeaseTaking, releaseLease, takeLease, untilOf } from './job-rows.ts';
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
  /**
   * Puts in what happened by itself, at a pace: it waits until nothing came for `debounceMs`, but while news keep coming
   * no longer than the pace's longer span, and until `throttleMs` after its key was worked last. What waits under the
   * key keeps the fields of its payload that the news do not name. Answers the instant from which it is due.
   */
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
export function workRowsOf(ledger: Ledger): WorkRows {
  const workedAt = ({ kind, key }: { kind: JobKind; key: string }) =>
    ledger.get<{ at: string }>('select at from worked where kind = ? and key = ?', kind, key)?.at;
  const dropFailure = ({ kind, key }: { kind: JobKind; key: string }, only = '') =>
    void ledger.run(`delete from failure where kind = ? and key = ? ${only}`, kind, key);
  return {
    takeLease: async (taking) => takeLease(ledger, taking),
    renewLease: async ({ key, owner, fence }, span) => {
      const sql = 'update lease set until = ? where key = ? and owner = ? and fence = ?';
      return ledger.run(sql, untilOf(span), key, owner, fence) === 1;
    },
    releaseLease: async (lease) => releaseLease(ledger, lease),
    requireLease: async (lease) => checkFence(ledger, lease),
    isLeased: async (asked) => isLeased(ledger, asked),
    put: async (item) => putInInbox(ledger, item),
    putIfNone: async (item) =>
      ledger.transaction(() => {
        if (inboxItem(ledger, item.kind, item.key)) return false;
        putInInbox(ledger, item);
        return true;
      }),
    putAgain: async (item) =>
      ledger.transaction(() => {
        dropFailure(item);
        putInInbox(ledger, item);
      }),
    announce: async (item, pace) =>
      ledger.transaction(() => {
        const { kind, key } = item;
        const waiting = inboxItem(ledger, kind, key);
        const notBefore = dueByPace(pace, { since: waiting?.since, workedAt: workedAt(item) });
        const payload = { ...(waiting?.payload as object | undefined), ...item.payload };
        putInInbox(ledger, { kind, key, payload, notBefore, since: pace.now.toISOString() });
        return notBefore;
      }),
    item: async (kind, key) => inboxItem(ledger, kind, key),
    items: async () => inboxItems(ledger),
    due: async (now) =>
      ledger.all(`select id, kind, key, not_before as notBefore from inbox where not_before <= ? ${IN_ORDER}`, now),
    finish: async (id) =>
      ledger.transaction(() => {
        const of = ledger.get<{ kind: JobKind; key: string }>('delete from inbox where id = ? returning kind, key', id);
        if (of) dropFailure(of, "and state = 'retrying'");
      }),
    postpone: async (id, { notBefore, attempts, failure }) => {
      const sql = 'update inbox set not_before = ?, attempts = ?, failure = ? where id = ?';
      ledger.run(sql, notBefore, attempts, failure, id);
    },
    noteWork: async ({ kind, key, now }) => ledger.replace('worked', { kind, key, at: now.toISOString() }),
    wasWorked: async (work) => workedAt(work) !== undefined,
    noteSkip: async ({ kind, reason, now }) => {
      const again = 'on conflict (kind, reason) do update set times = times + 1, at = excluded.at';
      const sql = `insert into skip (kind, reason, times, at) values (?, ?, 1, ?) ${again}`;
      ledger.run(sql, kind, reason, now.toISOString());
    },
    skips: async () => ledger.all<Skip>('select kind, reason, times, at from skip order by at desc'),
    writeFailure: async (failure) =>
      ledger.transaction(() => {
        if (!inboxItem(ledger, failure.kind, failure.key)) return;
        ledger.replace('failure', { ...failure, payload: JSON.stringify(failure.payload) });
      }),
    dropFailure: async (of) => dropFailure(of),
    failure: async (kind, key) => {
      const row = ledger.get<FailureRow>('select * from failure where kind = ? and key = ?', kind, key);
      return row && withPayload(row);
    },
    failures: async () =>
      ledger.all<FailureRow>('select * from failure order by at desc, key').map((row) => withPayload(row)),
  };
}
