// Entries that wait. A habit that one session showed and nobody stated is a line at once, marked as seen once, until
// another session shows it too or someone states it. One that nobody showed again for `holdDays` is put away. Its entry
// is in the state `held`; the table `held` knows since when.
// An entry that no dream could work into the topics stays new, with the nights it was tried and what stood in its way;
// after three nights a person is told, and it is tried once a week.

import { DAY_MS } from '../../base/time.ts';
import { type EntryRow, entriesIn, entryRow, supportsByEntry, writeEntry } from '../ledger/entries.ts';
import type { Ledger, Transaction } from '../ledger/ledger.ts';
import { editLines, locateLines, withoutMark } from '../text/topic.ts';

/** Whether an entry waits for a line, although it is held. */
export function isWithoutLine(ledger: Ledger, { id, state }: Pick<EntryRow, 'id' | 'state'>): boolean {
  return state === 'held' && supportsByEntry(ledger, id).length === 0;
}

/** The lines that nobody showed again within `holdDays`, with what they rest on. */
export function waitedInVain(
  ledger: Ledger,
  { now, holdDays }: { now: Date; holdDays: number },
): { path: string; line: string; entry: string }[] {
  return entriesIn(ledger, 'held').flatMap((entry) => {
    const since = ledger.get('select since from held where entry = ?', entry.id)?.since as string | undefined;
    if (now.getTime() - Date.parse(since ?? entry.at) < holdDays * DAY_MS) return [];
    return supportsByEntry(ledger, entry.id);
  });
}

export function sayWaitedInVain(holdDays: number): string {
  return `No other session showed it within ${holdDays} days.`;
}

type Held = { entry: string; isHeld: boolean; now: Date };

/** Remembers since when an entry waits, or that it does not any more. */
export function writeHeld(transaction: Transaction, { entry, isHeld, now }: Held): void {
  const isKnown = transaction.ledger.get('select entry from held where entry = ?', entry) !== undefined;
  if (isHeld && !isKnown) transaction.put('held', { entry, since: now.toISOString() });
  if (!isHeld && isKnown) transaction.drop('held', { entry });
}

/**
 * What becomes of the entries of these lines: those that are marked wait, all others do not any more. `gone`: what lines
 * rested on that were taken out.
 */
export function updateHeld(
  transaction: Transaction,
  { lines, gone, now }: { lines: { entries: string[]; seenOnce?: string }[]; gone: string[]; now: Date },
): void {
  const { ledger } = transaction;
  for (const { entries, seenOnce } of lines) {
    for (const entry of entries) setHeld(transaction, { entry, isHeld: seenOnce !== undefined, now });
  }
  for (const entry of gone) {
    if (supportsByEntry(ledger, entry).length === 0) setHeld(transaction, { entry, isHeld: false, now });
  }
}

function setHeld(transaction: Transaction, { entry, isHeld, now }: Held): void {
  const row = entryRow(transaction.ledger, entry);
  const state = isHeld ? 'held' : 'distilled';
  if (row && row.state !== state && (isHeld || row.state === 'held')) writeEntry(transaction, { ...row, state });
  writeHeld(transaction, { entry, isHeld, now });
}

/** Ends the waiting of entries whose lines are gone, put away or a person's now. */
export function endWaiting(transaction: Transaction, entries: Iterable<string>, now: Date): void {
  for (const entry of entries) setHeld(transaction, { entry, isHeld: false, now });
}

/**
 * Of a topic file, what it is without the marks of lines that a person made theirs; null where there are none.
 * `supported`: ids of the lines that rest on entries.
 */
export function withoutLateMarks(text: string, supported: Set<string>): string | null {
  const late = locateLines(text).filter(({ id, text: said }) => !supported.has(id) && withoutMark(said) !== said);
  if (late.length === 0) return null;
  return late.reduce(
    (now, { id, text: said }) => editLines(now, { remove: new Set([id]), add: [withoutMark(said)] }),
    text,
  );
}

/** From so many nights on a person is told. */
const TELL_AFTER_NIGHTS = 3;

interface Unplaced {
  entry: string;
  text: string;
  nights: number;
  since: string;
  reason: string;
}

/** What no dream has placed yet, the oldest first. */
function unplaced(ledger: Ledger): Unplaced[] {
  return ledger.all(
    `select unplaced.entry, entry.text, nights, since, reason from unplaced join entry on entry.id = unplaced.entry
     where entry.state in ('new', 'held', 'withdrawn') order by since, unplaced.entry`,
  );
}

/** What a person is to be told of. */
export function longUnplaced(ledger: Ledger): Unplaced[] {
  return unplaced(ledger).filter(({ nights }) => nights >= TELL_AFTER_NIGHTS);
}

/** After these nights one is tried again once a week. */
const AGAIN_AFTER_MS = 7 * 86_400_000;

/** The entries that are not asked about tonight: they were tried in vain for nights, and a person was told. */
export function resting(ledger: Ledger, now: Date): Set<string> {
  return new Set(
    longUnplaced(ledger).flatMap(({ entry, nights, since }) => {
      return now.getTime() - Date.parse(since) < nights * AGAIN_AFTER_MS ? entry : [];
    }),
  );
}

/** Why earlier dreams left these entries, as the model is told it. */
export function reasonsLeft(ledger: Ledger, entries: string[]): string[] {
  const wanted = new Set(entries);
  return unplaced(ledger).flatMap(({ entry, reason }) => (wanted.has(entry) ? [`${entry}: ${reason}`] : []));
}

/** Notes a night's end: `left` wait for another one, `placed` do not any more. */
export function noteLeft(
  ledger: Ledger,
  { left, placed, now }: { left: { entry: string; reason: string }[]; placed: Iterable<string>; now: Date },
): void {
  ledger.transaction(() => {
    for (const entry of placed) ledger.run('delete from unplaced where entry = ?', entry);
    for (const { entry, reason } of left) {
      ledger.run(
        `insert into unplaced (entry, nights, since, reason) values (?, 1, ?, ?)
         on conflict (entry) do update set nights = nights + 1, reason = excluded.reason`,
        entry,
        now.toISOString(),
        reason,
      );
    }
  });
}
