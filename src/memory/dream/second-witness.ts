// Habits that were only shown wait for a second witness: an entry of another session that shares words or a value.
// Promises: a held entry is shown to a model only beside what may be its witness, so that it costs nothing on other
// nights; one that nobody joined for `holdDays` is let go with that reason. Whether the two show the same is the
// model's to say and operation-lines.ts's to check.

import { contentWords, countSharedWords, greppable, stands } from '../../wording.ts';
import type { EntryRow } from '../ledger/entries.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Transaction } from '../store/store.ts';
import { sessionOf } from './operation-lines.ts';
import type { Operation } from './operations.ts';

const DAY_MS = 24 * 60 * 60_000;
/** So many content words in common make a possible witness. */
const SHARED_WORDS = 2;

/** The entries a dream shows: the new ones, each with the held ones that it may be the second witness of behind it. */
export function besideWitnesses(fresh: EntryRow[]): EntryRow[] {
  const held = fresh
    .filter((entry) => entry.state === 'held')
    .map((entry) => ({ entry, words: contentWords(entry.text) }));
  const shown = new Set<EntryRow>();
  for (const entry of fresh) {
    if (entry.state === 'held') continue;
    shown.add(entry);
    const words = contentWords(entry.text);
    for (const { entry: waiting, words: wanted } of held) {
      const isAlike = countSharedWords(wanted, words) >= SHARED_WORDS || sharesValue(waiting.text, entry.text);
      if (isAlike && sessionOf(waiting) !== sessionOf(entry)) shown.add(waiting);
    }
  }
  return [...shown];
}

/** The held entries, save those that are shown tonight, that have waited for `holdDays`. */
export function waitedInVain(
  fresh: EntryRow[],
  { ledger, shown, now, holdDays }: { ledger: Ledger; shown: EntryRow[]; now: Date; holdDays: number },
): EntryRow[] {
  return fresh.filter((entry) => {
    if (entry.state !== 'held' || shown.includes(entry)) return false;
    const since = ledger.get('select since from held where entry = ?', entry.id)?.since as string | undefined;
    return now.getTime() - Date.parse(since ?? entry.at) >= holdDays * DAY_MS;
  });
}

/** Lets go of entries that waited in vain. */
export function dropUnwitnessed(entries: EntryRow[], holdDays: number): Operation {
  const reason = `No other session showed it within ${holdDays} days.`;
  return { kind: 'drop', entries: entries.map(({ id }) => id), because: 'unsupported', reason };
}

/** Remembers since when an entry waits, or that it does not any more. */
export function writeHeld({ ledger, commit }: Transaction, held: { entry: string; isHeld: boolean; now: Date }): void {
  const { entry, isHeld, now } = held;
  const isKnown = ledger.get('select entry from held where entry = ?', entry) !== undefined;
  if (isHeld && !isKnown) ledger.put(commit, 'held', { entry, since: now.toISOString() });
  if (!isHeld && isKnown) ledger.drop(commit, 'held', { entry });
}

function sharesValue(a: string, b: string): boolean {
  return greppable(a).some((value) => stands(value, b));
}
