// The seam of a dream: what becomes of its operations. Without it they are committed at once; the dream knows nothing else
// of who stands behind it.

import type { Archiving } from '../../src/memory/dream/operations.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import type { Ledger, Transaction } from '../../src/memory/ledger/ledger.ts';
import type { Store } from '../../src/memory/store/store.ts';
import type { Checked, CommitAt } from './commit.ts';

/** Whether operations need a person's approval. Default: none do. */
export interface Approval {
  /** What waits since earlier dreams; `rowOf` answers entries as the logs say them now. */
  pending(store: Store, rowOf: (id: string) => EntryRow | undefined): Promise<Pending>;
  /** Lines (`path`, a space, the id) whose archiving waits or was turned down. */
  linesDecided(ledger: Ledger): Set<string>;
  /** Where tonight's operations need it: lets them wait, and answers the ids under which they do. */
  ask?: {
    operations(checked: Checked, at: CommitAt): Promise<string[]>;
    archiving(found: Archiving[], at: CommitAt): Promise<string[]>;
  };
}

export interface Pending {
  /** Entries that wait, and are not asked about again. */
  entries: Set<string>;
  /** Something of it is no longer as it was made; `write` notes what becomes of that. */
  isStale: boolean;
  write(transaction: Transaction): void;
}
