// Where reading a transcript can go on when it has grown: a byte, and a hash of what stands before it, by which one
// knows that the file was only appended to. A file that was rewritten is read from its beginning.

import { hash } from 'node:crypto';
import { readSlice } from '../base/files/file-pieces.ts';

export interface ReadPoint {
  /** The first byte of the line to begin with. */
  byte: number;
  /** SHA-256, in hex, of the 64 KiB before it, or of what there is. */
  hash: string;
}

const HASHED_BYTES = 64 * 2 ** 10;

/** Null where the file has no such byte. */
export async function readPointAt(path: string, byte: number): Promise<ReadPoint | null> {
  const start = Math.max(0, byte - HASHED_BYTES);
  const before = await readSlice(path, start, byte);
  return before.length < byte - start ? null : { byte, hash: hash('sha256', before) };
}

/** Whether the file still has before the point what it had. */
export async function isStillThere(path: string, point: ReadPoint): Promise<boolean> {
  return (await readPointAt(path, point.byte))?.hash === point.hash;
}
