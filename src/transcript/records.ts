// The bytes and the records of a transcript's file. Bytes come as UTF-8, whatever it is written in: Codex compresses rollouts that lie
// untouched for a week with zstd, clients send sessions gzipped, and what PowerShell redirects into a file is UTF-16. A plain file is read
// as a stream, in memory that does not grow with it; of any other all is held.
// Records are JSON lines. A line that cannot be read is reported and skipped, never thrown: real files hold torn last
// lines, comments, bare numbers, lines cut by redactors, and two records on one line. What is whole on such a line is kept.

import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { AppError } from '../base/errors.ts';
import { readSlice, scanChunks } from '../base/files/files.ts';
import { isObject, type JsonObject, parseJson } from '../base/text/json.ts';
import type { Message, OnUnreadable } from './messages.ts';

/** What is held at once: a JSON document, or a compressed file once it is decompressed. A few kilobytes can be made to hold terabytes. */
export const MAX_HELD_BYTES = 256 * 2 ** 20;

const DECODERS: { begins: number[]; decode(bytes: Buffer): Buffer }[] = [
  {
    begins: [0x28, 0xb5, 0x2f, 0xfd],
    decode: (bytes) => zstdDecompressSync(bytes, { maxOutputLength: MAX_HELD_BYTES }),
  },
  { begins: [0x1f, 0x8b], decode: (bytes) => gunzipSync(bytes, { maxOutputLength: MAX_HELD_BYTES }) },
  { begins: [0xff, 0xfe], decode: (bytes) => Buffer.from(new TextDecoder('utf-16le').decode(bytes)) },
  { begins: [0xfe, 0xff], decode: (bytes) => Buffer.from(new TextDecoder('utf-16be').decode(bytes)) },
];

/** The bytes of a file that is not plain; null for one that is. Throws an AppError `bad-input` where it is damaged or too much. */
function decodedWhole(path: string): Buffer | null {
  const beginning = readSlice(path, 0, 4);
  const decoder = DECODERS.find(({ begins }) => begins.every((byte, at) => beginning[at] === byte));
  if (!decoder) return null;
  const bytes = Buffer.concat([...scanChunks(path)]);
  try {
    return decoder.decode(bytes);
  } catch (error) {
    const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    const what = isTooLarge ? 'holds more than 256 MiB once it is decompressed' : 'is compressed and damaged';
    throw new AppError('bad-input', `${path} ${what}.`, {
      remedy: isTooLarge ? 'Decompress it and give that file.' : 'Decompress it as far as it goes, and give that file.',
      cause: error,
    });
  }
}

/** In chunks. Errors: `bad-input` for one that is compressed, and damaged or more than 256 MiB. */
export function* scanDecoded(path: string): Generator<Buffer> {
  const whole = decodedWhole(path);
  if (whole) yield whole;
  else yield* scanChunks(path);
}

/** The first `bytes` of it, or all there is. */
export function readHead(path: string, bytes: number): Buffer {
  const pieces: Buffer[] = [];
  let length = 0;
  for (const chunk of scanDecoded(path)) {
    pieces.push(chunk);
    length += chunk.length;
    if (length >= bytes) break;
  }
  return Buffer.concat(pieces).subarray(0, bytes);
}

const END_BYTES = 64 * 2 ** 10;

/** Its beginning and its end, as text. */
export function readEnds({ path, sizeBytes }: { path: string; sizeBytes: number }): string {
  const whole = decodedWhole(path);
  if (whole) return `${whole.subarray(0, END_BYTES)}\n${whole.subarray(-END_BYTES)}`;
  return `${readSlice(path, 0, END_BYTES)}\n${readSlice(path, Math.max(0, sizeBytes - END_BYTES), sizeBytes)}`;
}

/** No record is this long; past it a line is not collected, so that a file of one endless line costs no memory. */
export const MAX_LINE_BYTES = 64 * 2 ** 20;

const NEWLINE = 0x0a;

/**
 * The objects of a file of JSON lines, in file order. Blank lines are nothing; a line of any other JSON is unreadable.
 * `recordStart`: how a record begins, as text: where to look for a whole one behind a torn one on the same line.
 */
export function* readObjects(path: string, recordStart: string, onUnreadable?: OnUnreadable): Generator<JsonObject> {
  for (const { text, isEnded } of linesOf(path)) {
    const objects: JsonObject[] = [];
    if (text === null || !readLine(text, recordStart, objects)) onUnreadable?.({ isHalfWritten: !isEnded });
    yield* objects;
  }
}

/** Takes the records of a file one by one. */
export interface RecordReader {
  take(record: JsonObject): void;
  /** Completes what is still open when the file ends. */
  end?(): void;
  /** The messages that are complete since the last call. */
  drain(): Message[];
}

/** The messages that `reader` makes of the records. */
export function* messagesOf(records: Iterable<JsonObject>, reader: RecordReader): Generator<Message> {
  for (const record of records) {
    reader.take(record);
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
  /** Whether a newline ends it; only the last line of a file may lack one. */
  isEnded: boolean;
}

/** The lines of a file that are not empty. */
function* linesOf(path: string): Generator<Line> {
  /** What was read of a line that no chunk has ended yet. */
  let pieces: Buffer[] = [];
  let bytes = 0;
  const takeLine = (isEnded: boolean): Line => {
    const text = bytes > MAX_LINE_BYTES ? null : Buffer.concat(pieces).toString('utf8');
    [pieces, bytes] = [[], 0];
    return { text, isEnded };
  };
  for (const chunk of scanDecoded(path)) {
    for (let start = 0; start < chunk.length; ) {
      const newline = chunk.indexOf(NEWLINE, start);
      const end = newline === -1 ? chunk.length : newline;
      bytes += end - start;
      if (bytes > MAX_LINE_BYTES) pieces = [];
      else if (end > start) pieces.push(chunk.subarray(start, end));
      if (newline !== -1 && bytes > 0) yield takeLine(true);
      start = end + 1;
    }
  }
  if (bytes > 0) yield takeLine(false);
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
  return value === undefined && recover(text, recordStart, into);
}

/** So many records are looked for on one line: 64 MB of torn ones would fill the memory many times over. */
export const MOST_ON_A_LINE = 10_000;

/**
 * Takes what is whole on a damaged line. Another record begins behind one, or wherever one seems to; but what stands behind `[`,
 * `:` or `,`, or before a comma or an end, is data of a record that is torn.
 */
function recover(text: string, recordStart: string, into: JsonObject[]): boolean {
  const begins = new RegExp(String.raw`(?<=\})\s*(?=\{")|(?=${recordStart.replace('{', String.raw`\{`)})(?<![[:,]\s*)`);
  const pieces = text.trim().split(begins, MOST_ON_A_LINE + 1);
  let isTorn = pieces.splice(MOST_ON_A_LINE).length > 0;
  for (const piece of pieces) {
    const end = piece.lastIndexOf('}') + 1;
    const behind = piece.slice(end).trim();
    const value = /^[,\]]/.test(behind) ? undefined : parseJson(piece.slice(0, end));
    if (isObject(value)) into.push(value);
    isTorn ||= !isObject(value) || behind !== '';
  }
  return !isTorn;
}
