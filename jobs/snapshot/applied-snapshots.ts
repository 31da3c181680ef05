// Which snapshots were applied to a memory directory, and what each topic was in the last of them: rows of the ledger, which a
// three-way merge with the next one starts from. An undo puts them back.

import { attempt } from '../../src/base/errors.ts';
import type { Ledger, Transaction } from '../../src/memory/ledger/ledger.ts';
import { memorySnapshotDir, readManifest, type SnapshotOffer } from '../../src/memory/text/memory-snapshot.ts';

export interface AppliedSnapshot {
  id: string;
  createdAt: string;
  appliedAt: string;
}

/** The last one, or null. */
export function lastApplied(ledger: Ledger): AppliedSnapshot | null {
  const columns = 'id, created_at as createdAt, applied_at as appliedAt';
  return ledger.get<AppliedSnapshot>(`select ${columns} from memory_snapshot order by rowid desc limit 1`) ?? null;
}

export function wasApplied(ledger: Ledger, id: string): boolean {
  return ledger.get('select 1 from memory_snapshot where id = ?', id) !== undefined;
}

/** What each topic was in the last snapshot that held it, by path. */
export function snapshotBases(ledger: Ledger): Map<string, string> {
  return new Map(ledger.lists('select path, text from snapshot_topic') as [string, string][]);
}

/** Enters a snapshot as applied: `topics` are those that the next merge starts from. */
export function enterApplied(
  transaction: Transaction,
  applied: AppliedSnapshot & { topics: { path: string; text: string }[] },
): void {
  const { id, createdAt, appliedAt, topics } = applied;
  transaction.put('memory_snapshot', { id, created_at: createdAt, applied_at: appliedAt });
  for (const { path, text } of topics) transaction.put('snapshot_topic', { path, snapshot: id, text });
}

/** What a working tree offers, by its manifest alone; null for nothing, and for what cannot be read. */
export function offeredSnapshot(tree: string, ledger: Ledger | null): SnapshotOffer | null {
  const found = attempt(
    () => readManifest(memorySnapshotDir(tree)),
    () => null,
  );
  if (found === null || (ledger && wasApplied(ledger, found.id))) return null;
  return ledger && lastApplied(ledger) ? 'newer' : 'first';
}
