// The line of a topic in MEMORY.md follows its description, which a person changed in the file or on the page, with the next
// commit that somebody makes, so that nobody is told the old one until a dream builds the index again. Each line stays in its place.
// It touches no line that nocturne did not write, no index that a person pinned, none that a repository carries, and none
// that is too large to be read.

import { indexLines, writeIndexLines } from '../ledger/entries.ts';
import type { Ledger, Transaction } from '../ledger/ledger.ts';
import { oversized } from '../store/live-files.ts';
import { isPinned } from '../store/staging.ts';
import type { FileChange, Store } from '../store/store.ts';
import { readLines } from '../text/blocks.ts';
import { INDEX_CAPS, indexLine } from './index-file.ts';
import { refreshTopics, topicCard } from './topic-table.ts';

/** To be put behind the other changes of a commit. */
export function indexFollowing({ dir, ledger, isCheckedIn }: Pick<Store, 'dir' | 'ledger' | 'isCheckedIn'>): {
  files: FileChange[];
  finish(transaction: Transaction): void;
} {
  const isLeft = isCheckedIn || oversized(dir, ['MEMORY.md']).length > 0;
  const generated = isLeft ? [] : [...indexLines(ledger)];
  let followed = new Map<string, string>();
  const change = (current: string | null) => {
    followed = new Map();
    if (current === null || isPinned({ path: 'MEMORY.md', text: current })) return current;
    refreshTopics(ledger);
    const changed = new Map(generated.flatMap((line) => lineOfNow(ledger, line)));
    const text = readLines(current)
      .map(({ text, raw }) => {
        const now = changed.get(text);
        return now === undefined ? raw : now + raw.slice(text.length);
      })
      .join('');
    if (Buffer.byteLength(text) > INDEX_CAPS.bytes) return current;
    followed = changed;
    return text;
  };
  return {
    files: generated.length > 0 ? [{ path: 'MEMORY.md', change }] : [],
    finish(transaction) {
      if (followed.size > 0)
        writeIndexLines(
          transaction,
          generated.map((line) => followed.get(line) ?? line),
        );
    },
  };
}

/** The line and what it is by now, where that differs and the topic is still there. */
function lineOfNow(ledger: Ledger, line: string): [string, string][] {
  const path = /\[([^[\]]+)\]$/.exec(line)?.[1];
  const card = path === undefined ? null : topicCard(ledger, path);
  const now = card && !card.isArchived ? indexLine({ ...card, pinned: card.isPinned }) : line;
  return now === line ? [] : [[line, now]];
}
