// The bytes and the records of a transcript's file, read as a stream in memory that does not grow with it.
// Bytes come as UTF-8, whatever it is written in: Codex compresses rollouts that lie untouched for a week with zstd,
// people keep old sessions gzipped, and what PowerShell redirects into a file is UTF-16. Positions are positions in what
// comes out, so one can read on in a file of any kind.
// Records are JSON lines. A line that cannot be read is reported and skipped, never thrown: real files hold torn last
// lines, comments, bare numbers, lines cut by redactors, and two records on one line. What is whole on such a line is kept.

import { pipeline, Readable, type Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { AppError, isAppError } from '../base/errors.ts';
import { readSlice, scanChunks } from '../base/files/file-pieces.ts';
import { isObject, type JsonObject, parseJson } from '../base/text/json.ts';
import type { Message, OnUnreadable } from './messages.ts';

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

function writingOf(path: string): Writing {
  const beginning = readSlice(path, 0, 4);
  return BEGINNINGS.find(([, bytes]) => bytes.every((byte, at) => beginning[at] === byte))?.[0] ?? 'plain';
}

/** From byte `start` on. Throws an AppError `bad-input` where it is damaged, or decompresses to too much. */
export async function* scanDecoded(path: string, start = 0): AsyncGenerator<Buffer> {
  const writing = writingOf(path);
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
    pieces.push(chunk);
    length += chunk.length;
    if (length >= bytes) break;
  }
  return Buffer.concat(pieces).subarray(0, bytes);
}

const END_BYTES = 64 * 2 ** 10;

/** Its beginning and its end, as text. */
export async function readEnds({ path, sizeBytes }: { path: string; sizeBytes: number }): Promise<string> {
  return [await readHead(path, END_BYTES), await readTail(path, { bytes: END_BYTES, sizeBytes })].join('\n');
}

async function readTail(path: string, { bytes, sizeBytes }: { bytes: number; sizeBytes: number }) {
  if (writingOf(path) === 'plain') return readSlice(path, Math.max(0, sizeBytes - bytes), sizeBytes);
  let tail = Buffer.alloc(0);
  for await (const chunk of scanDecoded(path)) tail = Buffer.concat([tail, chunk]).subarray(-bytes);
  return tail;
}

async function* fromUtf16(path: string, writing: Writing): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(writing);
  for (const chunk of scanChunks(path)) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
}

/** A sixteenth of the steps of what node decompresses by. */
const LARGE = { chunkSize: 1 << 18 };

async function* decompressed(path: string, writing: Writing): AsyncGenerator<Buffer> {
  const decompressor: Transform = writing === 'zstd' ? createZstdDecompress(LARGE) : createGunzip(LARGE);
  try {
    let bytes = 0;
    for await (const chunk of pipeline(Readable.from(scanChunks(path)), decompressor, () => undefined)) {
      bytes += chunk.length;
      if (bytes > mostDecompressedBytes) {
        throw new AppError(
          'bad-input',
          `${path} holds more than ${mostDecompressedBytes} bytes once it is decompressed.`,
          {
            remedy: 'If it is a transcript, decompress it and give that file.',
          },
        );
      }
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

/** No record is this long; past it a line is not collected, so that a file of one endless line costs no memory. */
export const MAX_LINE_BYTES = 64 * 2 ** 20;

/** So many pieces of a damaged line are looked into that are no record. */
const MOST_TORN = 8;

/** No transcript holds so many lines in a row that are no record: what does is something else, or was made to cost time. */
const MAX_LINES_WITHOUT_RECORD = 250_000;

const NEWLINE = 0x0a;

interface JsonlOptions {
  /** How a record begins, as text: where to look for a whole one behind a torn one on the same line. */
  recordStart: string;
  onUnreadable?: OnUnreadable;
  /** Where to begin: the first byte of a line. Default 0. */
  startByte?: number;
}

/** The objects of a file, in file order. Blank lines are nothing; a line of any other JSON is unreadable. */
export async function* readObjects(path: string, options: JsonlOptions): AsyncGenerator<JsonObject> {
  for await (const batch of readRecords(path, options)) for (const { object } of batch) yield object;
}

interface JsonlRecord {
  object: JsonObject;
  /** Where its line begins in the file. */
  byte: number;
}

/**
 * Like `readObjects`, in batches: a step of an async generator for each record costs as much as a short record. A batch
 * is read while it is looked through, so that no more than one record is held, and has to be before the next.
 */
export async function* readRecords(path: string, options: JsonlOptions): AsyncGenerator<Iterable<JsonlRecord>> {
  let skipped = 0;
  const onUnreadable: OnUnreadable = (line) => {
    options.onUnreadable?.(line);
    if (++skipped > MAX_LINES_WITHOUT_RECORD) {
      throw new AppError('bad-input', `${path} has ${MAX_LINES_WITHOUT_RECORD} lines in a row that are no record.`, {
        remedy: 'If it is a transcript, take these lines out of a copy, and give that.',
      });
    }
  };
  function* recordsIn(lines: Iterable<Line>): Generator<JsonlRecord> {
    for (const { text, byte, isEnded } of lines) {
      const objects: JsonObject[] = [];
      if (text === null || !readLine(text, options.recordStart, objects)) onUnreadable({ isHalfWritten: !isEnded });
      if (objects.length > 0) skipped = 0;
      for (const object of objects) yield { object, byte };
    }
  }
  for await (const lines of linesOf(path, options.startByte ?? 0)) yield recordsIn(lines);
}

/** Takes the records of a file one by one. */
export interface RecordReader {
  take(record: JsonObject, byte: number): void;
  /** Completes what is still open when the file ends. */
  end?(): void;
  /** The messages that are complete since the last call. */
  drain(): Message[];
}

/** The messages that `reader` makes of the records. */
export async function* messagesOf(
  batches: AsyncIterable<Iterable<JsonlRecord>>,
  reader: RecordReader,
): AsyncGenerator<Message> {
  for await (const batch of batches) {
    for (const { object, byte } of batch) reader.take(object, byte);
    yield* reader.drain();
  }
  reader.end?.();
  yield* reader.drain();
}

/** The objects on the lines of a piece of text; what is not readable is left out, what is not asked for not parsed. */
export function* objectsIn(text: string, recordStart: string): Generator<JsonObject> {
  for (let start = 0, end = 0; start <= text.length; start = end + 1) {
    end = text.indexOf('\n', start);
    if (end === -1) end = text.length;
    const objects: JsonObject[] = [];
    readLine(text.slice(start, end), recordStart, objects);
    yield* objects;
  }
}

interface Line {
  /** Null for a line too long to be collected. */
  text: string | null;
  byte: number;
  /** Whether a newline ends it; only the last line of a file may lack one. */
  isEnded: boolean;
}

/** The lines of a file that are not blank, those that one chunk ends at a time. */
async function* linesOf(path: string, startByte: number): AsyncGenerator<Iterable<Line>> {
  /** What was read of a line that no chunk has ended yet. */
  let pieces: Buffer[] = [];
  let pendingBytes = 0;
  let lineByte = startByte;
  const hold = (piece: Buffer) => {
    pendingBytes += piece.length;
    if (pendingBytes > MAX_LINE_BYTES) pieces = [];
    else pieces.push(piece);
  };
  const takeLine = (isEnded: boolean): Line => {
    const whole = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
    const line = { text: pendingBytes > MAX_LINE_BYTES ? null : whole.toString('utf8'), byte: lineByte, isEnded };
    lineByte += pendingBytes + 1;
    [pieces, pendingBytes] = [[], 0];
    return line;
  };
  function* endedIn(chunk: Buffer): Generator<Line> {
    for (let start = 0; start < chunk.length; ) {
      if (pendingBytes === 0) {
        const from = behindBlank(chunk, start);
        lineByte += from - start;
        start = from;
      }
      const end = chunk.indexOf(NEWLINE, start);
      hold(chunk.subarray(start, end === -1 ? chunk.length : end));
      if (end === -1) return;
      yield takeLine(true);
      start = end + 1;
    }
  }
  for await (const chunk of scanDecoded(path, startByte)) yield endedIn(chunk);
  if (pendingBytes > 0) yield [takeLine(false)];
}

/** Where the first line from `start`, a line's beginning, begins that is not blank. */
function behindBlank(chunk: Buffer, start: number): number {
  let from = start;
  for (let at = start; at < chunk.length && isBlank(chunk[at] as number); at++) {
    if (chunk[at] === NEWLINE) from = at + 1;
  }
  return from;
}

/** Space, tab, the ends of lines, and the zeros of a file that was made longer before it was written. */
function isBlank(byte: number): boolean {
  return byte === NEWLINE || byte === 0x20 || byte === 0x0d || byte === 0x09 || byte === 0;
}

/** A byte-order mark; and the zeros that a file is left with where it was made longer before it was written. */
const PADDING = /^[\ufeff\0]+/;

/** Adds what the line holds to `into`; false when something on it was lost. */
function readLine(line: string, recordStart: string, into: JsonObject[]): boolean {
  const text = PADDING.test(line) ? line.replace(PADDING, '') : line;
  // An exception for each would cost a hundred times as much as the line.
  if (!/^\s*\{/.test(text) && !text.includes(recordStart)) return text.trim() === '';
  const value = parseJson(text);
  if (isObject(value)) {
    into.push(value);
    return true;
  }
  return value === undefined ? text.trim() === '' || recover(text, recordStart, into) : false;
}

/**
 * Takes what is whole on a damaged line. Another record begins behind one, or wherever one seems to; but what stands behind `[`,
 * `:` or `,`, or before a comma or an end, is data of a record that is torn.
 */
function recover(text: string, recordStart: string, into: JsonObject[]): boolean {
  const begins = new RegExp(String.raw`(?<=\})\s*(?=\{")|(?=${recordStart.replace('{', String.raw`\{`)})(?<![[:,]\s*)`);
  let torn = 0;
  for (const piece of text.trim().split(begins)) {
    const end = piece.lastIndexOf('}') + 1;
    const behind = piece.slice(end).trim();
    const value = /^[,\]]/.test(behind) ? undefined : parseJson(piece.slice(0, end));
    if (isObject(value)) into.push(value);
    if (!isObject(value) || behind !== '') torn++;
    if (torn > MOST_TORN) break;
  }
  return torn === 0;
}
