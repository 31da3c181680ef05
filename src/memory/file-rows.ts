// The rows of files and their versions: what a file is, what it was, and the one way in which a new version is written.
// Promises: a path means one file, however its letters are cased or composed; a version, the head that it becomes, the lines that
// search looks through and the counts of the memory are written together.

import { hash } from 'node:crypto';
import { insert, MOST_VALUES, marks, newId, type Row, type Sql } from '../db/sql.ts';
import { foldPath } from './memory-paths.ts';
import { rowTexts, searchedLines } from './search-words.ts';
import { isTopicFile, parseTopic } from './text/topic.ts';
import type { Change } from './undo-rows.ts';

/** Who changed something: a client of the API, an agent's session, the user, a job, or an edit past nocturne. */
export interface Actor {
  kind: 'api' | 'session' | 'user' | 'job' | 'external';
  /** Of the key, the session or the job. */
  id: string | null;
}

export type Content = Buffer | null;

/** A file as it stands. */
export interface Head {
  /** `mem_…`, the same after every rename. */
  id: string;
  /** Null once it is deleted. */
  path: string | null;
  /** Of its newest version: id, hash, bytes. */
  version: string;
  sha: string | null;
  size: number | null;
  content: Content;
  createdAt: string;
  updatedAt: string;
}

const HEAD = `select file.id, file.path, version.id as version, version.sha, version.size, version.content,
  file.created_at as "createdAt", version.at as "updatedAt" from file join version on version.id = file.head`;

export function shaOf(content: Uint8Array | string): string {
  return hash('sha256', content);
}

export async function headAt(sql: Sql, memory: string, path: string): Promise<Head | null> {
  return (await sql.get<Head>(`${HEAD} where file.memory = ? and file.folded = ?`, memory, foldPath(path))) ?? null;
}

export async function headOf(sql: Sql, memory: string, file: string): Promise<Head | null> {
  return (await sql.get<Head>(`${HEAD} where file.memory = ? and file.id = ?`, memory, file)) ?? null;
}

/** The heads of all files that are there, by path. */
export async function headsOf(sql: Sql, memory: string): Promise<Head[]> {
  return sql.all<Head>(`${HEAD} where file.memory = ? and file.path is not null order by file.path`, memory);
}

/** Those that went with many others at once, so that it is not taken as meant. */
export function missingFiles(sql: Sql, memory: string): Promise<{ id: string; path: string }[]> {
  const select = 'select id, path from file where memory = ? and missing_since is not null and path is not null';
  return sql.all(`${select} order by path`, memory);
}

export interface NewVersion {
  memory: string;
  /** The file that it is of; null for a new one. */
  file: Pick<Head, 'id' | 'path' | 'version' | 'size' | 'content'> | null;
  /** Where the file stands by it; ignored where `content` is null. */
  path: string;
  content: Content;
  change: Change;
  actor: Actor;
  /** It stands in the working copy already. */
  isPlaced?: boolean;
}

/** Writes a version that becomes the head; answers its id and the file's. */
export async function addVersion(made: NewVersion): Promise<{ id: string; file: string }> {
  const { memory, file, content, isPlaced } = made;
  const { sql, at } = made.change;
  const path = content === null ? null : made.path;
  const id = await keepVersion(made);
  const fileId = file?.id ?? id.file;
  const meta = path === null || content === null ? null : metaOf(path, content);
  if (file) {
    const placed = isPlaced ? ', placed = ?, seen = null, missing_since = null' : '';
    await sql.run(
      `update file set head = ?, path = ?, folded = ?, meta = ?, updated_at = ?${placed} where memory = ? and id = ?`,
      ...[id.id, path, path === null ? null : foldPath(path), meta, at],
      ...(placed ? [id.id] : []),
      ...[memory, fileId],
    );
  } else {
    const placed = isPlaced ? id.id : '';
    const row = { memory, id: fileId, path, folded: path === null ? null : foldPath(path), head: id.id, placed, meta };
    await insert(sql, 'file', [{ ...row, created_at: at, updated_at: at }]);
  }
  await keepLines(sql, { memory, id: fileId, was: rowsIn(file?.path, file?.content), is: rowsIn(path, content) });
  await count(made);
  return { id: id.id, file: fileId };
}

/** Enters a file as it stands with versions that are there already; `countFiles` counts it. */
export async function enterFile(
  sql: Sql,
  row: Row & { memory: string; id: string; path: string | null },
  content: Content,
): Promise<void> {
  const { memory, id, path } = row;
  const meta = path === null || content === null ? null : metaOf(path, content);
  await insert(sql, 'file', [{ ...row, folded: path === null ? null : foldPath(path), meta }]);
  await keepLines(sql, { memory, id, was: new Set(), is: rowsIn(path, content) });
}

/** Counts the files of a memory. */
export async function countFiles(sql: Sql, memory: string, at: string): Promise<void> {
  const heads = (await headsOf(sql, memory)).filter(({ path }) => path !== null && isCounted(path));
  const bytes = heads.reduce((sum, { size }) => sum + (size ?? 0), 0);
  await sql.run('update memory set files = ?, bytes = ?, updated_at = ? where id = ?', heads.length, bytes, at, memory);
}

/** Writes a version that is no head: a state that a file was seen in, beside what becomes of it. */
export async function keepVersion(made: NewVersion): Promise<{ id: string; file: string }> {
  const { memory, file, path, content, change, actor } = made;
  const id = newId('memver');
  const fileId = file?.id ?? newId('mem');
  const op = content === null ? 'deleted' : file && file.path !== null ? 'modified' : 'created';
  const of = { id, memory, file: fileId, change: change.id, op, path: content === null ? (file?.path ?? path) : path };
  const bytes = { sha: content && shaOf(content), size: content?.length ?? null, content };
  const by = { previous: file?.version || null, actor_kind: actor.kind, actor: actor.id, at: change.at };
  change.versions += 1;
  await insert(change.sql, 'version', [{ ...of, ...bytes, ...by }]);
  return { id, file: fileId };
}

/** Of a topic what is asked for often: its name, type, description, pin; null for other files. */
function metaOf(path: string, content: Buffer): string | null {
  if (!isTopicFile(path)) return null;
  const { name, type, description, pinned, lines } = parseTopic(path, content.toString());
  return JSON.stringify({ name, type, description, pinned, lines: lines.length });
}

async function keepLines(
  sql: Sql,
  { memory, id, was, is }: { memory: string; id: string; was: Set<string>; is: Set<string> },
): Promise<void> {
  const gone = was.difference(is);
  // By their ids: PostgreSQL would look for equal texts in the index of all trigrams.
  const rows =
    gone.size === 0
      ? []
      : await sql.all<{ id: number; text: string }>(
          'select id, text from line where memory = ? and file = ?',
          memory,
          id,
        );
  const ids = rows.flatMap((row) => (gone.has(row.text) ? row.id : []));
  for (let at = 0; at < ids.length; at += MOST_VALUES) {
    const some = ids.slice(at, at + MOST_VALUES);
    await sql.run(`delete from line where id in (${marks(some)})`, ...some);
  }
  const added = [...is.difference(was)].map((text) => ({ memory, file: id, text }));
  await insert(sql, 'line', added);
}

function rowsIn(path: string | null | undefined, content: Content | undefined): Set<string> {
  return new Set(path == null || content == null ? [] : searchedLines(path, content.toString()).flatMap(rowTexts));
}

/** Whether a file counts against the limits of a memory: what jobs write without end does not. */
export function isCounted(path: string): boolean {
  return !/^(?:logs\/|index\/|MEMORY\.md$)/i.test(path);
}

async function count({ memory, file, path, content, change }: NewVersion): Promise<void> {
  const was = file?.path && file.size !== null && isCounted(file.path) ? file.size : null;
  const is = content && isCounted(path) ? content.length : null;
  const files = (is === null ? 0 : 1) - (was === null ? 0 : 1);
  await change.sql.run(
    'update memory set files = files + ?, bytes = bytes + ?, updated_at = ? where id = ?',
    files,
    (is ?? 0) - (was ?? 0),
    change.at,
    memory,
  );
}
