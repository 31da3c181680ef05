// Covers turns without extracting them: private ones, those in which the main agent wrote memory, those given up.

import { type SessionRow, writeCoverage, writeSession } from '../../src/memory/ledger/coverage.ts';
import type { Lease } from '../../src/memory/store/leases.ts';
import type { Store } from '../../src/memory/store/store.ts';
import type { Became } from '../../src/memory/types.ts';
import { type Clock, dayOf } from '../../src/time.ts';
import type { PendingTurn } from './pending-turns.ts';

export async function coverTurns(
  turns: Partial<Record<Became, PendingTurn[]>>,
  run: { row: SessionRow; lease: Lease; job: string },
  { store, clock, zone }: { store: Store; clock: Clock; zone: string },
): Promise<void> {
  await store.commit({ actor: `job:${run.job}`, lease: run.lease }, () => ({
    files: [],
    rows: (transaction) => {
      writeSession(transaction, run.row);
      for (const [became, pending] of Object.entries(turns) as [Became, PendingTurn[]][]) {
        for (const { turn, throughMessage } of pending) {
          const day = dayOf(turn.at ?? clock.now(), zone);
          writeCoverage(transaction, {
            session: run.row.id,
            turn: turn.id,
            throughMessage,
            became,
            day,
            job: run.job,
          });
        }
      }
    },
  }));
}
