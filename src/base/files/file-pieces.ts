// Files of any size, read and written in pieces, so that none of them is ever held whole.

import fs from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isAppError } from '../errors.ts';
import { attempt, makeDirectory, storageError, withFile } from './files.ts';

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
    await pipeline(pieces, fs.createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }));
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
