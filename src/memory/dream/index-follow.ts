// MEMORY.md follows the topics with the commits that others than dreams make, so that nobody is told an old description, and a topic
// that is new is found, before a dream builds the index again. Lines stay in their order; where the index has no room for all,
// what is new waits for the dream. It touches no line that nocturne did not write, begins no index, and leaves alone one that a person
// pinned, that a repository carries, or that is too large to be read.

import { indexLines, writeIndexLines } from '../ledger/entries.ts';
import type { Ledger, Transaction } from '../ledger/ledger.ts';
import { oversized } from '../store/live-files.ts';
import { isPinned } from '../store/staging.ts';
import type { FileChange, Store } from '../store/store.ts';
import { readLines } from '../text/blocks.ts';
import { buildIndex, INDEX_CAPS, indexLine, linksIn, OVERFLOW_LINE } from '../text/index-file.ts';
import { refreshTopics, topicCard, topicCards } from './topic-table.ts';

interface Followed {
  text: string;
  /** Its lines that nocturne wrote. */
  generated: string[];
}

/** To be put behind the other changes of a commit: none where those change MEMORY.md. */
export function indexFollowing(
  { dir, ledger, isCheckedIn }: Pick<Store, 'dir' | 'ledger' | 'isCheckedIn'>,
  others: Pick<FileChange, 'path' | 'from'>[] = [],
): { files: FileChange[]; finish(transaction: Transaction): void } {
  const isTheirs = others.some(({ path, from }) => path === 'MEMORY.md' || from === 'MEMORY.md');
  const isLeft = isTheirs || isCheckedIn || oversized(dir, ['MEMORY.md']).length > 0;
  const generated = isLeft ? [] : [...indexLines(ledger)];
  let followed = generated;
  const change = (current: string | null) => {
    followed = generated;
    if (current === null || isPinned({ path: 'MEMORY.md', text: current })) return current;
    refreshTopics(ledger);
    const now = withTopicsOfNow(current, { ledger, generated }) ?? withLinesOfNow(current, { ledger, generated });
    if (Buffer.byteLength(now.text) > INDEX_CAPS.bytes) return current;
    followed = now.generated;
    return now.text;
  };
  return {
    files: generated.length > 0 ? [{ path: 'MEMORY.md', change }] : [],
    finish(transaction) {
      if (followed !== generated) writeIndexLines(transaction, followed);
    },
  };
}

/** With a line for each topic that is new, and none for one that is gone; null where there is no such, or no room. */
function withTopicsOfNow(
  current: string,
  { ledger, generated }: { ledger: Ledger; generated: string[] },
): Followed | null {
  if (readLines(current).some(({ text }) => OVERFLOW_LINE.test(text))) return null;
  const topics = topicCards(ledger)
    .filter(({ isArchived }) => !isArchived)
    .map(({ path, description, type, isPinned: pinned }) => ({ path, description, type, pinned }));
  const order = new Map(generated.map((line, at) => [pathIn(line), at]));
  const linked = new Set([...linksIn(current), ...order.keys()]);
  const isNew = topics.some(({ path }) => !linked.has(path));
  const living = new Set(topics.map(({ path }) => path));
  if (!isNew && [...order.keys()].every((path) => living.has(path))) return null;
  const built = buildIndex({ current, generatedBefore: new Set(generated), topics, order });
  return built.overflow.length > 0 || built.handWrittenOverCaps ? null : built;
}

/** With each line as its topic is described by now, where the topic is still there. */
function withLinesOfNow(current: string, { ledger, generated }: { ledger: Ledger; generated: string[] }): Followed {
  const now = new Map(
    generated.map((line) => {
      const card = topicCard(ledger, pathIn(line));
      return [line, card && !card.isArchived ? indexLine(card) : line];
    }),
  );
  const text = readLines(current)
    .map(({ text, raw }) => (now.get(text) ?? text) + raw.slice(text.length))
    .join('');
  return { text, generated: [...now.values()] };
}

/** The file that a line of nocturne's links; empty for one of how many more there are. */
function pathIn(line: string): string {
  return /\[([^[\]]+)\]$/.exec(line)?.[1] ?? '';
}
