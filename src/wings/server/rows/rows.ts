// All that the server keeps in a home, for whoever has an app: its tables, with which stores there are, who may use them, and
// what is the same for all of them; and which store a person means.

import { randomBytes } from 'node:crypto';
import type { Config } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import { openHomeOf } from '../../../doors/places.ts';
import type { Said, WingApp } from '../../../doors/wing.ts';
import type { HomeDatabase } from '../../../memory/home/database.ts';
import type { Home } from '../../../memory/home/home.ts';
import { newId } from '../../../memory/ledger/ledger.ts';
import { Dreams } from './dreams.ts';
import { Keys } from './keys.ts';
import { DirectoryPlaces } from './places.ts';
import { Sessions } from './sessions.ts';
import { type StoreRow, Stores } from './stores.ts';

/** A step that was released is never changed, only followed by another. */
const STEPS = [
  `
create table memory_store (id text primary key, dir text unique, name text not null, description text not null,
  metadata text not null, created_at text not null, updated_at text not null, archived_at text, removed_at text,
  owner text, allows_secrets integer not null) strict;
create index memory_store_created on memory_store (created_at, id);
create table api_key (id text primary key, name text not null, sha text not null unique, stores text, rights text not null,
  day_micro_usd integer, created_at text not null, revoked_at text) strict;
create table server (id integer primary key check (id = 1), "user" text not null, secret text not null) strict;
`,
  `
create table sent_session (id text not null, store text not null, owner text not null, messages integer not null,
  created_at text not null, updated_at text not null, extract_at text, primary key (store, id)) strict;
create index sent_session_id on sent_session (id);
create table sent_part (store text not null, session text not null, after integer not null, count integer not null,
  sha text not null, file text not null, primary key (store, session, after)) strict, without rowid;
create table dream (id text primary key, owner text not null, input text not null, target text, output text,
  updates integer not null, began_at text,
  sessions text not null, model text not null, speed text, instructions text, status text not null, error_type text,
  error_message text, input_tokens integer not null default 0, output_tokens integer not null default 0,
  cache_creation_tokens integer not null default 0, cache_read_tokens integer not null default 0, process text,
  created_at text not null, ended_at text, archived_at text, closed_at text) strict;
create table key_spend (key text not null, day text not null, micro_usd integer not null, primary key (key, day))
  strict, without rowid;
create index dream_created on dream (created_at, id);
create unique index dream_target on dream (target) where closed_at is null;
`,
  `
alter table api_key add column tenant text;
alter table memory_store add column tenant text;
create index sent_session_waiting on sent_session (extract_at) where extract_at is not null;
`,
  // From when a client asks until it was worked: `extract_at` only says what is not in an inbox yet.
  `
alter table sent_session add column waits integer not null default 0;
create index sent_session_waits on sent_session (owner) where waits = 1;
`,
];

const TABLES = ['memory_store', 'api_key', 'server', 'sent_session', 'sent_part', 'dream', 'key_spend'];

/** The home's database with the server's tables. */
export function openRows(home: Home): HomeDatabase {
  return home.tablesOf({ name: 'server', tables: TABLES, schema: STEPS });
}

/** The same as long as the home is: who a person of this machine is to clients, and what cursors are sealed with. */
export async function identityOf(rows: HomeDatabase): Promise<{ user: string; secret: Buffer }> {
  const read = () => rows.get<{ user: string; secret: string }>('select "user", secret from server');
  if (!(await read())) {
    const sql = 'insert into server (id, "user", secret) values (1, ?, ?) on conflict (id) do nothing';
    await rows.run(sql, newId('user'), randomBytes(32).toString('hex'));
  }
  const { user, secret } = (await read()) as { user: string; secret: string };
  return { user, secret: Buffer.from(secret, 'hex') };
}

export interface Rows {
  dreams: Dreams;
  keys: Keys;
  sessions: Sessions;
  stores: Stores;
}

export type RowsOwner = Pick<WingApp, 'home' | 'shared'> & { config: Pick<WingApp['config'], 'clock'> };

export function rowsOf({ home, config: { clock }, shared }: RowsOwner): Rows {
  const rows = openRows(home);
  return {
    dreams: new Dreams(rows, clock),
    keys: new Keys(rows, clock),
    sessions: new Sessions(rows, { home, clock, kept: shared?.parts }),
    stores: new Stores(rows, { home, clock, places: shared?.places ?? new DirectoryPlaces(home) }),
  };
}

/** The stores of an app's home, memories of projects among them. */
export async function storesOf(app: RowsOwner): Promise<Stores> {
  const { stores } = rowsOf(app);
  await stores.findLost();
  await stores.adoptProjects();
  return stores;
}

/** The one store of an id, a name or a directory. Throws `bad-input` where there is none, or several. */
export async function oneStore(stores: Stores, given: string): Promise<StoreRow> {
  const [row, ...others] = await stores.named(given);
  if (row && others.length === 0) return row;
  if (!row) {
    throw new AppError('bad-input', `There is no store ${JSON.stringify(given)}.`, { remedy: 'nocturne stores list' });
  }
  const ids = [row, ...others].map(({ id }) => id).join(', ');
  throw new AppError('bad-input', `Several stores have the name ${JSON.stringify(given)}.`, {
    remedy: `Give an id: ${ids}`,
  });
}

/** Of a home that no app has open. */
export async function storesNamed(given: string, config: Config): Promise<StoreRow[]> {
  const { home, shared, close } = openHomeOf(config);
  try {
    const stores = await storesOf({ home, shared, config });
    return await stores.named(given);
  } finally {
    await close();
  }
}

export async function undoRemoval(id: string, app: WingApp): Promise<Said> {
  const stores = await storesOf(app);
  const { name, dir } = await stores.restore(id);
  return { outcome: 'undone', lines: [`${id} ${name} is back: ${dir}`] };
}
