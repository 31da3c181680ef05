// Displaced files: where a live file is moved while new bytes take its place, so that nothing is overwritten unseen.
// A file just moved here is `<memory>.taking` until the ledger has what it holds; then its name says the hash of that.
// An editor that had the file open may still write to it: a file whose bytes differ from its name is a late edit.
// Every displaced file is looked at for 60 s and once more before it is removed.

import { basename, dirname, join } from 'node:path';
import { listNames } from '../../base/files/directories.ts';
import {
  linkNew,
  makeDirectory,
  makeFile,
  moveFile,
  readBytesNow,
  removeFile,
  type Stat,
  statNow,
  syncDirectory,
  writeNew,
  writeSynced,
} from '../../base/files/files.ts';
import { type Content, shaOf } from '../ledger/version-rows.ts';
import { matchesKnown } from './live-files.ts';

/** Where they are, in the memory directory. */
export const DISPLACED_DIR = '.nocturne/aside';
/** How long a displaced file is looked at again. */
const WATCHED_MS = 60_000;
/** The coarsest clock of a file system: a file written later than this ago may change again without a sign of it. */
export const DISK_TICK_MS = 2_000;
/** The same where it tells parts of a second: systems look at their own clock as seldom as every 16 ms. */
const FINE_TICK_MS = 100;
/** How long an editor gets to write a file that it has just emptied, and how often it is read again. */
const EMPTIED_READS = 50;
const EMPTIED_READ_MS = 2;

export interface LateEdit {
  memory: string;
  /** Hash of what stood in the file when it was last looked at. */
  baseSha: string;
  content: Buffer;
  /** Goes on watching the file from what it holds now; to be called once the edit is kept. */
  accept(): void;
}

interface DisplacedFile {
  name: string;
  memory: string;
  sha: string;
  atMs: number;
  n: number;
}

export class DisplacedFiles {
  readonly #dir: string;
  readonly #isSynced: boolean;
  /** Of each, how it looked when its bytes were last those of its name. */
  readonly #stats = new Map<string, Stat>();
  /** The names of those kept since the last stat. */
  #fresh: string[] = [];

  /** `isSynced`: what is moved here survives a power loss. */
  constructor(dir: string, { isSynced }: { isSynced: boolean }) {
    this.#dir = dir;
    this.#isSynced = isSynced;
    makeDirectory(dir);
  }

  /** Moves the live file of a memory here; answers what is in it, or null where there is no file. */
  take(memory: string, live: { path: string; isEmptyExpected: boolean }): Content {
    if (!moveFile(live.path, this.#taking(memory))) return null;
    if (this.#isSynced) syncDirectory(this.#dir);
    return readWritten(this.#taking(memory), live) ?? Buffer.alloc(0);
  }

  /** What is in the file that was taken last and not kept yet. */
  taken(memory: string): Content {
    const path = this.#taking(memory);
    // Most often nothing is there, which costs less to see than to fail to open.
    return statNow(path) && readBytesNow(path);
  }

  /** Keeps the file that was taken last, now that the ledger has its bytes. */
  keep(memory: string, taken: { sha: string; atMs: number }): void {
    this.#file(this.#taking(memory), { ...taken, memory });
  }

  /** Whether a file with this content was moved here lately: the sign that its place is empty because of us. */
  holds(memory: string, content: Content): boolean {
    const sha = shaOf(content);
    return displacedIn(listNames(this.#dir)).some((file) => file.memory === memory && file.sha === sha);
  }

  /**
   * Puts a file back to its live name that was taken but not kept, after a crash or an error. Where another stands
   * there meanwhile, what was taken is a late edit of `expected`.
   */
  putBack(memory: string, place: { path: string; expected: Content; atMs: number }): void {
    const taking = this.#taking(memory);
    makeDirectory(dirname(place.path));
    if (linkNew(taking, place.path)) {
      removeFile(taking);
      if (this.#isSynced) syncDirectory(dirname(place.path));
    } else this.keep(memory, { sha: shaOf(place.expected ?? ''), atMs: place.atMs });
  }

  /** Writes the bytes of a file to come; answers where they are until `place` or `dropTemporary`. */
  prepare(content: Buffer): string {
    const path = join(this.#dir, 'new.tmp');
    removeFile(path);
    (this.#isSynced ? writeSynced : writeNew)(path, content);
    return path;
  }

  dropTemporary(): void {
    removeFile(join(this.#dir, 'new.tmp'));
  }

  /**
   * Edits that reached a file after it was moved here; what stayed as it was for long enough is removed. `onlyFresh`:
   * of the files that were moved here since the last stat.
   */
  late(nowMs: number, { onlyFresh }: { onlyFresh: boolean }): LateEdit[] {
    const edits: LateEdit[] = [];
    const lastChangeMs = statNow(this.#dir)?.modifiedMs ?? 0;
    const files = displacedIn(onlyFresh ? this.#fresh : listNames(this.#dir));
    this.#fresh = [];
    for (const file of files) {
      const path = join(this.#dir, file.name);
      const stat = statNow(path);
      const known = this.#stats.get(file.name);
      const isOld = nowMs - file.atMs > WATCHED_MS;
      if (stat && !isOld && known && matchesKnown(known, stat)) continue;
      const content = readWritten(path, { isEmptyExpected: file.sha === shaOf('') });
      if (content === null) continue;
      if (shaOf(content) !== file.sha) {
        const accept = () => this.#file(path, { ...file, sha: shaOf(content) });
        edits.push({ memory: file.memory, baseSha: file.sha, content, accept });
      } else if (isOld) {
        removeFile(path);
        this.#stats.delete(file.name);
      } else if (stat && lastChangeMs - stat.modifiedMs > tickAfter(stat)) this.#stats.set(file.name, stat);
    }
    return edits;
  }

  /** The disk's own idea of the present, in the terms of `Stat`. */
  diskNowMs(): number {
    const path = join(this.#dir, 'new.tmp');
    makeFile(path);
    removeFile(path);
    return statNow(this.#dir)?.modifiedMs ?? 0;
  }

  #file(from: string, { memory, sha, atMs }: Pick<DisplacedFile, 'memory' | 'sha' | 'atMs'>): void {
    let n = 0;
    const path = () => join(this.#dir, `${memory}.${sha}.${atMs}.${n}`);
    while (statNow(path()) !== null) n += 1;
    moveFile(from, path());
    this.#fresh.push(basename(path()));
  }

  #taking(memory: string): string {
    return join(this.#dir, `${memory}.taking`);
  }
}

function displacedIn(names: string[]): DisplacedFile[] {
  return names
    .map((name) => ({ name, match: /^(mem_\w+)\.([0-9a-f]{64})\.(\d+)\.(\d+)$/.exec(name) }))
    .flatMap(({ name, match }) => {
      const [, memory, sha, atMs, n] = match ?? [];
      return memory && sha ? [{ name, memory, sha, atMs: Number(atMs), n: Number(n) }] : [];
    })
    .sort((a, b) => a.atMs - b.atMs || a.n - b.n);
}

/** How long after this stat the file may still change without a sign of it: where the disk tells parts of a second, not long. */
function tickAfter({ modifiedMs }: Stat): number {
  return modifiedMs % 1_000 === 0 ? DISK_TICK_MS : FINE_TICK_MS;
}

/** Reads a file; one that is empty unexpectedly is looked at again: an editor empties a file before it writes it. */
export function readWritten(path: string, { isEmptyExpected }: { isEmptyExpected: boolean }): Content {
  let content = readBytesNow(path);
  for (let reads = 0; reads < EMPTIED_READS && content?.length === 0 && !isEmptyExpected; reads += 1) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EMPTIED_READ_MS);
    content = readBytesNow(path);
  }
  return content;
}
