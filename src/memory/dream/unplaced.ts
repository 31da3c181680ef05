// Entries that a dream could not work into the topics: since when, in how many nights, and what stood in their way.
// They stay new, so that the next dream tries again; after three nights a person is told, and they are tried once a week. What was placed since, or is no
// longer in the logs, is not told of.

import type { Ledger } from '../ledger/ledger.ts';

/** From so many nights on a person is told. */
export const TELL_AFTER_NIGHTS = 3;

export interface Unplaced {
  entry: string;
  text: string;
  nights: number;
  since: string;
  reason: string;
}

/** What no dream has placed yet, the oldest first. */
export function unplaced(ledger: Ledger): Unplaced[] {
  return ledger
    .all(
      `select unplaced.entry, entry.text, nights, since, reason from unplaced join entry on entry.id = unplaced.entry
       where entry.state in ('new', 'held', 'withdrawn') order by since, unplaced.entry`,
    )
    .map((row) => row as unknown as Unplaced);
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

/** Notes a night's end: `left` wait for another one, `settled` do not any more. */
export function noteLeft(
  ledger: Ledger,
  { left, settled, now }: { left: { entry: string; reason: string }[]; settled: Iterable<string>; now: Date },
): void {
  ledger.transaction(() => {
    for (const entry of settled) ledger.run('delete from unplaced where entry = ?', entry);
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
