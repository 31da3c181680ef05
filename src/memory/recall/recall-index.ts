// What recall takes from MEMORY.md: its beginning, as much as agents read of it, and the topics that it names.

import type { Ledger } from '../ledger/ledger.ts';
import { readShown } from '../store/live-files.ts';
import { readLines } from '../text/blocks.ts';
import { INDEX_CAPS, linksIn } from '../text/index-file.ts';

export interface CutIndex {
  /** Whole lines, the last one ended. */
  text: string;
  shownLines: number;
  lines: number;
  bytes: number;
  isCut: boolean;
}

/** At most 200 lines, then at most 25,000 bytes of UTF-8, cut at a line end; `holds` may ask for less. */
export function cutIndex(text: string, holds: (part: string) => boolean = () => true): CutIndex {
  const all = readLines(text);
  const firstLines = all.slice(0, INDEX_CAPS.lines);
  let bytes = 0;
  const within = firstLines.findIndex(({ raw }) => {
    bytes += Buffer.byteLength(raw);
    return bytes > INDEX_CAPS.bytes;
  });
  const partOf = (count: number) =>
    all
      .slice(0, count)
      .map(({ raw }) => raw)
      .join('');
  // The most lines that are held: by halves, since a part of what is held is held.
  let [most, tooMany] = [0, (within < 0 ? firstLines.length : within) + 1];
  if (holds(partOf(tooMany - 1))) most = tooMany - 1;
  while (tooMany - most > 1) {
    const middle = (most + tooMany) >> 1;
    if (holds(partOf(middle))) most = middle;
    else tooMany = middle;
  }
  const part = partOf(most);
  return {
    text: part === '' || part.endsWith('\n') ? part : `${part}\n`,
    shownLines: most,
    lines: all.length,
    bytes: Buffer.byteLength(text),
    isCut: most < all.length,
  };
}

/** What to say below an index that was cut. */
export function cutWarning({ shownLines, lines, bytes }: CutIndex): string {
  return `WARNING: MEMORY.md has ${lines} lines and ${bytes} bytes; only its first ${shownLines} lines stand here. Read the file for the rest.`;
}

export interface NamedTopic {
  path: string;
  /** What the index says of it. */
  line: string;
}

const LIST = /^index\/\w+\.md$/;

/** The files that MEMORY.md names, each once, in order, without its overflow lists. */
export function namedTopics(index: string): NamedTopic[] {
  return topicsIn(index).filter(({ path }) => !LIST.test(path));
}

/** The files that its overflow lists (`index/<type>.md`) name. */
export function listedTopics({ dir, ledger }: { dir: string; ledger: Ledger | null }, index: string): NamedTopic[] {
  const lists = topicsIn(index).filter(({ path }) => LIST.test(path));
  return lists.flatMap(({ path }) => topicsIn(readShown(dir, path, ledger) ?? ''));
}

function topicsIn(text: string): NamedTopic[] {
  const found = new Map<string, NamedTopic>();
  for (const line of text.split('\n')) {
    // Lines of our own end with their one link; thousands of them are read for a query.
    const own = line.startsWith('- ') && line.endsWith('.md]') ? [line.slice(line.lastIndexOf('[') + 1, -1)] : null;
    for (const path of own ?? (line.includes('.md') ? linksIn(line) : [])) {
      if (!found.has(path)) found.set(path, { path, line });
    }
  }
  return [...found.values()];
}
