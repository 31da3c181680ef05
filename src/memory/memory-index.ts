// MEMORY.md beside the changes of topics: built anew from all of them, as a dream does, or following what others than dreams
// change, so that nobody is told an old description and a new topic is found at once. Both in the commit of those changes.
// Promises: it touches no line that nocturne did not write, and no index that is pinned; following begins none, and leaves one
// alone that a repository carries.

import type { Sql } from '../db/sql.ts';
import type { Committed, FileChange, Staged } from './commit.ts';
import { type Actor, headAt, isPinned } from './file-rows.ts';
import { followLogs } from './log-edits.ts';
import { isCheckedIn } from './paths.ts';
import { followChange } from './rests.ts';
import { readLines } from './text/blocks.ts';
import { type BuiltIndex, buildIndex, FORMER_PARTS, type IndexTopic, isFormerPart } from './text/index-file.ts';
import { isTopicPath, lineId } from './text/topic.ts';
import type { Change } from './undo-rows.ts';

export const INDEX = 'MEMORY.md';
/** The source of a line that nocturne generated. */
export const GENERATED = 'index';

/** Changes of files with those of the index behind them, and the rows that belong to them. */
interface WithIndex {
  files: FileChange[];
  /** `heads`: of `files`, as they are now. */
  rows(change: Change, heads: (Staged | null)[]): Promise<void>;
}

export interface IndexSize {
  /** Living topics. */
  topics: number;
  lines: number;
  bytes: number;
}

type OfMemory = { id: string; dir: string | null };

/** With the index built anew, where that is wanted of what it is once the files are made. `size` is known then. */
export async function withBuiltIndex(
  sql: Sql,
  { id: memory, dir }: OfMemory,
  files: readonly FileChange[],
  isWanted: (current: string | null) => boolean = () => true,
): Promise<WithIndex & { size(): IndexSize }> {
  const ids = await generatedLines(sql, memory);
  const size: IndexSize = { topics: 0, lines: 0, bytes: 0 };
  let built: BuiltIndex | undefined;
  const make = async (current: string | null) => {
    const topics = await livingTopics(sql, memory);
    size.topics = topics.length;
    // Nothing to say begins no index.
    if (!isWanted(current) || isPinned(INDEX, current) || (current === null && topics.length === 0)) return current;
    const generatedBefore = new Set(linesAmong(current, ids));
    built = buildIndex({ current, generatedBefore, topics, isCheckedIn: isCheckedIn(dir) });
    Object.assign(size, { lines: built.lines, bytes: built.bytes });
    return built.text;
  };
  const dropped = async (now: string | null) =>
    now !== null && isFormerPart(now, await livingTopics(sql, memory)) ? null : now;
  const all = [...files, { path: INDEX, make }, ...FORMER_PARTS.map((path) => ({ path, make: dropped }))];
  return {
    files: all,
    rows: (change, heads) => keepGenerated(change, { memory, ids, heads, files: all, generated: built?.generated }),
    size: () => size,
  };
}

/** Changes that a person or a program makes, with the index following, and what lines rest on. */
export async function withFollowing(sql: Sql, of: OfMemory, actor: Actor, files: FileChange[]): Promise<WithIndex> {
  const touched = files.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]));
  const isOfTopics = touched.some(isTopicPath) && !touched.includes(INDEX);
  const index = isOfTopics ? await withFollowingIndex(sql, of, files) : { files, rows: NO_ROWS };
  return {
    files: index.files,
    async rows(change, heads) {
      await index.rows(change, heads);
      await followLogs(change, { memory: of.id, actor }, { files, heads });
      for (const [at, { path }] of files.entries()) {
        const { id: file, before = '', content } = heads[at] ?? {};
        const text = { before, after: content?.toString() ?? '' };
        if (file) await followChange(change, actor, { memory: of.id, file, path, ...text });
      }
    },
  };
}

const NO_ROWS = async () => {};

/** Changes with the index following, where nocturne began one and nobody took it away. */
export async function withFollowingIndex(sql: Sql, of: OfMemory, files: FileChange[]): Promise<WithIndex> {
  const isBegun = !isCheckedIn(of.dir) && (await generatedLines(sql, of.id)).size > 0;
  return isBegun ? withBuiltIndex(sql, of, files, (current) => current !== null) : { files, rows: NO_ROWS };
}

/** The living topics as they stand by then. */
async function livingTopics(sql: Sql, memory: string): Promise<IndexTopic[]> {
  const select = `select file.path, file.meta, topic_use.used_at as "usedAt" from file
    left join topic_use on topic_use.memory = file.memory and topic_use.file = file.id
    where file.memory = ? and file.meta is not null and file.path is not null`;
  const cards = await sql.all<{ path: string; meta: string; usedAt: string | null }>(select, memory);
  return cards.flatMap(({ path, meta, usedAt }) => {
    const { description, type, pinned } = JSON.parse(meta);
    return isTopicPath(path) ? { path, description, type, pinned, usedAt: usedAt ?? '' } : [];
  });
}

/** The ids of the lines of the index that nocturne generated; every other line there is someone's own. */
export async function generatedLines(sql: Sql, memory: string): Promise<Set<string>> {
  const select = 'select line from rests where memory = ? and source = ?';
  const rows = await sql.all<{ line: string }>(select, memory, GENERATED);
  return new Set(rows.map(({ line }) => line));
}

function linesAmong(text: string | null, ids: ReadonlySet<string>): string[] {
  return readLines(text ?? '').flatMap((line) => (line.text !== '' && ids.has(lineId(line.text)) ? line.text : []));
}

async function keepGenerated(
  change: Change,
  of: {
    memory: string;
    ids: ReadonlySet<string>;
    heads: Committed['files'];
    files: FileChange[];
    generated: string[] | undefined;
  },
): Promise<void> {
  const { memory, ids, heads, files, generated } = of;
  const standing = heads[files.findIndex(({ path }) => path === INDEX)] ?? (await headAt(change.sql, memory, INDEX));
  const known = 'select file from rests where memory = ? and source = ?';
  // One that an undo took away was known by its lines.
  const file = standing?.id ?? (await change.sql.get<{ file: string }>(known, memory, GENERATED))?.file;
  if (!generated || file === undefined) return;
  const after = new Set(generated.map(lineId));
  for (const line of ids) if (!after.has(line)) await change.drop('rests', { memory, file, line, source: GENERATED });
  for (const line of after) if (!ids.has(line)) await change.put('rests', { memory, file, line, source: GENERATED });
}
