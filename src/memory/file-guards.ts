// What may be done to a file of a memory, asked for each file of a commit inside its transaction: what must stand there, limits,
// pins, what no program may claim, and places that are taken. A guard that refuses takes the whole commit back.

import { dirname } from 'node:path';
import { AppError } from '../base/errors.ts';
import type { Sql } from '../db/sql.ts';
import { type Actor, type Head, isCounted, shaOf } from './file-rows.ts';
import { checkFilePath, foldPath } from './memory-paths.ts';
import { logDay, parseLog } from './text/daily-log.ts';
import { parseTopic } from './text/topic.ts';

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

interface Change {
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
  throw new AppError('conflict', `${path} is not as it was expected to be: ${found}. Nothing was changed.`, {
    remedy: 'Read it again, and make the change on what stands there.',
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

export async function checkChange(change: Change, guard: FileGuard): Promise<void> {
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
    remedy: 'Take "pinned: true" out of its frontmatter, or move it out of pinned/, to let jobs write it.',
  });
}

/** Only jobs have seen who said what: a program adds no entry to a log that claims to rest on a message. */
async function refuseForged({ path, before, after, isMove }: Change, { sql, memory }: FileGuard): Promise<void> {
  const day = logDay(path);
  if (day === null || after === null) return;
  const standing = new Map(ownItems(isMove ? '' : (before ?? ''), day).map(({ id, text }) => [id, text]));
  for (const { id, text } of ownItems(after, day)) {
    const row = 'select text from entry where memory = ? and id = ?';
    const known = standing.get(id) ?? (await sql.get<{ text: string }>(row, memory, id))?.text;
    if (known === text) continue;
    throw new AppError('refused', `${path} was not changed: nocturne knows nothing of its entry ${id}.`, {
      remedy: 'Write the line without the comment behind it; then it counts as yours.',
    });
  }
}

function ownItems(text: string, day: string) {
  return parseLog(text, day).flatMap((item) => (item.kind === 'own' && !item.edited ? item : []));
}

async function refuseOversize(
  { path, from, before, content }: Change,
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
  const counts = await sql.get<{ files: number; bytes: number }>(
    'select files, bytes from memory where id = ?',
    memory,
  );
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
async function refuseOccupied({ path, from }: Change, { sql, memory }: FileGuard): Promise<void> {
  const folded = foldPath(path);
  const above: string[] = [];
  for (let at = dirname(folded); at !== '.'; at = dirname(at)) above.push(at);
  for (const other of [folded, ...above]) {
    const taken = await sql.get<{ id: string; path: string }>(
      'select id, path from file where memory = ? and folded = ?',
      ...[memory, other],
    );
    if (taken && taken.path !== from)
      throw occupied(path, taken, other === folded ? 'is there' : 'is a memory, not a directory');
  }
  for (const dir of above) {
    const inside = await sql.get<{ id: string; path: string }>(
      'select id, path from file where memory = ? and folded > ? and folded < ? and path <> ? order by folded limit 1',
      ...[memory, `${dir}/`, `${dir}/\u{10ffff}`, from ?? ''],
    );
    if (inside && inside.path.slice(0, dir.length) !== path.slice(0, dir.length))
      throw occupied(path, inside, 'is in that directory, spelled otherwise');
  }
  const below = await sql.get<{ id: string; path: string }>(
    'select id, path from file where memory = ? and folded > ? and folded < ? order by folded limit 1',
    ...[memory, `${folded}/`, `${folded}/\u{10ffff}`],
  );
  if (below && below.path !== from) throw occupied(path, below, 'stands below it');
}

function occupied(path: string, { id, path: other }: { id: string; path: string }, why: string): AppError {
  return new AppError('conflict', `${path} cannot be written: ${other} ${why}. Nothing was changed.`, {
    remedy: `Rename or remove ${other} first, or choose another path.`,
    cause: new PathTaken(id, other),
  });
}
