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

/**
 * Puts in what happened by itself, at a pace: it waits until nothing came for `debounceMs`, but while news keep coming
 * no longer than the pace's longer span, and until `throttleMs` after its key was worked last. What waits under the
 * key keeps the fields of its payload that the news do not name. Answers the instant from which it is due.
 */
export function announceInInbox(ledger: Ledger, item: NewItem & { payload: object }, pace: Pace): string {
  return ledger.transaction(() => {
    const { kind, key } = item;
    const waiting = inboxItem(ledger, kind, key);
    const notBefore = dueByPace(pace, { since: waiting?.since, workedAt: lastWorkedAt(ledger, { kind, key }) });
    const payload = { ...(waiting?.payload as object | undefined), ...item.payload };
    putInInbox(ledger, { kind, key, payload, notBefore, since: pace.now.toISOString() });
    return notBefore;
  });
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
const IN_ORDER = "order by case kind when 'extract' then 0 when 'reprocess' then 1 else 2 end, id";

export function inboxItem(ledger: Ledger, kind: JobKind, key: string): InboxItem | undefined {
  const row = ledger.get<InboxItem>(`select ${ITEM} from inbox where kind = ? and key = ?`, kind, key);
  return row && withPayload(row);
}

/** Everything that waits, extractions first and dreams last, each in the order it came. */
export function inboxItems(ledger: Ledger): InboxItem[] {
  return ledger.all<InboxItem>(`select ${ITEM} from inbox ${IN_ORDER}`).map(withPayload);
}

/** What may be worked at an instant, in the same order, without payloads. `id` and `notBefore` name one state of it. */
export function dueInInbox(ledger: Ledger, now: string): Pick<InboxItem, 'id' | 'kind' | 'key' | 'notBefore'>[] {
  return ledger.all(`select id, kind, key, not_before as notBefore from inbox where not_before <= ? ${IN_ORDER}`, now);
}

/** When the next item is due after an instant; undefined: none is. */
export function nextDueInInbox(ledger: Ledger, now: string): string | undefined {
  return (
    ledger.get<{ at: string | null }>('select min(not_before) as at from inbox where not_before > ?', now)?.at ??
    undefined
  );
}

/** The work is done: takes it out, unless new input came meanwhile, and the failure that was to be tried again. */
export function finishInboxItem(ledger: Ledger, id: number): void {
  ledger.transaction(() => {
    const of = ledger.get<{ kind: JobKind; key: string }>('delete from inbox where id = ? returning kind, key', id);
    if (of) ledger.run("delete from failure where kind = ? and key = ? and state = 'retrying'", of.kind, of.key);
  });
}

/** The work waits until `notBefore`, with the reason; null: nothing holds it back any more. */
export function postponeInboxItem(
  ledger: Ledger,
  id: number,
  to: { notBefore: string; attempts: number; failure: string | null },
): void {
  ledger.run(
    'update inbox set not_before = ?, attempts = ?, failure = ? where id = ?',
    to.notBefore,
    to.attempts,
    to.failure,
    id,
  );
}

/** Notes that the work on a key begins. */
export function noteWork(ledger: Ledger, work: { kind: JobKind; key: string; now: Date }): void {
  ledger.replace('worked', { kind: work.kind, key: work.key, at: work.now.toISOString() });
}

/** Whether work on a key was ever begun. */
export function wasWorked(ledger: Ledger, work: { kind: JobKind; key: string }): boolean {
  return lastWorkedAt(ledger, work) !== undefined;
}

/** When work on a key began last. */
function lastWorkedAt(ledger: Ledger, { kind, key }: { kind: JobKind; key: string }): string | undefined {
  return ledger.get<{ at: string }>('select at from worked where kind = ? and key = ?', kind, key)?.at;
}

export interface Skip {
  kind: JobKind;
  reason: string;
  times: number;
  /** When it was skipped last. */
  at: string;
}

/** Counts work that was left out on purpose, by its reason: a short, closed sentence. */
export function noteSkip(ledger: Ledger, skip: { kind: JobKind; reason: string; now: Date }): void {
  ledger.run(
    `insert into skip (kind, reason, times, at) values (?, ?, 1, ?)
     on conflict (kind, reason) do update set times = times + 1, at = excluded.at`,
    skip.kind,
    skip.reason,
    skip.now.toISOString(),
  );
}

/** What was left out, the latest first. */
export function skips(ledger: Ledger): Skip[] {
  return ledger.all<Skip>('select kind, reason, times, at from skip order by at desc');
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

/** Notes what work failed with, unless it waits no more: then another, who took it over, is done with it. */
export function writeFailure(ledger: Ledger, failure: FailureRow): void {
  ledger.transaction(() => {
    if (!inboxItem(ledger, failure.kind, failure.key)) return;
    ledger.replace('failure', { ...failure, payload: JSON.stringify(failure.payload) });
  });
}

export function dropFailure(ledger: Ledger, { kind, key }: { kind: JobKind; key: string }): void {
  ledger.run('delete from failure where kind = ? and key = ?', kind, key);
}

export function failureRow(ledger: Ledger, kind: JobKind, key: string): FailureRow | undefined {
  const row = ledger.get<FailureRow>('select * from failure where kind = ? and key = ?', kind, key);
  return row && withPayload(row);
}

/** All failures, the latest first. */
export function failureRows(ledger: Ledger): FailureRow[] {
  return ledger.all<FailureRow>('select * from failure order by at desc, key').map(withPayload);
}
