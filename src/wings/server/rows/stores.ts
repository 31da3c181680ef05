// Which stores there are: one row of the home each. A store of the home is a memory directory under `stores/<id>/memory`;
// a row with a directory of its own is a memory that was there before, a project's or a team's.
// Promises: what a caller may not see is not there for it, in lists too; a store that is deleted is moved to
// `stores/.removed/` and can be brought back; memory that a project or a team has is never moved.

import { basename, dirname, join } from 'node:path';
import { AppError } from '../../../base/errors.ts';
import { canonicalPath, isDirectory, listNames, removeTree } from '../../../base/files/directories.ts';
import { makeDirectory, moveFile } from '../../../base/files/files.ts';
import type { Clock } from '../../../base/time.ts';
import type { Home } from '../../../memory/home/home.ts';
import { isCheckedInDir } from '../../../memory/home/paths.ts';
import { newId } from '../../../memory/ledger/ledger.ts';
import type { Caller } from './keys.ts';
import type { Sql } from './schema.ts';

export interface StoreRow {
  /** `memstore_…` */
  id: string;
  /** Its memory directory. */
  dir: string;
  /** Whose memory it is: the home's alone, a project's, or one that a repository carries. */
  kind: 'own' | 'project' | 'team';
  name: string;
  description: string;
  metadata: Record<string, string>;
  createdAt: string;
  updatedAt: string;
  archivedAt: string | null;
  /** Since when it waits in `stores/.removed/`. */
  removedAt: string | null;
  /** The key that made it; null: a person did. */
  owner: string | null;
  allowsSecrets: boolean;
}

export interface NewStore {
  name: string;
  description?: string;
  metadata?: Record<string, string>;
  owner?: string;
  allowsSecrets?: boolean;
}

/** Whose stores are meant: everything of the home, or what a caller sees. */
export type Seen = 'all' | { caller: Caller; withProjects: boolean };

export interface StoreFilter {
  seenBy: Seen;
  withArchived?: boolean;
  /** Instants, both inclusive. */
  since?: string;
  until?: string;
  limit?: number;
  /** Only what is older than this one. */
  after?: { createdAt: string; id: string };
}

interface Row extends Omit<StoreRow, 'dir' | 'kind' | 'metadata' | 'allowsSecrets'> {
  dir: string | null;
  metadata: string;
  allowsSecrets: number;
}

const COLUMNS = `id, dir, name, description, metadata, created_at as createdAt, updated_at as updatedAt,
  archived_at as archivedAt, removed_at as removedAt, owner, allows_secrets as allowsSecrets`;
const DAY_MS = 86_400_000;

export class Stores {
  readonly #rows: Sql;
  readonly #home: Home;
  readonly #clock: Clock;
  readonly #dir: string;

  constructor(rows: Sql, { home, clock }: { home: Home; clock: Clock }) {
    this.#rows = rows;
    this.#home = home;
    this.#clock = clock;
    this.#dir = join(canonicalPath(home.dir), 'stores');
  }

  create({ name, description = '', metadata = {}, owner, allowsSecrets = false }: NewStore): StoreRow {
    const [id, now] = [newId('memstore'), this.#now()];
    makeDirectory(this.#dirOf(id));
    this.#rows.insert('memory_store', {
      id,
      name,
      description,
      metadata: JSON.stringify(metadata),
      created_at: now,
      updated_at: now,
      owner: owner ?? null,
      allows_secrets: Number(allowsSecrets),
    });
    this.#home.addStore(this.#dirOf(id));
    return this.#get(id) as StoreRow;
  }

  /** Where a store is, or would be; and a place beside the stores to make it at. */
  placesFor(id: string): { to: string; beside: string } {
    return { to: this.#dirOf(id), beside: join(this.#removedDir(), `${id}.new`) };
  }

  /** Enters a store that was made as a copy of another. */
  enterCopy(id: string, { of, owner }: { of: StoreRow; owner: string }): void {
    const now = this.#now();
    this.#rows.run(
      `insert or ignore into memory_store
         (id, name, description, metadata, created_at, updated_at, owner, allows_secrets) values (?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, of.name, of.description, JSON.stringify(of.metadata), now, now, owner, Number(of.allowsSecrets)],
    );
    this.#home.addStore(this.#dirOf(id));
  }

  /** A store as a caller sees it; null where it sees none of that id. */
  find(id: string, seenBy: Seen = 'all'): StoreRow | null {
    const row = this.#get(id);
    return row && row.removedAt === null && isThere(row) && isSeen(row, seenBy) ? row : null;
  }

  /** Newest first. */
  list({ seenBy, withArchived = false, since, until, limit, after }: StoreFilter): StoreRow[] {
    const conditions: [string, string[]][] = [['removed_at is null', []]];
    if (!withArchived) conditions.push(['archived_at is null', []]);
    if (since !== undefined) conditions.push(['created_at >= ?', [since]]);
    if (until !== undefined) conditions.push(['created_at <= ?', [until]]);
    if (after) conditions.push(['(created_at, id) < (?, ?)', [after.createdAt, after.id]]);
    const where = conditions.map(([sql]) => sql).join(' and ');
    const sql = `select ${COLUMNS} from memory_store where ${where} order by created_at desc, id desc`;
    const rows = this.#rows.all<Row>(sql, ...conditions.flatMap(([, values]) => values)).map((row) => this.#read(row));
    const seen = rows.filter((row) => isThere(row) && isSeen(row, seenBy));
    return limit === undefined ? seen : seen.slice(0, limit);
  }

  /** The stores that somebody means by an id, a name or a directory. */
  named(given: string): StoreRow[] {
    const rows = this.list({ seenBy: 'all', withArchived: true });
    const byId = rows.filter(({ id, dir }) => id === given || dir === given);
    return byId.length > 0 ? byId : rows.filter(({ name }) => name === given);
  }

  update(id: string, to: Partial<Pick<StoreRow, 'name' | 'description' | 'metadata'>>): StoreRow {
    const row = { ...(this.#get(id) as StoreRow), ...to };
    this.#rows.run(
      'update memory_store set name = ?, description = ?, metadata = ?, updated_at = ? where id = ?',
      row.name,
      row.description,
      JSON.stringify(row.metadata),
      this.#now(),
      id,
    );
    return this.#get(id) as StoreRow;
  }

  /** One way; again it changes nothing. */
  archive(id: string): StoreRow {
    const now = this.#now();
    const sql = 'update memory_store set archived_at = ?, updated_at = ? where id = ? and archived_at is null';
    this.#rows.run(sql, now, now, id);
    return this.#get(id) as StoreRow;
  }

  /** Moves a store of the home aside: nobody finds it from now on, then `close` lets go of it, then it is moved. */
  async remove(id: string, close: () => Promise<void> = async () => {}): Promise<void> {
    this.#rows.run('update memory_store set removed_at = ? where id = ?', this.#now(), id);
    this.#home.removeStore(this.#dirOf(id));
    await close();
    makeDirectory(this.#removedDir());
    moveFile(dirname(this.#dirOf(id)), join(this.#removedDir(), id));
  }

  /** Brings a store back that was removed. Throws `bad-input` where it is gone for good. */
  restore(id: string): StoreRow {
    const row = this.#get(id);
    if (!row || row.removedAt === null || !isDirectory(join(this.#removedDir(), id))) {
      throw new AppError('bad-input', `No memory store that was deleted has the id ${id}.`, {
        remedy: 'nocturne stores list --removed lists those that can be brought back.',
      });
    }
    moveFile(join(this.#removedDir(), id), dirname(this.#dirOf(id)));
    this.#rows.run('update memory_store set removed_at = null where id = ?', id);
    this.#home.addStore(this.#dirOf(id));
    return this.#get(id) as StoreRow;
  }

  removed(): StoreRow[] {
    const sql = `select ${COLUMNS} from memory_store where removed_at is not null order by removed_at desc, id`;
    return this.#rows.all<Row>(sql).map((row) => this.#read(row));
  }

  /** Drops for good what was removed so many days ago. */
  dropRemoved(days: number): void {
    const before = new Date(this.#clock.now().getTime() - days * DAY_MS).toISOString();
    for (const { id, removedAt } of this.removed()) {
      if (removedAt === null || removedAt > before) continue;
      removeTree(join(this.#removedDir(), id));
      this.#rows.run('delete from memory_store where id = ?', id);
    }
  }

  /** The row of a memory directory that was there before, which is made where there is none. */
  adopt(dir: string): StoreRow {
    const found = () => this.#rows.get<Row>(`select ${COLUMNS} from memory_store where dir = ?`, dir);
    const own = this.#rows
      .all<Row>(`select ${COLUMNS} from memory_store where dir is null`)
      .map((row) => this.#read(row));
    const there = own.find((row) => row.dir === dir);
    if (there) return there;
    if (!found()) {
      const now = this.#now();
      const name = basename(dirname(dir)) || dir;
      this.#rows.run(
        `insert or ignore into memory_store (id, dir, name, description, metadata, created_at, updated_at, allows_secrets)
           values (?, ?, ?, '', '{}', ?, ?, 0)`,
        newId('memstore'),
        dir,
        name.slice(-255),
        now,
        now,
      );
    }
    return this.#read(found() as Row);
  }

  /** Gives every memory directory that this home knows a row. */
  adoptProjects(): void {
    const known = new Set(this.list({ seenBy: 'all', withArchived: true }).map(({ dir }) => dir));
    for (const dir of this.#home.stores()) if (!known.has(dir) && isDirectory(dir)) this.adopt(dir);
  }

  /** Gives the directories of stores whose rows went with a damaged home a row again, without the names they had. */
  findLost(): void {
    if (!this.#home.damage()) return;
    const enter = (id: string, removedAt: string | null) => {
      // One that is just being copied is entered by the dream that does.
      if (!/^memstore_\w+$/.test(id) || this.#rows.get('select 1 from dream where output = ?', id)) return;
      const now = this.#now();
      this.#rows.run(
        `insert or ignore into memory_store
           (id, name, description, metadata, created_at, updated_at, removed_at, allows_secrets)
           values (?, ?, '', '{}', ?, ?, ?, 0)`,
        ...[id, id, now, now, removedAt],
      );
      if (removedAt === null) this.#home.addStore(this.#dirOf(id));
    };
    for (const id of listNames(this.#dir)) if (isDirectory(this.#dirOf(id))) enter(id, null);
    for (const id of listNames(this.#removedDir())) enter(id, this.#now());
  }

  #get(id: string): StoreRow | null {
    const row = this.#rows.get<Row>(`select ${COLUMNS} from memory_store where id = ?`, id);
    return row ? this.#read(row) : null;
  }

  #read(row: Row): StoreRow {
    const dir = row.dir ?? this.#dirOf(row.id);
    const kind = row.dir === null ? 'own' : isCheckedInDir(dir) ? 'team' : 'project';
    return { ...row, dir, kind, metadata: JSON.parse(row.metadata), allowsSecrets: row.allowsSecrets === 1 };
  }

  #dirOf(id: string): string {
    return join(this.#dir, id, 'memory');
  }

  #removedDir(): string {
    return join(this.#dir, '.removed');
  }

  #now(): string {
    return this.#clock.now().toISOString();
  }
}

/** A project's memory may be gone with the project; that of the home is made where it is missing. */
function isThere({ kind, dir }: StoreRow): boolean {
  return kind === 'own' || isDirectory(dir);
}

function isSeen(row: StoreRow, seenBy: Seen): boolean {
  if (seenBy === 'all') return true;
  const { caller, withProjects } = seenBy;
  if (row.owner === caller.id) return true;
  if (caller.stores === 'all') return row.kind === 'own' || withProjects;
  return caller.stores.includes(row.id);
}
