// `.nocturne/aside` of a working copy: where a live file is moved while new bytes take its place, so that nothing is overwritten
// unseen. A file just moved is `<file>.<sha>.taking` until its successor stands; then it is watched for 60 s, since a program that
// had it open may still write to it: bytes other than its name says are a late edit. All times are the disk's own.

import { join } from 'node:path';
import { listNames } from '../../base/files/directories.ts';
import {
  linkNew,
  makeDirectory,
  moveFile,
  readBytesNow,
  removeFile,
  statNow,
  writeSynced,
} from '../../base/files/files.ts';
import { shaOf } from './file-rows.ts';

const WATCHED_MS = 60_000;
/** An editor empties a file before it writes it: so long is it given. */
const EMPTIED_READS = 50;
const EMPTIED_READ_MS = 2;

export interface DisplacedFile {
  /** The id of the file that stood there. */
  file: string;
  /** Of the bytes that it had when it was moved here. */
  sha: string;
  bytes: Buffer;
  /** When it was moved here, or last written. */
  changedMs: number;
  name: string;
}

export class DisplacedFiles {
  readonly #dir: string;
  #n = 0;
  /** How each looked when its bytes were last those of its name. */
  readonly #looks = new Map<string, string>();

  /** `state`: the `.nocturne` directory of the working copy. */
  constructor(state: string) {
    this.#dir = join(state, 'aside');
  }

  /** Makes ready what shall stand at a place, on the disk. */
  prepare(content: Buffer): string {
    makeDirectory(this.#dir);
    const path = join(this.#dir, `new.${crypto.randomUUID()}`);
    writeSynced(path, content);
    return path;
  }

  /** Moves the live file here; answers what it held, null where none was there. */
  take(path: string, of: { file: string; sha: string }): Buffer | null {
    makeDirectory(this.#dir);
    const taking = this.#taking(of);
    return moveFile(path, taking) ? readWritten(taking) : null;
  }

  /** Puts what was taken back; where something stands there by now it is watched, and the answer is false. */
  putBack(path: string, of: { file: string; sha: string }, sha = of.sha): boolean {
    const isBack = linkNew(this.#taking(of), path);
    if (isBack) removeFile(this.#taking(of));
    else this.watch(of, sha);
    return isBack;
  }

  /** What was taken is done with, and watched; `sha`: of what is known to have been in it. */
  watch(of: { file: string; sha: string }, sha = of.sha): void {
    const taking = this.#taking(of);
    if (statNow(taking) === null) return;
    const path = () => join(this.#dir, `${of.file}.${sha}.${this.#n}`);
    while (statNow(path()) !== null) this.#n += 1;
    moveFile(taking, path());
  }

  /** What a crash left: files that were taken and not replaced. What was only made ready is removed. */
  left(): { file: string; sha: string }[] {
    const names = listNames(this.#dir);
    for (const name of names) if (name.startsWith('new.')) removeFile(join(this.#dir, name));
    return names.flatMap((name) => {
      const [, file, sha] = /^(mem_\w+)\.([0-9a-f]*)\.taking$/.exec(name) ?? [];
      return file === undefined || sha === undefined ? [] : [{ file, sha }];
    });
  }

  /** Of these files, all that are watched. */
  of(files: ReadonlySet<string>): DisplacedFile[] {
    return this.#named().flatMap(({ name, file, sha }) => {
      const path = join(this.#dir, name);
      const stat = files.has(file) ? statNow(path) : null;
      const bytes = stat && readWritten(path);
      return stat && bytes ? [{ file, sha, bytes, changedMs: stat.changedMs, name }] : [];
    });
  }

  /** Those that were written to since they were moved here. Others are removed when their time is over. */
  late(): DisplacedFile[] {
    const nowMs = statNow(this.#dir)?.modifiedMs ?? 0;
    return this.#named().flatMap(({ name, file, sha }) => {
      const path = join(this.#dir, name);
      const stat = statNow(path);
      if (!stat) return [];
      const looks = `${stat.bytes}:${stat.modifiedMs}`;
      const isOver = nowMs - stat.changedMs > WATCHED_MS;
      if (!isOver && this.#looks.get(name) === looks) return [];
      const bytes = readWritten(path);
      if (bytes && shaOf(bytes) !== sha) return [{ file, sha, bytes, changedMs: stat.changedMs, name }];
      this.#looks.set(name, looks);
      if (!isOver) return [];
      removeFile(path);
      this.#looks.delete(name);
      return [];
    });
  }

  #named(): { name: string; file: string; sha: string }[] {
    return listNames(this.#dir).flatMap((name) => {
      const [, file, sha] = /^(mem_\w+)\.([0-9a-f]{64})\.\d+$/.exec(name) ?? [];
      return file === undefined || sha === undefined ? [] : [{ name, file, sha }];
    });
  }

  /** A late edit was taken in: from now on the file is watched for another. */
  accept({ name, file, bytes }: DisplacedFile): void {
    let n = 0;
    const path = () => join(this.#dir, `${file}.${shaOf(bytes)}.${n}`);
    while (statNow(path()) !== null) n += 1;
    moveFile(join(this.#dir, name), path());
  }

  /** Removes all, for when no byte of a text may stay. */
  clear(): void {
    for (const name of listNames(this.#dir)) removeFile(join(this.#dir, name));
  }

  /** What time the disk says it is. */
  nowMs(): number {
    const path = this.prepare(Buffer.alloc(0));
    const now = statNow(path)?.changedMs ?? 0;
    removeFile(path);
    return now;
  }

  #taking({ file, sha }: { file: string; sha: string }): string {
    return join(this.#dir, `${file}.${sha}.taking`);
  }
}

/** Reads a file; one that is empty is looked at again for a moment. */
function readWritten(path: string): Buffer | null {
  let content = readBytesNow(path);
  for (let reads = 0; reads < EMPTIED_READS && content?.length === 0; reads += 1) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EMPTIED_READ_MS);
    content = readBytesNow(path);
  }
  return content;
}
