// The mark of what was seen once goes from a line that a person made theirs, and with it the waiting for a second witness.

import { endWaiting, withoutLateMarks } from '../../src/memory/dream/habits.ts';
import { entriesIn, supportsByEntry, supportsOf } from '../../src/memory/ledger/entries.ts';
import type { Lease } from '../../src/memory/store/leases.ts';
import { isPinned } from '../../src/memory/store/staging.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { parseTopic } from '../../src/memory/text/topic.ts';
import type { Place } from './fresh-index.ts';

/** An entry whose marked line is no longer what nocturne wrote, and the topics in which it stood. */
export interface LateMark {
  entry: string;
  paths: string[];
}

export async function lateMarks(store: Store): Promise<LateMark[]> {
  const lines = new Map<string, Set<string>>();
  const late: LateMark[] = [];
  for (const { id: entry } of entriesIn(store.ledger, 'held')) {
    const supports = supportsByEntry(store.ledger, entry);
    for (const { path } of supports) {
      if (lines.has(path)) continue;
      const text = (await store.read(path)) ?? '';
      lines.set(path, new Set(parseTopic(path, text).lines.map(({ id }) => id)));
    }
    const stands = supports.some(({ path, line }) => lines.get(path)?.has(line));
    if (supports.length > 0 && !stands) late.push({ entry, paths: supports.map(({ path }) => path) });
  }
  return late;
}

export async function commitLateMarks(
  marks: LateMark[],
  { store, clock, job, lease }: Place & { job: string; lease: Lease },
): Promise<void> {
  await store.commit({ actor: `job:${job}`, lease }, (ledger) => ({
    files: [...new Set(marks.flatMap(({ paths }) => paths))].map((path) => ({
      path,
      change(current) {
        if (current === null || isPinned({ path, text: current })) return current;
        const supported = new Set(supportsOf(ledger, path).map(({ line }) => line));
        return withoutLateMarks(current, supported) ?? current;
      },
    })),
    rows: (transaction) =>
      endWaiting(
        transaction,
        marks.map(({ entry }) => entry),
        clock.now(),
      ),
  }));
}
