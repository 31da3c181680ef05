// The daily logs as entries: what they hold, item by item, joined with what the ledger knew of each.
// A line that a person changed or wrote is taken at the person's word: it has no evidence.

import type { EntryRow } from '../ledger/entries.ts';
import type { Store } from '../store/store.ts';
import { type LogItem, logDay, parseLog } from './daily-log.ts';

/** Everything in the logs as they stand, or in those among `paths`, by id. */
export async function readLogItems(store: Store, paths?: string[]): Promise<Map<string, LogItem>> {
  const texts = new Map<string, string>();
  for (const path of paths ?? (await store.list())) if (logDay(path)) texts.set(path, (await store.read(path)) ?? '');
  return logItemsOf(texts);
}

/** What these files, by path, hold as daily logs, in their order; of two items with one id the first counts. */
export function logItemsOf(texts: Map<string, string>): Map<string, LogItem> {
  const items = new Map<string, LogItem>();
  for (const [path, text] of texts) {
    const day = logDay(path);
    for (const item of day ? parseLog(text, day) : []) if (!items.has(item.id)) items.set(item.id, item);
  }
  return items;
}

/** The entry that an item is now. A new one, a changed one and one that came back are `new`. */
export function entryOfItem(item: LogItem, before: EntryRow | undefined): EntryRow {
  if (before && before.text === item.text) return before.state === 'withdrawn' ? { ...before, state: 'new' } : before;
  const job = before?.job ?? '';
  if (item.kind === 'own' && !item.edited) {
    const { id, type, text, strength, evidence, by, session, turn, at, prompt, day } = item;
    return { id, type, text, strength, evidence, by, session, turn, at, prompt, day, job, state: 'new' };
  }
  const source = item.kind === 'own' ? item : { session: '', turn: '', at: before?.at ?? `${item.day}T12:00:00.000Z` };
  return {
    id: item.id,
    type: item.type,
    text: item.text,
    strength: 'stated',
    evidence: [],
    by: 'person',
    session: source.session,
    turn: source.turn,
    at: source.at,
    day: item.day,
    prompt: '',
    job,
    state: 'new',
  };
}
