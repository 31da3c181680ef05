// Takes lines out of their topics because what they rest on goes: one way for whoever forgets and whoever redacts.
// Promises: a topic of which nothing is left goes with its lines of the index; what somebody writes meanwhile stays.

import { indexChange } from '../../src/memory/dream/index-change.ts';
import { refreshTopics } from '../../src/memory/dream/topic-table.ts';
import { dropSupport, supportsOf } from '../../src/memory/ledger/entries.ts';
import type { CommitPlan, FileChange, Store } from '../../src/memory/store/store.ts';
import { withoutLinksTo } from '../../src/memory/text/index-file.ts';
import { editLines, parseTopic } from '../../src/memory/text/topic.ts';

export interface Removal {
  lines: { path: string; id: string }[];
  /** Topics that go with everything in them. */
  whole?: string[];
}

/** The part of a commit that takes them out, for the ledger as it stands in that commit. */
export function removalOf({ lines, whole = [] }: Removal, store: Pick<Store, 'ledger' | 'isCheckedIn'>): CommitPlan {
  const topics = [...new Set([...whole, ...lines.map((line) => line.path)])];
  if (topics.length === 0) return { files: [] };
  refreshTopics(store.ledger);
  const index = indexChange(store);
  const gone = new Set<string>();
  const changes = topics.map(
    (path): FileChange => ({
      path,
      change(current) {
        const remove = new Set(lines.filter((line) => line.path === path).map((line) => line.id));
        const text = whole.includes(path) || current === null ? null : editLines(current, { remove, add: [] });
        if (text !== null && parseTopic(path, text).lines.length > 0) return text;
        gone.add(path);
        return null;
      },
    }),
  );
  const { path, change } = index.memory;
  const memory: FileChange = { path, change: (now) => change(now && withoutLinksTo(now, gone)) };
  return {
    files: [...changes, memory, ...index.overflow()],
    rows(transaction) {
      index.finish(transaction);
      for (const line of lines) {
        const supports = supportsOf(transaction.ledger, line.path).filter((support) => support.line === line.id);
        for (const support of supports) dropSupport(transaction, support);
      }
    },
  };
}

/** Takes them out, as a person would. */
export async function removeLines(store: Store, lines: Removal['lines']): Promise<void> {
  if (lines.length > 0) await store.commit({ actor: 'person' }, () => removalOf({ lines }, store));
}
