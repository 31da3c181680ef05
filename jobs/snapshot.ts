// Create: topics of a memory are laid into the working tree as a memory snapshot, to be committed with it.
//
// 1. Choose the topics: those that are named, else all of the types that are about the project.
// 2. Look for secrets; where there is one nothing is written, unless it is to be taken out.
// 3. Leave alone what others made and this memory never took in, unless it is to be replaced.
// 4. Write the files, the manifest last, and enter the snapshot as applied here: its next version is a change to it.
//
// Apply: a memory snapshot comes into a memory: what the repository hands to everybody, brought to what is there.
//
// 1. Read the snapshot and verify it; a broken one changes nothing.
// 2. Hold the dream's lease: a dream under way would build on what it has read before.
// 3. In one commit add what is missing, update what was not changed since the last apply, merge where lines do not
//    collide. What is here is never overwritten, and a topic whose new lines tell an agent what to do stays out, unless
//    a person has read and trusts it.
// 4. Build the index, and enter which snapshot it was.

import { join } from 'node:path';
import { AppError, attempt } from '../src/base/errors.ts';
import { readTextNow, removeFile, statNow, writeWhole } from '../src/base/files/files.ts';
import { locateSecrets, redact } from '../src/base/text/redact.ts';
import type { Clock } from '../src/base/time.ts';
import { indexChange } from '../src/memory/dream/index-change.ts';
import { headVersion } from '../src/memory/history/versions.ts';
import { enterPersonsJob } from '../src/memory/ledger/job-rows.ts';
import type { Ledger } from '../src/memory/ledger/ledger.ts';
import type { Store, WithLease } from '../src/memory/store/store.ts';
import {
  bringTopic,
  buildMemorySnapshot,
  type ForeignLine,
  type MemorySnapshot,
  memorySnapshotDir,
  readMemorySnapshot,
  screenTopic,
  type TopicStep,
} from '../src/memory/text/memory-snapshot.ts';
import { isTopicPath, parseTopic, partSeenOnce } from '../src/memory/text/topic.ts';
import {
  type AppliedSnapshot,
  enterApplied,
  lastApplied,
  snapshotBases,
  wasApplied,
} from './snapshot/applied-snapshots.ts';

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
  const brought = snapshot.topics.map((topic) =>
    bring(topic, { base: bases.get(topic.path), ours: read(topic.path), isTrusted: false }),
  );
  const topics = [...brought, ...dropped(snapshot, bases)].filter(({ step }) => step !== 'same');
  return {
    state: stateOf(snapshot, { ledger, applied, hasNews: topics.some(({ step }) => !SETTLED.has(step)) }),
    snapshot: { id: snapshot.id, createdAt: snapshot.createdAt },
    applied,
    topics: topics.map(({ path, step, lines }) => ({ path, step, lines })),
    ownChanges,
  };
}

/**
 * `tree`: the top of the working tree; `isTrusted`: take what tells an agent what to do, too, since a person has read it.
 * `openStore` is called, and so the memory made, only once there is something to do there.
 * Contract: throws `bad-input` for a broken snapshot, and nothing is changed; planned endings are the `outcome`.
 */
export async function applyMemorySnapshot(
  { tree, isTrusted }: { tree: string; isTrusted: boolean },
  deps: { openStore(): Promise<Store>; clock: Clock; withLease: WithLease },
): Promise<ApplyReport> {
  // 1.
  const snapshot = readMemorySnapshot(tree);
  const report: ApplyReport = { outcome: 'none', snapshot: snapshot?.id ?? null, topics: [], job: null };
  if (!snapshot) return report;
  const store = await deps.openStore();
  const { ledger } = store;
  if (wasApplied(ledger, snapshot.id) && lastApplied(ledger)?.id !== snapshot.id)
    return { ...report, outcome: 'older' };
  report.outcome = 'busy';
  // 2.
  await deps.withLease(store, 'dream', () => apply({ snapshot, isTrusted, report }, { store, clock: deps.clock }));
  return report;
}

async function apply(
  { snapshot, isTrusted, report }: { snapshot: MemorySnapshot; isTrusted: boolean; report: ApplyReport },
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
        const topic = bring({ path, text }, { base: bases.get(path), ours: current, isTrusted });
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

export interface CreateRequest {
  /** The top of the working tree. */
  tree: string;
  /** Paths of topics; none: all of type `project` and `reference`. */
  topics: string[];
  /** Take secrets out instead of refusing. */
  isRedacted: boolean;
  /** Replace a snapshot that this memory never took in, or one that is broken. */
  isReplacing: boolean;
}

export interface CreateReport {
  /** `unchanged`: the snapshot that is there holds just this. */
  outcome: 'created' | 'unchanged';
  dir: string;
  id: string;
  topics: string[];
  /** Topics from which secrets were taken out. */
  redacted: string[];
  /** Topics that others get only once they trust the snapshot, since a line of theirs tells an agent what to do. */
  commanding: { path: string; line: number; text: string }[];
}

/** Throws `bad-input` where no topic is chosen, `refused` for a secret and for a snapshot that is not to be replaced. */
export async function createMemorySnapshot(
  request: CreateRequest,
  { store, clock }: { store: Store; clock: Clock },
): Promise<CreateReport> {
  // 1.
  const chosen = await chooseTopics(store, request.topics);
  // 2.
  const secrets: { path: string; line: number; rule: string }[] = [];
  const topics: { path: string; text: string }[] = [];
  for (const { path, text } of chosen) {
    secrets.push(...(await locateSecrets(text)).map((secret) => ({ path, ...secret })));
    topics.push({ path, text: (await redact(text)).text });
  }
  if (secrets.length > 0 && !request.isRedacted) {
    const places = secrets.map(({ path, line, rule }) => `${path}:${line} (${rule})`).join(', ');
    throw new AppError('refused', `No memory snapshot was made: what looks like a secret is in ${places}.`, {
      remedy: 'Take it out of the memory with nocturne redact, or leave it out of the snapshot with --redacted.',
    });
  }
  // 3.
  const changedAt = topics.map(({ path }) => headVersion(store.ledger, path)?.at ?? '').sort();
  const { snapshot, files } = buildMemorySnapshot(topics, changedAt.at(-1) || clock.now().toISOString());
  const dir = memorySnapshotDir(request.tree);
  const read = () => readMemorySnapshot(request.tree);
  const before = request.isReplacing ? attempt(read, () => null, 'bad-input') : read();
  const isKnown = before === null || before.id === snapshot.id || wasApplied(store.ledger, before.id);
  if (!isKnown && !request.isReplacing) {
    throw new AppError('refused', `The memory snapshot in ${dir} holds what this memory never took in.`, {
      remedy: 'Run nocturne snapshot apply first, or replace it with --replace.',
    });
  }
  // 4.
  let isChanged = false;
  for (const { name, text } of files) {
    const path = join(dir, name);
    // A link of the repository's is replaced, never written through.
    if (statNow(path)?.isFile && readTextNow(path) === text) continue;
    writeWhole(path, text);
    isChanged = true;
  }
  for (const { path } of before?.topics ?? []) {
    if (!files.some(({ name }) => name === path)) removeFile(join(dir, path));
  }
  if (lastApplied(store.ledger)?.id !== snapshot.id) {
    await store.commit({ actor: 'person' }, () => ({
      files: [],
      rows: (transaction) => enterApplied(transaction, { ...snapshot, appliedAt: clock.now().toISOString() }),
    }));
  }
  return {
    outcome: isChanged ? 'created' : 'unchanged',
    dir,
    id: snapshot.id,
    topics: snapshot.topics.map(({ path }) => path),
    redacted: [...new Set(secrets.map(({ path }) => path))],
    commanding: snapshot.topics.flatMap((topic) => screenTopic(topic).map((line) => ({ path: topic.path, ...line }))),
  };
}

async function chooseTopics(store: Store, named: string[]): Promise<{ path: string; text: string }[]> {
  const paths = (await store.list()).filter(isTopicPath);
  const all = await Array.fromAsync(paths, async (path) => ({ path, text: (await store.read(path)) ?? '' }));
  const unknown = named.filter((path) => !all.some((topic) => topic.path === path));
  if (unknown.length > 0) {
    throw new AppError('bad-input', `There is no topic ${unknown.join(', ')} in ${store.id}.`, {
      remedy: 'nocturne list names them.',
    });
  }
  const asked = all.filter(({ path, text }) => {
    if (named.length > 0) return named.includes(path);
    const { type } = parseTopic(path, text);
    return type === 'project' || type === 'reference';
  });
  // What one session showed is for nobody else yet.
  const chosen = asked.flatMap(({ path, text }) => {
    const { text: rest, isAll } = partSeenOnce(text);
    return isAll ? [] : { path, text: rest };
  });
  if (chosen.length > 0) return chosen;
  throw new AppError('bad-input', `There is no topic of type project or reference in ${store.id}.`, {
    remedy: 'Name the topics to hand over: nocturne snapshot create TOPIC…',
  });
}
