// The working copy of a memory: a directory whose files a person, an agent or git may change at any time.
// Looking takes in what was changed past nocturne (external-edits.ts). Bringing makes the files what the heads say: a live file is
// moved aside and read there, then the new one is linked in, which overwrites nothing. Each step can be repeated after a crash.
// Both run under the copy's lock. While git works nothing is touched; no link is followed out of the directory.

import { dirname, join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { removeEmptyParents } from '../../base/files/directories.ts';
import { linkNew, makeDirectory, removeFile, statNow, syncDirectory } from '../../base/files/files.ts';
import type { Clock } from '../../base/time.ts';
import { locateFile } from '../../memory/store/confine.ts';
import type { Db } from '../db/sql.ts';
import { CopyLock } from './copy-lock.ts';
import { DisplacedFiles } from './displaced-files.ts';
import { contentOf, ExternalEdits, hasMarkers, isSame, type Known, readLive } from './external-edits.ts';
import { foldPath, shaOf } from './file-rows.ts';
import { gitIsBusy } from './git-state.ts';

const MOST_TRIES = 200;
/** Of a file that is saved all the time: so often it is taken in where it stands, then while it is aside. */
const PATIENT_TRIES = 2;
/** Files aside are looked at this often while commit follows commit. */
const RECOVER_MS = 250;

export class WorkingCopy {
  readonly memory: string;
  /** Canonical path of the directory. */
  readonly dir: string;
  readonly #db: Db;
  readonly #lock: CopyLock;
  readonly #displaced: DisplacedFiles;
  readonly #edits: ExternalEdits;
  #recoveredMs = Number.NEGATIVE_INFINITY;

  /** `isCheckedIn`: git keeps what was there, so files that are gone were removed. */
  constructor(of: { memory: string; dir: string; home: string; db: Db; clock: Clock; isCheckedIn?: boolean }) {
    this.memory = of.memory;
    this.dir = of.dir;
    this.#db = of.db;
    this.#lock = new CopyLock(of.home, of.memory);
    this.#displaced = new DisplacedFiles(join(of.dir, '.nocturne'));
    const { memory, dir, db, clock, isCheckedIn = false } = of;
    this.#edits = new ExternalEdits({ memory, dir, db, clock, isCheckedIn, displaced: this.#displaced });
  }

  /** Runs `work` while nobody else looks or brings here. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    return this.#lock.hold(work);
  }

  /** Takes in what was edited in these files, or in all; held. Errors: `bad-input` for a path that leads out. */
  async look(paths?: readonly string[]): Promise<void> {
    if (gitIsBusy(this.dir)) return;
    await this.#recover({ isDue: !paths });
    const found = paths ? await this.#edits.lookAt(paths) : await this.#edits.lookAtAll();
    if (found.length > 0) await this.#edits.takeIn(found);
  }

  /** Brings the files to their heads, where these are not placed yet; held. Answers the paths where an edit won over lines of ours. */
  async bring(): Promise<string[]> {
    if (gitIsBusy(this.dir)) return [];
    await this.#recover({ isDue: false });
    const behind = await this.#edits.known('and file.placed <> file.head');
    // What goes makes room for what comes.
    for (const file of behind.sort((a, b) => Number(a.path !== null) - Number(b.path !== null)))
      await this.#bring(file.id);
    const collided = [...this.#edits.collided];
    this.#edits.collided.clear();
    return collided;
  }

  /** Takes files that are missing for deleted on purpose, as a person said; held. Answers their paths. */
  async acceptMissing(): Promise<string[]> {
    const missing = await this.#edits.known('and file.missing_since is not null');
    const gone = missing.filter(({ path }) => path !== null && statNow(join(this.dir, path)) === null);
    await this.#edits.takeIn(gone.map((file) => ({ file, path: file.path as string, content: null, changedMs: 0 })));
    return gone.map(({ path }) => path as string);
  }

  /** Removes what was moved aside: for when no byte of a text may stay. */
  clearAside(): void {
    this.#displaced.clear();
  }

  close(): Promise<void> {
    return this.#lock.close();
  }

  /** What a crash left half done is put back, and what was written through an old handle is taken in. */
  async #recover({ isDue }: { isDue: boolean }): Promise<void> {
    if (!isDue && performance.now() - this.#recoveredMs < RECOVER_MS) return;
    this.#recoveredMs = performance.now();
    for (const left of this.#displaced.left()) {
      const [file] = await this.#edits.known('and file.id = ?', left.file);
      if (file?.placedPath) this.#displaced.putBack(join(this.dir, file.placedPath), left);
      else this.#displaced.watch(left);
    }
    for (const each of this.#displaced.late()) {
      await this.#edits.takeInLate(each);
      this.#displaced.accept(each);
    }
  }

  // Bringing.

  async #bring(id: string): Promise<void> {
    /** What was moved aside and has no successor yet: of a file that is saved all the time it is kept there meanwhile. */
    let held: Held | null = null;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const [file] = await this.#edits.known('and file.id = ?', id);
      const isUrgent = tries >= PATIENT_TRIES;
      const end: Brought = file && file.placed !== file.head ? await this.#bringOnce(file, { held, isUrgent }) : 'left';
      if (end === 'left') return;
      if (end === 'placed') {
        await this.#db.run(
          'update file set placed = ?, seen = null where memory = ? and id = ? and head = ?',
          ...[file?.head ?? '', this.memory, id, file?.head ?? ''],
        );
        return;
      }
      if (end !== 'again') held = await this.#takeInTaken(end, { isHeld: isUrgent });
    }
    throw new AppError('conflict', `A file of ${this.dir} changes faster than it can be written.`, {
      remedy: 'Close the program that keeps rewriting it; the change waits and is made at the next look.',
    });
  }

  async #bringOnce(file: Known, how: { held: Held | null; isUrgent: boolean }): Promise<Brought> {
    const { held, isUrgent } = how;
    const from = file.placedSha === null ? null : file.placedPath;
    const target = await contentOf(this.#db, file.head);
    if (file.path === null || target === null) return from === null ? 'placed' : this.#takeAway(file, from);
    const isMove = from !== null && from !== file.path;
    const path = locateFile(this.dir, file.path).absolute;
    makeDirectory(dirname(path));
    // Before the live file is looked at: between that and the swap as little as can be happens.
    const prepared = this.#displaced.prepare(target);
    try {
      const live = readLive(path, statNow(path));
      if (live !== null && isSame(live, target)) return isMove ? this.#takeAway(file, from) : 'placed';
      if (live !== null && hasMarkers(live)) return 'left';
      const isNew = isMove || from === null || file.missingSince !== null || held !== null;
      const isOther = live !== null && (isMove || (shaOf(live) !== file.placedSha && !isUrgent));
      if (isOther || (live === null && !isNew)) {
        await this.#edits.takeIn([{ file, path: file.path, content: live, changedMs: statNow(path)?.changedMs ?? 0 }]);
        return 'again';
      }
      const taken = takenOf(file);
      const got = live === null ? null : this.#displaced.take(path, taken);
      if (live !== null && got === null) return 'again';
      if (got !== null && shaOf(got) !== file.placedSha) return { file, path, got, taken };
      const isPut = linkNew(prepared, path);
      if (isPut) syncDirectory(dirname(path));
      if (got !== null) this.#displaced.watch(taken);
      if (!isPut) return 'again';
      if (held !== null) this.#displaced.watch(held.taken, held.sha);
      return isMove ? this.#takeAway(file, from) : 'placed';
    } finally {
      removeFile(prepared);
    }
  }

  /** Someone saved in the very moment of the swap. Answers what is still aside and has no successor. */
  async #takeInTaken({ file, path, got, taken }: Saved, { isHeld }: { isHeld: boolean }): Promise<Held | null> {
    const isBack = !isHeld && this.#displaced.putBack(path, taken, shaOf(got));
    const at = file.path ?? (file.placedPath as string);
    if (!isBack) await this.#edits.takeIn([{ file, path: at, content: got, changedMs: 0 }]);
    return isHeld ? { taken, sha: shaOf(got) } : null;
  }

  /** Takes a file away that was deleted, or stands at another path by now. */
  async #takeAway(file: Known, from: string): Promise<Brought> {
    const [other] = await this.#edits.known('and file.folded = ? and file.id <> ?', foldPath(from), file.id);
    const path = locateFile(this.dir, from).absolute;
    const live = readLive(path, statNow(path));
    if (live === null) return 'placed';
    if (shaOf(live) !== file.placedSha) {
      // What stands there by now is the other's.
      if (other) return 'placed';
      if (hasMarkers(live)) return 'left';
      await this.#edits.takeIn([{ file, path: from, content: live, changedMs: statNow(path)?.changedMs ?? 0 }]);
      return 'again';
    }
    const taken = takenOf(file);
    const got = this.#displaced.take(path, taken);
    if (got === null) return 'again';
    if (shaOf(got) !== file.placedSha) return { file, path, got, taken };
    this.#displaced.watch(taken);
    removeEmptyParents(this.dir, path);
    return 'placed';
  }
}

/** A file that was moved aside, by what it should have held. */
interface Taken {
  file: string;
  sha: string;
}

/** The same, kept there while its successor is made of it; `sha`: of what it held. */
interface Held {
  taken: Taken;
  sha: string;
}

/** What was found in a file that was moved aside, in place of what should have been. */
interface Saved {
  file: Known;
  path: string;
  got: Buffer;
  taken: Taken;
}

/** `again`: something else came first, and was taken in; `left`: it is brought, or a person has to end a conflict there. */
type Brought = 'placed' | 'again' | 'left' | Saved;

function takenOf({ id, placedSha }: Known): Taken {
  return { file: id, sha: placedSha ?? '' };
}
