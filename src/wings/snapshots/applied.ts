// Which memory snapshots were applied to a memory directory, and what each topic was in the last of them: what a
// three-way merge with the next one starts from. Rows of the ledger, put back by an undo.

import type { Ledger, Transaction } from '../../memory/ledger/ledger.ts';
import { mergeLines } from '../../memory/store/edit-text.ts';
import { peekMemorySnapshot } from './memory-snapshot.ts';

export interface AppliedSnapshot {
  id: string;
  createdAt: string;
  appliedAt: string;
}

/** The last one, or null. */
export function lastApplied(ledger: Ledger): AppliedSnapshot | null {
  const row = ledger.get('select * from memory_snapshot order by rowid desc limit 1');
  if (!row) return null;
  return { id: row.id as string, createdAt: row.created_at as string, appliedAt: row.applied_at as string };
}

export function wasApplied(ledger: Ledger, id: string): boolean {
  return ledger.get('select 1 from memory_snapshot where id = ?', id) !== undefined;
}

/** What each topic was in the last snapshot that held it, by path. */
export function snapshotBases(ledger: Ledger): Map<string, string> {
  return new Map(
    ledger.all('select path, text from snapshot_topic').map((row) => [row.path, row.text] as [string, string]),
  );
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

/** A snapshot of the repository that was never applied here: the first, or one newer than what was. */
export type SnapshotOffer = 'first' | 'newer';

export function sayOffer(offer: SnapshotOffer): string {
  return offer === 'first' ? 'the repository has one that was never applied here' : 'the repository has a newer one';
}

/** What a working tree offers; null for nothing, and for what cannot be read. */
export function offeredSnapshot(tree: string | null, ledger: Ledger | null): SnapshotOffer | null {
  const found = tree === null ? null : peekMemorySnapshot(tree);
  if (found === null || (ledger && wasApplied(ledger, found.id))) return null;
  return ledger && lastApplied(ledger) ? 'newer' : 'first';
}

/**
 * What becomes of a topic. `add`, `update` and `merge` change the memory; `same` and `own` leave what is there, since
 * the snapshot has nothing new for it; `collides` and `removed` leave it although it has.
 */
export type TopicStep = 'add' | 'update' | 'merge' | 'same' | 'own' | 'collides' | 'removed';

/** Brings a topic of a snapshot (`theirs`) to what stands here (`ours`), both made from `base`; what is here wins. */
export function bringTopic(topic: { base: string | undefined; ours: string | null; theirs: string }): {
  step: TopicStep;
  text: string | null;
} {
  const { base, ours, theirs } = topic;
  if (ours === null) return base === undefined ? { step: 'add', text: theirs } : { step: 'removed', text: null };
  if (ours === theirs) return { step: 'same', text: ours };
  if (theirs === base) return { step: 'own', text: ours };
  if (ours === base) return { step: 'update', text: theirs };
  if (base === undefined) return { step: 'collides', text: ours };
  const merged = mergeLines(base, { ours: theirs, external: ours });
  if (merged.collisions > 0) return { step: 'collides', text: ours };
  return { step: merged.text === ours ? 'own' : 'merge', text: merged.text };
}
