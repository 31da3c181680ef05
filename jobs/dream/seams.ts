// The two seams of a dream: what becomes of its operations, and how a night's requests are asked. Without them operations
// are committed and requests asked at once; the dream knows nothing else of who stands behind them.

import type { Price } from '../../src/base/config/prices.ts';
import type { Archiving } from '../../src/memory/dream/operations.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import type { Ledger, Transaction } from '../../src/memory/ledger/ledger.ts';
import type { Store } from '../../src/memory/store/store.ts';
import type { Checked, CommitAt, CommitDeps } from './commit.ts';
import type { ProposeDeps } from './propose.ts';
import type { Slice } from './select.ts';

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

/** `send`: what is new is sent. `collect`: only what was answered is worked. `cancel`: nothing waits any more. */
export type RequestsMode = 'send' | 'collect' | 'cancel';

/** How requests are asked where not at once. */
export interface Requests {
  /** The inbox key of the dream that asks after what was sent. */
  key: string;
  /** When to ask again; null: nothing waits. */
  askAgainAt(ledger: Ledger, now: Date): Date | null;
  /** What was sent and is not answered yet. */
  open(ledger: Ledger): { entries: Set<string>; waits: Waits | null };
  /** Fetches what was answered; called under the dream's lease, before anything else. */
  begin(deps: ProposeDeps): Promise<SentRequests>;
  /** Sees to it that what waits is asked after. */
  end(store: Store, now: Date): Promise<void>;
  /** What asking this way costs; absent where it costs the same. */
  priceOf?(price: Price): Price;
}

export interface SentRequests {
  /** Why nothing else is to be done tonight; null: there is. */
  ends: 'waiting' | 'nothing-new' | null;
  hasAnswers: boolean;
  /** Whether tonight may be about an entry. */
  isFree(entry: string): boolean;
  /** Carries out the answers and sends the rest of the night; answers what is to be asked at once. */
  ask(
    night: Slice,
    at: Omit<CommitAt, keyof CommitDeps> & { commit(checked: Checked): Promise<void> },
  ): Promise<{ rest: Slice[]; isWaiting: boolean }>;
}

/** What waits to be answered. */
export interface Waits {
  requests: number;
  entries: number;
  /** When the oldest was sent. */
  since: string;
  /** The API's names of them, as far as known. */
  batches: string[];
}
