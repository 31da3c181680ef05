// Paths as a transcript records them, of whatever machine it came from: Windows or POSIX, relative, with `~` or `$HOME`.
// Compared as text, because the machine may not be this one; where it is, links are resolved too.

import { posix, win32 } from 'node:path';
import { isAppError } from '../../base/errors.ts';
import { canonicalPath, isDirectory } from '../../base/files/directories.ts';

export interface Place {
  /** Where a relative path starts; without it a relative path stays one. */
  cwd?: string;
  /** What `~` and `$HOME` stand for. */
  home: string;
}

/** The path in full, without `.` and `../..`, with `/` and, on Windows, a lower-case drive letter. */
export function resolvePath(raw: string, { cwd, home }: Place): string {
  const isInWindows = isWindowsPath(cwd ?? '');
  let path = raw.trim().replace(/^(~|\$HOME|\$\{HOME\})(?=[\\/]|$)/, () => home);
  if (isInWindows || isWindowsPath(path)) {
    // Git Bash writes /c/Users for C:\Users.
    path = path.replace(/^\/([A-Za-z])(?=\/|$)/, '$1:');
    if (!isWindowsPath(path) && isInWindows) path = win32.join(cwd ?? '', path);
    path = win32.normalize(path).replaceAll('\\', '/');
    path = path.replace(/^[A-Z]:/, (drive) => drive.toLowerCase());
  } else {
    path = posix.normalize(path.startsWith('/') || cwd === undefined ? path : posix.join(cwd, path));
  }
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}

/** Says of a path whether it is one of `directories` or in one of them; all resolved by `resolvePath`. */
export function insideAny(directories: readonly string[]): (path: string) => boolean {
  let withLinksResolved: string[] | undefined;
  return (path) => {
    if (directories.some((directory) => isInsideAsWritten(directory, path))) return true;
    if (!path.startsWith('/')) return false;
    withLinksResolved ??= directories.filter((directory) => directory.startsWith('/')).map(withoutLinks);
    const real = withoutLinks(path);
    return withLinksResolved.some((directory) => isInsideAsWritten(directory, real));
  };
}

/** The home directory that a recorded working directory lies in; undefined where it does not show, or is on this disk. */
export function homeIn(cwd: string | undefined): string | undefined {
  if (cwd === undefined || isDirectory(cwd)) return undefined;
  return /^(?:\/(?:home|Users)\/[^/]+|\/root|[A-Za-z]:[\\/]Users[\\/][^\\/]+)(?=[\\/]|$)/.exec(cwd)?.[0];
}

/** The name of the folder in which Claude Code keeps what belongs to the project at `path`. */
export function projectName(path: string): string {
  return path.replace(/[^A-Za-z0-9]/g, '-');
}

/** The directory itself and all above it, as they were written. */
export function withAncestors(directory: string): string[] {
  const { dirname } = isWindowsPath(directory) ? win32 : posix;
  const above = dirname(directory);
  return above === directory ? [directory] : [directory, ...withAncestors(above)];
}

function isWindowsPath(path: string): boolean {
  return /^[A-Za-z]:(?=[\\/]|$)/.test(path) || path.startsWith('\\\\');
}

function isInsideAsWritten(directory: string, path: string): boolean {
  const fold = (text: string): string => (isWindowsPath(directory) ? text.toLowerCase() : text);
  return fold(path) === fold(directory) || fold(path).startsWith(`${fold(directory).replace(/\/$/, '')}/`);
}

function withoutLinks(path: string): string {
  try {
    return canonicalPath(path);
  } catch (error) {
    // A path that this machine cannot even ask about (too long, not permitted) is no path of this machine.
    if (isAppError(error, 'storage')) return path;
    throw error;
  }
}
