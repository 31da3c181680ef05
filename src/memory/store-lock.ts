// One process at a time brings files and ledger together in a memory directory.
// It is a SQLite file that holds nothing: the system lets its lock go when a process dies, at whatever moment. Unlike
// the ledger's own write lock it can be held over several ledger transactions, so that what was found in a file is
// kept before the file is touched again.

import Database from 'better-sqlite3';
import { AppError } from '../base/errors.ts';
import { fileIdentity, makeFile } from '../base/files/files.ts';

export class StoreLock {
  readonly #db: Database.Database;
  readonly #path: string;
  readonly #identity: string | null;
  readonly #waitMs: number;
  #isHeld = false;

  constructor(path: string, waitMs = 15_000) {
    this.#path = path;
    this.#waitMs = waitMs;
    makeFile(path);
    this.#db = new Database(path, { timeout: waitMs });
    this.#identity = fileIdentity(path);
  }

  /** False where the directory was moved, removed or put in place again since: what is held open is another one. */
  isInPlace(): boolean {
    return this.#identity !== null && fileIdentity(this.#path) === this.#identity;
  }

  /** Takes it until it is closed; false where another holds it. */
  take(): boolean {
    try {
      this.#db.exec('begin exclusive');
      return true;
    } catch (error) {
      if ((error as { code?: string }).code?.startsWith('SQLITE_BUSY')) return false;
      throw error;
    }
  }

  /** Runs `work`, which must not wait for anything, while no other process does the same. */
  hold<T>(work: () => T): T {
    if (this.#isHeld) return work();
    try {
      this.#db.exec('begin exclusive');
    } catch (error) {
      if (!(error as { code?: string }).code?.startsWith('SQLITE_BUSY')) {
        throw new AppError('storage', `Cannot lock ${this.#path}: ${(error as Error).message}.`, {
          remedy: 'Nothing was changed. Check that the memory directory is still there and may be written.',
          cause: error,
        });
      }
      throw new AppError(
        'conflict',
        `Another process has been writing to ${this.#path} for ${this.#waitMs / 1_000} seconds.`,
        { remedy: 'Nothing was changed; try again when it is done.', cause: error },
      );
    }
    this.#isHeld = true;
    try {
      return work();
    } finally {
      this.#isHeld = false;
      this.#db.exec('rollback');
    }
  }

  close(): void {
    this.#db.close();
  }
}
