// Files of any size, read and written in pieces, so that none of them is ever held whole.

import fs from 'node:fs';
import { dirname } from 'node:path';
import { isAppError } from '../errors.ts';
import { makeDirectory, removeFile, storageError } from './files.ts';

const CHUNK_BYTES = 1 << 18;

/**
 * The bytes of a file of any size in chunks, from byte `start` on. It must exist. Chunks are views of two buffers: one
 * is read into while the other is looked through, so that each holds only until the next is asked for.
 */
export async function* scanChunks(path: string, start = 0): AsyncGenerator<Buffer> {
  try {
    const file = await fs.promises.open(path);
    let free: Buffer | undefined;
    let next: Promise<PromiseSettledResult<Buffer>[]> | undefined;
    try {
      for (let at = start; ; ) {
        const [read] = await (next ?? Promise.allSettled([readAt(file, at, Buffer.allocUnsafeSlow(CHUNK_BYTES))]));
        if (read?.status !== 'fulfilled') throw read?.reason;
        const chunk = read.value;
        at += chunk.length;
        const isLast = chunk.length < CHUNK_BYTES;
        // Settled, so that an error which comes while a chunk is looked through waits until it is asked for.
        next = isLast ? undefined : Promise.allSettled([readAt(file, at, free ?? Buffer.allocUnsafeSlow(CHUNK_BYTES))]);
        if (chunk.length > 0) yield chunk;
        if (isLast) return;
        free = chunk;
      }
    } finally {
      await next;
      await file.close();
    }
  } catch (error) {
    throw storageError('read', path, error);
  }
}

/** The same in chunks that hold longer than until the next is asked for. */
export async function* scanCopies(path: string): AsyncGenerator<Buffer> {
  for await (const chunk of scanChunks(path)) yield Buffer.from(chunk);
}

/** The bytes of a file from `start` to before `end`, or as far as it goes, held at once. It must exist. */
export async function readSlice(path: string, start: number, end: number): Promise<Buffer> {
  try {
    const file = await fs.promises.open(path);
    return await readAt(file, start, Buffer.allocUnsafeSlow(end - start)).finally(() => file.close());
  } catch (error) {
    throw storageError('read', path, error);
  }
}

/** Fills `into`, or as much of it as there is. */
async function readAt(file: fs.promises.FileHandle, at: number, into: Buffer): Promise<Buffer> {
  let length = 0;
  for (let read = -1; read !== 0 && length < into.length; length += read) {
    read = (await file.read(into, length, into.length - length, at + length)).bytesRead;
  }
  return into.subarray(0, length);
}

/** Writes a new file piece by piece and syncs it to the disk, for what is too long to be held; fails where one exists. */
export async function writePieces(path: string, pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
  makeDirectory(dirname(path));
  const file = await fs.promises.open(path, 'wx', 0o600).catch((error: unknown) => {
    throw storageError('write', path, error);
  });
  try {
    try {
      await file.writeFile(pieces);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    removeFile(path);
    throw isAppError(error) ? error : storageError('write', path, error);
  }
}

/**
 * The bytes of a file of any size in slices of `bytes`, each of which begins with the last `overlap` bytes of the one
 * before: what is no longer than these stands whole in one of them. It must exist.
 */
export async function* readOverlapping(
  path: string,
  { bytes, overlap }: { bytes: number; overlap: number },
): AsyncGenerator<Buffer> {
  for (let at = 0; ; at += bytes - overlap) {
    const slice = await readSlice(path, at, at + bytes);
    if (slice.length > 0) yield slice;
    if (slice.length < bytes) return;
  }
}
