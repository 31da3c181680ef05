// Which memories there are: a project's, the user's, a team's, a client's store. A memory is a row; one with a directory has its
// working copy on one machine. It finds the memory of a directory, follows a directory that was moved, and takes a copied one for
// a new memory. What is in a memory is memory-files.ts's.

import { hostname } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../base/errors.ts';
import { canonicalPath, isDirectory } from '../base/files/directories.ts';
import { makeDirectory, makeWhole, readTextNow, statNow, writeWhole } from '../base/files/files.ts';
import type { Clock } from '../base/time.ts';
import { isOld } from '../db/old-database.ts';
import { allOf, type Db, insert, newId, type Sql } from '../db/sql.ts';
import { type CommitDeps, noMemory } from './commit.ts';
import { DEFAULT_LIMITS, type Limits } from './file-rows.ts';
import { takeInHistory } from './log-history.ts';
import { refuseLinkedState } from './memory-paths.ts';
import { isCheckedIn } from './paths.ts';
import { WorkingCopy } from './working-copy.ts';

export type Scope = 'project' | 'user' | 'team' | 'store';

export interface MemoryRow {
  id: string;
  scope: Scope;
  name: string;
  description: string;
  /** Whose it is, where several share a server; '' for this machine's own. */
  tenant: string;
  dir: string | null;
  machine: string | null;
  /** JSON, as a client gave it. */
  metadata: string;
  /** JSON. */
  flags: string;
  origin: string | null;
  files: number;
  bytes: number;
  created_at: string;
  updated_at: string;
  archived_at: string | null;
  deleted_at: string | null;
}

interface NewMemory
  extends Partial<Pick<MemoryRow, 'description' | 'tenant' | 'dir' | 'machine' | 'metadata' | 'flags' | 'origin'>> {
  id?: string;
  scope: Scope;
  name: string;
}

/** A memory of an id; undefined where there is none, or it was deleted. */
export async function memoryRow(sql: Sql, id: string): Promise<MemoryRow | undefined> {
  return sql.get<MemoryRow>('select * from memory where id = ? and deleted_at is null', id);
}

export async function addMemory(sql: Sql, made: NewMemory, at: string): Promise<string> {
  const { id = newId(made.scope === 'store' ? 'memstore' : 'memory'), ...given } = made;
  await insert(sql, 'memory', [{ ...given, id, created_at: at, updated_at: at }]);
  return id;
}

/** Ids of those whose working copies are these directories of a machine. */
export async function memoriesAt(sql: Sql, machine: string, dirs: readonly string[]): Promise<string[]> {
  const select = 'select id from memory where machine = ? and deleted_at is null and dir in (#)';
  return (await allOf<{ id: string }>(sql, select, dirs, machine)).map(({ id }) => id);
}

/** Of a memory in which something is, or is about to be: what a move left behind has nothing. An index that says nothing is no line. */
export const HAS_SOMETHING = `(exists (select 1 from file where file.memory = memory.id and path is not null and path <> 'MEMORY.md')
  or exists (select 1 from line where line.memory = memory.id) or exists (select 1 from entry where entry.memory = memory.id)
  or exists (select 1 from inbox where inbox.memory = memory.id))`;

/** Those whose working copy on a machine is behind their heads. */
export async function memoriesBehind(sql: Sql, machine: string): Promise<string[]> {
  const rows = await sql.all<{ memory: string }>(
    `select distinct file.memory from file join memory on memory.id = file.memory
     where file.placed <> file.head and memory.machine = ? and memory.deleted_at is null`,
    machine,
  );
  return rows.map(({ memory }) => memory);
}

/** Nothing was ever learned or written there, and nothing waits to be. */
const IS_EMPTY = `deleted_at is null and tenant = '' and not ${HAS_SOMETHING}`;

/** Those of this machine's people that hold nothing, each with how many sessions were read for it. */
export function emptyMemories(sql: Sql): Promise<{ id: string; sessions: number }[]> {
  return sql.all(`select id, (select count(*) from session where session.memory = memory.id) as sessions
    from memory where ${IS_EMPTY} order by name, id`);
}

/** Deletes those that are empty. Errors: `conflict`, and none is deleted, where something was written in one of them meanwhile. */
export async function removeEmpty(
  { db, clock }: Pick<CommitDeps, 'db' | 'clock'>,
  ids: readonly string[],
): Promise<void> {
  const at = clock.now().toISOString();
  await db.write(async (sql) => {
    for (const id of ids) {
      const removed = await sql.run(`update memory set deleted_at = ? where id = ? and ${IS_EMPTY}`, at, id);
      if (removed === 0)
        throw new AppError('conflict', 'Something was written there meanwhile, so nothing was removed.');
    }
  });
}

/** Brings a memory back that was deleted. Errors: `bad-input` where it is gone for good, never was, or another took its place. */
export async function restoreMemory(sql: Sql, id: string): Promise<MemoryRow> {
  const taken = `select 1 from memory gone join memory other on other.machine = gone.machine and other.dir = gone.dir
    where gone.id = ? and gone.deleted_at is not null and other.deleted_at is null`;
  if (await sql.get(taken, id))
    throw new AppError('bad-input', 'Another memory is in the place of this one by now.', {
      remedy: 'nocturne list --all shows it.',
    });
  const restored = await sql.run('update memory set deleted_at = null where id = ? and deleted_at is not null', id);
  const row = await memoryRow(sql, id);
  if (row && restored > 0) return row;
  throw new AppError('bad-input', `No deleted memory has the id ${id}.`, {
    remedy: 'nocturne stores list --removed lists those that can be brought back.',
  });
}

/** Those that were deleted and can be brought back, the newest first. */
export function removedMemories(sql: Sql): Promise<MemoryRow[]> {
  return sql.all<MemoryRow>('select * from memory where deleted_at is not null order by deleted_at desc, id');
}

const machinePath = (home: string) => join(home, 'machine');

/** Whether memories were opened in it. */
export function isUsed(home: string): boolean {
  return statNow(machinePath(home)) !== null;
}

/** This machine, as the rows name it: a random name that its home keeps. */
export function machineOf(home: string): string {
  const path = machinePath(home);
  const known = readTextNow(path)?.trim();
  if (known) return known;
  makeDirectory(home);
  makeWhole(path, Buffer.from(`${newId('machine')}\n`));
  return readTextNow(path)?.trim() ?? '';
}

export class Memories implements CommitDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly machine: string;
  readonly home: string;
  readonly #takeIn: ((dir: string) => Promise<void>) | undefined;
  /** Of this machine, by memory; a directory is asked for before anything is done in it (`of`, `ofDirectory`). */
  readonly #copies = new Map<string, WorkingCopy | null>();

  /** `takeIn`: takes in a directory that an earlier nocturne worked on. */
  constructor(of: {
    db: Db;
    home: string;
    clock: Clock;
    limits?: Partial<Limits>;
    takeIn?(this: void, dir: string): Promise<void>;
  }) {
    this.#takeIn = of.takeIn;
    this.db = of.db;
    this.clock = of.clock;
    this.limits = { ...DEFAULT_LIMITS, ...of.limits };
    this.home = of.home;
    this.machine = machineOf(of.home);
  }

  copyOf(memory: string): WorkingCopy | null {
    return this.#copies.get(memory) ?? null;
  }

  /** The memory of an id, with its working copy ready. Errors: `bad-input` where there is none. */
  async of(id: string): Promise<MemoryRow> {
    const row = await memoryRow(this.db, id);
    if (!row) throw noMemory(id);
    await this.#open(row);
    // What another program took away with all that git does not keep.
    const { dir, machine } = row;
    if (dir !== null && machine === this.machine && isDirectory(dir) && readTextNow(idPath(dir)) === null)
      await this.#mark(dir, id);
    return row;
  }

  /** The memory of a directory; null where there is none yet. */
  async findDirectory(dir: string): Promise<MemoryRow | null> {
    const path = canonicalPath(dir);
    const led = await this.findPlace(path);
    if (led && !isMarked(path, led.id)) return led;
    await this.#takeInBefore(path);
    const row = await this.#settle(path);
    if (row) await this.#open(row);
    return row ?? null;
  }

  /**
   * The memory of a directory, which is made where there is none, with what is in it taken in. `isLook`: nothing is made in the
   * directory.
   */
  async ofDirectory(
    dir: string,
    { scope, name, isLook = false }: { scope: Scope; name: string; isLook?: boolean },
  ): Promise<MemoryRow> {
    const path = canonicalPath(dir);
    let row = (await this.findDirectory(path)) ?? undefined;
    if (row && row.dir !== path) return row;
    // First: where nothing can be written there is no memory.
    if (!isLook) makeDirectory(join(dir, '.nocturne'));
    const isMade = row === undefined;
    if (!row) {
      const at = this.clock.now().toISOString();
      const marked = readTextNow(idPath(path))?.trim() ?? '';
      const flags = isLook && marked === '' && { flags: UNMARKED };
      const made = { scope, name, dir: path, machine: this.machine, ...flags };
      await this.db.write(async (sql) => {
        // Another process may have been faster.
        if (await this.#at(sql, path)) return;
        // Of a database that is lost the directory still has the id.
        const isFree = ID.test(marked) && !(await sql.get('select 1 from memory where id = ?', marked));
        await addMemory(sql, { ...made, ...(isFree && { id: marked }) }, at);
      });
      row = await this.#at(this.db, path);
    }
    if (!row) throw new Error(`no memory at ${path}`);
    const isUnmarked = row.flags === UNMARKED;
    if (!(isLook && isUnmarked)) await this.#mark(path, row.id);
    await this.#open(row);
    const isNew = isLook ? isMade && !isUnmarked : isMade || isUnmarked;
    if (isNew && isDirectory(join(path, 'logs'))) await takeInHistory(this, row.id, 'external');
    return row;
  }

  /** The memory that a directory of this machine leads to, which has its own place, or none; null: it leads to none. */
  async findPlace(path: string): Promise<MemoryRow | null> {
    const row = await this.#ofPlace(this.db, canonicalPath(path));
    if (row) await this.#open(row);
    return row ?? null;
  }

  /** The same, made where there is none, for memory that is kept in the database alone. */
  async ofPlace(path: string, { scope, name }: { scope: Scope; name: string }): Promise<MemoryRow> {
    const place = canonicalPath(path);
    const at = this.clock.now().toISOString();
    const row = await this.db.write(async (sql) => {
      const found = await this.#ofPlace(sql, place);
      if (found) return found;
      const memory = await addMemory(sql, { scope, name }, at);
      const or = 'on conflict (machine, path) do update set memory = excluded.memory';
      await insert(sql, 'place', [{ machine: this.machine, path: place, memory }], or);
      return memoryRow(sql, memory);
    });
    if (!row) throw new Error(`no memory of ${place}`);
    await this.#open(row);
    return row;
  }

  #ofPlace(sql: Sql, path: string): Promise<MemoryRow | undefined> {
    // What was taken in is known by its host's name.
    const select = `select memory.* from place join memory on memory.id = place.memory
      where place.machine in (?, ?) and place.path = ? and memory.deleted_at is null order by place.machine desc`;
    return sql.get<MemoryRow>(select, this.machine, `host:${hostname()}`, path);
  }

  async close(): Promise<void> {
    const copies = [...this.#copies.values()];
    this.#copies.clear();
    for (const copy of copies) await copy?.close();
  }

  async #takeInBefore(dir: string): Promise<void> {
    if (isOld(oldLedgerPath(dir))) await this.#takeIn?.(dir);
  }

  #at(sql: Sql, dir: string): Promise<MemoryRow | undefined> {
    const select = 'select * from memory where machine = ? and dir = ? and deleted_at is null';
    return sql.get<MemoryRow>(select, this.machine, dir);
  }

  /** Finds whose a directory is by its row and by the id in it, which go apart where it was moved or copied. */
  async #settle(path: string): Promise<MemoryRow | undefined> {
    const row = await this.#at(this.db, path);
    const marked = readTextNow(idPath(path))?.trim();
    if (marked === undefined || marked === row?.id) return row;
    const other = await memoryRow(this.db, marked);
    // A copy: the other is still where it was.
    if (!other || other.machine !== this.machine || other.dir === null || isMarked(other.dir, marked)) return row;
    await this.db.write(async (sql) => {
      if (row) await sql.run('update memory set dir = null, machine = null where id = ?', row.id);
      await sql.run('update memory set dir = ? where id = ?', path, marked);
    });
    for (const id of row ? [row.id, marked] : [marked]) await this.#forget(id);
    return this.#at(this.db, path);
  }

  async #mark(dir: string, id: string): Promise<void> {
    refuseLinkedState(dir);
    if (isMarked(dir, id)) return;
    makeDirectory(join(dir, '.nocturne'));
    writeWhole(join(dir, '.nocturne', '.gitignore'), '*\n');
    writeWhole(idPath(dir), `${id}\n`);
    await this.db.run("update memory set flags = '{}' where id = ? and flags = ?", id, UNMARKED);
  }

  async #forget(id: string): Promise<void> {
    const copy = this.#copies.get(id);
    this.#copies.delete(id);
    await copy?.close();
  }

  /** Its copy, where its row says that it is by now. */
  async #open({ id, dir, machine, flags }: MemoryRow): Promise<void> {
    const isHere = dir !== null && machine === this.machine;
    const copy = this.#copies.get(id);
    if (copy !== undefined && (copy?.dir ?? null) === (isHere ? dir : null)) return;
    if (copy) await this.#forget(id);
    const of = { memory: id, home: this.home, db: this.db, clock: this.clock };
    this.#copies.set(
      id,
      isHere ? new WorkingCopy({ ...of, dir, isCheckedIn: isCheckedIn(dir), isUnmarked: flags === UNMARKED }) : null,
    );
  }
}

/** `flags` of a memory whose directory was only looked at: nothing was made in it. */
const UNMARKED = '{"unmarked":true}';
const ID = /^memory_[0-9a-f]{24}$/;

/** Where the ledger of an earlier nocturne lies in a memory directory. */
export function oldLedgerPath(dir: string): string {
  return join(dir, '.nocturne', 'ledger.db');
}

function idPath(dir: string): string {
  return join(dir, '.nocturne', 'id');
}

/** Whether a directory is there and says that it is the memory's. */
function isMarked(dir: string, id: string): boolean {
  return isDirectory(dir) && readTextNow(idPath(dir))?.trim() === id;
}
