// What is in directories, and where paths lead. The contents of files are files.ts's.
// Reads answer null or nothing for "not there"; every other failure is an AppError `storage` that names the path.

import fs from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import type { AppError } from '../errors.ts';
import {
  absentAsNull,
  absentOr,
  attempt,
  isAbsence,
  statNow,
  storageError,
  syncDirectory,
  withFile,
  writeWhole,
} from './files.ts';

export function isDirectory(path: string): boolean {
  // A path that none can have, as a stranger's record may hold, is absent, too.
  return absentAsNull(path, () => fs.statSync(path, { throwIfNoEntry: false })?.isDirectory()) ?? false;
}

/** The paths of all regular files under `dir`, relative to it, with `/`, sorted; links are not followed. */
export function listFiles(dir: string): string[] {
  const found = absentAsNull(dir, () => fs.readdirSync(dir, { withFileTypes: true, recursive: true }));
  return (found ?? [])
    .filter((item) => item.isFile())
    .map((item) => join(item.parentPath, item.name).slice(dir.length).replaceAll('\\', '/').replace(/^\/+/, ''))
    .sort();
}

/**
 * The paths of all regular files under `dir`, relative to it, with `/`, unsorted, at once. Links are not followed;
 * names that begin with a dot are left out. `onClosed` is told of a directory that may not be read; default: it is thrown.
 */
export function walkNow(dir: string, onClosed?: OnClosed): string[] {
  const found: string[] = [];
  const walk = (under: string) => {
    for (const item of itemsIn(join(dir, under), onClosed)) {
      if (item.name.startsWith('.')) continue;
      if (item.isFile()) found.push(under + item.name);
      else if (item.isDirectory()) walk(`${under}${item.name}/`);
    }
  };
  walk('');
  return found;
}

export type OnClosed = (dir: string, error: AppError) => void;

function itemsIn(dir: string, onClosed?: OnClosed): fs.Dirent[] {
  try {
    return fs.readdirSync(dir, { withFileTypes: true });
  } catch (error) {
    if (!onClosed || isAbsence(error)) return absentOr(dir, error) ?? [];
    onClosed(dir, storageError('read', dir, error));
    return [];
  }
}

/** The names in a directory, sorted; none where there is no directory. */
export function listNames(dir: string): string[] {
  return absentAsNull(dir, () => fs.readdirSync(dir).sort()) ?? [];
}

/** The nocturne home, as `NOCTURNE_HOME` gives it: in settings files and schedulers no shell expands `~/`. */
export function homeDir(given: string | undefined, userDir: string): string {
  if (!given) return join(userDir, '.nocturne');
  return given.startsWith('~/') ? join(userDir, given.slice(2)) : resolve(given);
}

/** The path with every link in it resolved, as far as it exists. */
export function canonicalPath(path: string): string {
  try {
    return fs.realpathSync.native(path);
  } catch (error) {
    if (!isAbsence(error)) throw storageError('resolve', path, error);
    const parent = dirname(path);
    return parent === path ? path : join(canonicalPath(parent), path.slice(parent.length));
  }
}

/** The path with every link in it resolved; null where nothing stands, or a link that leads nowhere. */
export function realPath(path: string): string | null {
  try {
    return fs.realpathSync.native(path);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ELOOP' ? null : absentOr(path, error);
  }
}

/**
 * Writes a file of someone else's whole, like `writeWhole`, but through a link to it, and with the mode it has; a new
 * one is 0600.
 */
export function replaceText(path: string, text: string): void {
  const isThere = statNow(path) !== null;
  const target = isThere ? attempt('write', path, () => fs.realpathSync.native(path)) : path;
  const mode = isThere ? fs.statSync(target).mode & 0o7777 : 0o600;
  writeWhole(target, text);
  attempt('write', path, () => fs.chmodSync(target, mode));
  syncDirectory(dirname(target));
}

type PathKind = 'file' | 'directory' | 'link' | 'other';

/** What stands at a path itself, links not followed; null for nothing. */
export function kindOf(path: string): PathKind | null {
  const stat = absentAsNull(path, () => fs.lstatSync(path, { throwIfNoEntry: false }));
  if (!stat) return null;
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  return stat.isSymbolicLink() ? 'link' : 'other';
}

/** Removes a directory and all that is in it; none there is fine. */
export function removeTree(path: string): void {
  attempt('remove', path, () => fs.rmSync(path, { recursive: true, force: true }));
}

/** Removes a directory that is empty; false where it stays, or is gone already: one that stays does no harm. */
export function removeIfEmpty(path: string): boolean {
  try {
    fs.rmdirSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Removes the directory above a file that is gone, and those above it below `root`, as far as they are empty. */
export function removeEmptyParents(root: string, path: string): void {
  for (let at = dirname(path); at.startsWith(root + sep) && removeIfEmpty(at); at = dirname(at));
}

/** Waits until all files of a directory, and their names, have reached the disk. */
export function syncTree(dir: string): void {
  for (const item of itemsIn(dir)) {
    const path = join(dir, item.name);
    if (item.isDirectory()) syncTree(path);
    else if (item.isFile()) withFile(path, 'r+', fs.fsyncSync);
  }
  syncDirectory(dir);
}

/** Whether a place of memory is no directory: a store of the database, by its id. */
export function isStoreId(place: string, { databaseUrl }: { databaseUrl?: string }): boolean {
  return databaseUrl !== undefined && /^(?:memstore_\w+|memory_[0-9a-f]{24})$/.test(place);
}
