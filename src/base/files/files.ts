// The disk, for everybody else. Only the files beside this one touch it, too.
// Reads return null for "not there"; every other failure is an AppError `storage` that names the path.
// Directories are made 0700 and files 0600: what is kept here is private. A log of bounded size that is full becomes
// `<path>.1`. Loads nothing but Node's own modules, for the hook's sake.

import { isUtf8 } from 'node:buffer';
import fs, { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError, isAppError } from '../errors.ts';

export interface FileStat {
  sizeBytes: number;
  modifiedAt: string;
}

export interface Stat {
  /** A regular file: no directory, link, pipe or device. */
  isFile: boolean;
  bytes: number;
  /** When its content was last written, and when anything about it last changed; by the disk's clock. */
  modifiedMs: number;
  changedMs: number;
  inode: number;
  /** When it was made, which stays where it is moved; 0 where the disk does not say. */
  bornMs: number;
}

/** The whole file as UTF-8 text, or null where there is none. */
export function readTextNow(path: string): string | null {
  return readBytesNow(path)?.toString('utf8') ?? null;
}

/** Of a file of the memory so much is read: nobody keeps more on purpose, and whoever does is told. */
export const MOST_MEMORY_BYTES = 16 * 1024 * 1024;

/** The same of a file of the memory: of one that is too large its beginning up to a line end. */
export function readMemoryBytesNow(path: string): Buffer | null {
  return readBytesNow(path, MOST_MEMORY_BYTES);
}

export function readMemoryNow(path: string): string | null {
  return readMemoryBytesNow(path)?.toString('utf8') ?? null;
}

/** The bytes of a file, at once, or null where there is none; of one with more than `most` its beginning up to a line end. */
export function readBytesNow(path: string, most = Infinity): Buffer | null {
  const read = (file: number) => {
    const stat = fs.fstatSync(file);
    if (!stat.isFile()) throw new Error('it is not a regular file');
    if (stat.size <= most) return fs.readFileSync(file);
    const begun = Buffer.alloc(most);
    fs.readSync(file, begun, 0, most, 0);
    return begun.subarray(0, begun.lastIndexOf(0x0a) + 1);
  };
  return absentAsNull(path, () => withFile(path, WITHOUT_WAITING, read));
}

// A pipe that nobody writes to is waited for, a device may have no end, and a repository may hold a link to either: only
// what was opened tells which it is.
const WITHOUT_WAITING = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0);

/** So many of the last bytes of a file, or all of it; null where it is not there. */
export function readEndNow(path: string, bytes: number): string | null {
  return absentAsNull(path, () =>
    withFile(path, WITHOUT_WAITING, (file) => {
      const { size } = fs.fstatSync(file);
      const end = Buffer.alloc(Math.min(size, bytes));
      return end.toString('utf8', 0, fs.readSync(file, end, 0, end.length, size - end.length));
    }),
  );
}

/** What stands at a path, at once and without following a link; null where nothing does. */
export function statNow(path: string): Stat | null {
  const stat = absentAsNull(path, () => fs.lstatSync(path, { throwIfNoEntry: false }));
  if (!stat) return null;
  const { size: bytes, mtimeMs: modifiedMs, ctimeMs: changedMs, ino: inode, birthtimeMs: bornMs } = stat;
  return { isFile: stat.isFile(), bytes, modifiedMs, changedMs, inode, bornMs };
}

/** Whether the bytes of a file are UTF-8 text, so that reading and writing it as such changes none of them. */
export function holdsText(path: string): boolean {
  const bytes = readBytesNow(path);
  return bytes === null || isUtf8(bytes);
}

/** Size and last change of a regular file, or null where there is none. */
export function statFile(path: string): FileStat | null {
  const stat = absentAsNull(path, () => fs.statSync(path));
  return stat?.isFile() ? { sizeBytes: stat.size, modifiedAt: stat.mtime.toISOString() } : null;
}

/** Makes a directory with those above it; what is new of them survives a power loss. */
export function makeDirectory(path: string): void {
  const options = { recursive: true, mode: 0o700 } as const;
  const first = attempt('create the directory', path, () => fs.mkdirSync(path, options));
  for (let at = path; first !== undefined && at.length >= first.length; at = dirname(at)) syncDirectory(dirname(at));
}

/** Writes a file whole: to a temporary file in the same directory, synced, then renamed over `path`. */
export function writeWhole(path: string, content: string | Buffer): void {
  makeDirectory(dirname(path));
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    writeSynced(temporary, content);
    moveFile(temporary, path);
  } catch (error) {
    removeFile(temporary);
    throw error;
  }
}

/** Writes a new file and syncs it to the disk; fails where one exists. */
export function writeSynced(path: string, content: string | Buffer): void {
  const write = (file: number) => {
    fs.writeFileSync(file, content);
    fs.fsyncSync(file);
  };
  attempt('write', path, () => withFile(path, 'wx', write));
}

/** Writes a new file and leaves it to the system when it reaches the disk: a power loss may leave it empty. */
export function writeNew(path: string, content: string | Buffer): void {
  attempt('write', path, () => fs.writeFileSync(path, content, { flag: 'wx', mode: 0o600 }));
}

/** Makes an empty file where none is; one that is there is not even opened. */
export function makeFile(path: string): void {
  try {
    fs.closeSync(fs.openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw storageError('create', path, error);
  }
}

/**
 * Makes a file with these bytes where none is: others see all of it or nothing, after a power loss too. False where one
 * is there, or where it cannot be made so.
 */
export function makeWhole(path: string, bytes: Buffer): boolean {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    writeSynced(temporary, bytes);
    fs.linkSync(temporary, path);
    return true;
  } catch {
    return false;
  } finally {
    removeFile(temporary);
  }
}

/** Moves a file; false where there was none. An existing target is replaced. */
export function moveFile(from: string, to: string): boolean {
  try {
    fs.renameSync(from, to);
    return true;
  } catch (error) {
    if (isAbsence(error)) return false;
    throw storageError('move', from, error);
  }
}

/** Gives the file at `from` a second name `to` without replacing anything; false where `to` exists already. */
export function linkNew(from: string, to: string): boolean {
  try {
    fs.linkSync(from, to);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EEXIST') return false;
    // No hard links here (FAT, some network mounts): a rename that looks first is the best there is.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS' && code !== 'EMLINK')
      throw storageError('link', to, error);
    if (existsSync(to)) return false;
    return moveFile(from, to);
  }
}

/** Copies a file; where the file system can, its bytes are shared until one of them is written. */
export function copyFile(from: string, to: string): void {
  attempt('copy', from, () => fs.copyFileSync(from, to, fs.constants.COPYFILE_FICLONE));
}

/** By the numbers that Linux gives them: NFS, SMB, CIFS, SMB 2, AFS, Ceph, 9p. */
const NETWORK = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0xc36400, 0x1021997]);

/** Whether a directory is on a file system of another machine, as far as that can be told. */
export function isOnNetwork(path: string): boolean {
  if (process.platform !== 'linux') return false;
  return absentAsNull(path, () => NETWORK.has(fs.statfsSync(path).type >>> 0)) ?? false;
}

/** Makes names that were added to or taken from a directory survive a power loss, where the system can. */
export function syncDirectory(path: string): void {
  if (process.platform !== 'win32') attempt('sync', path, () => withFile(path, 'r', fs.fsyncSync));
}

/** Whether other users are kept from a file or directory; always where the system has no such modes, or it is gone. */
export function isPrivate(path: string): boolean {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  return process.platform === 'win32' || stat === undefined || (stat.mode & 0o077) === 0;
}

/** Makes a file 0600, a directory 0700. */
export function makePrivate(path: string): void {
  attempt('make private', path, () => fs.chmodSync(path, fs.statSync(path).isDirectory() ? 0o700 : 0o600));
}

/** Removes a file; none there is fine. */
export function removeFile(path: string): void {
  attempt('remove', path, () => fs.rmSync(path, { force: true }));
}

/** A path inside the installed package: the directory above this file that holds `prompts/`. */
export function packagePath(...segments: string[]): string {
  let dir = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(dir, 'prompts')) && dirname(dir) !== dir) dir = dirname(dir);
  return join(dir, ...segments);
}

export function absentAsNull<T>(path: string, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    return absentOr(path, error);
  }
}

/** Does something to what is at a path, of which a failure tells. */
export function attempt<T>(verb: string, path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw storageError(verb, path, error);
  }
}

/** Opens a file for `work` alone; a new one is 0600. */
export function withFile<T>(path: string, flags: string | number, work: (file: number) => T): T {
  const file = fs.openSync(path, flags, 0o600);
  try {
    return work(file);
  } finally {
    fs.closeSync(file);
  }
}

export function absentOr(path: string, error: unknown): null {
  if (isAbsence(error)) return null;
  throw storageError('read', path, error);
}

/** What no path leads to, or none can: too long a name, links in a circle, a zero byte. */
const ABSENCES = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ERR_INVALID_ARG_VALUE'];

export function isAbsence(error: unknown): boolean {
  return ABSENCES.includes((error as NodeJS.ErrnoException).code ?? '');
}

export function storageError(verb: string, path: string, error: unknown): AppError {
  const reason = error instanceof Error ? error.message : String(error);
  return new AppError('storage', `Cannot ${verb} ${path}: ${reason}.`, {
    remedy: 'Check that the path is right, the disk is not full and this user may use it.',
    cause: error,
  });
}

// Files of any size, read and written in pieces, so that none of them is ever held whole.

const CHUNK_BYTES = 1 << 18;

/** The bytes of a file of any size in chunks, from byte `start` on. It must exist. */
export function* scanChunks(path: string, start = 0): Generator<Buffer> {
  try {
    const file = fs.openSync(path, 'r');
    try {
      for (let at = start; ; ) {
        const chunk = readAt(file, at, CHUNK_BYTES);
        if (chunk.length === 0) return;
        yield chunk;
        at += chunk.length;
      }
    } finally {
      fs.closeSync(file);
    }
  } catch (error) {
    throw storageError('read', path, error);
  }
}

/** The bytes of a file from `start` to before `end`, or as far as it goes, held at once. It must exist. */
export function readSlice(path: string, start: number, end: number): Buffer {
  return attempt('read', path, () => withFile(path, 'r', (file) => readAt(file, start, end - start)));
}

function readAt(file: number, at: number, bytes: number): Buffer {
  const into = Buffer.allocUnsafeSlow(bytes);
  return into.subarray(0, fs.readSync(file, into, 0, bytes, at));
}

/**
 * Writes a new file piece by piece and syncs it to the disk, for what is too long to be held; fails where one exists. What was
 * written stays where it fails.
 */
export async function writePieces(path: string, pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
  makeDirectory(dirname(path));
  try {
    const file = fs.openSync(path, 'wx', 0o600);
    try {
      for await (const piece of pieces) fs.writeFileSync(file, piece);
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
  } catch (error) {
    throw isAppError(error) ? error : storageError('write', path, error);
  }
}

/**
 * The bytes of a file of any size in slices of `bytes`, each of which begins with the last `overlap` bytes of the one
 * before: what is no longer than these stands whole in one of them. It must exist.
 */
export function* readOverlapping(
  path: string,
  { bytes, overlap }: { bytes: number; overlap: number },
): Generator<Buffer> {
  for (let at = 0; ; at += bytes - overlap) {
    const slice = readSlice(path, at, at + bytes);
    if (slice.length > 0) yield slice;
    if (slice.length < bytes) return;
  }
}

// Logs.

/** Opens a log for adding to it, for this process or for one that it starts. Throws what the disk throws. */
export function openLog(path: string, maxBytes = 256 * 1024): number {
  fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  if (stat && stat.size > maxBytes) fs.renameSync(path, `${path}.1`);
  return fs.openSync(path, 'a', 0o600);
}

/** Adds one line; ends of lines within it become spaces. */
export function addLogLine(path: string, line: string, maxBytes?: number): void {
  const log = openLog(path, maxBytes);
  try {
    fs.writeSync(log, `${line.replaceAll(/(?<!\s)\s*\n\s*/g, ' ')}\n`);
  } finally {
    fs.closeSync(log);
  }
}
