// Memory snapshots: topics of a memory that lie in the working tree, for everybody who works there.
//
// Create: choose the topics, refuse secrets, and write the files; the snapshot is entered as applied here, so
// that its next version is a change to it.
//
// Apply: read it; then, in one commit beside no dream, add what is missing, update what was not changed since the last one,
// merge where lines do not collide. What is here is never overwritten, and a topic whose new lines tell an agent what to do stays
// out, unless a person has read and trusts it. Undo puts the bases of the next merge back with the rest.

import { join } from 'node:path';
import { AppError, attempt } from '../src/base/errors.ts';
import { listNames } from '../src/base/files/directories.ts';
import { removeFile, writeWhole } from '../src/base/files/files.ts';
import { locateSecrets } from '../src/base/secrets/redact-text.ts';
import { newId, type Sql } from '../src/db/sql.ts';
import { commit, type FileChange, lookInto, withRows } from '../src/memory/commit.ts';
import { rawText } from '../src/memory/edit-text.ts';
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

/** A topic and what would become of it, or became. `withheld`: it speaks to an agent. */
export interface SnapshotTopic {
  path: string;
  step: TopicStep | 'withheld';
  /** What it says to an agent, where that is why it is withheld. */
  lines: ForeignLine[];
}

export interface SnapshotCheck {
  /** `newer`: another one was applied here. */
  state: 'none' | 'not-applied' | 'newer' | 'up-to-date';
  snapshot: string | null;
  /** All that are not the same here. */
  topics: SnapshotTopic[];
}

export interface ApplyReport {
  /** All but `applied` changed no topic. */
  outcome: 'applied' | 'unchanged' | 'none' | 'busy';
  snapshot: string | null;
  topics: SnapshotTopic[];
  /** With which it can be undone; null where nothing was changed. */
  job: string | null;
}

// What was applied, by the jobs that were not taken back, and what the next merge starts from.

/** Ids of the snapshots that were applied, or made here. */
async function appliedTo(sql: Sql, memory: string): Promise<Set<string | undefined>> {
  const rows = await sql.all<{ request: string }>(
    `select job.request from job join change on change.job = job.id
     where job.memory = ? and job.kind = 'snapshot' and change.undone_by is null`,
    memory,
  );
  return new Set(rows.map(({ request }) => (JSON.parse(request) as { snapshot?: string }).snapshot));
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
  for (const topic of snapshot.topics) await change.put('snapshot_base', { memory, snapshot: snapshot.id, ...topic });
  const startedBy = outcome === 'created' ? 'program' : 'person';
  const request = { snapshot: snapshot.id };
  await enterJob(change, { kind: 'snapshot', memory, startedBy, request, outcome, output: { collided } });
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
  const applied = memory ? await appliedTo(memory.sql, memory.id) : new Set();
  if (applied.has(found.id)) return null;
  return applied.size > 0 ? 'newer' : 'first';
}

// Looking, and taking in.

/** How the snapshot of a working tree and a memory (null: none yet) stand to each other; it changes nothing. Errors: `bad-input` for a broken one. */
export async function checkMemorySnapshot(
  tree: string,
  { memories, memory }: { memories: Memories; memory: MemoryRow | null },
): Promise<SnapshotCheck> {
  const snapshot = readMemorySnapshot(tree);
  if (!snapshot) return { state: 'none', snapshot: null, topics: [] };
  if (memory) await lookInto(memories, { memory: memory.id, paths: 'all' });
  const applied = memory ? await appliedTo(memories.db, memory.id) : new Set();
  const brought = await bring(snapshot, { sql: memories.db, memory: memory?.id ?? null, isTrusted: false });
  const topics = brought.filter(({ step }) => step !== 'same').map(told);
  const isUpToDate = applied.has(snapshot.id) || topics.every(({ step }) => step === 'own');
  return {
    state: isUpToDate ? 'up-to-date' : applied.size > 0 ? 'newer' : 'not-applied',
    snapshot: snapshot.id,
    topics,
  };
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
  const isKnown = (await appliedTo(memories.db, memory)).has(snapshot.id);
  const job = newId('job');
  const by = { job, actor: { kind: 'user', id: null } } as const;
  await commit(memories, { memory, paths: 'all' }, by, async (sql) => {
    Object.assign(report, { outcome: 'busy', topics: [], job: null });
    if (await isAtWork(sql, { memories: [memory], now: memories.clock.now() })) return { files: [] };
    const brought = await bring(snapshot, { sql, memory, isTrusted });
    const isChanged = brought.some(({ step }) => changes(step));
    const files = brought.map(({ path, text }): FileChange => ({ path, make: () => text }));
    const index = await withBuiltIndex(sql, { id: memory, dir }, files, () => isChanged);
    return withRows(index, async (change) => {
      report.topics = brought.map(told);
      report.outcome = isChanged ? 'applied' : 'unchanged';
      if (isKnown && !isChanged) return;
      const taken = new Set(brought.filter(({ step }) => step !== 'withheld').map(({ path }) => path));
      const topics = snapshot.topics.filter(({ path }) => taken.has(path));
      const collided = brought.flatMap(({ path, step }) => (step === 'collides' ? path : []));
      await enter(change, memory, { snapshot: { ...snapshot, topics }, outcome: report.outcome, collided });
      report.job = job;
    });
  });
  return report;
}

type Brought = SnapshotTopic & { text: string | null };

/** What becomes of each topic; `memory` null: there is none yet. */
async function bring(
  { topics }: MemorySnapshot,
  { sql, memory, isTrusted }: { sql: Sql; memory: string | null; isTrusted: boolean },
): Promise<Brought[]> {
  const bases = memory === null ? new Map<string, string>() : await basesOf(sql, memory);
  const all: Brought[] = [];
  for (const topic of topics) {
    const { path, text: theirs } = topic;
    const head = memory === null ? null : await headAt(sql, memory, path);
    const ours = head?.content ? rawText(head.content) : null;
    const brought = bringTopic({ base: bases.get(path), ours, theirs });
    const known = new Set((ours ?? '').split('\n').map((line) => line.trim()));
    const isAsked = changes(brought.step) && !isTrusted;
    const lines = isAsked ? screenTopic(topic).filter(({ text }) => !known.has(text)) : [];
    all.push({ path, ...(lines.length > 0 ? { step: 'withheld', text: ours } : brought), lines });
  }
  return all;
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
}

export interface CreateReport {
  dir: string;
  id: string;
  topics: string[];
  /** Topics that others get only once they trust the snapshot, since a line of theirs tells an agent what to do. */
  commanding: { path: string; line: number; text: string }[];
}

/** What lies there is replaced: git has it. Errors: `bad-input` where no topic is chosen, `refused` for a secret. */
export async function createMemorySnapshot(
  request: CreateRequest,
  { memories, memory }: { memories: Memories; memory: MemoryRow },
): Promise<CreateReport> {
  const topics = await chooseTopics(request.topics, { memories, memory });
  const secrets: { path: string; line: number; rule: string }[] = [];
  for (const { path, text } of topics) {
    secrets.push(...(await locateSecrets(text)).map((secret) => ({ path, ...secret })));
  }
  if (secrets.length > 0) {
    const places = secrets.map(({ path, line, rule }) => `${path}:${line} (${rule})`).join(', ');
    throw new AppError('refused', `No memory snapshot was made: what looks like a secret is in ${places}.`, {
      remedy: 'Take it out of the memory with nocturne redact.',
    });
  }
  const dir = memorySnapshotDir(request.tree);
  const large = topics.find(({ text }) => Buffer.byteLength(text) > MOST.topicBytes)?.path;
  if (large || topics.length > MOST.topics) {
    const what = `A memory snapshot holds ${MOST.topics} topics of ${MOST.topicBytes} bytes at most; not ${large ?? topics.length}.`;
    throw new AppError('bad-input', what, { remedy: 'Nothing was made. Name fewer topics.' });
  }
  const snapshot = snapshotOf(topics);
  const files = [{ path: '.gitattributes', text: GIT_ATTRIBUTES }, ...snapshot.topics];
  // A link of the repository's is replaced, never written through.
  for (const { path, text } of files) writeWhole(join(dir, path), text);
  for (const name of listNames(dir))
    if (name.endsWith('.md') && !files.some(({ path }) => path === name)) removeFile(join(dir, name));
  const by = { job: newId('job'), actor: { kind: 'user', id: null } } as const;
  const rows = (change: Change) => enter(change, memory.id, { snapshot, outcome: 'created' });
  await commit(memories, { memory: memory.id, paths: [] }, by, async () => ({ files: [], rows }));
  return {
    dir,
    id: snapshot.id,
    topics: snapshot.topics.map(({ path }) => path),
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
