// The text of a transcript as UTF-8 bytes, whatever it is written in: Codex compresses rollouts that lie untouched for a
// week with zstd, people keep old sessions gzipped, and what PowerShell redirects into a file is UTF-16.
// Positions are positions in what comes out, so one can read on in a file of any kind.

import { PassThrough, pipeline, Readable, type Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { AppError, isAppError } from '../base/errors.ts';
import { readSlice, scanChunks } from '../base/files/file-pieces.ts';

type Writing = 'plain' | 'gzip' | 'zstd' | 'utf-16le' | 'utf-16be';

const BEGINNINGS: [Writing, number[]][] = [
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['gzip', [0x1f, 0x8b]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/** A few kilobytes can be made to hold terabytes. Past this a compressed transcript is not read on. */
let mostDecompressedBytes = 4 * 2 ** 30;

/** Sets it for this process; a parameter would have to pass through the readers of all formats. */
export function boundDecompression(bytes: number): void {
  mostDecompressedBytes = bytes;
}

async function writingOf(path: string): Promise<Writing> {
  const beginning = await readSlice(path, 0, 4);
  return BEGINNINGS.find(([, bytes]) => bytes.every((byte, at) => beginning[at] === byte))?.[0] ?? 'plain';
}

/** From byte `start` on. A chunk holds until the next is asked for. Throws an AppError `bad-input` where it is damaged, or decompresses to too much. */
export async function* scanDecoded(path: string, start = 0): AsyncGenerator<Buffer> {
  const writing = await writingOf(path);
  if (writing === 'plain') return yield* scanChunks(path, start);
  let toSkip = start;
  for await (const chunk of writing.startsWith('utf-16') ? fromUtf16(path, writing) : decompressed(path, writing)) {
    if (toSkip < chunk.length) yield chunk.subarray(toSkip);
    toSkip = Math.max(0, toSkip - chunk.length);
  }
}

/** The first `bytes` of it, or all there is. */
export async function readHead(path: string, bytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of scanDecoded(path)) {
    pieces.push(Buffer.from(chunk));
    length += chunk.length;
    if (length >= bytes) break;
  }
  return Buffer.concat(pieces).subarray(0, bytes);
}

/** The last `bytes` of it, or all there is. */
export async function readTail(path: string, { bytes, sizeBytes }: { bytes: number; sizeBytes: number }) {
  if ((await writingOf(path)) === 'plain') return readSlice(path, Math.max(0, sizeBytes - bytes), sizeBytes);
  let tail = Buffer.alloc(0);
  for await (const chunk of scanDecoded(path)) tail = Buffer.concat([tail, chunk]).subarray(-bytes);
  return tail;
}

async function* fromUtf16(path: string, writing: Writing): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(writing);
  for await (const chunk of scanChunks(path)) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
}

async function* decompressed(path: string, writing: Writing): AsyncGenerator<Buffer> {
  const decompressor: Transform = writing === 'zstd' ? createZstdDecompress() : createGunzip();
  try {
    let bytes = 0;
    for await (const chunk of pipeline(Readable.from(copies(path)), decompressor, new PassThrough(), () => undefined)) {
      bytes += chunk.length;
      if (bytes > mostDecompressedBytes) throw tooLong(path);
      yield chunk;
    }
  } catch (error) {
    if (isAppError(error)) throw error;
    throw new AppError('bad-input', `${path} is compressed (${writing}) and damaged.`, {
      remedy: 'Decompress it as far as it goes, and give that file.',
      cause: error,
    });
  }
}

function tooLong(path: string): AppError {
  return new AppError('bad-input', `${path} holds more than ${mostDecompressedBytes} bytes once it is decompressed.`, {
    remedy: 'If it is a transcript, decompress it and give that file, or raise decompressedBytes in config.json.',
  });
}

/** The decompressor still works on a chunk while the scan reuses its buffer. */
async function* copies(path: string): AsyncGenerator<Buffer> {
  for await (const chunk of scanChunks(path)) yield Buffer.from(chunk);
}
