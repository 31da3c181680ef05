// Which files of a memory directory are listed, and how a listing folds what lies deep.

import { join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { lookNow, MOST_MEMORY_BYTES } from '../../base/files/files.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { memoryAt } from '../ledger/version-rows.ts';
import { filesByName, isMemoryPath } from './confine.ts';

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
    const bytes = path.endsWith('.md') ? (lookNow(join(dir, path))?.bytes ?? 0) : 0;
    return bytes > MOST_MEMORY_BYTES ? { path, bytes } : [];
  });
}
