// Which lines of a file a search looks through, and as what: lines that say something, in one case, on single spaces. What is aside
// says nothing: the source of an entry, frontmatter but for the description, a link of the index, and index files, which repeat topics.

import { logDay } from './text/daily-log.ts';
import { bodyStart } from './text/frontmatter.ts';
import { isArchivePath, isTopicPath } from './text/topic.ts';

/** `archive`: a topic that was put away. */
export type FileKind = 'topic' | 'entry' | 'index' | 'archive' | 'file';

export interface SearchedLine {
  /** As it stands, without its end. */
  raw: string;
  /** From 1: where it stands, and the line that a hit here names, in a log the one on which its entry begins. */
  number: number;
  named: number;
  /** The id of the entry that it belongs to. */
  entry?: string;
}

export function kindOf(path: string): FileKind {
  if (isTopicPath(path)) return 'topic';
  if (logDay(path)) return 'entry';
  return path === 'MEMORY.md' ? 'index' : isArchivePath(path) ? 'archive' : 'file';
}

export function searchedLines(path: string, text: string): SearchedLine[] {
  if (path.startsWith('index/')) return [];
  const kind = kindOf(path);
  const isTopic = kind === 'topic' || kind === 'archive';
  const headLines = isTopic ? text.slice(0, bodyStart(text)).split('\n').length - 1 : 0;
  const found: SearchedLine[] = [];
  let named = 0;
  for (const [at, raw] of text.split(/\r?\n/).entries()) {
    const comment = /^\s*<!-- ?(e_\w+)?/.exec(raw);
    if (comment) {
      const entry = kind === 'entry' ? comment[1] : undefined;
      for (let n = found.length - 1; entry && found[n]?.named === named; n -= 1)
        (found[n] as SearchedLine).entry = entry;
      continue;
    }
    if (kind !== 'entry' || !/^\s*>/.test(raw)) named = at + 1;
    const isHead = at < headLines && !/^\s*description:/.test(raw);
    if (isHead || raw.trim() === '' || (kind === 'index' && /\[[^[\]]+\.md\]\s*$/.test(raw))) continue;
    found.push({ raw, number: at + 1, named });
  }
  return found;
}

/** Text as it is compared. */
export function inOneCase(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** A row of the table `line` holds no more; of a longer line the next goes on with the end of the one before. */
const MOST_CHARACTERS = 2_000;
const OVERLAP_CHARACTERS = 200;

/** A line as rows of the table `line` hold it. */
export function rowTexts({ raw }: Pick<SearchedLine, 'raw'>): string[] {
  const text = inOneCase(raw).replace(/\s+/gu, ' ').trim();
  const rows = [text.slice(0, MOST_CHARACTERS)];
  for (let from = MOST_CHARACTERS; from < text.length; from += MOST_CHARACTERS - OVERLAP_CHARACTERS)
    rows.push(text.slice(from - OVERLAP_CHARACTERS, from - OVERLAP_CHARACTERS + MOST_CHARACTERS));
  return rows;
}
