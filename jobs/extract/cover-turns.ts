// Covers ranges without extracting them: private turns, what the main agent wrote down itself, what is given up.

import { type Clock, dayOf } from '../../src/base/time.ts';
import { coverRange, type SessionRow, writeSession } from '../../src/memory/ledger/coverage.ts';
import type { Lease } from '../../src/memory/ledger/leases.ts';
import type { Store } from '../../src/memory/store/store.ts';
import type { Disposition } from '../../src/memory/types.ts';
import type { PendingTurn } from './pending-turns.ts';

export async function coverTurns(
  turns: Partial<Record<Disposition, PendingTurn[]>>,
  run: { row: SessionRow; lease: Lease; job: string },
  { store, clock, zone }: { store: Store; clock: Clock; zone: string },
): Promise<void> {
  await store.commit({ actor: `job:${run.job}`, lease: run.lease }, () => ({
    files: [],
    rows: (transaction) => {
      writeSession(transaction, run.row);
      for (const [disposition, pending] of Object.entries(turns) as [Disposition, PendingTurn[]][]) {
        for (const { turn, from, throughMessage } of pending) {
          const day = dayOf(turn.at ?? clock.now(), zone);
          coverRange(transaction, turn, { session: run.row.id, from, throughMessage, disposition, day, job: run.job });
        }
      }
    },
  }));
}
