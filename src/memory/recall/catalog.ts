// What a memory directory holds, for people who look: topics and logs as the files stand, with what the ledger knows.
// Reads only: nothing is made, locked or taken in, so it works in a directory that nocturne never wrote to.

import { walkNow } from '../../base/files/directories.ts';
import { readMemoryNow } from '../../base/files/files.ts';
import type { Day } from '../../base/time.ts';
import { shownText } from '../conflicts/conflict.ts';
import { isWithoutLine } from '../dream/habits.ts';
import { topicCards } from '../dream/topic-table.ts';
import { logItemsOf, unchangedSince } from '../history/log-items.ts';
import { type EntryRow, type EntryState, entriesIn, entryRow } from '../ledger/entries.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { filesByName, isMemoryPath } from '../store/confine.ts';
import { listPaths, liveFiles, readShown } from '../store/live-files.ts';
import { type LogItem, logDay, logPath } from '../text/daily-log.ts';
import { isArchivePath, isTopicPath, parseTopic } from '../text/topic.ts';
import type { MemoryType } from '../types.ts';

export interface CatalogTopic {
  name: string;
  path: string;
  /** Null where the file names none that we know. */
  type: MemoryType | null;
  description: string;
  lines: number;
  pinned: boolean;
  modifiedAt: string;
}

/** An item of a log with what became of it; what no dream has read yet is `new`. */
export type CatalogEntry = LogItem & { state: EntryState };

/** The paths of the Markdown files, topics and logs among them, sorted. */
export function markdownFiles(dir: string): string[] {
  return [...filesByName(dir).keys()].filter((path) => path.endsWith('.md')).sort();
}

/** All topics, by name. What a dream knows of one is taken from there where the file is still the same. */
export function catalogTopics(dir: string, ledger: Ledger | null): CatalogTopic[] {
  const cards = new Map(ledger ? topicCards(ledger).map((card) => [card.path, card]) : []);
  return liveFiles(dir, ledger).flatMap(({ path, absolute, modifiedMs, head }) => {
    if (!isTopicPath(path) || !isMemoryPath(path)) return [];
    const modifiedAt = new Date(modifiedMs).toISOString();
    const card = cards.get(path);
    if (card && card.head === head) {
      const { name, type, description, lines, isPinned } = card;
      return [{ name, path, type: type ?? null, description, lines, pinned: isPinned, modifiedAt }];
    }
    const text = readMemoryNow(absolute);
    if (text === null) return [];
    const { name, type, description, lines, pinned } = parseTopic(path, shownText(text, { path, ledger }));
    return [{ name, path, type: type ?? null, description, lines: lines.length, pinned, modifiedAt }];
  });
}

/** The paths of memories in folders, which programs make and no dream sorts: no topics, logs or archived ones. */
export function folderMemories(dir: string, ledger: Ledger | null): string[] {
  const isOther = (path: string) => path.includes('/') && logDay(path) === null && !isArchivePath(path);
  return listPaths({ dir, ledger }).filter(isOther);
}

/** The days that have a log, oldest first. */
export function logDays(dir: string): Day[] {
  return walkNow(dir, 'logs')
    .flatMap((path) => logDay(path) ?? [])
    .sort();
}

/** What the logs at these paths hold, in their order. */
export function catalogEntries(dir: string, paths: string[], ledger: Ledger | null): CatalogEntry[] {
  const texts = new Map(paths.map((path): [string, string] => [path, readShown(dir, path, ledger) ?? '']));
  return [...logItemsOf(texts).values()].map((item) => {
    const row = ledger ? entryRow(ledger, item.id) : undefined;
    return { ...item, state: row === undefined || row.text !== item.text ? 'new' : row.state };
  });
}

/**
 * What no dream has made a line of yet, by day. A log that looks as it did when a dream read it is not opened: what waits
 * of it the ledger knows.
 */
export function waitingEntries(
  dir: string,
  ledger: Ledger | null,
): Pick<CatalogEntry, 'id' | 'type' | 'text' | 'day' | 'state'>[] {
  const logs = logDays(dir).map(logPath);
  // A habit that was seen once stands in its line.
  const isWaiting = ({ id, state }: { id: string; state: EntryState }) =>
    state === 'new' || (ledger !== null && isWithoutLine(ledger, { id, state }));
  const unchanged = ledger ? unchangedSince(ledger, { dir, paths: logs }) : new Set<string>();
  const changed = logs.filter((path) => !unchanged.has(path));
  const read = catalogEntries(dir, changed, ledger).filter(isWaiting);
  const ids = new Set(read.map(({ id }) => id));
  const known = (ledger ? [...entriesIn(ledger, 'new'), ...entriesIn(ledger, 'held')] : []).filter(isWaiting);
  const others = known.filter(({ id }) => !ids.has(id));
  // A person may have taken one out of its log, or into another.
  const isLost = (row: EntryRow) => !unchanged.has(logPath(row.day));
  const found = others.some(isLost) ? catalogEntries(dir, logs, ledger).filter(isWaiting) : [...others, ...read];
  return found.sort((a, b) => a.day.localeCompare(b.day));
}
