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
  const archive = reading(bounds);
  try {
    await pipeline(pieces, createGunzip(), async (unpacked: AsyncIterable<Buffer>) => {
      for await (const chunk of unpacked) archive.take(chunk);
    });
  } catch (error) {
    if (isAppError(error)) throw error;
    throw unusable(`it is no whole .tar.gz (${(error as Error).message.replace(/\.$/, '')})`, error);
  }
  return archive.end();
}

function reading({ files: mostFiles, fileBytes, totalBytes }: TarBounds) {
  const files = new Map<string, Buffer>();
  let bytes = 0;
  let isOver = false;
  let begin = Buffer.alloc(0);
  let failure: AppError | undefined;
  const fail = (error: AppError) => {
    failure ??= error;
  };

  function takeEntry(entry: ReadEntry): void {
    const path = entry.path.replace(/^(?:\.\/)+/, '');
    const isFile = entry.type === 'File' || entry.type === 'OldFile' || entry.type === 'ContiguousFile';
    if (isFile) takeFile(entry, path);
    else if (entry.type !== 'Directory') fail(unusable(`${JSON.stringify(path)} is a ${entry.type}, not a file`));
    entry.resume();
  }

  function takeFile(entry: ReadEntry, path: string): void {
    if (files.size >= mostFiles) fail(tooMuch(`more than ${mostFiles} files`));
    else if (entry.size > fileBytes) fail(tooMuch(`${JSON.stringify(path)} with ${entry.size} bytes`));
    else if (files.has(path)) fail(unusable(`${JSON.stringify(path)} is in it twice`));
    if (failure) return;
    const parts: Buffer[] = [];
    files.set(path, Buffer.alloc(0));
    entry.on('data', (part: Buffer) => parts.push(part));
    entry.on('end', () => files.set(path, Buffer.concat(parts)));
  }

  const parser = new Parser({ strict: true, onReadEntry: takeEntry })
    .on('ignoredEntry', takeEntry)
    .on('eof', () => {
      isOver = true;
    })
    .on('error', (error: Error) => fail(unusable(error.message, error)));
  return {
    take(chunk: Buffer): void {
      bytes += chunk.length;
      if (bytes > totalBytes) throw tooMuch(`more than ${totalBytes} bytes, unpacked`);
      // The parser would unpack again by itself, beyond these bounds.
      if (begin.length < 4) {
        begin = Buffer.concat([begin, chunk.subarray(0, 4)]);
        if (PACKED_AGAIN.test(begin.toString('latin1'))) throw unusable('it is packed twice');
      }
      // What comes behind the end the parser would pile up, copied anew with every chunk.
      if (!isOver) parser.write(chunk);
      if (failure) throw failure;
    },
    end(): Map<string, Buffer> {
      parser.end();
      if (failure) throw failure;
      return files;
    },
  };
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
