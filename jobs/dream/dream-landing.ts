// Lands operations: the topics, the index built from them, what lines rest on, what became of each entry, and what the job tells of
// it, in one commit; for a dream, and for what a person accepted of what had waited.
// Promises: the operations are applied to the files as they are at that moment, so that an edit made while the model was
// thinking survives; of each entry that is settled the row says where it went: into a line, or dropped, and why.

import { allOf, type Sql } from '../../src/db/sql.ts';
import { type By, type Committed, commit, type FileChange } from '../../src/memory/commit.ts';
import { headAt } from '../../src/memory/file-rows.ts';
import type { Memories, MemoryRow } from '../../src/memory/memories.ts';
import { INDEX, type IndexSize, withBuiltIndex } from '../../src/memory/memory-index.ts';
import { restsOf } from '../../src/memory/rests.ts';
import { applyEdit, editsOf, renamed, type TopicEdit } from '../../src/memory/text/operations.ts';
import type { Left } from '../../src/memory/text/proposed-operations.ts';
import { lineId, withoutMark } from '../../src/memory/text/topic.ts';
import { type Change, rowOf } from '../../src/memory/undo-rows.ts';
import {
  entryIds,
  linesIn,
  linesOut,
  type Operation,
  type ToldKind,
  toldKind,
  topicOfLine,
} from '../../src/rules/dream-context.ts';
import type { NightContext, NightEntry } from './topic-draft.ts';

/** Operations that code lets through, with what they are about. */
export interface Checked {
  operations: Operation[];
  context: NightContext;
  /** The entries that these operations are about; those that are gone apart. */
  fresh: NightEntry[];
  gone?: NightEntry[];
  /** What code refused of the model's, a sentence each, and what is left for another night. */
  refused?: string[];
  left?: Left[];
}

/** What became of entries, or of lines, as whoever looks is told it. */
export interface ToldOperation {
  /** `confirm`: the same words, resting on more. */
  kind: ToldKind | 'archive' | 'confirm';
  entries: string[];
  /** Path of the topic; null where none is touched. */
  topic: string | null;
  /** What it was called before. */
  from?: string;
  reason: string;
  /** The words of lines that came and went, and what of these is no longer true. */
  came?: string[];
  gone?: string[];
  over?: string[];
}

/** `job.output` of a dream: all that it did and did not, kept with each commit. */
export interface DreamOutput {
  operations: ToldOperation[];
  /** Ids of what waits for a person. */
  proposals: string[];
  refused: string[];
  left: Left[];
  /** The memory afterwards. */
  index: IndexSize | null;
}

export interface LandAt {
  memories: Memories;
  memory: MemoryRow;
  by: By;
  /** What the job told so far. */
  output: DreamOutput;
  /** What a person's word adds: what must still be so inside the commit, and what is written before all else. */
  decision?: { check(sql: Sql): Promise<void>; rows(change: Change): Promise<void> };
}

export const NOTHING_TOLD: DreamOutput = { operations: [], proposals: [], refused: [], left: [], index: null };

/** What a job tells, and more. */
export function toldMore(output: DreamOutput, more: Partial<DreamOutput>): DreamOutput {
  return {
    operations: [...output.operations, ...(more.operations ?? [])],
    proposals: [...output.proposals, ...(more.proposals ?? [])],
    refused: [...output.refused, ...(more.refused ?? [])],
    left: [...output.left, ...(more.left ?? [])],
    index: more.index ?? output.index,
  };
}

/** Commits operations; answers what the job tells by then. */
export function landOperations(checked: Checked, at: LandAt): Promise<DreamOutput> {
  const { context, operations, refused, left } = checked;
  const memory = at.memory.id;
  const edits = editsOf(operations, context);
  return landTopics(at, edits.flatMap(pathsOf), async (sql) => {
    const files = await changesOf(sql, memory, operations, context);
    return {
      files,
      more: { operations: toldOf(checked, edits), refused, left },
      async rows(change, heads) {
        const lost = new Set<string>();
        for (const [n, edit] of edits.entries()) {
          const file = heads[n]?.id ?? fileOf(edit, context);
          if (file) for (const entry of await writeRests(change, { memory, file, edit })) lost.add(entry);
        }
        await settle(change, memory, { checked, lost });
      },
    };
  });
}

/** What operations do to files as they stand. */
export function changesOf(sql: Sql, memory: string, operations: Operation[], context: NightContext) {
  return Promise.all(editsOf(operations, context).map((edit) => changeOf(sql, memory, edit)));
}

interface TopicsPlan {
  /** Changes of topic files. */
  files: FileChange[];
  /** What the job tells of it. */
  more: Partial<DreamOutput>;
  rows(change: Change, heads: Committed['files']): Promise<void>;
}

/** Commits changes of topics with the index built from them; answers what the job tells by then, which its row keeps. */
export async function landTopics(
  { memories, memory, by, output, decision }: LandAt,
  paths: string[],
  plan: (sql: Sql) => Promise<TopicsPlan>,
): Promise<DreamOutput> {
  let told = output;
  await commit(memories, { memory: memory.id, paths: [...paths, INDEX] }, by, async (sql) => {
    await decision?.check(sql);
    const { files, more, rows } = await plan(sql);
    const index = await withBuiltIndex(sql, memory, files);
    return {
      files: index.files,
      async rows(change, heads) {
        await decision?.rows(change);
        await rows(change, heads);
        await index.rows(change, heads);
        told = toldMore(output, { ...more, index: index.size() });
        await change.sql.run('update job set output = ? where id = ?', JSON.stringify(told), by.job);
      },
    };
  });
  return told;
}

/** Whether the index says what the topics are by now. */
export async function isIndexCurrent({ memories, memory }: Pick<LandAt, 'memories' | 'memory'>): Promise<boolean> {
  const current = (await headAt(memories.db, memory.id, INDEX))?.content?.toString() ?? null;
  const index = await withBuiltIndex(memories.db, memory, []);
  const wanted = await index.files.find(({ path }) => path === INDEX)?.make(current);
  return wanted === current || index.size().topics === 0;
}

function pathsOf({ path, from, renamedFrom }: TopicEdit): string[] {
  return [path, from, renamedFrom].filter((each) => each !== undefined);
}

/** What an edit does to its file: of an archived topic that comes back the file moves, unless another one has its name by now. */
async function changeOf(sql: Sql, memory: string, edit: TopicEdit): Promise<FileChange> {
  const { path, from, renamedFrom, name } = edit;
  const make = (current: string | null) => applyEdit(current, edit);
  if (renamedFrom !== undefined)
    return { path, from: from ?? renamedFrom, make: (current) => renamed(make(current), name) };
  const isBack = from !== undefined && (await headAt(sql, memory, path)) === null;
  return { path, ...(isBack && { from }), make };
}

function fileOf({ path, renamedFrom = path }: TopicEdit, { topics }: NightContext): string | undefined {
  return [...topics.values()].find((topic) => topic.path === renamedFrom)?.file;
}

/** Answers the entries that lines rested on which were taken out. */
async function writeRests(
  change: Change,
  { memory, file, edit }: { memory: string; file: string; edit: TopicEdit },
): Promise<string[]> {
  const gone = (await restsOf(change.sql, memory, file)).filter(({ line }) => edit.remove.has(line));
  for (const { line, source } of gone) await change.drop('rests', { memory, file, line, source });
  for (const { text, entries } of edit.add)
    for (const source of entries) await change.put('rests', { memory, file, line: lineId(text), source });
  return gone.map(({ source }) => source);
}

/** What became of entries: those that operations are about, and those whose lines went. */
export async function settle(
  change: Change,
  memory: string,
  { checked, lost }: { checked: Omit<Checked, 'context'>; lost: Set<string> },
): Promise<void> {
  const { operations, fresh, gone = [] } = checked;
  for (const { id, holds = [] } of gone)
    for (const { file, line } of holds) await change.drop('rests', { memory, file, line, source: id });
  const why = new Map<string, string>();
  for (const operation of operations) {
    const word = operation.kind === 'drop' ? operation.because : 'gave-way';
    for (const id of entryIds(operation)) why.set(id, `${word}: ${operation.reason}`);
  }
  const ids = new Set([...fresh.flatMap(({ id }) => (why.has(id) ? id : [])), ...lost]);
  const otherwise = gone.length > 0 ? null : 'gave-way: Another line took its place.';
  await settleEntries(change, memory, { ids, why: (id) => why.get(id) ?? otherwise });
}

/** Writes of each entry where it stands by now: in a line, in the archive, or in none, and then why; null: it is read again. */
export async function settleEntries(
  change: Change,
  memory: string,
  { ids, why }: { ids: Iterable<string>; why(id: string): string | null },
): Promise<void> {
  const all = [...ids];
  const select = `select r.source, f.path from rests r join file f on f.memory = r.memory and f.id = r.file
    where r.memory = ? and r.source in (#)`;
  const rests = await allOf<{ source: string; path: string | null }>(change.sql, select, all, memory);
  const bySource = Map.groupBy(rests, ({ source }) => source);
  for (const id of all) {
    const row = await rowOf(change.sql, 'entry', { memory, id });
    if (!row || row.state === 'gone') continue;
    const places = (bySource.get(id) ?? []).map(({ path }) => path ?? '');
    const isAway = places.every((path) => path.startsWith('archive/'));
    const reason = places.length === 0 ? why(id) : null;
    const state = places.length > 0 ? (isAway ? 'archived' : 'placed') : reason === null ? 'new' : 'dropped';
    if (row.state !== state || row.reason !== reason) await change.put('entry', { ...row, state, reason });
  }
}

/** What operations did, as it is told. */
function toldOf({ operations, context }: Checked, edits: TopicEdit[]): ToldOperation[] {
  return operations.map((operation): ToldOperation => {
    const { reason } = operation;
    const kind = toldKind(operation);
    if (operation.kind === 'rename')
      return { kind, entries: [], from: `${operation.topic}.md`, topic: `${operation.to}.md`, reason };
    const known = operation.kind === 'put' && operation.topic ? context.topics.get(operation.topic) : undefined;
    const path = operation.kind === 'put' && operation.topic ? (known?.path ?? `${operation.topic}.md`) : null;
    const edit = edits.find((each) => (each.renamedFrom ?? each.path) === path);
    const own = new Set(linesIn(operation).map(({ text }) => text));
    const came = (edit?.add ?? []).filter(({ text }) => own.has(withoutMark(text))).map(({ text }) => text);
    const gone = linesOut(operation).map((line) => topicOfLine(line, context)?.lines.get(line)?.text ?? line);
    const over = (operation.kind === 'put' && operation.over) || [];
    const words = (lines: string[]) => lines.map(withoutMark).toSorted().join('\n');
    const isSame = came.length > 0 && words(came) === words(gone);
    return {
      ...{ kind: isSame ? 'confirm' : kind, entries: entryIds(operation), topic: edit?.path ?? path, reason },
      ...(came.length > 0 && { came }),
      ...(gone.length > 0 && !isSame && { gone }),
      ...(over.length > 0 && { over }),
    };
  });
}
