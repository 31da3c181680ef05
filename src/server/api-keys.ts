// The keys of the server: who may do what with which memories, and how much. A key is shown once, when it is made, and kept as its
// SHA-256: the rows tell nobody a key. Promises: a key that was revoked, or is over, is unknown from the next question on.

import { hash, randomBytes } from 'node:crypto';
import { KEY_OFF as OFF } from '../../jobs/after-restore.ts';
import type { Clock } from '../base/time.ts';
import { type Db, insert, newId } from '../db/sql.ts';

export const RIGHTS = ['read', 'write', 'dream', 'create', 'sessions'] as const;
export type Right = (typeof RIGHTS)[number];

/** Who asks. */
export interface Caller {
  /** `apikey_…` */
  id: string;
  name: string;
  rights: readonly Right[];
  /** Ids of the memories that it may use beside those it makes; `all`: every one of its tenant. */
  memories: 'all' | readonly string[];
  /** What its dreams may cost in a day, in millionths of a US dollar; null: no limit of its own. */
  dayMicroUsd: number | null;
  /** Whose the memories are that it makes; '': nobody's apart. */
  tenant: string;
}

export interface KeyRow extends Caller {
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  /** The database was restored since: the key may have been revoked then, and is off until a person confirms it. */
  isOff: boolean;
}

export type NewKey = Omit<Caller, 'id' | 'tenant'> & Partial<Pick<KeyRow, 'tenant' | 'expiresAt'>>;

type Row = Omit<KeyRow, 'rights' | 'memories' | 'isOff'> & { rights: string; memories: string | null; isOff: number };

const SELECT = `select id, name, tenant, memories, rights, day_usd as "dayMicroUsd", created_at as "createdAt",
  expires_at as "expiresAt", revoked_at as "revokedAt",
  (select count(*) from setting where setting.key = '${OFF}' || api_key.id) as "isOff" from api_key`;
const STANDS = `revoked_at is null and (expires_at is null or expires_at > ?)
  and not exists (select 1 from setting where setting.key = '${OFF}' || api_key.id)`;

export class ApiKeys {
  readonly #db: Db;
  readonly #clock: Clock;

  constructor(db: Db, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Makes a key; answers it with what is kept of it. */
  async create(of: NewKey): Promise<{ key: string; row: KeyRow }> {
    const [id, key] = [newId('apikey'), newKey()];
    const row = {
      id,
      name: of.name,
      tenant: of.tenant ?? '',
      sha: hash('sha256', key),
      memories: of.memories === 'all' ? null : JSON.stringify(of.memories),
      rights: of.rights.join(' '),
      day_usd: of.dayMicroUsd,
      created_at: this.#now(),
      expires_at: of.expiresAt ?? null,
    };
    await this.#db.write((sql) => insert(sql, 'api_key', [row]));
    return { key, row: read((await this.#db.get<Row>(`${SELECT} where id = ?`, id)) as Row) };
  }

  /** Who has this key; null for one that nobody has, or has no more. */
  async find(key: string): Promise<Caller | null> {
    const sha = hash('sha256', key);
    const row = await this.#db.get<Row>(`${SELECT} where sha = ? and ${STANDS}`, sha, this.#now());
    return row ? read(row) : null;
  }

  /** The keys that were made, the revoked ones too, oldest first. */
  async all(): Promise<KeyRow[]> {
    return (await this.#db.all<Row>(`${SELECT} order by created_at, id`)).map(read);
  }

  /** False where it was revoked before. */
  async revoke(id: string): Promise<boolean> {
    const sql = 'update api_key set revoked_at = ? where id = ? and revoked_at is null';
    return (await this.#db.run(sql, this.#now(), id)) > 0;
  }

  /** A key that a restore turned off is let in again; false where it was not off. */
  async confirm(id: string): Promise<boolean> {
    return (await this.#db.run('delete from setting where key = ?', `${OFF}${id}`)) > 0;
  }

  #now(): string {
    return this.#clock.now().toISOString();
  }
}

function read(row: Row): KeyRow {
  const memories = row.memories === null ? 'all' : JSON.parse(row.memories);
  return { ...row, memories, rights: row.rights.split(' ') as Right[], isOff: row.isOff > 0 };
}

function newKey(): string {
  return `noct_${randomBytes(32).toString('base64url')}`;
}
