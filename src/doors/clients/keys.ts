// The keys of the server: who may do what with which stores. A key is shown once, when it is made, and kept as its
// SHA-256: the rows tell nobody a key. Promises: a key that was revoked is unknown from the next question on.

import { hash, randomBytes } from 'node:crypto';
import type { Clock, Day } from '../../base/time.ts';
import type { HomeDatabase } from '../../memory/home/home-database.ts';
import { newId } from '../../memory/ledger/ledger.ts';

export const RIGHTS = ['read', 'write', 'dream', 'create', 'sessions'] as const;
export type Right = (typeof RIGHTS)[number];

/** Who asks. */
export interface Caller {
  /** `apikey_…` */
  id: string;
  name: string;
  rights: readonly Right[];
  /** Ids of the stores that it may use beside those it makes; `all`: every store of the home. */
  stores: 'all' | readonly string[];
  /** What its dreams may cost in a day, in millionths of a US dollar; null: no limit of its own. */
  dayMicroUsd: number | null;
  /** To whom the stores belong that it makes; null: to nobody apart. */
  tenant: string | null;
}

export type NewKey = Omit<Caller, 'id' | 'tenant'> & Partial<Pick<Caller, 'tenant'>>;

export interface KeyRow extends Caller {
  createdAt: string;
  revokedAt: string | null;
}

type Row = Omit<KeyRow, 'rights' | 'stores'> & { rights: string; stores: string | null };

const COLUMNS = `id, name, tenant, stores, rights, day_micro_usd as "dayMicroUsd", created_at as "createdAt",
  revoked_at as "revokedAt"`;

export class Keys {
  readonly #rows: HomeDatabase;
  readonly #clock: Clock;
  /** Keys of this process alone, by their SHA-256. */
  readonly #passing = new Map<string, Caller>();

  constructor(rows: HomeDatabase, clock: Clock) {
    this.#rows = rows;
    this.#clock = clock;
  }

  /** Makes a key; answers it with what is kept of it. */
  async create(of: NewKey): Promise<{ key: string; row: KeyRow }> {
    const [id, key] = [newId('apikey'), newKey()];
    await this.#rows.insert('api_key', {
      id,
      name: of.name,
      tenant: of.tenant ?? null,
      sha: shaOf(key),
      stores: of.stores === 'all' ? null : JSON.stringify(of.stores),
      rights: of.rights.join(' '),
      day_micro_usd: of.dayMicroUsd,
      created_at: this.#clock.now().toISOString(),
    });
    return { key, row: (await this.all()).find((row) => row.id === id) as KeyRow };
  }

  /** Makes a key with every right that ends with this process. */
  createPassing(): string {
    const key = newKey();
    const caller: Caller = {
      id: newId('apikey'),
      name: 'this process',
      rights: RIGHTS,
      stores: 'all',
      dayMicroUsd: null,
      tenant: null,
    };
    this.#passing.set(shaOf(key), caller);
    return key;
  }

  /** Who has this key; null for one that nobody has, or has no more. */
  async find(key: string): Promise<Caller | null> {
    const sha = shaOf(key);
    const row = await this.#rows.get<Row>(`select ${COLUMNS} from api_key where sha = ? and revoked_at is null`, sha);
    return row ? read(row) : (this.#passing.get(sha) ?? null);
  }

  /** Whether who was let in is let in still, for streams. */
  async isIn(id: string): Promise<boolean> {
    if ([...this.#passing.values()].some((caller) => caller.id === id)) return true;
    const sql = 'select 1 from api_key where id = ? and revoked_at is null';
    return (await this.#rows.get(sql, id)) !== undefined;
  }

  /** The keys that were made, the revoked ones too, oldest first. */
  async all(): Promise<KeyRow[]> {
    const found = await this.#rows.all<Row>(`select ${COLUMNS} from api_key order by created_at, id`);
    return found.map(read);
  }

  /** Counts what was asked for with a key, in millionths of a US dollar. */
  async addSpend(id: string, day: Day, microUsd: number): Promise<void> {
    const sql = `insert into key_spend (key, day, micro_usd) values (?, ?, ?)
      on conflict (key, day) do update set micro_usd = key_spend.micro_usd + excluded.micro_usd`;
    await this.#rows.run(sql, id, day, microUsd);
  }

  /** Whether what a key may cost in a day is used up. */
  async isSpent(id: string, day: Day): Promise<boolean> {
    const sql = `select 1 from api_key join key_spend on key_spend.key = api_key.id
      where api_key.id = ? and day = ? and micro_usd >= day_micro_usd`;
    return (await this.#rows.get(sql, id, day)) !== undefined;
  }

  /** False where it was revoked before. */
  async revoke(id: string): Promise<boolean> {
    const now = this.#clock.now().toISOString();
    const sql = 'update api_key set revoked_at = ? where id = ? and revoked_at is null';
    return (await this.#rows.run(sql, now, id)) > 0;
  }
}

function read(row: Row): KeyRow {
  const stores = row.stores === null ? 'all' : JSON.parse(row.stores);
  return { ...row, stores, rights: row.rights.split(' ') as Right[] };
}

function newKey(): string {
  return `noct_${randomBytes(32).toString('base64url')}`;
}

function shaOf(key: string): string {
  return hash('sha256', key);
}
