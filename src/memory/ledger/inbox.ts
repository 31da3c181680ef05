// What changes in a store without a commit of files: who works on which key, what waits to be worked, when a key was
// worked last, what was left out on purpose, counted by reason, and what failed. Asked by promises (`WorkRows`), because a
// store that several machines share keeps these rows where all of them see them at once; in a directory they are rows of
// its ledger.
// The inbox is work that waits, by kind and key: the truth that the queue only rings for. New input for a key that waits
// replaces the old, gives its attempts back, and survives the end of a run that began before it came. Of failures there
// is for each key the last one, how many there were in a row, and whether it was given up. A failure is dropped when the
// work is done; work that was given up stays until someone retries or dismisses it. New input (`input`: for a session
// the size of its transcript) begins the counting again.
// Promises: each call is done whole or not at all; of several that take a lease at once one gets it; of an item that was
// replaced meanwhile neither the end nor the postponing of the earlier one takes anything away.

import {
  checkFence,
  isLeased,
  type JobKind,
  type Lease,
  type LeaseTaking,
  releaseLease,
  takeLease,
  untilOf,
} from './job-rows.ts';
import { jsonOf, type Ledger } from './ledger.ts';

export interface InboxItem {
  /** Changes whenever new input comes for the key. */
  id: number;
  kind: JobKind;
  key: string;
  payload: unknown;
  /** Not to be worked before this instant. */
  notBefore: string;
  /** Tries that were used up. */
  attempts: number;
  /** Why the last try ended without a result. */
  failure: string | null;
  /** Since when something waits under the key; null for what an older nocturne put in. */
  since: string | null;
}

export interface NewItem {
  kind: JobKind;
  key: string;
  payload: unknown;
}

/** Puts work in, replacing what waits under the same key. `notBefore` is an instant, and so is `since`, when it came. */
export function putInInbox(ledger: Ledger, item: NewItem & { notBefore: string; since?: string }): void {
  ledger.run(
    `insert or replace into inbox (kind, key, payload, not_before, attempts, failure, since)
     values (?, ?, ?, ?, 0, null, coalesce((select since from inbox where kind = ? and key = ?), ?))`,
    item.kind,
    item.key,
    JSON.stringify(item.payload),
    item.notBefore,
    item.kind,
    item.key,
    item.since ?? item.notBefore,
  );
}

export interface Pace {
  /** When the news came. */
  now: Date;
  /** What the clock says; work that began later began by a clock that was wrong, and holds nothing back. */
  clockAt?: Date;
  /** From the last news to the work. */
  debounceMs: number;
  /** From the beginning of one work to that of the next; 0: as often as there are news. */
  throttleMs: number;
  /** The end of its session: `throttleMs` does not hold it back, only bounds how long `debounceMs` may be extended. */
  isLast?: boolean;
}

/** The instant from which news are due. `since`: since when something waits under the key; `workedAt`: when it was worked last. */
export function dueByPace(pace: Pace, had: { since?: string | null; workedAt?: string | null }): string {
  const workedAt = pace.clockAt && had.workedAt && had.workedAt > pace.clockAt.toISOString() ? null : had.workedAt;
  const now = pace.now.getTime();
  const atOf = (instant: string | null | undefined) => (instant ? Date.parse(instant) : Number.NEGATIVE_INFINITY);
  // News that came while the key was worked wait from then on.
  const since = Math.max(had.since ? atOf(had.since) : now, atOf(workedAt));
  const patience = since + Math.max(pace.debounceMs, pace.throttleMs);
  const quiet = Math.min(now + pace.debounceMs, patience);
  const rested = pace.isLast ? now : atOf(workedAt) + pace.throttleMs;
  return new Date(Math.max(now, quiet, rested)).toISOString();
}

const ITEM = 'id, kind, key, payload, not_before as notBefore, attempts, failure, since';
export const IN_ORDER = "order by case kind when 'extract' then 0 when 'reprocess' then 1 else 2 end, id";

export function inboxItem(ledger: Ledger, kind: JobKind, key: string): InboxItem | undefined {
  const row = ledger.get<InboxItem>(`select ${ITEM} from inbox where kind = ? and key = ?`, kind, key);
  return row && withPayload(row);
}

/** Everything that waits, extractions first and dreams last, each in the order it came. */
export function inboxItems(ledger: Ledger): InboxItem[] {
  return ledger.all<InboxItem>(`select ${ITEM} from inbox ${IN_ORDER}`).map(withPayload);
}

export function isInboxEmpty(ledger: Ledger): boolean {
  return ledger.get('select 1 as one from inbox limit 1') === undefined;
}

/** The item that is due next after an instant; undefined: none is. */
export function nextDueInInbox(ledger: Ledger, now: string): DueItem | undefined {
  const sql =
    'select id, kind, key, not_before as notBefore from inbox where not_before > ? order by not_before limit 1';
  return ledger.get<DueItem>(sql, now);
}

export interface Skip {
  kind: JobKind;
  reason: string;
  times: number;
  /** When it was skipped last. */
  at: string;
}

/** The row with its payload, which is kept as JSON. */
export function withPayload<Kept extends { payload: unknown }>(row: Kept): Kept {
  return { ...row, payload: jsonOf(row.payload) };
}

export interface FailureRow {
  kind: JobKind;
  key: string;
  /** `retrying`: it waits in the inbox. `failed`: it was given up and waits for a person. */
  state: 'retrying' | 'failed';
  /** An `ErrorCode`, as the nocturne that wrote it knew them. */
  code: string;
  message: string;
  /** Tries that were used up. */
  attempts: number;
  /** Failures in a row, also those that used up no try. */
  failures: number;
  input: string | null;
  at: string;
  /** What to put into the inbox again. */
  payload: unknown;
}

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
  /** Whether someone works on a key that begins with `prefix`. */
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
