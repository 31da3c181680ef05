// Entries in the daily logs and the ledger as an extraction leaves them, without one.

import { dayOf } from '../../src/base/time.ts';
import { writeEntry } from '../../src/memory/ledger/entries.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { appendEntries, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import type { Entry, MemoryType } from '../../src/memory/types.ts';

export interface Said {
  type: MemoryType;
  text: string;
  /** Default: one per day. */
  session?: string;
  strength?: Entry['strength'];
  /** What it changes of what was known. */
  changes?: string;
  /** The line that it says again. */
  again?: string;
}

/** Records what was said at `at` (ISO-8601), a second apart; answers the entries. */
export async function record(store: Store, at: string, said: Said[]): Promise<Entry[]> {
  const day = dayOf(at, 'UTC');
  const entries = said.map(({ type, text, session = `session-${day}`, strength = 'stated', ...more }, index): Entry => {
    const evidence = [{ message: `m-${at}-${index}`, quote: text }];
    const id = entryId({ message: `m-${at}-${index}`, quote: text, text });
    const saidAt = new Date(Date.parse(at) + index * 1_000).toISOString();
    return {
      id,
      type,
      strength,
      text,
      ...more,
      evidence,
      by: 'human',
      session,
      turn: `t-${index}`,
      at: saidAt,
      day,
      prompt: 'p',
    };
  });
  await store.commit({ actor: 'job:job_recorded' }, () => ({
    files: [{ path: logPath(day), change: (current) => appendEntries(current, entries, { day, zone: 'UTC' }) }],
    rows(transaction) {
      for (const entry of entries) writeEntry(transaction, { ...entry, state: 'new', job: 'job_recorded' });
    },
  }));
  return entries;
}
