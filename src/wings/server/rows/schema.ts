// What the server keeps in the home: which stores there are, who may use them, and what is the same for all of them.

import { randomBytes } from 'node:crypto';
import type { Home } from '../../../memory/home/home.ts';
import { newId } from '../../../memory/ledger/ledger.ts';

/** A step that was released is never changed, only followed by another. */
const STEPS = [
  `
create table memory_store (id text primary key, dir text unique, name text not null, description text not null,
  metadata text not null, created_at text not null, updated_at text not null, archived_at text, removed_at text,
  owner text, allows_secrets integer not null) strict;
create index memory_store_created on memory_store (created_at, id);
create table api_key (id text primary key, name text not null, sha text not null unique, stores text, rights text not null,
  day_micro_usd integer, created_at text not null, revoked_at text) strict;
create table server (id integer primary key check (id = 1), user text not null, secret text not null) strict;
`,
];

export type Sql = ReturnType<Home['tablesOf']>;

/** The home's database with the server's tables. */
export function openRows(home: Home): Sql {
  return home.tablesOf({ name: 'server', tables: ['memory_store', 'api_key', 'server'], schema: STEPS });
}

/** The same as long as the home is: who a person of this machine is to clients, and what cursors are sealed with. */
export function identityOf(rows: Sql): { user: string; secret: Buffer } {
  const read = () => rows.get<{ user: string; secret: string }>('select user, secret from server');
  if (!read()) {
    const row = { id: 1, user: newId('user'), secret: randomBytes(32).toString('hex') };
    rows.run('insert or ignore into server (id, user, secret) values (?, ?, ?)', row.id, row.user, row.secret);
  }
  const { user, secret } = read() as { user: string; secret: string };
  return { user, secret: Buffer.from(secret, 'hex') };
}
