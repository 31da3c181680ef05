// Archives entry by entry, as nobody who means well would make them.

import { gzipSync } from 'node:zlib';
import { Header } from 'tar';

export interface TarEntry {
  path: string;
  content?: string | Buffer;
  /** Default: `File`. */
  type?: 'File' | 'SymbolicLink' | 'Link' | 'CharacterDevice' | 'FIFO' | 'Directory';
  linkpath?: string;
  /** Default: 0644. */
  mode?: number;
}

/** The blocks of a tar, not packed. */
export function tarOf(entries: TarEntry[]): Buffer {
  const blocks = entries.flatMap(({ path, content = '', type = 'File', linkpath, mode = 0o644 }) => {
    const body = Buffer.from(content);
    const header = new Header({ path, type, linkpath, size: body.length, mode, mtime: new Date(0) });
    header.encode();
    return [header.block ?? Buffer.alloc(512), body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1_024)]);
}

export function tarballOf(entries: TarEntry[]): Buffer {
  return gzipSync(tarOf(entries));
}

/** Bytes as they come over a pipe. */
export async function* inPieces(bytes: Buffer, size = 1_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
