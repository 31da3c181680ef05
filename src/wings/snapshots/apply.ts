// A memory snapshot comes into a memory: what the repository hands to everybody, brought to what is there.
//
// 1. Read the snapshot and verify it; a broken one changes nothing.
// 2. Hold the dream's lease: a dream under way would build on what it has read before.
// 3. In one commit add what is missing, update what was not changed since the last apply, merge where lines do not
//    collide. What is here is never overwritten, and a topic whose new lines tell an agent what to do stays out, unless
//    a person has read and trusts it.
// 4. Build the index, and enter which snapshot it was.

import type { Clock } from '../../base/time.ts';
import type { OpensLate } from '../../doors/wing.ts';
import { indexChange } from '../../memory/dream/index-file.ts';
import { enterPersonsJob } from '../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../memory/ledger/ledger.ts';
import type { Store } from '../../memory/store/store.ts';
import {
  type AppliedSnapshot,
  bringTopic,
  enterApplied,
  type ForeignLine,
  lastApplied,
  type MemorySnapshot,
  readMemorySnapshot,
  screenTopic,
  snapshotBases,
  type TopicStep,
  wasApplied,
} from './memory-snapshot.ts';

/** A topic and what would become of it, or became. `withheld`: it speaks to an agent. `dropped`: only older ones held it. */
export interface SnapshotTopic {
  path: string;
  step: TopicStep | 'withheld' | 'dropped';
  /** What it says to an agent, where that is why it is withheld. */
  lines: ForeignLine[];
}

export interface SnapshotCheck {
  /** `older`: it was applied once, and another one since. */
  state: 'none' | 'not-applied' | 'newer' | 'up-to-date' | 'older';
  snapshot: Pick<MemorySnapshot, 'id' | 'createdAt'> | null;
  applied: AppliedSnapshot | null;
  /** All that are not the same here. */
  topics: SnapshotTopic[];
  /** Topics that differ from what the last applied snapshot made them, or are gone. */
  ownChanges: string[];
}

interface ApplyRequest {
  /** The top of the working tree. */
  tree: string;
  /** Take what tells an agent what to do, too: a person has read it. */
  isTrusted: boolean;
}

export interface ApplyReport {
  /** All but `applied` changed no topic. */
  outcome: 'applied' | 'unchanged' | 'none' | 'older' | 'busy';
  snapshot: string | null;
  topics: SnapshotTopic[];
  /** With which it can be undone; null where nothing was changed. */
  job: string | null;
}

/** What asks for nothing. */
const SETTLED = new Set<SnapshotTopic['step']>(['same', 'own', 'dropped']);

/**
 * Says how the snapshot of a working tree and a memory stand to each other; changes nothing. `ledger` is null, and
 * `read` answers null, where there is no memory yet. Throws `bad-input` for a broken snapshot.
 */
export function checkMemorySnapshot(
  tree: string,
  { ledger, read }: { ledger: Ledger | null; read(path: string): string | null },
): SnapshotCheck {
  const snapshot = readMemorySnapshot(tree);
  const applied = ledger && lastApplied(ledger);
  const bases = ledger ? snapshotBases(ledger) : new Map<string, string>();
  const ownChanges = [...bases].filter(([path, base]) => read(path) !== base).map(([path]) => path);
  if (!snapshot) return { state: 'none', snapshot, applied, topics: [], ownChanges };
  const topics = planOf(snapshot, { bases, read, isTrusted: false }).filter(({ step }) => step !== 'same');
  return {
    state: stateOf(snapshot, { ledger, applied, hasNews: topics.some(({ step }) => !SETTLED.has(step)) }),
    snapshot: { id: snapshot.id, createdAt: snapshot.createdAt },
    applied,
    topics: topics.map(({ path, step, lines }) => ({ path, step, lines })),
    ownChanges,
  };
}

/** Contract: throws `bad-input` for a broken snapshot, and nothing is changed; planned endings are the `outcome`. */
export async function applyMemorySnapshot(request: ApplyRequest, deps: OpensLate): Promise<ApplyReport> {
  // 1.
  const snapshot = readMemorySnapshot(request.tree);
  const report: ApplyReport = { outcome: 'none', snapshot: snapshot?.id ?? null, topics: [], job: null };
  if (!snapshot) return report;
  const store = await deps.openStore();
  const { ledger } = store;
  if (wasApplied(ledger, snapshot.id) && lastApplied(ledger)?.id !== snapshot.id)
    return { ...report, outcome: 'older' };
  report.outcome = 'busy';
  // 2.
  await deps.withLease(store, 'dream', () => apply({ snapshot, request, report }, { store, clock: deps.clock }));
  return report;
}

async function apply(
  { snapshot, request, report }: { snapshot: MemorySnapshot; request: ApplyRequest; report: ApplyReport },
  { store, clock }: { store: Store; clock: Clock },
): Promise<true> {
  // 3.
  await store.commit({ actor: 'person' }, (ledger) => {
    const bases = snapshotBases(ledger);
    const index = indexChange(store);
    const brought: ReturnType<typeof bring>[] = [];
    const isChanged = () => brought.some(({ step }) => changes(step));
    const files = snapshot.topics.map(({ path, text }) => ({
      path,
      change(current: string | null) {
        const topic = bring({ path, text }, { base: bases.get(path), ours: current, isTrusted: request.isTrusted });
        brought.push(topic);
        return topic.text;
      },
    }));
    const memory = { ...index.memory, change: (now: string | null) => (isChanged() ? index.memory.change(now) : now) };
    return {
      files: [...files, memory, ...index.overflow()],
      rows(transaction) {
        // 4.
        index.finish(transaction);
        const told = [...brought, ...dropped(snapshot, bases)];
        report.topics = told.map(({ path, step, lines }) => ({ path, step, lines }));
        report.outcome = isChanged() ? 'applied' : 'unchanged';
        const isKnown = wasApplied(ledger, snapshot.id);
        if (isKnown && !isChanged()) return;
        const taken = new Set(brought.filter(({ step }) => step !== 'withheld').map(({ path }) => path));
        const topics = snapshot.topics.filter(({ path }) => taken.has(path));
        const now = clock.now();
        enterApplied(transaction, { ...snapshot, topics, appliedAt: now.toISOString() });
        report.job = enterPersonsJob(transaction, { kind: 'apply-snapshot', outcome: report.outcome, now });
      },
    };
  });
  return true;
}

function stateOf(
  { id }: MemorySnapshot,
  { ledger, applied, hasNews }: { ledger: Ledger | null; applied: AppliedSnapshot | null; hasNews: boolean },
): SnapshotCheck['state'] {
  if (applied?.id === id) return 'up-to-date';
  if (ledger && wasApplied(ledger, id)) return 'older';
  if (!hasNews) return 'up-to-date';
  return applied ? 'newer' : 'not-applied';
}

function planOf(
  snapshot: MemorySnapshot,
  here: { bases: Map<string, string>; read(path: string): string | null; isTrusted: boolean },
) {
  const { bases, read, isTrusted } = here;
  return [
    ...snapshot.topics.map((topic) => bring(topic, { base: bases.get(topic.path), ours: read(topic.path), isTrusted })),
    ...dropped(snapshot, bases),
  ];
}

function bring(
  topic: { path: string; text: string },
  here: { base: string | undefined; ours: string | null; isTrusted: boolean },
): SnapshotTopic & { text: string | null } {
  const { path, text: theirs } = topic;
  const brought = bringTopic({ ...here, theirs });
  if (!changes(brought.step) || here.isTrusted) return { path, ...brought, lines: [] };
  const known = new Set((here.ours ?? '').split('\n').map((line) => line.trim()));
  const lines = screenTopic(topic).filter(({ text }) => !known.has(text));
  if (lines.length === 0) return { path, ...brought, lines };
  return { path, step: 'withheld', text: here.ours, lines };
}

function dropped(snapshot: MemorySnapshot, bases: Map<string, string>): (SnapshotTopic & { text: null })[] {
  const held = new Set(snapshot.topics.map(({ path }) => path));
  const gone = [...bases.keys()].filter((path) => !held.has(path));
  return gone.map((path) => ({ path, step: 'dropped', text: null, lines: [] }));
}

function changes(step: SnapshotTopic['step']): boolean {
  return step === 'add' || step === 'update' || step === 'merge';
}
