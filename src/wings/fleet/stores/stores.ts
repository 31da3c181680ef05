// The stores in the database, as one process has them: which there are, and the copies of those that it checked out.
// Promises: others know that the process is alive, and which ledgers it can read, for as long as this is open; copies of
// processes that died are thrown away.

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { thisProcess } from '../../../base/process.ts';
import { type Database, openDatabase } from '../database.ts';
import { CheckedOut, type CheckOutDeps } from './checked-out.ts';
import { ledgerVersion, sweepCopies } from './copy.ts';
import { beSeen, leave, MEMBER_GONE_MS, STORES, type StoreRow, storeRows } from './rows.ts';

export interface StoresOptions extends Omit<CheckOutDeps, 'database' | 'place'> {
  url: string;
  /** The nocturne home of this machine: copies are in its `copies/`. */
  home: string;
  /** What copies are opened with. */
  open?: CheckOutDeps['place']['options'];
}

export class FleetStores {
  readonly database: Database;
  readonly deps: CheckOutDeps;
  readonly #member: string;
  readonly #seen: NodeJS.Timeout;

  private constructor(database: Database, { member, deps }: { member: string; deps: CheckOutDeps }) {
    this.database = database;
    this.deps = deps;
    this.#member = member;
    this.#seen = setInterval(() => this.#beSeen().catch(() => {}), MEMBER_GONE_MS / 3).unref();
  }

  /** Connects; to be closed. Errors: those of `openDatabase`. */
  static async open({ url, home, open = {}, ...rest }: StoresOptions): Promise<FleetStores> {
    const database = await openDatabase(url, [STORES]);
    const root = join(home, 'copies');
    const member = `${thisProcess()}/${randomUUID()}`;
    const opened = new FleetStores(database, { member, deps: { ...rest, database, place: { root, options: open } } });
    try {
      sweepCopies(root);
      await opened.#beSeen();
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  list(): Promise<StoreRow[]> {
    return storeRows(this.database.ask);
  }

  /** A copy of the store; to be closed. Errors: those of `CheckedOut.open`. */
  checkOut(id: string): Promise<CheckedOut> {
    return CheckedOut.open(id, this.deps);
  }

  async close(): Promise<void> {
    clearInterval(this.#seen);
    await leave(this.database.ask, this.#member).catch(() => {});
    await this.database.close();
  }

  #beSeen(): Promise<void> {
    return beSeen(this.database.ask, { member: this.#member, ledgerVersion: ledgerVersion() });
  }
}
