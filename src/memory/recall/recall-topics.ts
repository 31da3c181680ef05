// Which topics recall shows, most useful first: pinned, matching the query, used, changed lately, then as the index
// has them. Of ten thousand topics it reads those that MEMORY.md itself names, which the dream chose by the same order,
// and of the others only those whose line in an overflow list matches the query.

import { join } from 'node:path';
import { readMemoryNow, statNow } from '../../base/files/files.ts';
import { asItIs } from '../../base/text/change-words.ts';
import { shownText } from '../conflicts/shown-text.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { isMemoryPath } from '../store/confine.ts';
import { findConfined } from '../store/live-files.ts';
import { isPinned } from '../store/staging.ts';
import { bodyStart } from '../text/frontmatter.ts';
import { INDEX_CAPS } from '../text/index-file.ts';
import { parseTopic } from '../text/topic.ts';
import type { MemoryType } from '../types.ts';
import { listedTopics, type NamedTopic, namedTopics } from './recall-index.ts';
import { topicUses } from './recall-uses.ts';

export interface RankedTopic {
  path: string;
  changedAt: Date;
  /** How many words of the query stand in it. */
  matches: number;
  text: string;
}

/** So many of the topics that only an overflow list names are read, the best by their lines. */
const MOST_LISTED = 50;

export function rankTopics(
  { dir, ledger, query }: { dir: string; ledger: Ledger | null; query?: string },
  index: string,
): RankedTopic[] {
  const words = wordsOf(query ?? '');
  const uses = ledger ? topicUses(ledger) : null;
  const inIndex = namedTopics(index).slice(0, INDEX_CAPS.lines);
  const named = new Set(inIndex.map(({ path }) => path));
  const listed = words.length === 0 ? [] : bestListed(listedTopics({ dir, ledger }, index), words);
  return [...inIndex, ...listed.filter(({ path }) => !named.has(path))]
    .flatMap(({ path, line }, place) => {
      const read = readTopic(path, { dir, ledger });
      if (!read) return [];
      const matches = countMatches(`${line} ${read.text}`, words);
      return [{ path, place, matches, usedAt: uses?.get(path)?.usedAt ?? '', ...read }];
    })
    .sort(byWorth)
    .map(({ path, text, matches, changedMs }) => ({ path, text, matches, changedAt: new Date(changedMs) }));
}

export interface ReadTopic {
  description: string;
  type: MemoryType | undefined;
  /** The file without its frontmatter. */
  body: string;
}

export function readRanked({ path, text }: RankedTopic): ReadTopic {
  const { description, type } = parseTopic(path, text);
  return { description, type, body: text.slice(bodyStart(text)).trim() };
}

interface Worth {
  isPinned: boolean;
  matches: number;
  usedAt: string;
  changedMs: number;
  place: number;
}

function byWorth(a: Worth, b: Worth): number {
  const used = a.usedAt < b.usedAt ? 1 : a.usedAt > b.usedAt ? -1 : 0;
  const asked = Number(b.isPinned) - Number(a.isPinned) || b.matches - a.matches;
  return asked || used || b.changedMs - a.changedMs || a.place - b.place;
}

function bestListed(topics: NamedTopic[], words: string[]): NamedTopic[] {
  return topics
    .map((topic) => ({ topic, matches: countMatches(topic.line, words) }))
    .filter(({ matches }) => matches > 0)
    .sort((a, b) => b.matches - a.matches)
    .slice(0, MOST_LISTED)
    .map(({ topic }) => topic);
}

/** A topic file that a line names; null where the path is not one, or leads nowhere. */
function readTopic(path: string, { dir, ledger }: { dir: string; ledger: Ledger | null }) {
  if (!isMemoryPath(path) || path.toLowerCase() === 'memory.md' || /^(?:index|logs)\//.test(path)) return null;
  // A name right in the directory needs no closer look than at itself: it leads nowhere else.
  const absolute = /^[!-.0-~]+$/.test(path) ? join(dir, path) : findConfined(dir, path);
  const look = absolute === null ? null : statNow(absolute);
  const found = absolute !== null && look?.isFile ? readMemoryNow(absolute) : null;
  if (!look || found === null) return null;
  const text = shownText(found, { path, ledger });
  return { text, isPinned: isPinned({ path, text }), changedMs: look.modifiedMs };
}

/** Words of three letters and more, and whatever is written without spaces, once each. */
function wordsOf(query: string): string[] {
  const words =
    query
      .toLowerCase()
      .normalize('NFC')
      .match(/[\p{L}\p{N}_]+/gu) ?? [];
  return [...new Set(words.filter((word) => word.length > 2 || /[^ -~]/.test(word)))];
}

function countMatches(text: string, words: string[]): number {
  if (words.length === 0) return 0;
  // What a line names only as given up leads nobody to it.
  const folded = asItIs(text).toLowerCase().normalize('NFC');
  return words.filter((word) => folded.includes(word)).length;
}
