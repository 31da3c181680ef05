// What was stated and no dream has sorted into topics yet: read from the logs, worded for an agent, and put before the lines that
// they change. Which lines those are only the entry itself tells, by what it says that it changes. That words of two texts
// differ puts neither before the other: both are shown, an entry with its day.

import { join } from 'node:path';
import { listNames } from '../../base/files/directories.ts';
import { distinctValues } from '../../rules/literals.ts';
import { contentWords, sharedPart } from '../../rules/words.ts';
import { entryOfItem } from '../history/log-items.ts';
import { entryRow } from '../ledger/entries.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { MARK } from '../ledger/program-lines.ts';
import { readShown } from '../store/live-files.ts';
import { logPath, parseLog } from '../text/daily-log.ts';
import type { MemoryType } from '../types.ts';

export interface UnsortedEntry {
  id: string;
  day: string;
  type: MemoryType;
  text: string;
  /** What of the things known before it changes. */
  changes?: string;
}

const MOST_DAYS = 14;

/**
 * As the logs say them now; newest first. `isQuick`: of the days that the ledger names alone, so that no log is read where
 * nothing is new; what a person wrote into one by hand is then not looked for.
 */
export function* unsortedEntries(
  { dir, ledger }: { dir: string; ledger: Ledger | null },
  { isQuick = false } = {},
): Generator<UnsortedEntry & { isPrograms: boolean }> {
  const known =
    ledger?.all("select distinct day from entry where state = 'new' order by day desc limit ?", MOST_DAYS) ?? [];
  const days = new Set([...known.map((row) => row.day as string), ...(isQuick ? [] : newestLogs(dir))]);
  for (const day of [...days].sort().reverse()) {
    const items = parseLog(readShown(dir, logPath(day), ledger) ?? '', day).reverse();
    for (const item of items) {
      const entry = entryOfItem(item, ledger ? entryRow(ledger, item.id) : undefined, ledger);
      const { id, type, text, changes } = entry;
      // Nobody said it: a tool put it into the log.
      const isPrograms = entry.by === 'assistant' && entry.evidence.length === 0;
      // What was only shown no session is told before a night has seen it.
      if (entry.state === 'new' && entry.strength === 'stated')
        yield { id, day, type, text, isPrograms, ...(changes && { changes }) };
    }
  }
}

/** What is in a log was perhaps written by hand, of which the ledger knows nothing yet. */
function newestLogs(dir: string): string[] {
  const year = listNames(join(dir, 'logs')).findLast((name) => /^\d{4}$/.test(name));
  const month = year && listNames(join(dir, 'logs', year)).findLast((name) => /^\d\d$/.test(name));
  const files = month ? listNames(join(dir, 'logs', year, month)) : [];
  return files.flatMap((name) => /^(\d{4}-\d\d-\d\d)\.md$/.exec(name)?.[1] ?? []).slice(-2);
}

/** An entry on its line. */
export function sayUnsorted(entry: UnsortedEntry & { isPrograms: boolean }): string {
  const { day, type, text, changes, isPrograms } = entry;
  return `- ${day} **${type}** ${isPrograms ? `${MARK} ` : ''}${text}${changes ? ` (instead of: ${changes})` : ''}\n`;
}

/** Entries that change a line, to stand before it. */
export function sayNewer(newer: { text: string; day: string }[]): string {
  return newer.map(({ text, day }) => `- Newer, ${day}: ${text}\n`).join('');
}

/** So much of the shorter of two texts stands in the other: then they say the same, or one what the other was. */
export const SAYS_IT = 0.6;
/** And so much of what the line says that says it best: "staging" or "production" is then no small difference. */
const AS_WELL = 0.9;
/** Of so few words each counts: two are those for the thing, the third is what is said of it. */
const FEW = 3;

/** What an entry says that it changes, thing by thing, where it names several. */
export function partsOf(changes: string): string[] {
  const parts = changes.split(/;\s|(?<=[.!?])\s+(?=\p{Lu})/u).filter((part) => contentWords(part).size > 2);
  return parts.length > 1 ? parts : [changes];
}

/** By any line, the entries that say that they change it; `lines`: all among which they may find theirs. */
export function newerAmong<Each extends { changes?: string }>(
  lines: string[],
  entries: Each[],
): (line: string) => Each[] {
  const parts = entries.flatMap((entry) =>
    partsOf(entry.changes ?? '').map((text) => ({ entry, text, words: contentWords(text) })),
  );
  const named = parts.filter(({ words }) => words.size > 0);
  if (named.length === 0) return () => [];
  const known = new Map(lines.map((text) => [text, { text, words: contentWords(text) }]));
  const least = new Map(
    named.map((part) => [part, AS_WELL * Math.max(0, ...[...known.values()].map((line) => sameness(part, line)))]),
  );
  return (text) => {
    const line = known.get(text) ?? { text, words: contentWords(text) };
    const saying = named.filter((part) => sameness(part, line) >= Math.max(SAYS_IT, least.get(part) ?? 0));
    return [...new Set(saying.map(({ entry }) => entry))];
  };
}

interface Worded {
  text: string;
  words: Set<string>;
}

/** How much of the shorter text the other says; 0 where that is too little, or a value is another. */
function sameness(a: Worded, b: Worded): number {
  // One word of the one may be like two of the other: "entire" is in "entire" and "entiredb".
  const shared = Math.min(sharedPart(a.words, b.words), sharedPart(b.words, a.words));
  const needed = Math.min(a.words.size, b.words.size) > FEW ? SAYS_IT : 1;
  return shared >= needed && distinctValues(a.text, b.text) === null ? shared : 0;
}
