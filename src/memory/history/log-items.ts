// The daily logs as entries: what they hold, item by item, joined with what the ledger knew of each; and which of the logs
// and reports changed since a dream read them all, so that the dream of a year's memory reads the files of a few days.
// A line that a person changed or wrote is taken at the person's word: it has no evidence. So has one that a program wrote,
// which is an agent's word and no person's.

import { join } from 'node:path';
import { onAppError } from '../../base/errors.ts';
import { listFiles, listNames } from '../../base/files/directories.ts';
import { statNow } from '../../base/files/files.ts';
import type { Day } from '../../base/time.ts';
import { type EntryRow, entryRow } from '../ledger/entries.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { programLines } from '../ledger/program-lines.ts';
import { lostIds } from '../ledger/version-rows.ts';
import type { Store } from '../store/store.ts';
import { entryId, type LogItem, logDay, logPath, parseLog } from '../text/daily-log.ts';
import { reportDay } from '../text/dream-report.ts';
import { lineId } from '../text/topic.ts';
import type { Entry } from '../types.ts';

export const REPORTS = '.nocturne/dreams';

/** Everything in the logs as they stand, or in those among `paths`, by id; without what damage left of an entry. */
export async function readLogItems(store: Store, paths?: string[]): Promise<Map<string, LogItem>> {
  const texts = new Map<string, string>();
  for (const path of paths ?? (await store.list())) if (logDay(path)) texts.set(path, await readLog(store, path));
  return withoutRemains(logItemsOf(texts), store.ledger);
}

/** The text of a log; one that cannot be read is named by `status`, and holds nothing meanwhile. */
export async function readLog(store: Store, path: string): Promise<string> {
  return (await store.read(path).catch(onAppError(() => null))) ?? '';
}

/** Words of a lost entry whose source was cut off, or damaged, are no new line of a person's. */
export function withoutRemains(items: Map<string, LogItem>, ledger: Ledger): Map<string, LogItem> {
  const lost = [...lostIds(ledger)].flatMap((id) => entryRow(ledger, id) ?? []);
  return lost.length === 0 ? items : new Map([...items].filter(([, item]) => !isRemains(item, lost)));
}

/** Whether an item is what damage left of one of these entries. */
export function isRemains(item: LogItem, lost: Pick<EntryRow, 'id' | 'day' | 'text'>[]): boolean {
  if (lost.some(({ id }) => id === item.id)) return false;
  if (item.kind === 'own' && !item.edited) {
    // Damage may have made its id another one; what it says tells which it was.
    const [first] = item.evidence;
    const id = first && entryId({ ...first, text: item.text });
    if (lost.some((entry) => entry.id === id)) return true;
    const source = [item.session, item.turn, item.at, item.prompt, ...item.evidence.map(({ message }) => message)];
    if (!source.some((value) => UNREADABLE.test(value))) return false;
  }
  return lost.some(({ day, text }) => day === item.day && isLeftOf(text, item.text));
}

/** What cannot be read: bytes that are no text, in either form in which they come (edit-text.ts). */
const UNREADABLE = /[\ufffd\0\udc80-\udcff]/u;
/** So many characters in a row tell which text they are of. */
const TELLING_CHARACTERS = 12;

/** Whether these words are what is left of `text`: up to where they end, or around what cannot be read. */
function isLeftOf(text: string, words: string): boolean {
  const [begin = '', ...rest] = words.split(UNREADABLE).map((piece) => piece.trim());
  if (text.startsWith(begin) || begin.startsWith(text)) return true;
  const telling = [begin, ...rest].filter((piece) => piece.length >= TELLING_CHARACTERS);
  return telling.some((piece) => text.includes(piece) || piece.includes(text));
}

/** Whether damage, not a person, made these words what they are. */
function isDamaged(words: string): boolean {
  return UNREADABLE.test(words);
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

/**
 * The entry that an item is now. A new one, a changed one and one that came back are `new`. `ledger`: where it is known
 * that a program wrote the line; it is an agent's word then.
 */
export function entryOfItem(item: LogItem, before: EntryRow | undefined, ledger: Ledger | null): EntryRow {
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
    by: ledger && programLines(ledger, logPath(item.day)).has(lineId(item.text)) ? 'assistant' : 'person',
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

/** The logs and the JSON reports of a memory directory. */
export async function historyPaths(store: Pick<Store, 'dir'>): Promise<string[]> {
  const logs = (await listFiles(join(store.dir, 'logs'))).map((path) => `logs/${path}`);
  const reports = listNames(join(store.dir, REPORTS)).filter(reportDay);
  return [...logs.filter(logDay), ...reports.map((name) => `${REPORTS}/${name}`)];
}

export interface HistoryStats {
  /** Logs and reports that changed, came or went. */
  changed: string[];
  /** How each file looks now, by path. */
  stats: Map<string, string>;
}

export async function statHistory({ dir, ledger }: Pick<Store, 'dir' | 'ledger'>): Promise<HistoryStats> {
  const seen = seenStats(ledger);
  const stats = new Map<string, string>();
  for (const path of await historyPaths({ dir })) {
    const stat = statOf(dir, path);
    if (stat !== null) stats.set(path, stat);
  }
  const changed = [...new Set([...seen.keys(), ...stats.keys()])].filter((path) => seen.get(path) !== stats.get(path));
  return { changed, stats };
}

/** Those of these files that look as they did when a dream read them. */
export function unchangedSince(ledger: Ledger, { dir, paths }: { dir: string; paths: string[] }): Set<string> {
  const seen = seenStats(ledger);
  return new Set(paths.filter((path) => seen.has(path) && seen.get(path) === statOf(dir, path)));
}

function seenStats(ledger: Ledger): Map<string, string> {
  return new Map(ledger.lists('select path, look from history_look') as [string, string][]);
}

function statOf(dir: string, path: string): string | null {
  const stat = statNow(join(dir, path));
  return stat?.isFile ? `${stat.bytes} ${stat.modifiedMs} ${stat.changedMs}` : null;
}

/** Says that the dream has read what looked like this. */
export function markHistoryRead({ ledger }: Store, { changed, stats }: HistoryStats): void {
  if (changed.length === 0) return;
  ledger.deriving(() => {
    for (const path of changed) {
      const stat = stats.get(path);
      if (stat === undefined) ledger.run('delete from history_look where path = ?', path);
      else ledger.replace('history_look', { path, look: stat });
    }
  });
}

/** The next dream reads this day's log again: of its entries the ledger may no longer know what the log says. */
export function markUnread(ledger: Ledger, day: Day): void {
  ledger.run('delete from history_look where path = ?', logPath(day));
}
