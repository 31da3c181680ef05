// A plain archive of files: a gzipped tar that any other program reads, made and read as a stream of bytes.
// Promises: the same files in the same order make the same bytes, whoever and whenever; what is read is nothing but
// files, each with a name of its own, within bounds that hold for what was unpacked, so that nothing small becomes
// anything large. Never touches the disk: it takes and gives bytes. What a name may be is for the caller to decide.

import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Header, Pack, Parser, ReadEntry } from 'tar';
import { AppError, isAppError } from '../../base/errors.ts';

export interface PackedFile {
  path: string;
  content: Buffer;
}

interface TarBounds {
  files: number;
  fileBytes: number;
  /** Of everything, unpacked. */
  totalBytes: number;
}

/** Of every file in it: an archive says nothing of when it was made. */
const PACKED_AT = new Date('1985-10-26T08:15:00Z');
/** How archives begin that would be unpacked once more. */
const PACKED_AGAIN = /^(?:\x1f\x8b|\x28\xb5\x2f\xfd)/;

/** Packs the files one after another, each asked for when there is room for it. */
export async function* packTarball(files: Iterable<PackedFile>): AsyncGenerator<Buffer> {
  const pack = new Pack({ gzip: true, portable: true, cwd: '/' });
  const packing = addAll(files, pack);
  // Told to the reader below; nobody else waits for it then.
  packing.catch((error: unknown) => pack.emit('error', error));
  for await (const chunk of pack) yield chunk;
}

async function addAll(files: Iterable<PackedFile>, pack: Pack): Promise<void> {
  for (const { path, content } of files) {
    const header = new Header({ path, size: content.length, mode: 0o644, type: 'File', mtime: PACKED_AT });
    const entry = new ReadEntry(header);
    const packed = once(entry, 'end');
    pack.add(entry);
    entry.end(content);
    await packed;
  }
  pack.end();
}

/** Reads a whole archive. Throws `bad-input` for one that is damaged, too large, or holds anything but files. */
export async function readTarball(pieces: AsyncIterable<Uint8Array>, bounds: TarBounds): Promise<Map<string, Buffer>> {
  const reading = new Reading(bounds);
  try {
    await pipeline(pieces, createGunzip(), async (unpacked: AsyncIterable<Buffer>) => {
      for await (const chunk of unpacked) reading.take(chunk);
    });
  } catch (error) {
    if (isAppError(error)) throw error;
    throw unusable(`it is no whole .tar.gz (${(error as Error).message.replace(/\.$/, '')})`, error);
  }
  return reading.end();
}

class Reading {
  readonly #bounds: TarBounds;
  readonly #parser: Parser;
  readonly #files = new Map<string, Buffer>();
  #bytes = 0;
  #isOver = false;
  #begin = Buffer.alloc(0);
  #failure: AppError | undefined;

  constructor(bounds: TarBounds) {
    this.#bounds = bounds;
    this.#parser = new Parser({ strict: true, onReadEntry: (entry) => this.#takeEntry(entry) });
    this.#parser.on('ignoredEntry', (entry: ReadEntry) => this.#takeEntry(entry));
    this.#parser.on('eof', () => {
      this.#isOver = true;
    });
    this.#parser.on('error', (error: Error) => this.#fail(unusable(error.message, error)));
  }

  take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#bounds.totalBytes) throw tooMuch(`more than ${this.#bounds.totalBytes} bytes, unpacked`);
    // The parser would unpack again by itself, beyond these bounds.
    if (this.#begin.length < 4) {
      this.#begin = Buffer.concat([this.#begin, chunk.subarray(0, 4)]);
      if (PACKED_AGAIN.test(this.#begin.toString('latin1'))) throw unusable('it is packed twice');
    }
    // What comes behind the end the parser would pile up, copied anew with every chunk.
    if (!this.#isOver) this.#parser.write(chunk);
    if (this.#failure) throw this.#failure;
  }

  end(): Map<string, Buffer> {
    this.#parser.end();
    if (this.#failure) throw this.#failure;
    return this.#files;
  }

  #takeEntry(entry: ReadEntry): void {
    const path = entry.path.replace(/^(?:\.\/)+/, '');
    const isFile = entry.type === 'File' || entry.type === 'OldFile' || entry.type === 'ContiguousFile';
    if (isFile) this.#takeFile(entry, path);
    else if (entry.type !== 'Directory') this.#fail(unusable(`${JSON.stringify(path)} is a ${entry.type}, not a file`));
    entry.resume();
  }

  #takeFile(entry: ReadEntry, path: string): void {
    const { files, fileBytes } = this.#bounds;
    if (this.#files.size >= files) this.#fail(tooMuch(`more than ${files} files`));
    else if (entry.size > fileBytes) this.#fail(tooMuch(`${JSON.stringify(path)} with ${entry.size} bytes`));
    else if (this.#files.has(path)) this.#fail(unusable(`${JSON.stringify(path)} is in it twice`));
    if (this.#failure) return;
    const parts: Buffer[] = [];
    this.#files.set(path, Buffer.alloc(0));
    entry.on('data', (part: Buffer) => parts.push(part));
    entry.on('end', () => this.#files.set(path, Buffer.concat(parts)));
  }

  #fail(error: AppError): void {
    this.#failure ??= error;
  }
}

function unusable(problem: string, cause?: unknown): AppError {
  return new AppError('bad-input', `The archive cannot be used: ${problem.replace(/\.$/, '')}.`, {
    remedy: 'Nothing was changed. Have it made again with nocturne export.',
    cause,
  });
}

function tooMuch(what: string): AppError {
  return new AppError('bad-input', `The archive holds too much: ${what}.`, {
    remedy: 'Nothing was changed. Import it in parts.',
  });
}
