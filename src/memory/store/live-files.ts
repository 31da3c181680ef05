// The files of a memory directory as they stand, for those who only look: which are listed, which of them changed, and their
// texts. A link that leads out of the directory leads nowhere: what came with somebody's repository must not show what is
// elsewhere.
// A file that looks as it did when it was last found to be its head (size and times, as external-edits.ts remembers them) is
// not opened: the ledger has its text in one place, where ten thousand files are ten thousand seeks. Every other file is
// read, so what a person wrote a second ago is seen, and a directory without a ledger is read whole. Nothing is changed.

import { join } from 'node:path';
import { AppError, isAppError } from '../../base/errors.ts';
import { MOST_MEMORY_BYTES, readMemoryNow, statNow } from '../../base/files/files.ts';
import { shownText } from '../conflicts/shown-text.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { memoryAt } from '../ledger/version-rows.ts';
import { confine, filesByName, isMemoryPath } from './confine.ts';
import { matchesKnown, VISIBLE } from './known-files.ts';

export interface LiveFile {
  path: string;
  /** Where it is, as the disk spells it. */
  absolute: string;
  modifiedMs: number;
  /** The version that it is known to hold; null where it has to be read. */
  head: string | null;
}

type SeenRow = [string, number | null, number | null, number | null, string | null];

/** The files by path; `ledger` is null where nocturne has not worked. */
export function liveFiles(dir: string, ledger: Ledger | null): LiveFile[] {
  const seen = new Map(ledger && isApplied(ledger) ? seenRows(ledger).map((row) => [row[0], row]) : []);
  const paths = [...filesByName(dir)].filter(([path]) => path.endsWith('.md'));
  return paths.sort(byPath).flatMap(([path, spelled]) => {
    const absolute = join(dir, spelled);
    const stat = statNow(absolute);
    if (!stat) return [];
    const [, bytes = null, modifiedMs = null, changedMs = null, head = null] = seen.get(path) ?? [];
    const isHead = stat.isFile && matchesKnown({ bytes, modifiedMs, changedMs }, stat);
    return [{ path, absolute, modifiedMs: stat.modifiedMs, head: isHead ? head : null }];
  });
}

/** The same with their texts as readers are shown them, one after the other. */
export function* liveTexts(dir: string, ledger: Ledger | null): Generator<LiveFile & { text: string }> {
  for (const file of liveFiles(dir, ledger)) {
    const known =
      file.head === null
        ? undefined
        : ledger?.get('select cast(content as text) as text from version where id = ?', file.head);
    const text = known?.text as string | null | undefined;
    yield { ...file, text: shownText(text ?? readMemoryNow(file.absolute) ?? '', { path: file.path, ledger }) };
  }
}

/** After a crash heads may be ahead of the files, until the store is opened. */
function isApplied(ledger: Ledger): boolean {
  return ledger.get('select 1 from "commit" where applied = 0') === undefined;
}

function seenRows(ledger: Ledger): SeenRow[] {
  const sql = `select path, seen_bytes, seen_modified, seen_changed, head from memory
    where ${VISIBLE} and missing_since is null`;
  return ledger.lists(sql) as SeenRow[];
}

function byPath([a]: [string, string], [b]: [string, string]): number {
  return a < b ? -1 : 1;
}

export interface ListChoice {
  /** Only what is under this directory; ends with `/`. */
  prefix?: string;
  /**
   * How many levels below it are shown (default 0: all); what is deeper is folded into the path of its directory, which
   * ends with `/`.
   */
  depth?: number;
}

/** The paths of all Markdown files and of whatever else went through the store, sorted, without hidden ones. */
export function listPaths(
  { dir, ledger }: { dir: string; ledger: Ledger | null },
  { prefix = '', depth = 0 }: ListChoice = {},
): string[] {
  if (prefix !== '' && !prefix.endsWith('/')) {
    throw new AppError('bad-input', `The prefix ${JSON.stringify(prefix)} does not end with "/".`);
  }
  const isKnown = (path: string) => ledger !== null && memoryAt(ledger, path) !== null;
  const kept = [...filesByName(dir).keys()].filter(
    (path) => path.startsWith(prefix) && isMemoryPath(path) && (path.endsWith('.md') || isKnown(path)),
  );
  return [...new Set(kept.map((path) => fold(path, { prefix, depth })))].sort();
}

function fold(path: string, { prefix, depth }: { prefix: string; depth: number }): string {
  const levels = path.slice(prefix.length).split('/');
  return depth > 0 && levels.length > depth ? `${prefix}${levels.slice(0, depth).join('/')}/` : path;
}

/** The Markdown files among `paths` that are too large to be read whole. */
export function oversized(dir: string, paths: string[]): { path: string; bytes: number }[] {
  return paths.flatMap((path) => {
    const bytes = path.endsWith('.md') ? (statNow(join(dir, path))?.bytes ?? 0) : 0;
    return bytes > MOST_MEMORY_BYTES ? { path, bytes } : [];
  });
}

/** Null where no file stands, or where a path cannot be that of a memory. `dir` is canonical. */
export function readConfined(dir: string, path: string): string | null {
  const absolute = findConfined(dir, path);
  return absolute === null ? null : readMemoryNow(absolute);
}

/** The same as readers are shown it: what git left in it is told by shown-text.ts. */
export function readShown(dir: string, path: string, ledger: Ledger | null): string | null {
  const text = readConfined(dir, path);
  return text === null ? null : shownText(text, { path, ledger });
}

/** Where the file stands, without any link in it. */
export function findConfined(dir: string, path: string): string | null {
  try {
    const { absolute, kind } = confine(dir, path);
    return kind === 'file' ? absolute : null;
  } catch (error) {
    if (!isAppError(error, 'bad-input')) throw error;
    return null;
  }
}
