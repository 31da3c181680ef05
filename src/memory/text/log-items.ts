// The daily logs as entries: what they hold, item by item, joined with what the ledger knew of each.
// A line that a person changed or wrote is taken at the person's word: it has no evidence.

import { isAppError } from '../../errors.ts';
import { type EntryRow, entryRow } from '../ledger/entries.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { lostIds } from '../store/lost-logs.ts';
import type { Store } from '../store/store.ts';
import type { Entry } from '../types.ts';
import { type LogItem, logDay, parseLog } from './daily-log.ts';

/** Everything in the logs as they stand, or in those among `paths`, by id; without what damage left of an entry. */
export async function readLogItems(store: Store, paths?: string[]): Promise<Map<string, LogItem>> {
  const texts = new Map<string, string>();
  for (const path of paths ?? (await store.list())) if (logDay(path)) texts.set(path, await readLog(store, path));
  return withoutRemains(logItemsOf(texts), store.ledger);
}

/** The text of a log; one that cannot be read is named by `status`, and holds nothing meanwhile. */
export async function readLog(store: Store, path: string): Promise<string> {
  try {
    return (await store.read(path)) ?? '';
  } catch (error) {
    if (isAppError(error)) return '';
    throw error;
  }
}

/** Words of a lost entry whose source was cut off, or damaged, are no new line of a person's. */
function withoutRemains(items: Map<string, LogItem>, ledger: Ledger): Map<string, LogItem> {
  const lost = [...lostIds(ledger)].flatMap((id) => entryRow(ledger, id) ?? []);
  return lost.length === 0 ? items : new Map([...items].filter(([, item]) => !isRemains(item, lost)));
}

/** Whether an item is what damage left of one of these entries. */
export function isRemains(item: LogItem, lost: Pick<EntryRow, 'day' | 'text'>[]): boolean {
  return item.kind === 'adopted' && lost.some(({ day, text }) => day === item.day && isLeftOf(text, item.text));
}

/** Whether these words are what is left of `text`: up to where they end, or cannot be read. */
function isLeftOf(text: string, words: string): boolean {
  const readable = words.split(/[\ufffd\0]/, 1)[0] as string;
  return text.startsWith(readable) || readable.startsWith(text);
}

/** Whether damage, not a person, made these words what they are. */
function isDamaged(words: string): boolean {
  return /[\ufffd\0]/.test(words);
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
  // Known by its id alone, since its log was lost with the ledger.
  if (before?.text === '' && item.kind === 'own' && !item.edited) {
    return { ...rowOf(item), job: before.job, state: before.state };
  }
  if (before && isDamaged(item.text) && !isDamaged(before.text)) return before;
  if (before && before.text === item.text) return before.state === 'withdrawn' ? { ...before, state: 'new' } : before;
  const job = before?.job ?? '';
  if (item.kind === 'own' && !item.edited) return { ...rowOf(item), job, state: 'new' };
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

function rowOf(item: Extract<LogItem, { kind: 'own' }>): Entry {
  const { kind: _, edited: __, ...entry } = item;
  return entry;
}
