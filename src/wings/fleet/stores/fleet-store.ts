// A store of the database as everybody works in it. Its `dir` and its `ledger` are a copy at one revision, which stays as it is
// until `refresh`, or a change of one's own: whoever begins a job refreshes first.
// Promises: those of `CheckedOut`: each change is one revision, or nothing; what is not in the database yet is read by nobody. A
// plan of a commit, and what it calls, sees what it wrote in `ledger`, too. A lease that is kept in the database is compared in
// the statement that checks the change in. Where a job begins, those of processes that are gone are ended.

import { isAppError } from '../../../base/errors.ts';
import { isDirectory } from '../../../base/files/directories.ts';
import { MOST_MEMORY_BYTES, readMemoryBytesNow } from '../../../base/files/files.ts';
import { thisProcess } from '../../../base/process.ts';
import { type Clock, systemClock } from '../../../base/time.ts';
import { shownText } from '../../../memory/conflicts/conflict.ts';
import type { WorkRows } from '../../../memory/ledger/inbox.ts';
import { endInterrupted } from '../../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { headAt, missingIn, shaOf } from '../../../memory/ledger/version-rows.ts';
import { locateFile } from '../../../memory/store/confine.ts';
import { type ListChoice, listPaths } from '../../../memory/store/live-files.ts';
import { DEFAULT_LIMITS } from '../../../memory/store/staging.ts';
import type { By, CommitPlan, CommitResult, Limits, Memory, Precondition, Store } from '../../../memory/store/store.ts';
import type { Ask } from '../postgres.ts';
import type { CheckedOut } from './checked-out.ts';
import type { DatabaseRecallRows } from './recalls.ts';
import { goneProcesses } from './store-rows.ts';

interface FleetStoreParts {
  ask: Ask;
  work: WorkRows;
  recalls: DatabaseRecallRows;
  clock?: Clock;
  limits?: Partial<Limits>;
  /** One who worked in it is done. */
  onClose(): void;
}

export class FleetStore implements Store {
  readonly work: WorkRows;
  readonly recalls: DatabaseRecallRows;
  readonly limits: Limits;
  /** No repository carries it. */
  readonly isCheckedIn = false;
  readonly #checkedOut: CheckedOut;
  readonly #parts: FleetStoreParts;

  constructor(checkedOut: CheckedOut, parts: FleetStoreParts) {
    this.#checkedOut = checkedOut;
    this.#parts = parts;
    this.work = parts.work;
    this.recalls = parts.recalls;
    this.limits = { ...DEFAULT_LIMITS, ...parts.limits };
  }

  get id(): string {
    return this.#checkedOut.id;
  }

  get dir(): string {
    return this.#checkedOut.dir;
  }

  get ledger(): Ledger {
    return this.#checkedOut.ledger;
  }

  get revision(): number {
    return this.#checkedOut.revision;
  }

  /** Another one after the database was restored. */
  get lineage(): string {
    return this.#checkedOut.row.lineage;
  }

  /** Bytes that it takes on this disk. */
  get bytes(): number {
    return this.#checkedOut.bytes;
  }

  /** Brings it to the newest revision after one look at that; answers whether it was another. */
  refresh(): Promise<boolean> {
    return this.#checkedOut.refresh();
  }

  async read(path: string): Promise<string | null> {
    const content = (await this.#find(path))?.content;
    // As much as is read of a file.
    if (content && content.length > MOST_MEMORY_BYTES) {
      return readMemoryBytesNow(locateFile(this.dir, path).absolute)?.toString() ?? null;
    }
    return content?.toString() ?? null;
  }

  async lookUp(given: string): Promise<Memory | null> {
    const head = await this.#find(given);
    if (!head) return null;
    const { memory: id, path, id: version, content } = head;
    const text = shownText(content.toString(), { path, ledger: this.ledger });
    return { id, path, version, text, contentSha256: shaOf(content), sizeBytes: content.length };
  }

  async list(choice?: ListChoice): Promise<string[]> {
    await this.#beWhole();
    return listPaths({ dir: this.dir, ledger: this.ledger, there: this.#checkedOut.paths }, choice);
  }

  async missing(): Promise<string[]> {
    await this.#beWhole();
    return missingIn(this.ledger);
  }

  commit(by: By, plan: (ledger: Ledger) => CommitPlan): Promise<CommitResult> {
    return this.#change(by, (at) => at.commit(by, plan));
  }

  write(by: By, file: { path: string; text: string; precondition?: Precondition }): Promise<CommitResult> {
    return this.#change(by, (at) => at.write(by, file));
  }

  edit(by: By, file: { path: string; old: string; new: string; precondition?: Precondition }): Promise<CommitResult> {
    return this.#change(by, (at) => at.edit(by, file));
  }

  rename(by: By, file: { from: string; to: string; precondition?: Precondition }): Promise<CommitResult> {
    return this.#change(by, (at) => at.rename(by, file));
  }

  remove(by: By, file: { path: string; precondition?: Precondition }): Promise<CommitResult> {
    return this.#change(by, (at) => at.remove(by, file));
  }

  rehearse(by: By, paths: string[]): Promise<void> {
    return this.#checkedOut.rehearse((at) => this.#in(at, () => at.rehearse(by, paths)));
  }

  acceptMissing(only?: Set<string>): Promise<string[]> {
    return this.#change(null, (at) => at.acceptMissing(only));
  }

  async enterRows<T>(work: (ledger: Ledger) => T): Promise<T> {
    const { ask, clock = systemClock } = this.#parts;
    const running = this.ledger.all<{ process: string | null }>("select process from job where status = 'running'");
    const others = running.flatMap(({ process }) => (process === null || process === thisProcess() ? [] : process));
    const gone = others.length > 0 ? await goneProcesses(ask, others) : new Set<string>();
    return this.#change(null, (at) =>
      at.enterRows((ledger) => {
        endInterrupted(ledger, clock.now(), (process) => gone.has(process));
        return work(ledger);
      }),
    );
  }

  asOne<T>(work: (at: Store) => Promise<T>): Promise<T> {
    return this.#checkedOut.change(work);
  }

  /** Its files are what its ledger says. */
  bringFilesUpToDate(): string[] {
    return [];
  }

  isInPlace(): boolean {
    return isDirectory(this.dir);
  }

  /** One who worked in it is done; others may still. */
  close(): void {
    this.#parts.onClose();
  }

  /** Throws its copies away. */
  end(): Promise<void> {
    return this.#checkedOut.close();
  }

  async #find(path: string) {
    await this.#beWhole();
    const { path: name, absolute } = locateFile(this.dir, path);
    const head = headAt(this.ledger, name);
    if (!head || head.sha === null) return null;
    // The ledger's own text may be lost.
    const content = head.content ?? readMemoryBytesNow(absolute);
    return content && { ...head, content };
  }

  /** What a disk that failed left half done is mended before it is read. */
  async #beWhole(): Promise<void> {
    if (!this.#checkedOut.isWhole) await this.refresh();
  }

  async #change<T>(by: By | null, work: (at: Store) => Promise<T>): Promise<T> {
    const lease = by?.lease?.isKeptElsewhere ? by.lease : undefined;
    try {
      return await this.#checkedOut.change((at) => this.#in(at, () => work(at)), lease);
    } catch (error) {
      // Tells where it was not the store that was taken over.
      if (lease && isAppError(error, 'fenced')) await this.work.requireLease(lease);
      throw error;
    }
  }

  /** What is asked of this store's ledger meanwhile, by a plan, is asked of the one in which it writes. */
  #in<T>(at: Store, work: () => Promise<T>): Promise<T> {
    return this.ledger.over(at.ledger, work);
  }
}
