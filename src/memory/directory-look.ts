// What a working copy holds, against what was last placed there: which files were edited, made, moved, deleted or are missing.
// It reads the directory and rows, and changes neither.
// Promises: many files gone at once are no deletions, unless git keeps them, and all of them never are; a file with git's conflict
// markers, one too large, or a second one whose name differs by case alone, is left alone; no link is followed.

import { join } from 'node:path';
import { AppError } from '../base/errors.ts';
import { MOST_MEMORY_BYTES, readBytesNow, type Stat, statNow } from '../base/files/files.ts';
import type { Db, Sql } from '../db/sql.ts';
import { type Content, shaOf } from './file-rows.ts';
import { filesByName, foldPath, isMemoryPath, placeOf } from './memory-paths.ts';

/** An editor empties a file before it writes it: so long is it given. */
const EMPTIED_READS = 50;
const EMPTIED_READ_MS = 2;
const EMPTY_SHA = shaOf('');
/** Fewer files than this may go at once, unless they are all there are. */
const FEW_FILES = 5;

/** A file as the copy knows it. */
export interface Known {
  id: string;
  path: string | null;
  head: string;
  /** '' where nothing was placed yet. */
  placed: string;
  /** Of what was placed; null where nothing of it stands anywhere. */
  placedSha: string | null;
  placedPath: string | null;
  seen: string | null;
  missingSince: string | null;
}

const SELECT = `select file.id, file.path, file.head, file.placed, p.sha as "placedSha", p.path as "placedPath",
  file.seen, file.missing_since as "missingSince"
  from file left join version p on p.id = file.placed where file.memory = ? and file.placed is not null`;
const BEHIND = 'and file.placed <> file.head';

export async function knownFile(sql: Sql, memory: string, id: string): Promise<Known | undefined> {
  return sql.get<Known>(`${SELECT} and file.id = ?`, memory, id);
}

/** Those whose head is not what was placed. */
export function filesBehind(sql: Sql, memory: string): Promise<Known[]> {
  return sql.all<Known>(`${SELECT} ${BEHIND}`, memory);
}

/** What was found that is not as it was placed. */
export interface Found {
  file: Known | null;
  path: string;
  content: Content;
  /** When it was saved, by the disk. */
  changedMs: number;
  /** Of a late edit: what it was made from. */
  base?: Buffer;
}

export interface Survey {
  found: Found[];
  /** Gone since the last look, too many at once to be believed. */
  missing: Known[];
  /** Missing until now. */
  back: Known[];
  /** Read, and as they were placed, with how they look. */
  unchanged: { file: Known; stat: Stat }[];
  isBehind: boolean;
}

export interface Directory {
  memory: string;
  /** Canonical. */
  dir: string;
  db: Db;
  /** Git keeps what was there, so files that are gone were removed. */
  isCheckedIn: boolean;
}

/** Looks at these files. Errors: `bad-input` for a path that leads elsewhere, `conflict` where a person has to act first. */
export async function surveyPaths(of: Directory, paths: readonly string[]): Promise<Survey> {
  const { db, memory, dir } = of;
  const survey: Survey = { found: [], missing: [], back: [], unchanged: [], isBehind: false };
  const asked = new Map(paths.map((path) => [foldPath(path), placeOf(dir, path).path]));
  const named: Known[] = [];
  for (const folded of asked.keys())
    named.push(...(await db.all<Known>(`${SELECT} and file.folded = ?`, memory, folded)));
  const behind = await filesBehind(db, memory);
  survey.isBehind = behind.length > 0;
  const standing = [...named, ...behind].filter(isStanding);
  let isGone = false;
  const places = new Map<string, Known | null>();
  for (const [folded, path] of asked) {
    const known = standing.filter(
      (file) => folded === foldPath(file.placedPath) || folded === foldPath(file.path ?? ''),
    );
    for (const file of known) places.set(file.placedPath, file);
    const isKnown = known.length > 0 || named.some((file) => foldPath(file.path ?? '') === folded);
    if (!isKnown) places.set(path, null);
  }
  for (const [path, file] of places) {
    const { absolute } = placeOf(dir, path);
    const stat = statNow(absolute);
    if (file && stat?.isFile && file.seen === looksOf(stat)) continue;
    const content = readLive(absolute, file?.placedSha, stat);
    if (content !== null && hasMarkers(content)) throw conflicted(path);
    if (content === null) isGone ||= file !== null;
    else if (content !== null && shaOf(content) !== file?.placedSha)
      survey.found.push({ file, path, content, changedMs: stat?.changedMs ?? 0 });
  }
  // Whether it was deleted, moved, or went with many others is seen from all of them.
  return isGone ? surveyAll(of) : survey;
}

/** Looks at all files. Errors: `storage` for a directory in it that cannot be read. */
export async function surveyAll(of: Directory): Promise<Survey> {
  const { db, memory, dir } = of;
  const known = await db.all<Known>(`${SELECT} and (file.path is not null or file.placed <> file.head)`, memory);
  const isBehind = known.some(({ placed, head }) => placed !== head);
  const survey: Survey = { found: [], missing: [], back: [], unchanged: [], isBehind };
  const there = filesByName(dir);
  const lost: (Standing & { path: string })[] = [];
  const standing = known.filter(isStanding);
  const owned = new Set<string>();
  for (const file of standing) {
    const spelled = there.get(file.placedPath);
    const stat = spelled === undefined ? null : statNow(join(dir, spelled));
    if (spelled === undefined || !stat?.isFile) {
      if (hasPath(file)) lost.push(file);
      continue;
    }
    owned.add(file.placedPath);
    if (file.missingSince !== null) survey.back.push(file);
    if (stat.bytes > MOST_MEMORY_BYTES || file.seen === looksOf(stat)) continue;
    const content = readWritten(join(dir, spelled), file.placedSha);
    if (content === null || hasMarkers(content)) continue;
    if (shaOf(content) === file.placedSha) survey.unchanged.push({ file, stat });
    else survey.found.push({ file, path: file.placedPath, content, changedMs: stat.changedMs });
  }
  const byName = new Map(known.flatMap((file) => (file.path === null ? [] : [[foldPath(file.path), file]])));
  const taken = new Set<string>();
  for (const [path, spelled] of there) {
    const folded = foldPath(path);
    if (owned.has(path) || taken.has(folded) || !path.endsWith('.md') || !isMemoryPath(path)) continue;
    const respelled = lost.find((file) => foldPath(file.placedPath) === folded);
    const same = byName.get(folded);
    if (!respelled && same && isStanding(same)) continue;
    const stat = statNow(join(dir, spelled));
    if (!stat?.isFile || stat.bytes > MOST_MEMORY_BYTES) continue;
    const content = readBytesNow(join(dir, spelled));
    if (content === null || hasMarkers(content)) continue;
    const from = respelled ?? (same ? undefined : movedFrom(lost, path, content));
    if (from) lost.splice(lost.indexOf(from), 1);
    taken.add(folded);
    survey.found.push({ file: from ?? same ?? null, path, content, changedMs: stat.changedMs });
  }
  const all = standing.filter(hasPath).length;
  const isTrusted = all === 1 || (of.isCheckedIn && lost.length < all);
  const isAccident = lost.length > FEW_FILES ? lost.length * 4 > all : lost.length === all;
  const gone = lost.filter(({ missingSince }) => missingSince === null);
  if (isAccident && !isTrusted) survey.missing.push(...gone);
  else survey.found.push(...gone.map((file) => ({ file, path: file.path, content: null, changedMs: 0 })));
  return survey;
}

type Standing = Known & { placedSha: string; placedPath: string };

/** Whether a file was placed somewhere. */
export function isStanding(file: Known): file is Standing {
  return file.placedSha !== null && file.placedPath !== null;
}

function hasPath(file: Standing): file is Standing & { path: string } {
  return file.path !== null;
}

export function looksOf({ inode, bytes, modifiedMs, changedMs }: Stat): string {
  return `${inode}:${bytes}:${modifiedMs}:${changedMs}`;
}

/** The bytes of a live file, of which `sha` was placed; refuses what is none, which a swap would move away. */
export function readLive(path: string, sha: string | null | undefined, stat = statNow(path)): Content {
  if (stat === null) return null;
  if (!stat.isFile) {
    throw new AppError('conflict', `${path} is not a regular file.`, {
      remedy: 'Move it out of the way; then the waiting change is written.',
    });
  }
  if (stat.bytes > MOST_MEMORY_BYTES) {
    const size = `${Math.ceil(stat.bytes / 2 ** 20)} MB`;
    throw new AppError('storage', `${path} has ${size}; nocturne reads files of at most 16.`, {
      remedy: 'Make it smaller, or move it out of the memory directory; nothing of it was changed.',
    });
  }
  return readWritten(path, sha);
}

/** Reads a file; one that is empty and should not be is looked at again for a moment. */
export function readWritten(path: string, sha: string | null | undefined): Content {
  let content = readBytesNow(path);
  for (let reads = 0; reads < EMPTIED_READS && content?.length === 0 && sha && sha !== EMPTY_SHA; reads += 1) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EMPTIED_READ_MS);
    content = readBytesNow(path);
  }
  return content;
}

/** Whether git left a conflict in a file, which a person has to end. */
export function hasMarkers(content: Buffer): boolean {
  return (
    content.includes('<<<<<<< ') && /^<{7} [^\n]*\n(?:[^\n]*\n)*?={7}\r?\n(?:[^\n]*\n)*?>{7} /m.test(content.toString())
  );
}

function conflicted(path: string): AppError {
  return new AppError('conflict', `${path} holds conflict markers that git left, so it is neither read nor changed.`, {
    remedy: 'Resolve the conflict in the file; until then nocturne does not write there.',
  });
}

/** A file that is gone and one that is new with the same bytes are one that was moved. */
function movedFrom<File extends Standing>(lost: readonly File[], path: string, content: Buffer): File | undefined {
  if (content.length === 0) return undefined;
  const same = lost.filter((file) => file.placedSha === shaOf(content));
  const nameOf = (of: string) => of.slice(of.lastIndexOf('/') + 1);
  return same.find((file) => nameOf(file.placedPath) === nameOf(path)) ?? same[0];
}
