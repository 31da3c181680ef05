// What comes back: an entry that had left its log and stands there again as it was, beside lines that once rested on it:
// a checkout of another branch and back, a log that was put back from a copy. The lines rest on it again, instead of
// passing for a person's, and no dream reads it anew. It changes no file.

import type { By, Store } from '../store/store.ts';
import { readLogItems } from '../text/log-items.ts';
import { parseTopic } from '../text/topic.ts';
import { addSupport, type EntryRow, entriesIn, type Support, writeEntry } from './entries.ts';
import type { Ledger } from './ledger.ts';

/** Takes up the entries that are back in these logs; costs no commit where there are none. */
export async function takeUpReturned(store: Store, by: By, logs: string[]): Promise<void> {
  const withdrawn = logs.length === 0 ? [] : entriesIn(store.ledger, 'withdrawn');
  if (withdrawn.length === 0) return;
  const items = await readLogItems(store, logs);
  const returned = withdrawn.filter((row) => items.get(row.id)?.text === row.text);
  const found: { row: EntryRow; supports: Support[] }[] = [];
  for (const row of returned) {
    const supports: Support[] = [];
    for (const support of formerSupports(store.ledger, row.id)) {
      const { lines } = parseTopic(support.path, (await store.read(support.path)) ?? '');
      if (lines.some(({ id }) => id === support.line)) supports.push(support);
    }
    if (supports.length > 0) found.push({ row, supports });
  }
  if (found.length === 0) return;
  await store.commit(by, () => ({
    files: [],
    rows(transaction) {
      for (const { row, supports } of found) {
        writeEntry(transaction, { ...row, state: 'distilled' });
        for (const support of supports) addSupport(transaction, support);
      }
    },
  }));
}

/** The lines that rested on an entry until a commit took that away. */
function formerSupports(ledger: Ledger, entry: string): Support[] {
  return ledger
    .all(
      `select distinct json_extract(key, '$[0]') as path, json_extract(key, '$[1]') as line from undo
       where tbl = 'support' and before is not null and json_extract(key, '$[2]') = ?`,
      entry,
    )
    .map(({ path, line }) => ({ path: path as string, line: line as string, entry }));
}
