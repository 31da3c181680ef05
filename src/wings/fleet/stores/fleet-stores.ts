// The stores in the database, as one process or thread has them: which there are, and those that are open here.
// Promises: a store is opened once, however many work in it; of those that nobody works in, copies are kept within a bound, the
// ones used last; others know that the process is alive, and which ledgers it can read, for as long as this is open; copies of
// processes that died are thrown away.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../../base/errors.ts';
import { removeEmptyParents, removeTree } from '../../../base/files/directories.ts';
import { makeDirectory, readBytesNow } from '../../../base/files/files.ts';
import { thisProcess } from '../../../base/process.ts';
import { type Ledger, newId, openLedger } from '../../../memory/ledger/ledger.ts';
import { type Database, openDatabase } from '../postgres.ts';
import { DatabaseWorkRows } from '../work/work-rows.ts';
import { CheckedOut, type CheckOutDeps, notReady } from './checked-out.ts';
import { FleetStore } from './fleet-store.ts';
import { pageBytesOf, pagesOfFile } from './log-pages.ts';
import { sweepCopies } from './reading-copy.ts';
import { DatabaseRecallRows } from './recalls.ts';
import { LEDGER, Stage } from './stage.ts';
import {
  addStore,
  beSeen,
  type Changes,
  leave,
  MEMBER_GONE_MS,
  readStore,
  storeFrom,
  storeRows,
} from './store-rows.ts';

export interface StoresOptions extends Omit<CheckOutDeps, 'database' | 'place'> {
  /** Its tables are made, and it is closed with the stores; or one that is open, and stays so. */
  database: string | Database;
  /** The nocturne home of this machine: copies are in its `copies/`. */
  home: string;
  /** What copies are opened with. */
  open?: CheckOutDeps['place']['options'];
  /** How much of this disk copies may take that nobody works in, and how many; default: 2 GiB, 200. */
  keep?: { bytes: number; stores: number };
}

const KEEP = { bytes: 2 * 2 ** 30, stores: 200 };
/** Stores of one name get a number behind it. */
const MOST_NAMES = 1_000;

interface Opened {
  opening: Promise<FleetStore>;
  store: FleetStore | null;
  holders: number;
  /** On this disk, when it was let go. */
  bytes: number;
}

export class FleetStores {
  readonly database: Database;
  readonly deps: CheckOutDeps;
  readonly #options: StoresOptions;
  readonly #member = `${thisProcess()}/${randomUUID()}`;
  readonly #seen: NodeJS.Timeout;
  /** By id, the one used last at the end. */
  readonly #opened = new Map<string, Opened>();
  /** What is being thrown away. */
  readonly #ending = new Set<Promise<void>>();

  private constructor(database: Database, options: StoresOptions) {
    const { home, open = {}, leaseMs, waitMs, answerMs, onStep, onSent } = options;
    const [process = '', own = ''] = this.#member.split('/');
    const root = join(home, 'copies', encodeURIComponent(process), own);
    this.database = database;
    this.deps = { database, place: { root, options: open }, leaseMs, waitMs, answerMs, onStep, onSent };
    this.#options = options;
    this.#seen = setInterval(() => this.#beSeen().catch(() => {}), MEMBER_GONE_MS / 3).unref();
  }

  /** Connects, where it is given a URL; to be closed. Errors: those of `openDatabase`. */
  static async open(options: StoresOptions): Promise<FleetStores> {
    const { database } = options;
    const opened = new FleetStores(typeof database === 'string' ? await openDatabase(database) : database, options);
    try {
      sweepCopies(join(options.home, 'copies'));
      await opened.#beSeen();
      return opened;
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  list(): ReturnType<typeof storeRows> {
    return storeRows(this.database.ask);
  }

  /**
   * The store, as it is here: the same object for all who open it while one of them works in it; whoever is done releases or
   * closes it. A copy that was kept is not brought on: `refresh` does that. Errors: those of `CheckedOut.open`.
   */
  async open(id: string): Promise<FleetStore> {
    const opened = this.#opened.get(id) ?? { opening: this.#checkOut(id), store: null, holders: 0, bytes: 0 };
    this.#opened.delete(id);
    this.#opened.set(id, opened);
    opened.holders += 1;
    try {
      opened.store = await opened.opening;
      return opened.store;
    } catch (error) {
      if (this.#opened.get(id) === opened) this.#opened.delete(id);
      throw error;
    }
  }

  /** One who opened the store is done with it. */
  release(id: string): void {
    const opened = this.#opened.get(id);
    if (!opened || opened.holders === 0) return;
    opened.holders -= 1;
    opened.bytes = opened.store?.bytes ?? 0;
    this.#opened.delete(id);
    this.#opened.set(id, opened);
    this.#throwAway();
  }

  /** Calls `look` with the ledger of a store as it is now, without its files. Errors: those of `CheckedOut.open`. */
  async lookIntoLedger(id: string, look: (ledger: Ledger) => void): Promise<void> {
    const { database, place } = this.deps;
    const dir = join(place.root, `${randomUUID()}.looked`);
    const stage = await Stage.fetched({ dir, since: -1 }, async (since, to) => {
      const row = await readStore(database, { id, since, isLedgerAlone: true }, to);
      if (row?.state !== 'ready') throw notReady(id, row);
      return row;
    });
    try {
      const ledger = openLedger(stage.memory, undefined, { isCopy: true });
      try {
        look(ledger);
      } finally {
        ledger.close();
      }
    } finally {
      stage.discard();
    }
  }

  /** The id of the store that stands for a directory of this machine, or null. */
  async ofSource(dir: string): Promise<string | null> {
    const found = await storeFrom(this.database.ask, `${hostname()}:${dir}`);
    return found?.state === 'ready' ? found.id : null;
  }

  /** What a store stands for; null: nothing. */
  async sourceOf(id: string): Promise<string | null> {
    const sql = 'select source from store where id = $1';
    return (await this.database.ask<{ source: string | null }>(sql, [id]))[0]?.source ?? null;
  }

  /** Whether what a store stands for is a directory of this machine. */
  isHere(source: string | null): boolean {
    return source?.startsWith(`${hostname()}:`) ?? false;
  }

  /**
   * The id of the store that stands for a directory of a machine: the one that was moved from there, or an empty one that is made
   * now, under `name` or, where that is taken, with a number behind it.
   */
  async forSource(dir: string, { name, host = hostname() }: { name: string; host?: string }): Promise<string> {
    const { ask } = this.database;
    const source = `${host}:${dir}`;
    for (let n = 1; n < MOST_NAMES; n += 1) {
      const known = await storeFrom(ask, source);
      if (known) return known.id;
      const [id, ledger] = [newId('memstore'), newLedger(this.deps.place.root)];
      const { isAdded } = await addStore(ask, { id, source, name: n === 1 ? name : `${name}-${n}`, ledger });
      if (isAdded) return id;
    }
    throw new AppError('conflict', `The database has too many stores with the name ${name}.`);
  }

  async close(): Promise<void> {
    clearInterval(this.#seen);
    for (const { opening } of this.#opened.values()) {
      const store = await opening.catch(() => null);
      if (store) this.#end(store);
    }
    this.#opened.clear();
    await Promise.all(this.#ending);
    const { root } = this.deps.place;
    removeTree(root);
    removeEmptyParents(join(this.#options.home, 'copies'), root);
    await leave(this.database.ask, this.#member).catch(() => {});
    if (typeof this.#options.database === 'string') await this.database.close();
  }

  async #checkOut(id: string): Promise<FleetStore> {
    const { ask } = this.database;
    const work = new DatabaseWorkRows(ask, id);
    const { place } = this.deps;
    const copy: { of?: CheckedOut } = {};
    const recalls = new DatabaseRecallRows(ask, { store: id, ledger: () => (copy.of as CheckedOut).ledger });
    const furnished = { ...place, furnish: (ledger: Ledger) => recalls.furnish(ledger) };
    copy.of = await CheckedOut.open(id, { ...this.deps, place: furnished });
    return new FleetStore(copy.of, { ...this.#options.open, ask, work, recalls, onClose: () => this.release(id) });
  }

  /** Of the copies that nobody works in, throws away those that are beyond the bound. */
  #throwAway(): void {
    const { keep = KEEP } = this.#options;
    const idle = [...this.#opened].filter(([, { holders }]) => holders === 0);
    let bytes = idle.reduce((sum, [, each]) => sum + each.bytes, 0);
    let count = idle.length;
    for (const [id, { store, bytes: own }] of idle) {
      if (count <= keep.stores && bytes <= keep.bytes) return;
      this.#opened.delete(id);
      if (store) this.#end(store);
      count -= 1;
      bytes -= own;
    }
  }

  #end(store: FleetStore): void {
    const ending = store.end().catch(() => {});
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
  }

  #beSeen(): Promise<void> {
    return beSeen(this.database.ask, this.#member);
  }
}

/** The ledger of a store that begins, as the database keeps it: one in which nothing is known, or what another has apart from what `leaveOut` takes out. `root`: a directory of this process. */
export function newLedger(
  root: string,
  begin?: { from: Ledger; leaveOut(ledger: Ledger): void },
): Omit<Changes, 'files'> {
  const dir = join(root, `${randomUUID()}.begun`);
  try {
    makeDirectory(join(dir, '.nocturne'));
    begin?.from.copyTo(join(dir, LEDGER));
    const ledger = openLedger(dir);
    try {
      begin?.leaveOut(ledger);
    } finally {
      ledger.close();
    }
    const bytes = readBytesNow(join(dir, LEDGER)) as Buffer;
    return { pages: pagesOfFile(bytes), pageBytes: pageBytesOf(bytes) };
  } finally {
    removeTree(dir);
  }
}
