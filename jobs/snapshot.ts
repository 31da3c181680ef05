// Memory snapshots: topics of a memory that lie in the working tree, for everybody who works there.
//
// Create: choose the topics, refuse secrets unless they are taken out, leave alone what this memory never took in, and write the
// files; the snapshot is entered as applied here, so that its next version is a change to it.
//
// Apply: read it; then, in one commit beside no dream, add what is missing, update what was not changed since the last one,
// merge where lines do not collide. What is here is never overwritten, and a topic whose new lines tell an agent what to do stays
// out, unless a person has read and trusts it. Undo puts the bases of the next merge back with the rest.

import { join } from 'node:path';
import { AppError, attempt } from '../src/base/errors.ts';
import { listNames } from '../src/base/files/directories.ts';
import { readTextNow, removeFile, statNow, writeWhole } from '../src/base/files/files.ts';
import { locateSecrets, redact } from '../src/base/secrets/redact-text.ts';
import { newId, type Sql } from '../src/db/sql.ts';
import { commit, type FileChange, lookInto, withRows } from '../src/memory/commit.ts';
import { headAt, headsOf } from '../src/memory/file-rows.ts';
import { enterJob, isAtWork } from '../src/memory/job-rows.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import { withBuiltIndex } from '../src/memory/memory-index.ts';
import {
  bringTopic,
  type ForeignLine,
  GIT_ATTRIBUTES,
  type MemorySnapshot,
  MOST,
  memorySnapshotDir,
  readMemorySnapshot,
  type SnapshotOffer,
  screenTopic,
  snapshotOf,
  type TopicStep,
} from '../src/memory/snapshot-files.ts';
import { isTopicPath, parseTopic, partSeenOnce } from '../src/memory/text/topic.ts';
import type { Change } from '../src/memory/undo-rows.ts';

/** A topic and what would become of it, or became. `withheld`: it speaks to an agent. `dropped`: only older ones held it. */
export interface SnapshotTopic {
  path: string;
  step: TopicStep | 'withheld' | 'dropped';
  /** What it says to an agent, where that is why it is withheld. */
  lines: ForeignLine[];
}

type AppliedSnapshot = { id: string; appliedAt: string };

export interface SnapshotCheck {
  /** `older`: it was applied once, and another one since. */
  state: 'none' | 'not-applied' | 'newer' | 'up-to-date' | 'older';
  snapshot: string | null;
  applied: AppliedSnapshot | null;
  /** All that are not the same here. */
  topics: SnapshotTopic[];
}

export interface ApplyReport {
  /** All but `applied` changed no topic. */
  outcome: 'applied' | 'unchanged' | 'none' | 'older' | 'busy';
  snapshot: string | null;
  topics: SnapshotTopic[];
  /** With which it can be undone; null where nothing was changed. */
  job: string | null;
}

// What was applied, by the jobs that were not taken back, and what the next merge starts from.

/** The newest first. */
async function appliedTo(sql: Sql, memory: string): Promise<AppliedSnapshot[]> {
  const rows = await sql.all<{ request: string; at: string }>(
    `select distinct job.request, change.at, change.n from job join change on change.job = job.id
     where job.memory = ? and job.kind = 'snapshot' and change.undone_by is null order by change.n desc`,
    memory,
  );
  return rows.flatMap(({ request, at }) => {
    const { snapshot: id } = JSON.parse(request) as { snapshot?: string };
    return id ? { id, appliedAt: at } : [];
  });
}

async function basesOf(sql: Sql, memory: string): Promise<Map<string, string>> {
  const select = 'select path, text from snapshot_base where memory = ?';
  const rows = await sql.all<{ path: string; text: string }>(select, memory);
  return new Map(rows.map(({ path, text }) => [path, text]));
}

async function enter(
  change: Change,
  memory: string,
  { snapshot, outcome, collided = [] }: { snapshot: MemorySnapshot; outcome: string; collided?: string[] },
): Promise<void> {
  const { sql, job: id, at } = change;
  for (const topic of snapshot.topics) await change.put('snapshot_base', { memory, snapshot: snapshot.id, ...topic });
  const startedBy = outcome === 'created' ? 'program' : 'person';
  const request = { snapshot: snapshot.id };
  await enterJob(sql, { id, kind: 'snapshot', memory, startedBy, request, outcome, output: { collided }, at });
}

/** What a working tree offers a memory; null for nothing, and for what cannot be read. */
export async function offeredSnapshot(
  tree: string,
  memory: { sql: Sql; id: string } | null | undefined,
): Promise<SnapshotOffer | null> {
  const found = attempt(
    () => readMemorySnapshot(tree),
    () => null,
  );
  if (found === null) return null;
  const applied = memory ? await appliedTo(memory.sql, memory.id) : [];
  if (applied.some(({ id }) => id === found.id)) return null;
  return applied.length > 0 ? 'newer' : 'first';
}

// Looking, and taking in.

/** How the snapshot of a working tree and a memory (null: none yet) stand to each other; it changes nothing. Errors: `bad-input` for a broken one. */
export async function checkMemorySnapshot(
  tree: string,
  { memories, memory }: { memories: Memories; memory: MemoryRow | null },
): Promise<SnapshotCheck> {
  const snapshot = readMemorySnapshot(tree);
  const { db: sql } = memories;
  if (memory) await lookInto(memories, { memory: memory.id, paths: 'all' });
  const all = memory ? await appliedTo(sql, memory.id) : [];
  const bases = memory ? await basesOf(sql, memory.id) : new Map<string, string>();
  const texts = new Map<string, string | null>();
  for (const { path } of snapshot?.topics ?? [])
    texts.set(path, memory ? ((await headAt(sql, memory.id, path))?.content?.toString() ?? null) : null);
  const applied = all[0] ?? null;
  if (!snapshot) return { state: 'none', snapshot, applied, topics: [] };
  const brought = snapshot.topics.map((topic) =>
    bring(topic, { base: bases.get(topic.path), ours: texts.get(topic.path) ?? null, isTrusted: false }),
  );
  const topics = [...brought, ...dropped(snapshot, bases)].filter(({ step }) => step !== 'same');
  const { id } = snapshot;
  const hasNews = topics.some(({ step }) => step !== 'own' && step !== 'dropped');
  const wasApplied = all.some((each) => each.id === id);
  const isUpToDate = applied?.id === id || (!wasApplied && !hasNews);
  const state = isUpToDate ? 'up-to-date' : wasApplied ? 'older' : applied ? 'newer' : 'not-applied';
  return { state, snapshot: id, applied, topics: topics.map(told) };
}

/**
 * `tree`: the top of the working tree; `isTrusted`: take what tells an agent what to do, too, since a person has read it. `openMemory`
 * is called, and so the memory made, only once there is something to do there. Errors: `bad-input` for a broken snapshot.
 */
export async function applyMemorySnapshot(
  { tree, isTrusted }: { tree: string; isTrusted: boolean },
  { memories, openMemory }: { memories: Memories; openMemory(): Promise<MemoryRow> },
): Promise<ApplyReport> {
  const snapshot = readMemorySnapshot(tree);
  const report: ApplyReport = { outcome: 'none', snapshot: snapshot?.id ?? null, topics: [], job: null };
  if (!snapshot) return report;
  const { id: memory, dir } = await openMemory();
  const all = await appliedTo(memories.db, memory);
  const isKnown = all.some(({ id }) => id === snapshot.id);
  if (isKnown && all[0]?.id !== snapshot.id) return { ...report, outcome: 'older' };
  const job = newId('job');
  const by = { job, actor: { kind: 'user', id: null } } as const;
  await commit(memories, { memory, paths: 'all' }, by, async (sql) => {
    Object.assign(report, { outcome: 'busy', topics: [], job: null });
    if (await isAtWork(sql, { memories: [memory], now: memories.clock.now() })) return { files: [] };
    const bases = await basesOf(sql, memory);
    const brought: ReturnType<typeof bring>[] = [];
    const isChanged = () => brought.some(({ step }) => changes(step));
    const files = snapshot.topics.map(
      (topic): FileChange => ({
        path: topic.path,
        make(current) {
          const made = bring(topic, { base: bases.get(topic.path), ours: current, isTrusted });
          brought.push(made);
          return made.text;
        },
      }),
    );
    const index = await withBuiltIndex(sql, { id: memory, dir }, files, isChanged);
    return withRows(index, async (change) => {
      report.topics = [...brought, ...dropped(snapshot, bases)].map(told);
      report.outcome = isChanged() ? 'applied' : 'unchanged';
      if (isKnown && !isChanged()) return;
      const taken = new Set(brought.filter(({ step }) => step !== 'withheld').map(({ path }) => path));
      const topics = snapshot.topics.filter(({ path }) => taken.has(path));
      const collided = brought.flatMap(({ path, step }) => (step === 'collides' ? path : []));
      await enter(change, memory, { snapshot: { ...snapshot, topics }, outcome: report.outcome, collided });
      report.job = job;
    });
  });
  return report;
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

function dropped(snapshot: MemorySnapshot, bases: ReadonlyMap<string, string>): SnapshotTopic[] {
  const held = new Set(snapshot.topics.map(({ path }) => path));
  return [...bases.keys()].filter((path) => !held.has(path)).map((path) => ({ path, step: 'dropped', lines: [] }));
}

function changes(step: SnapshotTopic['step']): boolean {
  return step === 'add' || step === 'update' || step === 'merge';
}

function told({ path, step, lines }: SnapshotTopic): SnapshotTopic {
  return { path, step, lines };
}

// Making one.

interface CreateRequest {
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

/** Errors: `bad-input` where no topic is chosen, `refused` for a secret and for a snapshot that is not to be replaced. */
export async function createMemorySnapshot(
  request: CreateRequest,
  { memories, memory }: { memories: Memories; memory: MemoryRow },
): Promise<CreateReport> {
  const { db } = memories;
  const chosen = await chooseTopics(request.topics, { memories, memory });
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
  const dir = memorySnapshotDir(request.tree);
  const large = topics.find(({ text }) => Buffer.byteLength(text) > MOST.topicBytes);
  if (large || topics.length > MOST.topics) {
    throw new AppError(
      'bad-input',
      `A memory snapshot cannot hold ${large?.path ?? topics.length} topics: it is too much.`,
      {
        remedy: `Name fewer topics: at most ${MOST.topics} of ${MOST.topicBytes} bytes each.`,
      },
    );
  }
  const snapshot = snapshotOf(topics);
  const files = [{ path: '.gitattributes', text: GIT_ATTRIBUTES }, ...snapshot.topics];
  const read = () => readMemorySnapshot(request.tree);
  const before = request.isReplacing ? attempt(read, () => null, 'bad-input') : read();
  const applied = await appliedTo(db, memory.id);
  const isKnown = before === null || before.id === snapshot.id || applied.some(({ id }) => id === before.id);
  if (!isKnown && !request.isReplacing) {
    throw new AppError('refused', `The memory snapshot in ${dir} holds what this memory never took in.`, {
      remedy: 'Run nocturne snapshot apply first, or replace it with --replace.',
    });
  }
  let isChanged = false;
  for (const { path: name, text } of files) {
    const path = join(dir, name);
    // A link of the repository's is replaced, never written through.
    if (statNow(path)?.isFile && readTextNow(path) === text) continue;
    writeWhole(path, text);
    isChanged = true;
  }
  for (const name of listNames(dir)) {
    if (!name.endsWith('.md') || files.some(({ path }) => path === name)) continue;
    removeFile(join(dir, name));
    isChanged = true;
  }
  if (applied[0]?.id !== snapshot.id) {
    const by = { job: newId('job'), actor: { kind: 'user', id: null } } as const;
    const rows = (change: Change) => enter(change, memory.id, { snapshot, outcome: 'created' });
    await commit(memories, { memory: memory.id, paths: [] }, by, async () => ({ files: [], rows }));
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

async function chooseTopics(named: string[], { memories, memory }: { memories: Memories; memory: MemoryRow }) {
  await lookInto(memories, { memory: memory.id, paths: 'all' });
  const all = (await headsOf(memories.db, memory.id)).flatMap(({ path, content }) =>
    path !== null && content && isTopicPath(path) ? { path, text: content.toString() } : [],
  );
  const called = memory.dir ?? memory.name;
  const unknown = named.filter((path) => !all.some((topic) => topic.path === path));
  if (unknown.length > 0) {
    throw new AppError('bad-input', `There is no topic ${unknown.join(', ')} in ${called}.`, {
      remedy: 'nocturne list shows them.',
    });
  }
  const asked = all.filter(({ path, text }) => {
    if (named.length > 0) return named.includes(path);
    const { type } = parseTopic(path, text);
    return type === 'project' || type === 'reference';
  });
  // What one session showed is for nobody else yet.
  const chosen = asked.flatMap((topic) => {
    const { text, isAll } = partSeenOnce(topic.text);
    return isAll ? [] : { path: topic.path, text };
  });
  if (chosen.length > 0) return chosen;
  throw new AppError('bad-input', `There is no topic of type project or reference in ${called}.`, {
    remedy: 'Name the topics to hand over: nocturne snapshot create TOPIC…',
  });
}
