// The inbox: work that waits in a memory directory, by kind and key. It is the truth that the queue only rings for.
// New input for a key that waits replaces the old, gives its attempts back, and survives the end of a run that began
// before it came. Also when a key was worked last, what was left out on purpose, counted by reason, and what failed: for
// each key the last failure, how many there were in a row, and whether it was given up. A failure is dropped when the
// work is done; work that was given up stays until somebody retries or dismisses it. New input (`input`: for a session
// the size of its transcript) begins the counting anew.

import { jsonOf, type Ledger } from './ledger.ts';

export const JOB_KINDS = ['extract', 'dream', 'reprocess'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

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

/** When the next item is due after an instant; undefined: none is. */
export function nextDueInInbox(ledger: Ledger, now: string): string | undefined {
  return (
    ledger.get<{ at: string | null }>('select min(not_before) as at from inbox where not_before > ?', now)?.at ??
    undefined
  );
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
