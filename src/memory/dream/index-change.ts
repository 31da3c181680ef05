// MEMORY.md and its overflow files as a change of files, built from what the ledger knows of the topics, in the same commit as
// their changes (index-follow.ts: between dreams).

import { indexLines, writeIndexLines } from '../ledger/entries.ts';
import type { Transaction } from '../ledger/ledger.ts';
import { topicUses } from '../recall/recall-uses.ts';
import { isPinned } from '../store/staging.ts';
import type { FileChange, Store } from '../store/store.ts';
import { type BuiltIndex, buildIndex, GROUPS, isOverflow } from '../text/index-file.ts';
import { refreshTopics, topicCards } from './topic-table.ts';

export interface IndexSize {
  /** Paths of all topic files, sorted. */
  topics: string[];
  lines: number;
  bytes: number;
}

/**
 * The index as a change of files. It builds on the topics as they are by then, so it belongs behind their changes.
 * `generated`: lines that were generated elsewhere, in a directory that plain git merged.
 */
export function indexChange(
  { ledger, isCheckedIn }: Pick<Store, 'ledger' | 'isCheckedIn'>,
  generated = new Set<string>(),
) {
  const generatedBefore = indexLines(ledger).union(generated);
  const uses = topicUses(ledger);
  let built: BuiltIndex | undefined;
  let paths: string[] | undefined;
  const living = () => {
    refreshTopics(ledger);
    const cards = topicCards(ledger).filter((card) => !card.isArchived);
    paths = cards.map((card) => card.path);
    return cards;
  };
  const build = (current: string | null) => {
    const topics = living().map(({ path, description, type, isPinned: pinned }) => ({
      path,
      description,
      type,
      pinned,
      usedAt: uses.get(path)?.usedAt ?? '',
    }));
    if (isPinned({ path: 'MEMORY.md', text: current })) return current;
    built = buildIndex({ current, generatedBefore, topics, isCheckedIn });
    return built.text;
  };
  const size = () => ({
    topics: paths ?? living().map((card) => card.path),
    lines: built?.lines ?? 0,
    bytes: built?.bytes ?? 0,
    generated: built?.generated.length ?? generatedBefore.size,
  });
  return {
    memory: { path: 'MEMORY.md', change: build },
    overflow: (): FileChange[] =>
      GROUPS.map((group) => {
        const path = `index/${group}.md`;
        const change = (current: string | null) => {
          if (!built || (current !== null && !isOverflow(current)) || isPinned({ path, text: current })) return current;
          return built.overflow.find((file) => file.path === path)?.text ?? null;
        };
        return { path, change };
      }),
    size,
    finish(transaction: Transaction): IndexSize {
      writeIndexLines(transaction, built?.generated ?? [...generatedBefore]);
      return size();
    },
  };
}
