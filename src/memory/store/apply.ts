// Brings the files of a memory directory to the heads that a commit set, and takes in what reached them meanwhile.
// A live file is moved aside, read there and then replaced by a link that overwrites nothing; what it held beyond the
// expected is kept in the ledger as an external edit, and merged, before its place is filled again. Each step can be
// repeated after a crash. Readers may for a moment see no file. In a copy, where nobody else writes, a file is replaced at once.
// Everything here runs under the store's lock.

import { dirname } from 'node:path';
import { AppError, isAppError } from '../../base/errors.ts';
import { removeEmptyParents } from '../../base/files/directories.ts';
import {
  linkNew,
  MOST_MEMORY_BYTES,
  makeDirectory,
  moveFile,
  readBytesNow,
  removeFile,
  statNow,
  syncDirectory,
} from '../../base/files/files.ts';
import type { Clock } from '../../base/time.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  addVersion,
  beginCommit,
  type Content,
  headOf,
  isSame,
  keepVersion,
  markWritten,
  shaOf,
  type Version,
  versionOf,
  wasSeen,
} from '../ledger/version-rows.ts';
import type { DisplacedFiles, LateEdit } from './displaced-files.ts';
import { mergeFiles } from './edit-text.ts';

const BROKEN_COPY = new Error('a copy of a store differs from it');

/** What is thrown where files of a copy are not what the store that it is of holds. */
export function brokenCopy(paths: string): AppError {
  return new AppError('conflict', `A copy of a memory store is broken: ${paths} is not as it is in the store.`, {
    remedy: 'Nothing was changed; the copy is made again.',
    cause: BROKEN_COPY,
  });
}

export function isBrokenCopy(error: unknown): boolean {
  return isAppError(error) && error.cause === BROKEN_COPY;
}

/** What a swap works with. */
export interface SwapContext {
  ledger: Ledger;
  clock: Clock;
  displaced: DisplacedFiles;
  /** Canonical path of the directory. */
  dir: string;
  /** The absolute path of a file of the directory. */
  locate(path: string): string;
  /** Nobody else writes there: what is found instead of the expected breaks the copy. */
  isCopy: boolean;
  /** Records what stands at a path as an external edit where it is not the head; answers the head. */
  takeIn(path: string): Version | null;
}

const MAX_TRIES = 200;

/** Brings all files to their heads where a commit was not applied yet; answers the paths that collided. */
export function applyCommits(context: SwapContext): string[] {
  const { ledger } = context;
  const collided = new Set<string>();
  for (const { id } of ledger.all('select id from "commit" where applied = 0 order by id')) {
    const rows = ledger.all('select distinct memory from version where "commit" = ?', id as number);
    for (const row of rows) bring(row.memory as string, { commit: id as number, context, collided });
    removeEmptied(id as number, context);
    ledger.transactionInNoHurry(() => {
      for (const { memory } of rows) {
        markWritten(ledger, memory as string, headOf(ledger, memory as string)?.content ?? null);
      }
      ledger.run('update "commit" set applied = 1 where id = ?', id as number);
    });
  }
  return [...collided];
}

/** Merges what reached a file through an old handle after it was moved aside; answers the paths that collided. */
export function applyLateEdits(context: SwapContext, of: { onlyFresh: boolean }): string[] {
  const edits = context.displaced.late(context.clock.now().getTime(), of);
  const collided = edits.flatMap((edit) => {
    const paths = keepLateEdit(edit, context);
    paths.push(...applyCommits(context));
    edit.accept();
    return paths;
  });
  return [...new Set(collided)];
}

/** Directories that a commit emptied go with what was in them. */
function removeEmptied(commit: number, { ledger, dir, locate }: SwapContext): void {
  const left = ledger.all(
    `select distinct before.path from version join version before on before.id = version.previous
     where version."commit" = ? and before.path like '%/%' and before.path not like '.%'
     and (version.content is null or version.path <> before.path)`,
    commit,
  );
  for (const { path } of left) removeEmptyParents(dir, locate(path as string));
}

function bring(
  memory: string,
  { commit, context, collided }: { commit: number; context: SwapContext; collided: Set<string> },
): void {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const target = headOf(context.ledger, memory);
    if (!target) return;
    const before = target.previous === null ? null : versionOf(context.ledger, target.previous);
    const swap = { target, before, context };
    let found: Found;
    try {
      putBack(memory, context);
      found = isMove(swap) ? move(swap) : replace(swap);
      if (found !== 'done' && found !== 'again') {
        if (keepFound(found, { ...swap, commit })) collided.add(target.path);
        if (found.content) keepDisplaced(swap, found.content);
      }
    } finally {
      context.displaced.dropTemporary();
      putBack(memory, context);
    }
    if (found === 'done') return;
  }
  const path = headOf(context.ledger, memory)?.path;
  throw new AppError('conflict', `${path} changes faster than it can be written.`, {
    remedy: 'Close the program that keeps rewriting it; the change waits and is made at the next run.',
  });
}

interface Swap {
  /** What shall stand there. */
  target: Version;
  /** What should stand there now; at another path where the memory is moved. */
  before: Version | null;
  context: SwapContext;
}

/** `again`: someone was faster. Otherwise what stood where the expected should have, and where. */
type Found = 'done' | 'again' | { content: Content; at: 'path' | 'target' };

function replace({ target, before, context }: Swap): Found {
  const path = context.locate(target.path);
  const live = readLive(path);
  if (isSame(live, target.content)) return 'done';
  const expected = before?.content ?? null;
  if (context.isCopy && live !== null) {
    if (!isSame(live, expected)) return { content: live, at: 'path' };
    if (target.content === null) removeFile(path);
    else moveFile(context.displaced.prepare(target.content), path);
    return 'done';
  }
  const temporary = target.content === null ? null : context.displaced.prepare(target.content);
  if (live !== null || !isTakenByUs(target, expected, context)) {
    const taken = context.displaced.take(target.memory, { path, isEmptyExpected: expected?.length === 0 });
    if (!isSame(taken, expected)) return { content: taken, at: 'path' };
    if (taken) keepDisplaced({ target, context }, taken);
  }
  if (temporary !== null) return putInPlace(temporary, path, context) ? 'done' : 'again';
  return readLive(path) === null ? 'done' : 'again';
}

/** Puts the memory under its new name, then takes away the old one. */
function move({ target, before, context }: Swap): Found {
  const to = context.locate(target.path);
  const there = readLive(to);
  if (there === null) {
    const temporary = context.displaced.prepare(target.content ?? Buffer.alloc(0));
    if (!putInPlace(temporary, to, context)) return 'again';
  } else if (!isSame(there, target.content)) return { content: there, at: 'target' };
  const expected = before?.content ?? null;
  const from = context.locate(before?.path ?? target.path);
  const taken = context.displaced.take(target.memory, { path: from, isEmptyExpected: expected?.length === 0 });
  if (taken !== null && !isSame(taken, expected)) return { content: taken, at: 'path' };
  if (taken) keepDisplaced({ target, context }, taken);
  return 'done';
}

/** Keeps what stood there instead of the expected and, after it, what ours becomes with it; true where they collide. */
function keepFound(
  found: Exclude<Found, string>,
  { target, before, context, commit }: Swap & { commit: number },
): boolean {
  const { ledger } = context;
  const at = context.clock.now().toISOString();
  if (context.isCopy) throw brokenCopy(target.path);
  return ledger.transaction(() => {
    if (found.at === 'target' && before) {
      // Someone took the new name meanwhile: theirs stays, and ours stays under the old one.
      addVersion(ledger, { ...target, commit, at, path: before.path, previous: before.id });
      return true;
    }
    const base = before?.content ?? null;
    const merged = mergeFiles(base, { ours: target.content, external: found.content });
    const edit = { ...target, commit, at, content: found.content, actor: 'external' };
    const path = before?.path ?? target.path;
    const seen = addVersion(ledger, { ...edit, path, previous: before?.id ?? null });
    if (isMove({ target, before }))
      addVersion(ledger, { ...target, commit, at, content: merged.content, previous: target.id });
    else if (!isSame(merged.content, found.content)) {
      addVersion(ledger, { ...target, commit, at, content: merged.content, previous: seen });
    }
    return merged.collisions > 0;
  });
}

/** Keeps a late edit as a version, and commits what the live file becomes with it; answers the path if it collided. */
function keepLateEdit(edit: LateEdit, { ledger, clock, takeIn, isCopy }: SwapContext): string[] {
  if (isCopy) throw brokenCopy(edit.memory);
  return ledger.transaction(() => {
    if (wasSeen(ledger, edit.memory, shaOf(edit.content))) return [];
    const path = ledger.get('select path from memory where id = ?', edit.memory)?.path as string | null | undefined;
    const head = path ? takeIn(path) : headOf(ledger, edit.memory);
    if (!head) return [];
    const at = clock.now().toISOString();
    const seen = { memory: edit.memory, path: head.path, previous: head.id, actor: 'external', at };
    const record = beginCommit(ledger, { actor: 'external', at, isApplied: true });
    keepVersion(ledger, { ...seen, content: edit.content, commit: record });
    if (!path) return [];
    const base = ledger.get('select content from version where sha = ? limit 1', edit.baseSha)?.content ?? null;
    const merged =
      head.content === null
        ? { content: edit.content, collisions: 0 }
        : mergeFiles(base as Content, { ours: head.content, external: edit.content });
    if (isSame(merged.content, head.content)) return [];
    const commit = beginCommit(ledger, { actor: 'external', at, isApplied: false });
    addVersion(ledger, { ...seen, content: merged.content, commit });
    return merged.collisions > 0 ? [path] : [];
  });
}

function isMove({ target, before }: Pick<Swap, 'target' | 'before'>): boolean {
  return before !== null && before.content !== null && target.content !== null && before.path !== target.path;
}

function isTakenByUs({ memory, content }: Version, expected: Content, { displaced }: SwapContext): boolean {
  return [expected, content].some((bytes) => bytes !== null && displaced.holds(memory, bytes));
}

function keepDisplaced({ target, context }: Pick<Swap, 'target' | 'context'>, content: Buffer): void {
  context.displaced.keep(target.memory, { sha: shaOf(content), atMs: context.clock.now().getTime() });
}

/** Puts a file back that was taken but not replaced, after a crash or an error; a copy of what is kept stays displaced. */
function putBack(memory: string, { ledger, displaced, clock, locate }: SwapContext): void {
  const taken = displaced.taken(memory);
  const target = taken && headOf(ledger, memory);
  if (taken === null || target === null) return;
  const before = target.previous === null ? null : versionOf(ledger, target.previous);
  const expected = before?.content ?? null;
  const atMs = clock.now().getTime();
  if (!isSame(taken, expected) && wasSeen(ledger, memory, shaOf(taken))) {
    displaced.keep(memory, { sha: shaOf(taken), atMs });
  } else displaced.putBack(memory, { path: locate(before?.path ?? target.path), expected, atMs });
}

function putInPlace(temporary: string, path: string, { isCopy }: SwapContext): boolean {
  makeDirectory(dirname(path));
  const isLinked = linkNew(temporary, path);
  if (isLinked && !isCopy) syncDirectory(dirname(path));
  return isLinked;
}

export function formatTooLarge(bytes: number): string {
  const megabytes = (of: number) => `${Math.ceil(of / 2 ** 20)} MB`;
  return `has ${megabytes(bytes)}, of which nocturne reads ${megabytes(MOST_MEMORY_BYTES)} and changes none`;
}

/** The bytes of a live file; refuses what is no file, which a swap would move away. */
export function readLive(path: string): Content {
  const stat = statNow(path);
  if (stat?.isFile && stat.bytes > MOST_MEMORY_BYTES) {
    throw new AppError('storage', `${path} ${formatTooLarge(stat.bytes)}.`, {
      remedy: 'Make it smaller, or move it out of the memory directory; nothing of it was changed.',
    });
  }
  if (stat === null || stat.isFile) return stat && readBytesNow(path);
  throw new AppError('conflict', `${path} is not a regular file.`, {
    remedy: 'Move it out of the way; what nocturne has to write there waits and is written at the next run.',
  });
}
