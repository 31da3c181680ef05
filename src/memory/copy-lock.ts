// The lock of a working copy: who holds it alone looks into the directory and brings files there. It is the kernel's lock on a
// file of the home, so it ends with its process, however that dies. Waiting lets the event loop go on.

import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { makeDirectory } from '../base/files/files.ts';
import { inTurn, isBusy, telling } from '../db/sqlite.ts';

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

/** Takes such a lock on a file of its own, and answers what lets it go; null where another holds it. */
export function takeLock(path: string): (() => void) | null {
  const db = telling(path, () => new Database(path, { timeout: 0 }));
  try {
    db.exec('begin exclusive');
    return () => db.close();
  } catch (error) {
    db.close();
    if (isBusy(error)) return null;
    throw error;
  }
}
