// Which stores there are: one row of the home each. A store of the home is where `StorePlaces` says (places.ts); a row with a
// directory of its own is a memory that was there before, a project's or a team's.
// Promises: what a caller may not see is not there for it, in lists too; a store that is deleted is put aside and can be
// brought back; memory that a project or a team has is never moved.

import { basename, dirname } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { isDirectory } from '../../base/files/directories.ts';
import { type Clock, DAY_MS } from '../../base/time.ts';
import type { Home } from '../../memory/home/home.ts';
import type { HomeDatabase } from '../../memory/home/home-database.ts';
import { isCheckedInDir } from '../../memory/home/paths.ts';
import { newId } from '../../memory/ledger/ledger.ts';
import type { Store } from '../../memory/store/store.ts';
import type { StorePlaces } from '../shared.ts';
import type { Caller } from './keys.ts';
import { leaveOut } from './store-places.ts';

export interface StoreRow {
  /** `memstore_…` */
  id: string;
  /** By what it is opened: its memory directory, or its id where it is kept elsewhere. */
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
  /** That of the key which made it. */
  tenant: string | null;
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

const COLUMNS = `id, dir, name, description, metadata, created_at as "createdAt", updated_at as "updatedAt",
  archived_at as "archivedAt", removed_at as "removedAt", owner, tenant, allows_secrets as "allowsSecrets"`;
export class Stores {
  readonly #rows: HomeDatabase;
  readonly #home: Home;
  readonly #clock: Clock;
  readonly #places: StorePlaces;

  constructor(rows: HomeDatabase, { home, clock, places }: { home: Home; clock: Clock; places: StorePlaces }) {
    this.#rows = rows;
    this.#home = home;
    this.#clock = clock;
    this.#places = places;
  }

  async create({ name, description = '', metadata = {}, owner, allowsSecrets = false }: NewStore): Promise<StoreRow> {
    const [id, now] = [newId('memstore'), this.#now()];
    const tenant = await this.#tenantOf(owner);
    await this.#places.make(id, { tenant });
    await this.#rows.insert('memory_store', {
      id,
      name,
      description,
      metadata: JSON.stringify(metadata),
      created_at: now,
      updated_at: now,
      owner: owner ?? null,
      tenant,
      allows_secrets: Number(allowsSecrets),
    });
    await this.#places.entered(id);
    return (await this.#get(id)) as StoreRow;
  }

  /** Makes a copy of a store, with its name; where it is there, nothing is changed. */
  async copy(from: Store, id: string, { of, owner }: { of: StoreRow; owner: string }): Promise<void> {
    const [now, tenant] = [this.#now(), await this.#tenantOf(owner)];
    await this.#places.copy(from, id, { tenant, leaveOut });
    await this.#rows.run(
      `insert into memory_store (id, name, description, metadata, created_at, updated_at, owner, tenant, allows_secrets)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
      ...[id, of.name, of.description, JSON.stringify(of.metadata), now, now, owner, tenant],
      Number(of.allowsSecrets),
    );
    await this.#places.entered(id);
  }

  /** A store as a caller sees it; null where it sees none of that id. */
  async find(id: string, seenBy: Seen = 'all'): Promise<StoreRow | null> {
    const row = await this.#get(id);
    return row && row.removedAt === null && isThere(row) && isSeen(row, seenBy) ? row : null;
  }

  /** Newest first. */
  async list({ seenBy, withArchived = false, since, until, limit, after }: StoreFilter): Promise<StoreRow[]> {
    const conditions: [string, string[]][] = [['removed_at is null', []]];
    if (!withArchived) conditions.push(['archived_at is null', []]);
    if (since !== undefined) conditions.push(['created_at >= ?', [since]]);
    if (until !== undefined) conditions.push(['created_at <= ?', [until]]);
    if (after) conditions.push(['(created_at, id) < (?, ?)', [after.createdAt, after.id]]);
    const where = conditions.map(([sql]) => sql).join(' and ');
    const sql = `select ${COLUMNS} from memory_store where ${where} order by created_at desc, id desc`;
    const rows = await this.#rows.all<Row>(sql, ...conditions.flatMap(([, values]) => values));
    const seen = rows.map((row) => this.#read(row)).filter((row) => isThere(row) && isSeen(row, seenBy));
    return limit === undefined ? seen : seen.slice(0, limit);
  }

  /** The stores that someone means by an id, a name or a directory. */
  async named(given: string): Promise<StoreRow[]> {
    const rows = await this.list({ seenBy: 'all', withArchived: true });
    const byId = rows.filter(({ id, dir }) => id === given || dir === given);
    return byId.length > 0 ? byId : rows.filter(({ name }) => name === given);
  }

  async update(id: string, to: Partial<Pick<StoreRow, 'name' | 'description' | 'metadata'>>): Promise<StoreRow> {
    const row = { ...((await this.#get(id)) as StoreRow), ...to };
    await this.#rows.run(
      'update memory_store set name = ?, description = ?, metadata = ?, updated_at = ? where id = ?',
      row.name,
      row.description,
      JSON.stringify(row.metadata),
      this.#now(),
      id,
    );
    return (await this.#get(id)) as StoreRow;
  }

  /** One way; again it changes nothing. */
  async archive(id: string): Promise<StoreRow> {
    const now = this.#now();
    const sql = 'update memory_store set archived_at = ?, updated_at = ? where id = ? and archived_at is null';
    await this.#rows.run(sql, now, now, id);
    return (await this.#get(id)) as StoreRow;
  }

  /** Puts a store of the home aside: nobody finds it from now on, then `close` lets go of it. */
  async remove(id: string, close: () => Promise<void> = async () => {}): Promise<void> {
    await this.#rows.run('update memory_store set removed_at = ? where id = ?', this.#now(), id);
    await this.#places.remove(id, close);
  }

  /** Brings a store back that was removed. Throws `bad-input` where it is gone for good. */
  async restore(id: string): Promise<StoreRow> {
    const row = await this.#get(id);
    if (!row || row.removedAt === null || !(await this.#places.restore(id))) {
      throw new AppError('bad-input', `No memory store that was deleted has the id ${id}.`, {
        remedy: 'nocturne stores list --removed lists those that can be brought back.',
      });
    }
    await this.#rows.run('update memory_store set removed_at = null where id = ?', id);
    await this.#places.entered(id);
    return (await this.#get(id)) as StoreRow;
  }

  async removed(): Promise<StoreRow[]> {
    const sql = `select ${COLUMNS} from memory_store where removed_at is not null order by removed_at desc, id`;
    return (await this.#rows.all<Row>(sql)).map((row) => this.#read(row));
  }

  /** Drops for good what was removed so many days ago. */
  async dropRemoved(days: number): Promise<void> {
    const before = new Date(this.#clock.now().getTime() - days * DAY_MS).toISOString();
    for (const { id, removedAt } of await this.removed()) {
      if (removedAt === null || removedAt > before) continue;
      await this.#places.drop(id);
      await this.#rows.run('delete from memory_store where id = ?', id);
    }
  }

  /** The row of a memory directory that was there before, which is made where there is none. */
  async adopt(dir: string): Promise<StoreRow> {
    const found = () => this.#rows.get<Row>(`select ${COLUMNS} from memory_store where dir = ?`, dir);
    const own = await this.#rows.all<Row>(`select ${COLUMNS} from memory_store where dir is null`);
    const there = own.map((row) => this.#read(row)).find((row) => row.dir === dir);
    if (there) return there;
    if (!(await found())) {
      const now = this.#now();
      const name = basename(dirname(dir)) || dir;
      await this.#rows.run(
        `insert into memory_store (id, dir, name, description, metadata, created_at, updated_at, allows_secrets)
           values (?, ?, ?, '', '{}', ?, ?, 0) on conflict do nothing`,
        newId('memstore'),
        dir,
        name.slice(-255),
        now,
        now,
      );
    }
    return this.#read((await found()) as Row);
  }

  /** Gives every memory directory that this home knows a row. */
  async adoptProjects(): Promise<void> {
    const rows = await this.list({ seenBy: 'all', withArchived: true });
    const known = new Set(rows.map(({ dir }) => dir));
    for (const dir of await this.#home.stores()) if (!known.has(dir) && isDirectory(dir)) await this.adopt(dir);
  }

  /** Gives the directories of stores whose rows went with a damaged home a row again, without the names they had. */
  async findLost(): Promise<void> {
    if (!(await this.#home.damage())) return;
    const enter = async (id: string, removedAt: string | null) => {
      // One that is just being copied is entered by the dream that does.
      if (!/^memstore_\w+$/.test(id) || (await this.#rows.get('select 1 from dream where output = ?', id))) return;
      const now = this.#now();
      await this.#rows.run(
        `insert into memory_store (id, name, description, metadata, created_at, updated_at, removed_at, allows_secrets)
           values (?, ?, '', '{}', ?, ?, ?, 0) on conflict do nothing`,
        ...[id, id, now, now, removedAt],
      );
      if (removedAt === null) await this.#places.entered(id);
    };
    for (const { id, isRemoved } of this.#places.found()) await enter(id, isRemoved ? this.#now() : null);
  }

  async #tenantOf(key: string | undefined): Promise<string | null> {
    if (key === undefined) return null;
    const row = await this.#rows.get<{ tenant: string | null }>('select tenant from api_key where id = ?', key);
    return row?.tenant ?? null;
  }

  async #get(id: string): Promise<StoreRow | null> {
    const row = await this.#rows.get<Row>(`select ${COLUMNS} from memory_store where id = ?`, id);
    return row ? this.#read(row) : null;
  }

  #read(row: Row): StoreRow {
    const dir = row.dir ?? this.#places.of(row.id);
    const kind = row.dir === null ? 'own' : isCheckedInDir(dir) ? 'team' : 'project';
    return { ...row, dir, kind, metadata: JSON.parse(row.metadata), allowsSecrets: row.allowsSecrets === 1 };
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
