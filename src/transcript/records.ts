// The bytes and the records of a transcript's file, read as a stream in memory that does not grow with it.
// Bytes come as UTF-8, whatever it is written in: Codex compresses rollouts that lie untouched for a week with zstd,
// people keep old sessions gzipped, and what PowerShell redirects into a file is UTF-16. Positions are positions in what
// comes out, so one can read on in a file of any kind.
// Records are JSON lines. A line that cannot be read is reported and skipped, never thrown: real files hold torn last
// lines, comments, bare numbers, lines cut by redactors, and two records on one line. What is whole on such a line is kept.

import { PassThrough, pipeline, Readable, type Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { AppError, isAppError } from '../base/errors.ts';
import { readSlice, scanChunks, scanCopies } from '../base/files/file-pieces.ts';
import { isObject, type JsonObject, parseJson } from '../base/text/json.ts';
import type { OnUnreadable } from './formats/format.ts';
import type { Message } from './messages.ts';

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

/** The same as `scanDecoded`, in chunks that hold longer: what is decompressed or decoded is written into no second time. */
export async function* scanKept(path: string): AsyncGenerator<Buffer> {
  yield* (await writingOf(path)) === 'plain' ? scanCopies(path) : scanDecoded(path);
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
  for await (const chunk of scanKept(path)) {
    pieces.push(chunk);
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

/** A sixteenth of the steps of what node decompresses by. */
const LARGE = { chunkSize: 1 << 18 };

async function* decompressed(path: string, writing: Writing): AsyncGenerator<Buffer> {
  const decompressor: Transform = writing === 'zstd' ? createZstdDecompress(LARGE) : createGunzip(LARGE);
  try {
    let bytes = 0;
    // It still works on a chunk while the scan reuses its buffer.
    for await (const chunk of pipeline(
      Readable.from(scanCopies(path)),
      decompressor,
      new PassThrough(),
      () => undefined,
    )) {
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

/** How often a damaged line is looked into again: each look may cost its whole length. */
const MAX_RESTARTS = 8;

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

export interface JsonlRecord {
  object: JsonObject;
  /** Where its line begins in the file. */
  byte: number;
}

/**
 * Like `readObjects`, in batches: a step of an async generator for each record costs as much as a short record. A batch
 * is read while it is looked through, so that no more than one record is held, and has to be before the next.
 */
export async function* readRecords(path: string, options: JsonlOptions): AsyncGenerator<Iterable<JsonlRecord>> {
  const splitter = new LineSplitter(options.startByte ?? 0);
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
  for await (const chunk of scanDecoded(path, options.startByte)) yield recordsIn(splitter.take(chunk));
  yield recordsIn(splitter.end());
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
  batches: AsyncIterable<Iterable<JsonlRecord>> | Iterable<Iterable<JsonlRecord>>,
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

class LineSplitter {
  /** What was read of a line that no chunk has ended yet. */
  #pieces: Buffer[] = [];
  #pendingBytes = 0;
  #lineByte: number;

  constructor(startByte: number) {
    this.#lineByte = startByte;
  }

  /** The lines that `chunk` ends. */
  *take(chunk: Buffer): Generator<Line> {
    let start = this.#pendingBytes === 0 ? this.#skipBlank(chunk, 0) : 0;
    for (let end = chunk.indexOf(NEWLINE, start); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#hold(chunk.subarray(start, end));
      yield this.#takeLine(true);
      start = this.#skipBlank(chunk, end + 1);
    }
    // The chunk's bytes are gone when the next one is read.
    if (start < chunk.length) this.#hold(Buffer.from(chunk.subarray(start)));
  }

  /** The last line, where no newline ends it. */
  *end(): Generator<Line> {
    if (this.#pendingBytes > 0) yield this.#takeLine(false);
  }

  /** Where the first line from `start`, a line's beginning, begins that is not blank. */
  #skipBlank(chunk: Buffer, start: number): number {
    let from = start;
    for (let at = start; at < chunk.length && isBlank(chunk[at] as number); at++) {
      if (chunk[at] === NEWLINE) from = at + 1;
    }
    this.#lineByte += from - start;
    return from;
  }

  #hold(piece: Buffer): void {
    this.#pendingBytes += piece.length;
    if (this.#pendingBytes > MAX_LINE_BYTES) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  #takeLine(isEnded: boolean): Line {
    const [first] = this.#pieces;
    const whole = this.#pieces.length === 1 && first ? first : Buffer.concat(this.#pieces);
    const line = {
      text: this.#pendingBytes > MAX_LINE_BYTES ? null : whole.toString('utf8'),
      byte: this.#lineByte,
      isEnded,
    };
    this.#lineByte += this.#pendingBytes + 1;
    this.#pieces = [];
    this.#pendingBytes = 0;
    return line;
  }
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

function recover(text: string, recordStart: string, into: JsonObject[]): boolean {
  let restarts = 0;
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const end = text[at] === '{' ? endOfObject(text, at) : -1;
    const value = end === -1 ? undefined : parseJson(text.slice(at, end));
    if (isObject(value)) {
      at = skipSpace(text, end);
      // Before a comma or an end it is data of a record that was written, or torn, over several lines.
      if (!',]}'.includes(text[at] ?? '{')) into.push(value);
      continue;
    }
    const next = restarts++ < MAX_RESTARTS ? nextRecord(text, recordStart, at + 1) : -1;
    at = next === -1 ? text.length : next;
  }
  return restarts === 0;
}

/** Where the next record begins; what stands behind `[`, `:` or `,` is data in a record that is torn. */
function nextRecord(text: string, recordStart: string, from: number): number {
  for (let at = text.indexOf(recordStart, from); at !== -1; at = text.indexOf(recordStart, at + 1)) {
    let before = at - 1;
    while (before >= 0 && /\s/.test(text[before] as string)) before--;
    if (!'[:,'.includes(text[before] ?? '{')) return at;
  }
  return -1;
}

/** The index behind the object that begins at `start`, or -1 where it does not end. */
function endOfObject(text: string, start: number): number {
  let depth = 0;
  let isInString = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '"') isInString = !isInString;
    else if (isInString) at += char === '\\' ? 1 : 0;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return -1;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text[at] as string)) at++;
  return at;
}
