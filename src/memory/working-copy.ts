// The working copy of a memory: a directory whose files a person, an agent or git may change at any time.
// Looking takes in what was changed past nocturne (directory-look.ts, external-edits.ts). Bringing makes the files what the heads
// say: a live file is moved aside and read there, then the new one is linked in, which overwrites nothing. Each step can be repeated
// after a crash; what cannot be brought waits, and keeps nothing else waiting.
// Both run under the copy's lock. While git works, or the directory is not there, nothing is touched; no link is followed.

import { AsyncLocalStorage } from 'node:async_hooks';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { AppError, isAppError, onAppError } from '../base/errors.ts';
import { isDirectory, kindOf, removeEmptyParents } from '../base/files/directories.ts';
import { linkNew, makeDirectory, readTextNow, removeFile, statNow, syncDirectory } from '../base/files/files.ts';
import type { Clock } from '../base/time.ts';
import type { Db } from '../db/sql.ts';
import { inTurn, telling } from '../db/sqlite.ts';
import {
  type Directory,
  filesBehind,
  hasMarkers,
  isStanding,
  type Known,
  knownFile,
  readLive,
  surveyAll,
  surveyPaths,
} from './directory-look.ts';
import { DisplacedFiles, type Taken } from './displaced-files.ts';
import { contentOf, ExternalEdits, setPlaced } from './external-edits.ts';
import { isSame, missingFiles, shaOf } from './file-rows.ts';
import { foldPath, linkInState, placeOf } from './memory-paths.ts';
import { gitIsBusy } from './paths.ts';

const MOST_TRIES = 50;
/** Files aside are looked at this often while commit follows commit. */
const RECOVER_MS = 250;

export class WorkingCopy {
  readonly memory: string;
  /** Canonical path of the directory. */
  readonly dir: string;
  readonly #db: Db;
  readonly #directory: Directory;
  readonly #lock: CopyLock;
  readonly #displaced: DisplacedFiles;
  readonly #edits: ExternalEdits;
  #recoveredMs = Number.NEGATIVE_INFINITY;
  /** It has only been looked at, so no id stands in it. */
  readonly #isUnmarked: boolean;

  /** `isCheckedIn`: git keeps what was there, so files that are gone were removed. */
  constructor(of: {
    memory: string;
    dir: string;
    home: string;
    db: Db;
    clock: Clock;
    isCheckedIn?: boolean;
    isUnmarked?: boolean;
  }) {
    const { memory, dir, db, isCheckedIn = false, isUnmarked = false } = of;
    this.#isUnmarked = isUnmarked;
    this.memory = memory;
    this.dir = dir;
    this.#db = db;
    this.#directory = { memory, dir, db, isCheckedIn };
    this.#lock = new CopyLock(of.home, memory);
    this.#displaced = new DisplacedFiles(join(dir, '.nocturne'));
    this.#edits = new ExternalEdits({ ...of, displaced: this.#displaced });
  }

  /** Runs `work` while nobody else looks or brings here. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    return this.#lock.hold(work);
  }

  /** Whether there is nothing to take in of these files, or of all, and nothing to bring; asked without the lock. */
  async isSettled(paths?: readonly string[]): Promise<boolean> {
    if (!this.#isThere()) return true;
    const { found, missing, back, unchanged, isBehind } = await this.#survey(paths);
    const isQuiet = found.length + missing.length + back.length + unchanged.length === 0 && !isBehind;
    return isQuiet && !this.#displaced.isLeft() && this.#displaced.changed().length === 0;
  }

  /** Takes in what was edited in these files, or in all; held. Errors: `bad-input` for a path that leads out. */
  async look(paths?: readonly string[]): Promise<void> {
    if (!this.#isThere()) return;
    await this.#recover({ isDue: !paths });
    await this.#edits.takeInAll(await this.#survey(paths));
  }

  /** Brings the files to their heads, where these are not placed yet; held. Answers paths where an edit won over lines of ours. */
  async bring(): Promise<string[]> {
    if (!this.#isThere()) return [];
    let behind = await this.#behind();
    // One that is not there was deleted or moved since it was looked at, or went with many others.
    if (behind.some((file) => isStanding(file) && file.missingSince === null && !this.#stands(file.placedPath))) {
      await this.look();
      behind = await this.#behind();
    }
    // What cannot be brought yet is tried again at the next look.
    const step = (work: () => Promise<void>) => work().catch(onAppError(() => {}));
    // What goes makes room for what comes.
    const going = behind.filter(isLeaving);
    for (const file of going) await step(() => this.#take(file.id));
    if (going.length > 0) behind = await this.#behind();
    const placed: { id: string; placed: string }[] = [];
    for (const file of behind)
      await step(async () => {
        const head = file.path === null && !isStanding(file) ? file.head : await this.#place(file);
        if (head !== null) placed.push({ id: file.id, placed: head });
      });
    if (placed.length > 0)
      await this.#db.write(async (sql) => {
        for (const each of placed) await setPlaced(sql, this.memory, each);
      });
    const collisions = [...this.#edits.collided];
    this.#edits.collided.clear();
    return collisions;
  }

  /** Takes files that are missing for deleted on purpose, as a person said; held. Answers their paths. */
  async acceptMissing(): Promise<string[]> {
    await this.look();
    const rows = await missingFiles(this.#db, this.memory);
    const found = [];
    for (const { id, path } of rows) {
      const file = await knownFile(this.#db, this.memory, id);
      if (file) found.push({ file, path: file.placedPath ?? path, content: null, changedMs: 0 });
    }
    if (found.length > 0) await this.#edits.takeIn(found);
    return rows.map(({ path }) => path);
  }

  /** Puts files that are missing back as they were known; held. */
  async restoreMissing(): Promise<void> {
    await this.#db.run(
      "update file set placed = '', seen = null, missing_since = null where memory = ? and missing_since is not null",
      this.memory,
    );
    await this.bring();
  }

  /** Makes a directory that is gone again, with every file as it was known; held. `mark` writes in it whose it is. */
  async restoreGone(mark: () => Promise<unknown>): Promise<void> {
    // First: a look meanwhile must not take files that were not brought yet for deleted.
    await this.#db.run(
      "update file set placed = '', seen = null, missing_since = null where memory = ? and path is not null",
      this.memory,
    );
    makeDirectory(this.dir);
    await mark();
    await this.bring();
  }

  /** Removes what was moved aside: for when no byte of a text may stay. */
  clearAside(): void {
    this.#displaced.clear();
  }

  close(): Promise<void> {
    return this.#lock.close();
  }

  /** Whether this is the memory's directory, and git leaves it alone. */
  #isThere(): boolean {
    const isLooked = this.#isUnmarked && isDirectory(this.dir) && kindOf(join(this.dir, '.nocturne')) === null;
    return (isLooked || this.#isOurs()) && !gitIsBusy(this.dir);
  }

  #isOurs(): boolean {
    if (readTextNow(join(this.dir, '.nocturne', 'id'))?.trim() !== this.memory) return false;
    // A repository may have brought one that leads elsewhere.
    return linkInState(this.dir) === undefined;
  }

  #survey(paths?: readonly string[]) {
    return paths ? surveyPaths(this.#directory, paths) : surveyAll(this.#directory);
  }

  #stands(path: string): boolean {
    try {
      return statNow(placeOf(this.dir, path).absolute) !== null;
    } catch {
      return false;
    }
  }

  #behind(): Promise<Known[]> {
    return filesBehind(this.#db, this.memory);
  }

  /** What a crash left half done is put back, and what was written through an old handle is taken in. */
  async #recover({ isDue }: { isDue: boolean }): Promise<void> {
    if (!isDue && performance.now() - this.#recoveredMs < RECOVER_MS) return;
    this.#recoveredMs = performance.now();
    for (const left of this.#displaced.left()) {
      const file = await knownFile(this.#db, this.memory, left.file);
      // Of a file that no row tells of it is all that there is.
      if (!file) continue;
      if (isStanding(file)) this.#putBack(file.placedPath, left);
      else this.#displaced.watch(left);
    }
    for (const each of this.#displaced.changed({ isHeld: true })) {
      await this.#edits.takeInLate(each);
      this.#displaced.accept(each);
    }
  }

  /** To where it stood, or among those that are watched where that is no place for a file any more. */
  #putBack(path: string, taken: Taken, sha = taken.sha): boolean {
    try {
      const { absolute } = placeOf(this.dir, path);
      makeDirectory(dirname(absolute));
      return this.#displaced.putBack(absolute, taken, sha);
    } catch (error) {
      if (!isAppError(error, 'bad-input')) throw error;
      this.#displaced.watch(taken, sha);
      return false;
    }
  }

  // Bringing.

  /** Takes a file away from where it stood, since it was deleted or stands elsewhere by now. */
  async #take(id: string): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const file = await knownFile(this.#db, this.memory, id);
      if (!file || !isStanding(file) || !isLeaving(file)) return;
      const done = () => setPlaced(this.#db, this.memory, { id, placed: file.path === null ? file.head : '' });
      const { absolute } = placeOf(this.dir, file.placedPath);
      const live = readLive(absolute, file.placedSha);
      if (live === null) return done();
      if (shaOf(live) !== file.placedSha) {
        // What stands there by now may be another's.
        const ofOther = 'select 1 from file where memory = ? and folded = ? and id <> ?';
        if (await this.#db.get(ofOther, this.memory, foldPath(file.placedPath), id)) return done();
        if (hasMarkers(live)) return;
        await this.#takeIn(file, live, statNow(absolute)?.changedMs);
        continue;
      }
      const taken: Taken = { file: id, sha: file.placedSha };
      const got = this.#displaced.take(absolute, taken);
      if (got === null) continue;
      if (shaOf(got) !== taken.sha) {
        // Saved in that very moment.
        if (!this.#putBack(file.placedPath, taken, shaOf(got))) await this.#takeIn(file, got);
        continue;
      }
      await done();
      this.#displaced.watch(taken);
      removeEmptyParents(this.dir, absolute);
      return;
    }
    throw this.#tooBusy();
  }

  /** Makes a file stand where its row says. Answers which version does now; null: none that is new. */
  async #place(behind: Known): Promise<string | null> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const file = await knownFile(this.#db, this.memory, behind.id);
      if (!file || file.path === null || file.placed === file.head || isLeaving(file)) return null;
      const end = await this.#placeOnce(file);
      if (end === 'placed') return file.head;
      if (end === 'left') return null;
    }
    throw this.#tooBusy();
  }

  /** `again`: something else came first, and was taken in; `left`: a person has to act first. */
  async #placeOnce(file: Known): Promise<'placed' | 'left' | 'again'> {
    const target = await contentOf(this.#db, file.head);
    if (target === null || file.path === null) return 'left';
    const { absolute: path } = placeOf(this.dir, file.path);
    makeDirectory(dirname(path));
    // Before the live file is looked at: between that and the swap as little as can be happens.
    const prepared = this.#displaced.prepare(target);
    try {
      const live = readLive(path, file.placedSha);
      if (live !== null && isSame(live, target)) return 'placed';
      if (live !== null && hasMarkers(live)) return 'left';
      if (live !== null && shaOf(live) !== file.placedSha) {
        await this.#takeIn(file, live, statNow(path)?.changedMs);
        return 'again';
      }
      const taken: Taken = { file: file.id, sha: file.placedSha ?? shaOf('') };
      const got = live === null ? null : this.#displaced.take(path, taken);
      if (live !== null && got === null) return 'again';
      if (got !== null && shaOf(got) !== file.placedSha) {
        // Saved in that very moment.
        if (!this.#putBack(file.path, taken, shaOf(got))) await this.#takeIn(file, got);
        return 'again';
      }
      let isPut = false;
      try {
        isPut = linkNew(prepared, path);
      } catch (error) {
        if (got !== null) this.#displaced.putBack(path, taken);
        throw error;
      }
      if (isPut) syncDirectory(dirname(path));
      if (got !== null) this.#displaced.watch(taken);
      return isPut ? 'placed' : 'again';
    } finally {
      removeFile(prepared);
    }
  }

  #takeIn(file: Known, content: Buffer, changedMs = 0): Promise<void> {
    const path = isLeaving(file) ? file.placedPath : file.path;
    return this.#edits.takeIn([{ file, path: path ?? '', content, changedMs }]);
  }

  #tooBusy(): AppError {
    return new AppError('conflict', `A file of ${this.dir} is changed again and again while nocturne writes it.`, {
      remedy: 'Close the program that keeps rewriting it; the change waits.',
    });
  }
}

/** Whether a file stands where it should not any more. */
function isLeaving(file: Known): boolean {
  return isStanding(file) && file.path !== file.placedPath;
}

/**
 * The lock of a memory's working copy, in a home: the kernel's on a file, so it ends with its process, however that dies. Waiting for it
 * lets the event loop go on.
 */
export class CopyLock {
  readonly #path: string;
  #db: Database.Database | null = null;
  #turns: Promise<unknown> = Promise.resolve();
  readonly #inside = new AsyncLocalStorage<true>();

  constructor(home: string, memory: string) {
    const dir = join(home, 'locks');
    makeDirectory(dir);
    this.#path = join(dir, `${memory}.db`);
  }

  /** Runs `work` while no one else holds it; errors: `conflict` after some 30 s. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    // It would wait for itself.
    if (this.#inside.getStore()) return Promise.reject(new Error('the working copy is held by who asks for it'));
    const mine = this.#turns.then(async () => {
      this.#db ??= telling(this.#path, () => new Database(this.#path, { timeout: 5 }));
      const db = this.#db;
      await inTurn(this.#path, () => db.exec('begin exclusive'));
      try {
        return await this.#inside.run(true, work);
      } finally {
        db.exec('rollback');
      }
    });
    this.#turns = mine.catch(() => undefined);
    return mine;
  }

  async close(): Promise<void> {
    await this.#turns;
    this.#db?.close();
    this.#db = null;
  }
}
