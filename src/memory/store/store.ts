// The store: the one way in which nocturne changes a memory directory.
// Promises: a commit of files and ledger rows is all or nothing, across a crash at any moment; commits of all
// processes of this machine are serialized; a writer whose lease is gone changes nothing; what was edited past the store is
// kept as a version, and is what a commit builds on; an edit that arrives while a file is swapped is merged in, and
// where lines collide it wins. What a commit replaces stays as a version. An error after the commit point (a full
// disk) leaves the files behind; the next commit or opening brings them there before anything else.
// It is opened, with what has to be repaired then, by memory/open.ts.

import { join } from 'node:path';
import { canonicalPath } from '../../base/files/directories.ts';
import { moveFile, readMemoryNow, readTextNow, type Stat, statNow } from '../../base/files/files.ts';
import type { Clock } from '../../base/time.ts';
import { shownText } from '../conflicts/conflict.ts';
import { type WorkRows, workRowsOf } from '../ledger/inbox.ts';
import { checkFence, type Lease } from '../ledger/job-rows.ts';
import { type Ledger, Transaction } from '../ledger/ledger.ts';
import { type Actor, beginCommit, missingIn, shaOf } from '../ledger/version-rows.ts';
import { type RecallRows, recallRowsOf } from '../recall/recall-uses.ts';
import { applyCommits, applyLateEdits, type SwapContext } from './apply.ts';
import { locateFile } from './confine.ts';
import { DISPLACED_DIR, DisplacedFiles } from './displaced-files.ts';
import { ExternalEdits } from './external-edits.ts';
import { type ListChoice, listPaths, type MemoryReader, type ReadMemory } from './live-files.ts';
import {
  check,
  DEFAULT_LIMITS,
  type FileChange,
  type Limits,
  notThere,
  type Precondition,
  refuseUnwritable,
  replaceOnly,
  type StagingDeps,
  stage,
} from './staging.ts';
import { StoreLock } from './store-lock.ts';

export type { Actor } from '../ledger/version-rows.ts';
export type { FileChange, Limits, Precondition } from './staging.ts';

export interface CommitPlan {
  /** Each path once. */
  files: FileChange[];
  /** Writes rows into the ledger. */
  rows?(transaction: Transaction): void;
}

export interface CommitResult {
  /** Paths where an external edit won over lines that the commit wanted; those are kept as a version. */
  collisions: string[];
}

/** Who makes a change, and under which lease: without one it is made whoever works there. */
export interface By {
  actor: Actor;
  lease?: Lease;
  /**
   * Of what was edited past the store, only the files of the commit are looked at, so that it takes as long in a large
   * directory as in a small one; all of them after some commits. What is refused so is tried again with every file looked at:
   * it is refused for what stands.
   */
  looksAtItsFiles?: boolean;
}

/** A file as it stands: `id` is the same after every rename, `version` its newest. */
export type Memory = ReadMemory & { id: string; version: string };

/** What a store is made of (open.ts). */
interface StoreParts {
  ledger: Ledger;
  clock: Clock;
  limits?: Partial<Limits>;
  /** Git carries it with a repository, so others write there too. */
  isCheckedIn: boolean;
  /** How long others that work there are waited for; default: 15 s. */
  lockWaitMs?: number;
  /** Of a copy of a store that is kept elsewhere: how each file looked when it was last found to be its head, by path. */
  looks?: Map<string, Stat>;
  /** Commits what becomes of the edits that were just taken in; true where that changed a file. */
  resolveEdits(store: DirectoryStore, clock: Clock): boolean;
}

/** A disk that has no room for so much is full. */
const REHEARSED_BYTES = 64 * 1024;

/** Kept in version control where the directory is: the reports, and this file. */
const GITIGNORE = '/*\n!/.gitignore\n!/dreams/\n';

/** Contract: resolves with null where someone else holds the key; the lease is kept alive while `work` runs. */
export type WithLease = <T>(store: Store, key: string, work: (lease: Lease) => Promise<T>) => Promise<T | null>;

/** The one way in which a memory is read and changed, wherever it is kept. */
export interface Store extends MemoryReader {
  /** What changes without a commit: who works on what, what waits; and what recall leaves behind. */
  readonly work: WorkRows;
  readonly recalls: RecallRows;
  readonly limits: Limits;
  readonly isCheckedIn: boolean;
  lookUp(given: string): Promise<Memory | null>;
  /** Makes a file hold `text`; what holds it already is left alone, whatever the precondition. */
  write(by: By, file: { path: string; text: string; precondition?: Precondition }): Promise<CommitResult>;
  /** Replaces `old`, which must stand in the file exactly once, by `new`; the file's line ends stay as they are. */
  edit(by: By, file: { path: string; old: string; new: string; precondition?: Precondition }): Promise<CommitResult>;
  /** Moves a file to a path that is free; its memory id and versions go with it. */
  rename(by: By, file: { from: string; to: string; precondition?: Precondition }): Promise<CommitResult>;
  /** Removes a file; its versions stay. */
  remove(by: By, file: { path: string; precondition?: Precondition }): Promise<CommitResult>;
  /**
   * Commits files and rows together. `plan` runs inside the transaction: what it reads from the ledger cannot change
   * before the commit. It may throw to take everything back.
   */
  commit(by: By, plan: (ledger: Ledger) => CommitPlan): Promise<CommitResult>;
  /** Writes rows that belong to no commit of files, such as the beginning of a job, in one transaction. */
  enterRows<T>(work: (ledger: Ledger) => T): Promise<T>;
  /**
   * Makes all that `work` changes in the store that it is given one change, however often it waits meanwhile, where a store can:
   * for what writes past commits. It does nothing in this one.
   */
  asOne<T>(work: (at: Store) => Promise<T>): Promise<T>;
  /**
   * Throws what a commit to these files would fail with, whatever it writes there, for work that costs something before it
   * commits. Changes nothing.
   */
  rehearse(by: By, paths: string[]): Promise<void>;
  /** Brings the files to what the ledger says where a commit was not applied yet; answers the paths that collided. */
  bringFilesUpToDate(of?: { onlyFresh: boolean }): string[];
  /**
   * Takes the missing files, or those among `only`, for deleted on purpose, as a person said; answers their paths. Their
   * versions stay.
   */
  acceptMissing(only?: Set<string>): Promise<string[]>;
  /** Whether the directory that was opened is still the one at its path. */
  isInPlace(): boolean;
  close(): void;
}

/** A store in a directory of this machine. */
export class DirectoryStore implements Store {
  readonly dir: string;
  readonly ledger: Ledger;
  readonly work: WorkRows;
  readonly recalls: RecallRows;
  readonly limits: Limits;
  readonly isCheckedIn: boolean;
  readonly #clock: Clock;
  readonly #lock: StoreLock;
  readonly #resolveEdits: StoreParts['resolveEdits'];
  readonly #external: ExternalEdits;
  readonly #context: SwapContext;
  readonly #displaced: DisplacedFiles;

  /** `dir`: canonical, and there. */
  constructor(dir: string, { ledger, clock, limits, isCheckedIn, lockWaitMs, looks, resolveEdits }: StoreParts) {
    this.dir = dir;
    this.ledger = ledger;
    this.work = workRowsOf(ledger);
    this.recalls = recallRowsOf(ledger);
    this.isCheckedIn = isCheckedIn;
    this.#clock = clock;
    this.#resolveEdits = resolveEdits;
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.#lock = new StoreLock(join(dir, '.nocturne', 'lock.db'), lockWaitMs);
    const isCopy = looks !== undefined;
    const displaced = new DisplacedFiles(join(dir, DISPLACED_DIR), { isSynced: !isCopy });
    this.#displaced = displaced;
    const deps = { ledger, clock, displaced, dir, isCopy, isCheckedIn, locate: (path: string) => this.#locate(path) };
    this.#external = new ExternalEdits({ ...deps, looks });
    this.#context = { ...deps, takeIn: (path) => this.#external.takeIn(path) };
    try {
      this.#lock.hold(() => {
        displaced.dropTemporary();
        writeGitignore(join(dir, '.nocturne'), displaced);
        this.bringFilesUpToDate();
      });
    } catch (error) {
      this.close();
      throw error;
    }
  }

  get id(): string {
    return this.dir;
  }

  async read(path: string): Promise<string | null> {
    return this.#readNow(path) ?? this.#lock.hold(() => this.#readNow(path));
  }

  async lookUp(given: string): Promise<Memory | null> {
    return this.#lock.hold(() => {
      const takeIn = () => this.ledger.transaction(() => this.#external.takeIn(this.#nameOf(given)));
      this.#takeInExternalEdits(takeIn);
      const head = takeIn();
      if (!head || head.content === null) return null;
      const { memory: id, path, id: version, content } = head;
      const text = shownText(content.toString(), { path, ledger: this.ledger });
      return { id, path, version, text, contentSha256: shaOf(content), sizeBytes: content.length };
    });
  }

  async list(choice?: ListChoice): Promise<string[]> {
    return listPaths(this, choice);
  }

  async write(by: By, file: { path: string; text: string; precondition?: Precondition }): Promise<CommitResult> {
    return this.#change(by, {
      path: file.path,
      change: (current) => {
        if (current !== file.text) check(file, current);
        return file.text;
      },
    });
  }

  async edit(by: By, file: { path: string; old: string; new: string; precondition?: Precondition }) {
    return this.#change(by, {
      path: file.path,
      change: (current) => {
        check(file, current);
        if (current === null) throw notThere(file.path);
        return replaceOnly(current, file);
      },
    });
  }

  async rename(by: By, file: { from: string; to: string; precondition?: Precondition }): Promise<CommitResult> {
    return this.#change(by, {
      path: file.to,
      from: file.from,
      change: (current) => {
        if (current === null) throw notThere(file.from);
        if (file.from !== file.to) check({ path: file.from, precondition: file.precondition }, current);
        return current;
      },
    });
  }

  async remove(by: By, file: { path: string; precondition?: Precondition }): Promise<CommitResult> {
    return this.#change(by, {
      path: file.path,
      change: (current) => {
        if (current === null) throw notThere(file.path);
        check(file, current);
        return null;
      },
    });
  }

  async commit(by: By, plan: (ledger: Ledger) => CommitPlan): Promise<CommitResult> {
    const stageAll = () => {
      const deps = this.#stagingFor(by);
      const { files, rows } = plan(this.ledger);
      const at = this.#clock.now().toISOString();
      const commit = beginCommit(this.ledger, { actor: by.actor, at, isApplied: false });
      for (const file of files) stage(this.#named(file), { id: commit, actor: by.actor, at }, deps);
      rows?.(new Transaction(this.ledger, commit));
    };
    return this.#lock.hold(() => {
      // In a copy nobody else writes.
      const looksAtItsFiles = by.looksAtItsFiles || this.#context.isCopy;
      if (!looksAtItsFiles || !this.#isStagedAtOnce(stageAll)) {
        this.#takeInExternalEdits(() => this.#external.takeInAll());
        this.ledger.transaction(stageAll);
      }
      // All displaced files were looked at just now, before the transaction.
      return { collisions: this.bringFilesUpToDate({ onlyFresh: true }) };
    });
  }

  async enterRows<T>(work: (ledger: Ledger) => T): Promise<T> {
    return this.ledger.transaction(() => work(this.ledger));
  }

  /** In a directory others see each step of it. */
  asOne<T>(work: (at: Store) => Promise<T>): Promise<T> {
    return work(this);
  }

  async rehearse(by: By, paths: string[]): Promise<void> {
    this.#holdWithEdits(() => {
      this.ledger.transaction(() => {
        const deps = this.#stagingFor(by);
        for (const path of paths) refuseUnwritable(this.#nameOf(path), by, deps);
      });
      this.#displaced.prepare(Buffer.alloc(REHEARSED_BYTES));
      this.#displaced.dropTemporary();
    });
  }

  bringFilesUpToDate(of = { onlyFresh: false }): string[] {
    return this.#lock.hold(() => [...new Set([...applyCommits(this.#context), ...applyLateEdits(this.#context, of)])]);
  }

  async missing(): Promise<string[]> {
    return this.#holdWithEdits(() => missingIn(this.ledger));
  }

  async acceptMissing(only?: Set<string>): Promise<string[]> {
    return this.#holdWithEdits(() => this.#external.acceptMissing(only));
  }

  isInPlace(): boolean {
    return this.#lock.isInPlace();
  }

  close(): void {
    this.#lock.close();
    this.ledger.close();
  }

  /** Runs `work` under the lock, with every external edit taken in. */
  #holdWithEdits<T>(work: () => T): T {
    return this.#lock.hold(() => {
      this.#takeInExternalEdits(() => this.#external.takeInAll());
      return work();
    });
  }

  /** Stages by what is known and what stands in the files of the commit; false where that is refused. */
  #isStagedAtOnce(stageAll: () => void): boolean {
    this.bringFilesUpToDate();
    this.#external.refresh();
    if (!this.#external.maySkipLook()) return false;
    try {
      this.ledger.transaction(stageAll);
      return true;
    } catch {
      // It is staged again by all that stands, which refuses it for good.
      return false;
    }
  }

  /** What a commit is staged with. Throws `fenced` where the lease is someone else's by now. */
  #stagingFor({ lease }: By): StagingDeps {
    if (lease) checkFence(this.ledger, lease);
    return { ...this.#context, limits: this.limits, totals: this.#external.totals };
  }

  #takeInExternalEdits(takeIn: () => void): void {
    this.bringFilesUpToDate();
    takeIn();
    if (this.#resolveEdits(this, this.#clock)) this.bringFilesUpToDate();
  }

  #change(by: By, file: FileChange): Promise<CommitResult> {
    return this.commit(by, () => ({ files: [file] }));
  }

  #readNow(path: string): string | null {
    const canonical = canonicalPath(this.#locate(path));
    return statNow(canonical)?.isFile ? readMemoryNow(canonical) : null;
  }

  /** The change with each path by its one name: however it is spelled, a file has one memory id. */
  #named(file: FileChange): FileChange {
    const from = file.from === undefined ? {} : { from: this.#nameOf(file.from) };
    return { ...file, path: this.#nameOf(file.path), ...from };
  }

  #nameOf(path: string): string {
    return locateFile(this.dir, path).path;
  }

  /** The absolute path of a file of this directory; refuses everything outside it. */
  #locate(path: string): string {
    return locateFile(this.dir, path).absolute;
  }
}

function writeGitignore(dir: string, displaced: DisplacedFiles): void {
  const path = join(dir, '.gitignore');
  if (readTextNow(path)) return;
  moveFile(displaced.prepare(Buffer.from(GITIGNORE)), path);
}
