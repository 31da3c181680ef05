// A finding of `check`: what is wrong in a memory directory, where, and what would mend it.
// A mend follows from what is there, without a guess; what only a person can decide has none. Mends are ordinary
// commits of the store and never delete a file.

import type { Transaction } from '../../ledger/ledger.ts';
import type { Actor, Store } from '../../store/store.ts';
import type { Topic } from '../../text/topic.ts';

/** What is looked at: the text of each file, and the topics among them, archived ones too, both by path. */
export interface ReadFiles {
  texts: Map<string, string>;
  topics: Map<string, Topic>;
}

export interface Finding {
  /** One word for programs: `ledger`, `support`, `link`, … */
  kind: string;
  /** A sentence about the thing at `where`. */
  what: string;
  /** A path in the memory directory. */
  where: string;
  /** Findings of one cause share one. */
  mend: Mend | null;
}

export interface Mend {
  /** A sentence: what it does. */
  says: string;
  /** Contract: no dream runs meanwhile. */
  apply(): Promise<void>;
}

/** Who makes the commits of mends. */
export const CHECK: Actor = 'tool:check';

export function finding(kind: string, where: string, what: string, mend: Mend | null = null): Finding {
  return { kind, what, where, mend };
}

/** Commits a mend that changes the rows of each of these, and no file. */
export async function commitEach<Item>(store: Store, items: Item[], change: (tx: Transaction, item: Item) => void) {
  const rows = (tx: Transaction) => {
    for (const item of items) change(tx, item);
  };
  await store.commit({ actor: CHECK }, () => ({ files: [], rows }));
}

/** The first of many paths, and how many more there are. */
export function listed(paths: string[]): string {
  const shown = paths.slice(0, 3).join(', ');
  return paths.length > 3 ? `${shown} and ${paths.length - 3} more` : shown;
}
