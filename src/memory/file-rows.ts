// The rows of files and their versions: what a file is, what it was, and the one way in which a new version is written. And what may
// be done to a file, asked for each one of a commit inside its transaction: what must stand there, limits, pins, what no program may
// claim, and places that are taken. A guard that refuses takes the whole commit back.
// Promises: a path means one file, however its letters are cased or composed; a version, the head that it becomes, the lines that
// search looks through and the counts of the memory are written together.

import { hash } from 'node:crypto';
import { dirname } from 'node:path';
import { AppError } from '../base/errors.ts';
import { insert, MOST_VALUES, marks, newId, type Row, type Sql } from '../db/sql.ts';
import { checkFilePath, foldPath } from './memory-paths.ts';
import { rowTexts, searchedLines } from './search-words.ts';
import { logDay, parseLog } from './text/daily-log.ts';
import { isTopicFile, parseTopic } from './text/topic.ts';
import type { Change } from './undo-rows.ts';

/** Who changed something: a client of the API, an agent's session, the user, a job, or an edit past nocturne. */
export interface Actor {
  kind: 'api' | 'session' | 'user' | 'job' | 'external';
  /** Of the key, the session or the job. */
  id: string | null;
}

export type Content = Buffer | null;

export function isSame(one: Content, other: Content): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}

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

interface NewVersion {
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
  const [folded, meta] = path === null || content === null ? [null, null] : [foldPath(path), metaOf(path, content)];
  if (file) {
    const placed = isPlaced ? ', placed = ?, seen = null, missing_since = null' : '';
    await sql.run(
      `update file set head = ?, path = ?, folded = ?, meta = ?, updated_at = ?${placed} where memory = ? and id = ?`,
      ...[id.id, path, folded, meta, at],
      ...(placed ? [id.id] : []),
      ...[memory, fileId],
    );
  } else {
    const placed = isPlaced ? id.id : '';
    const row = { memory, id: fileId, path, folded, head: id.id, placed, meta };
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
  const select = 'select id, text from line where memory = ? and file = ?';
  const rows = gone.size === 0 ? [] : await sql.all<{ id: number; text: string }>(select, memory, id);
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
  return !/^(?:logs\/|MEMORY\.md$)/i.test(path);
}

async function count({ memory, file, path, content, change }: NewVersion): Promise<void> {
  const was = file?.path && file.size !== null && isCounted(file.path) ? file.size : null;
  const is = content && isCounted(path) ? content.length : null;
  const [files, bytes] = [(is === null ? 0 : 1) - (was === null ? 0 : 1), (is ?? 0) - (was ?? 0)];
  const set = 'update memory set files = files + ?, bytes = bytes + ?, updated_at = ? where id = ?';
  await change.sql.run(set, files, bytes, change.at, memory);
}

/** What must stand at a path: a version, bytes with this SHA-256 (hex), or nothing. */
export type Precondition = { sha: string } | { version: string } | { absent: true };

/** What nobody but a person may exceed: past it the error is `bad-input`. Logs and index are free. */
export interface Limits {
  /** Bytes of one file; default 102,400. */
  memoryBytes: number;
  /** Files; default 20,000. */
  memories: number;
  /** Bytes of all of them together; default 100 MiB. */
  totalBytes: number;
}

export const DEFAULT_LIMITS: Limits = { memoryBytes: 102_400, memories: 20_000, totalBytes: 100 * 1024 * 1024 };

export interface FileGuard {
  sql: Sql;
  memory: string;
  actor: Actor;
  limits: Limits;
  /** It is only read, and what is in it may go. */
  isArchived: boolean;
}

interface FileEdit {
  path: string;
  /** Where the file stood; null for a new one. */
  from: string | null;
  before: string | null;
  after: string | null;
  content: Buffer | null;
  isMove: boolean;
}

/** Errors: `conflict`, which says what stands there instead. */
export function checkPrecondition(path: string, head: Head | null, wanted: Precondition): void {
  const isMet =
    'absent' in wanted
      ? head === null
      : 'version' in wanted
        ? head?.version === wanted.version
        : head?.content != null && shaOf(head.content) === wanted.sha;
  if (isMet) return;
  if ('absent' in wanted && head?.path) throw occupied(path, { id: head.id, path: head.path }, 'is there');
  const found = head ? `it is there, as version ${head.version}` : 'nothing is there';
  throw new AppError('conflict', `${path} changed meanwhile: ${found}. Nothing was changed.`, {
    remedy: 'Read it again, and make the change on what is there now.',
    cause: new PreconditionFailed(head),
  });
}

/** The cause of the error, for a door that tells more of it. */
export class PreconditionFailed extends Error {
  readonly head: Head | null;
  constructor(head: Head | null) {
    super('precondition failed');
    this.head = head;
  }
}

/** The cause of the error where a path is taken by another file. */
export class PathTaken extends Error {
  readonly file: string;
  readonly path: string;
  constructor(file: string, path: string) {
    super('path taken');
    this.file = file;
    this.path = path;
  }
}

export async function checkChange(change: FileEdit, guard: FileGuard): Promise<void> {
  const { path, from, before, after, content } = change;
  const { actor } = guard;
  if (actor.kind === 'job') {
    refusePinned(from ?? path, before);
    refusePinned(path, null);
  }
  if (actor.kind === 'api' || actor.kind === 'session') await refuseForged(change, guard);
  if (after === null || content === null) return;
  if (guard.isArchived) throw new AppError('refused', 'This memory is archived: it is only read.');
  if (actor.kind !== 'user' && !(actor.kind === 'job' && !isCounted(path))) await refuseOversize(change, guard);
  if (from !== null && !change.isMove) return;
  checkFilePath(path);
  await refuseOccupied(change, guard);
}

/** Whether jobs must leave a file as it is. */
export function isPinned(path: string, text: string | null): boolean {
  if (path.startsWith('pinned/')) return true;
  return text?.includes('pinned') === true && parseTopic(path, text).pinned;
}

function refusePinned(path: string, text: string | null): void {
  if (!isPinned(path, text)) return;
  throw new AppError('refused', `${path} is pinned; jobs do not change it.`, {
    remedy:
      'To let jobs write it, take "pinned: true" out of its frontmatter, and move it out of pinned/ if it is there.',
  });
}

/** Only jobs have seen who said what: a program adds no entry to a log that claims to rest on a message. */
async function refuseForged({ path, before, after, isMove }: FileEdit, { sql, memory }: FileGuard): Promise<void> {
  const day = logDay(path);
  if (day === null || after === null) return;
  const standing = new Map(ownItems(isMove ? '' : (before ?? ''), day).map(({ id, text }) => [id, text]));
  for (const { id, text } of ownItems(after, day)) {
    const row = 'select text from entry where memory = ? and id = ?';
    const known = standing.get(id) ?? (await sql.get<{ text: string }>(row, memory, id))?.text;
    if (known === text) continue;
    throw new AppError('refused', `${path} was not changed: its entry ${id} is not known.`, {
      remedy: 'Write the line without the comment after it; then it counts as yours.',
    });
  }
}

function ownItems(text: string, day: string) {
  return parseLog(text, day).flatMap((item) => (item.kind === 'own' && !item.edited ? item : []));
}

async function refuseOversize(
  { path, from, before, content }: FileEdit,
  { sql, memory, limits }: FileGuard,
): Promise<void> {
  const bytes = content?.length ?? 0;
  const grown = bytes - (before === null ? 0 : Buffer.byteLength(before));
  if (grown <= 0) return;
  if (bytes > limits.memoryBytes) {
    throw new AppError('bad-input', `${path} would have ${bytes} bytes; a memory may have ${limits.memoryBytes}.`, {
      remedy: 'Split it into several memories, or shorten it.',
    });
  }
  const select = 'select files, bytes from memory where id = ?';
  const counts = await sql.get<{ files: number; bytes: number }>(select, memory);
  const files = (counts?.files ?? 0) + (from === null ? 1 : 0);
  const total = (counts?.bytes ?? 0) + grown;
  const isTooMany = from === null && files > limits.memories;
  if (!isTooMany && total <= limits.totalBytes) return;
  const message = isTooMany
    ? `${path} would be memory ${files}; there may be ${limits.memories}.`
    : `The memories would have ${total} bytes, of ${limits.totalBytes} at most.`;
  throw new AppError('bad-input', message, {
    remedy: 'Remove memories that are no longer needed, or raise the limit.',
  });
}

/** A file cannot stand where another does, below one, where others stand below it, or in a directory that is spelled otherwise. */
async function refuseOccupied({ path, from }: FileEdit, { sql, memory }: FileGuard): Promise<void> {
  type Place = { id: string; path: string };
  const select = 'select id, path from file where memory = ?';
  const firstIn = (dir: string, but: string) =>
    sql.get<Place>(
      `${select} and folded > ? and folded < ? and path <> ? order by folded limit 1`,
      ...[memory, `${dir}/`, `${dir}/\u{10ffff}`, but],
    );
  const folded = foldPath(path);
  const above: string[] = [];
  for (let at = dirname(folded); at !== '.'; at = dirname(at)) above.push(at);
  for (const other of [folded, ...above]) {
    const taken = await sql.get<Place>(`${select} and folded = ?`, memory, other);
    if (taken && taken.path !== from)
      throw occupied(path, taken, other === folded ? 'is there' : 'is a memory, not a directory');
  }
  for (const dir of above) {
    const inside = await firstIn(dir, from ?? '');
    if (inside && inside.path.slice(0, dir.length) !== path.slice(0, dir.length))
      throw occupied(path, inside, 'is in that directory, in another spelling');
  }
  const below = await firstIn(folded, from ?? '');
  if (below) throw occupied(path, below, 'stands below it');
}

function occupied(path: string, { id, path: other }: { id: string; path: string }, why: string): AppError {
  return new AppError('conflict', `${path} cannot be written: ${other} ${why}. Nothing was changed.`, {
    remedy: `Rename or remove ${other} first, or choose another path.`,
    cause: new PathTaken(id, other),
  });
}
