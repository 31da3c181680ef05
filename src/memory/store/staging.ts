// The files of a commit before its commit point: from what stands there to what shall stand there, with the guards.
// A guard that refuses takes the whole commit back, and nothing was touched. What stands there unknown to the ledger
// becomes a version first. What a caller expects to stand at a path (`Precondition`) is checked by `check`.

import { dirname, join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { fileSystemOf } from '../../base/files/directories.ts';
import { statNow } from '../../base/files/files.ts';
import { entryRow, moveSupports } from '../ledger/entries.ts';
import { type Ledger, Transaction } from '../ledger/ledger.ts';
import { noteProgramLines } from '../ledger/program-lines.ts';
import { type Actor, addVersion, isSame, memoryAt, newMemory, shaOf } from '../ledger/version-rows.ts';
import { logDay, parseLog } from '../text/daily-log.ts';
import { parseTopic } from '../text/topic.ts';
import type { Entry } from '../types.ts';
import { readLive, type SwapContext } from './apply.ts';
import { bytesOf, rawText, replaceOnce } from './edit-text.ts';

export interface FileChange {
  /** Relative to the memory directory, with `/`. */
  path: string;
  /** Where the memory stood until now. It moves to `path`, which must be free, and keeps its id. */
  from?: string;
  /** From what stands there at the moment of the commit (null: no file) to what shall stand there (null: none). */
  change(current: string | null): string | null;
}

/** What nobody but a person may exceed: past it the error is `bad-input`. Logs, index and reports of jobs are free. */
export interface Limits {
  /** Bytes of one memory; default 102,400. */
  memoryBytes: number;
  /** Files, without daily logs and reports; default 20,000. */
  memories: number;
  /** Bytes of all of these together; default 100 MiB. */
  totalBytes: number;
}

export const DEFAULT_LIMITS: Limits = { memoryBytes: 102_400, memories: 20_000, totalBytes: 100 * 1024 * 1024 };

export interface StagingDeps extends Pick<SwapContext, 'ledger' | 'dir' | 'locate' | 'takeIn'> {
  limits: Limits;
  /** What there is before the commit, without daily logs; counted on with every file. */
  totals: { memories: number; bytes: number };
}

interface Commit {
  id: number;
  actor: Actor;
  at: string;
}

/** Writes the new version of a file into the ledger; false where it stays as it is. */
export function stage(file: FileChange, commit: Commit, deps: StagingDeps): boolean {
  const { ledger } = deps;
  const from = file.from ?? file.path;
  const isMove = from !== file.path;
  const head = deps.takeIn(from);
  const current = head?.content ?? null;
  const text = current && rawText(current);
  const after = file.change(text);
  // Only what was no text before may be none after.
  const content = after === null ? null : text?.isWellFormed() === false ? bytesOf(after) : Buffer.from(after);
  if (isSame(content, current) && !isMove) return false;
  const absolute = deps.locate(file.path);
  if (isMove) refuseElsewhere(from, deps.locate(from), deps);
  refuseElsewhere(file.path, absolute, deps);
  refusePinned({ path: from, text }, commit);
  refusePinned({ path: file.path, text: null }, commit);
  refuseForged({ path: file.path, before: isMove ? null : text, after }, commit, ledger);
  if (content !== null) {
    refuseOversize({ path: file.path, before: current, content }, commit, deps);
    refuseOccupied(file.path, absolute, deps);
  }
  if (isMove) refuseTaken({ from, to: file.path, current }, deps);
  const memory = head?.memory ?? memoryAt(ledger, file.path) ?? newMemory(ledger, file.path);
  const previous = head?.id ?? null;
  const { id, actor, at } = commit;
  addVersion(ledger, { memory, path: file.path, previous, content, actor, at, commit: id });
  noteProgramLines(ledger, { memory, path: file.path, before: text, after, actor, at });
  if (isMove) moveSupports(new Transaction(ledger, commit.id), { from, to: file.path });
  return true;
}

/** Whether jobs must leave a file as it is. */
export function isPinned({ path, text }: { path: string; text: string | null }): boolean {
  if (path.startsWith('pinned/')) return true;
  return text?.includes('pinned') === true && parseTopic(path, text).pinned;
}

/**
 * Throws what a commit to a file would be refused for, whatever it writes there: what stands there is no file, or not to
 * be written.
 */
export function refuseUnwritable(path: string, by: Pick<Commit, 'actor'>, deps: StagingDeps): void {
  const content = deps.takeIn(path)?.content ?? null;
  const absolute = deps.locate(path);
  refuseElsewhere(path, absolute, deps);
  refuseOccupied(path, absolute, deps);
  // What else is pinned is left out of a dream.
  if (logDay(path)) refusePinned({ path, text: content && rawText(content) }, by);
}

function refusePinned(file: { path: string; text: string | null }, { actor }: Pick<Commit, 'actor'>): void {
  if (!actor.startsWith('job:') || !isPinned(file)) return;
  throw new AppError('refused', `${file.path} is pinned; jobs do not change it.`, {
    remedy: 'Take "pinned: true" out of its frontmatter, or move it out of pinned/, to let jobs write it.',
  });
}

/** Only jobs have seen who said what: a tool adds no entry to a log that claims to rest on a message. */
function refuseForged(
  { path, before, after }: { path: string; before: string | null; after: string | null },
  { actor }: Commit,
  ledger: Ledger,
): void {
  const day = logDay(path);
  if (!actor.startsWith('tool:') || day === null || after === null) return;
  const claimOf = ({ text, by, evidence }: Pick<Entry, 'text' | 'by' | 'evidence'>) =>
    JSON.stringify([text, by, evidence.map(({ message, quote }) => [message, quote])]);
  const standing = new Map(ownItems(before ?? '', day).map((item) => [item.id, claimOf(item)]));
  const forged = ownItems(after, day).find((item) => {
    const row = entryRow(ledger, item.id);
    return claimOf(item) !== (standing.get(item.id) ?? (row && claimOf(row)));
  });
  if (!forged) return;
  throw new AppError('refused', `${path} was not changed: nocturne knows nothing of its entry ${forged.id}.`, {
    remedy: 'Write the line without the comment behind it; then it counts as yours.',
  });
}

function ownItems(text: string, day: string) {
  return parseLog(text, day).flatMap((item) => (item.kind === 'own' && !item.edited ? item : []));
}

function refuseOversize(
  file: { path: string; before: Buffer | null; content: Buffer },
  { actor }: Commit,
  { limits, totals }: StagingDeps,
): void {
  const { path, before, content } = file;
  const grownBytes = content.length - (before?.length ?? 0);
  // A job that cannot write its log, index or report would fail for ever; a person's own files are the person's business.
  const isFree =
    path.startsWith('.nocturne/') || (/^(?:logs\/|index\/|MEMORY\.md$)/.test(path) && actor.startsWith('job:'));
  if (grownBytes <= 0 || isFree || actor === 'person') return;
  if (content.length > limits.memoryBytes) {
    const message = `${path} would have ${content.length} bytes; a memory may have ${limits.memoryBytes}.`;
    throw new AppError('bad-input', message, { remedy: 'Split it into several memories, or shorten it.' });
  }
  totals.memories += before === null ? 1 : 0;
  totals.bytes += grownBytes;
  const tooMany = before === null && totals.memories > limits.memories;
  if (!tooMany && totals.bytes <= limits.totalBytes) return;
  const message = tooMany
    ? `${path} would be memory ${totals.memories}; there may be ${limits.memories}.`
    : `The memories would have ${totals.bytes} bytes, of ${limits.totalBytes} at most.`;
  throw new AppError('bad-input', message, {
    remedy: 'Remove memories that are no longer needed, or raise the limit.',
  });
}

/** Files are swapped by a link and a move, which reach no other file system. */
function refuseElsewhere(path: string, absolute: string, { dir }: StagingDeps): void {
  if (fileSystemOf(dirname(absolute)) === fileSystemOf(join(dir, '.nocturne'))) return;
  throw new AppError('storage', `${path} cannot be written: its directory is on another file system than ${dir}.`, {
    remedy: 'Nothing was changed. Mount the memory directory whole, or move that directory into it.',
  });
}

/** A file cannot stand below another file. */
function refuseOccupied(path: string, absolute: string, { dir }: StagingDeps): void {
  for (let above = dirname(path); above !== '.'; above = dirname(above)) {
    if (!statNow(join(dir, above))?.isFile) continue;
    throw new AppError('conflict', `${path} cannot be written: ${above} is a memory, not a directory.`, {
      remedy: `Rename or remove ${above} first, or choose another path.`,
    });
  }
  readLive(absolute);
}

function refuseTaken(move: { from: string; to: string; current: Buffer | null }, deps: StagingDeps): void {
  const { from, to, current } = move;
  if (current === null) throw notThere(from);
  const there = deps.takeIn(to);
  if (there?.content == null) return;
  throw new AppError('conflict', `${from} cannot be renamed: ${to} is there already (${there.memory}).`, {
    remedy: `Rename or remove ${to} first, or choose another path.`,
  });
}

export function notThere(path: string): AppError {
  return new AppError('bad-input', `There is no memory at ${path}.`, {
    remedy: 'List the memories to see which exist.',
  });
}

/** The text with `old`, which must stand in it exactly once, replaced by `new`. */
export function replaceOnly(text: string, { path, ...edit }: { path: string; old: string; new: string }): string {
  const edited = edit.old === '' ? null : replaceOnce(text, { wanted: edit.old, by: edit.new });
  if (edited && 'text' in edited) return edited.text;
  const found = !edited ? 'is empty' : edited.found.length === 0 ? 'is not in it' : 'is in it more than once';
  throw new AppError('bad-input', `${path} was not edited: the text to replace ${found}.`, {
    remedy: 'Read it again and name text that stands there exactly once.',
  });
}

/** What must stand at the path, else nothing is changed and the error is `conflict`. */
export type Precondition = { contentSha256: string } | { mustNotExist: true };

/** Throws `conflict`, which says what was found, where a precondition does not hold. */
export function check(
  { path, precondition }: { path: string; precondition?: Precondition },
  current: string | null,
): void {
  if (!precondition) return;
  const found = current === null ? 'no file' : `content with the SHA-256 ${shaOf(current)}`;
  if ('mustNotExist' in precondition) {
    if (current === null) return;
    throw new AppError('conflict', `${path} exists already: found ${found}.`, {
      remedy: 'Choose another path, or edit what stands there.',
    });
  }
  if (current !== null && shaOf(current) === precondition.contentSha256) return;
  throw new AppError('conflict', `${path} is not what was expected (${precondition.contentSha256}): found ${found}.`, {
    remedy: 'Read it again and repeat the change on what stands there now.',
  });
}
