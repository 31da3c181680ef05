// `.nocturne/aside` of a working copy: where a live file is moved while new bytes take its place, so that nothing is overwritten
// unseen. A file just moved is `<file>.<sha>.taking` until its successor stands; then it is `<file>.<sha>.<n>` and watched for 60 s,
// since a program that had it open may still write to it: bytes other than its name says are a late edit. All times are the
// disk's own. Only `changed` and `of` may be asked without the copy's lock.

import { join } from 'node:path';
import { listNames } from '../base/files/directories.ts';
import { linkNew, makeDirectory, moveFile, removeFile, statNow, writeSynced } from '../base/files/files.ts';
import { readWritten } from './directory-look.ts';
import { shaOf } from './file-rows.ts';

const WATCHED_MS = 60_000;

/** A file that was moved aside: the id of the file that stood there, and the SHA-256 of what it should have held. */
export type Taken = { file: string; sha: string };

export interface DisplacedFile extends Taken {
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
    try {
      writeSynced(path, content);
    } catch (error) {
      removeFile(path);
      throw error;
    }
    return path;
  }

  /** Moves the live file here; answers what it held, null where none was there. */
  take(path: string, of: Taken): Buffer | null {
    makeDirectory(this.#dir);
    return moveFile(path, this.#taking(of)) ? readWritten(this.#taking(of), of.sha) : null;
  }

  /** Puts what was taken back; where something stands there by now it is watched, and the answer is false. */
  putBack(path: string, of: Taken, sha = of.sha): boolean {
    const isBack = linkNew(this.#taking(of), path);
    if (isBack) removeFile(this.#taking(of));
    else this.watch(of, sha);
    return isBack;
  }

  /** What was taken is done with, and watched; `sha`: of what is known to have been in it. */
  watch(of: Taken, sha = of.sha): void {
    if (statNow(this.#taking(of)) !== null) moveFile(this.#taking(of), this.#free(of.file, sha));
  }

  /** What a crash left: files that were taken and not replaced. What was only made ready is removed. */
  left(): Taken[] {
    const names = listNames(this.#dir);
    for (const name of names) if (name.startsWith('new.')) removeFile(join(this.#dir, name));
    return names.flatMap((name) => {
      const [, file, sha] = /^(mem_\w+)\.([0-9a-f]{64})\.taking$/.exec(name) ?? [];
      return file === undefined || sha === undefined ? [] : [{ file, sha }];
    });
  }

  /** Of these files, all that are watched. */
  of(files: ReadonlySet<string>): DisplacedFile[] {
    return this.#watched().flatMap((each) => (files.has(each.file) ? this.#read(each) : []));
  }

  /** Whether a crash left something here. */
  isLeft(): boolean {
    return listNames(this.#dir).some((name) => name.endsWith('.taking'));
  }

  /** Those that were written to since they were moved here. `isHeld`: those whose time is over are read once more, and go. */
  changed({ isHeld = false } = {}): DisplacedFile[] {
    const nowMs = statNow(this.#dir)?.modifiedMs ?? 0;
    return this.#watched().flatMap((each) => {
      const path = join(this.#dir, each.name);
      const stat = statNow(path);
      if (!stat) return [];
      const isOver = isHeld && nowMs - stat.changedMs > WATCHED_MS;
      const looks = `${stat.bytes}:${stat.modifiedMs}`;
      if (!isOver && this.#looks.get(each.name) === looks) return [];
      const late = this.#read(each).filter(({ bytes }) => shaOf(bytes) !== each.sha);
      if (late.length > 0) return late;
      if (isOver) removeFile(path);
      if (isOver) this.#looks.delete(each.name);
      else this.#looks.set(each.name, looks);
      return [];
    });
  }

  /** A late edit was taken in: from now on the file is watched for another. */
  accept({ name, file, bytes }: DisplacedFile): void {
    moveFile(join(this.#dir, name), this.#free(file, shaOf(bytes)));
  }

  /** Removes all, for when no byte of a text may stay. */
  clear(): void {
    for (const name of listNames(this.#dir)) removeFile(join(this.#dir, name));
  }

  #watched(): (Taken & { name: string })[] {
    return listNames(this.#dir).flatMap((name) => {
      const [, file, sha] = /^(mem_\w+)\.([0-9a-f]{64})\.\d+$/.exec(name) ?? [];
      return file === undefined || sha === undefined ? [] : [{ name, file, sha }];
    });
  }

  #read(of: Taken & { name: string }): DisplacedFile[] {
    const path = join(this.#dir, of.name);
    const stat = statNow(path);
    const bytes = stat && readWritten(path, of.sha);
    return stat && bytes ? [{ ...of, bytes, changedMs: stat.changedMs }] : [];
  }

  #free(file: string, sha: string): string {
    const path = () => join(this.#dir, `${file}.${sha}.${this.#n}`);
    while (statNow(path()) !== null) this.#n += 1;
    return path();
  }

  #taking({ file, sha }: Taken): string {
    return join(this.#dir, `${file}.${sha}.taking`);
  }
}
