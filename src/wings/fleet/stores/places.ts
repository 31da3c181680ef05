// The stores in the database that clients of the server make: made, copied, put aside, brought back and dropped.
// Promises: each is one statement, so it is done whole or not at all; a copy holds what the other store held at one revision; to a
// store that is put aside nothing is written, by nobody, however late.

import type { Ledger } from '../../../memory/ledger/ledger.ts';
import type { Store } from '../../../memory/store/store.ts';
import type { Ask } from '../database.ts';
import { held } from './checked-out.ts';
import type { Changes } from './rows.ts';
import { type FleetStores, newLedger } from './stores.ts';

/** One that is written to again and again is not copied now. */
const MOST_TRIES = 10;

/** The server's `StorePlaces`, as far as the database is asked. */
export class DatabasePlaces {
  readonly #stores: FleetStores;

  constructor(stores: FleetStores) {
    this.#stores = stores;
  }

  async make(id: string, { tenant }: { tenant: string | null }): Promise<void> {
    const { database, deps } = this.#stores;
    await addStore(database.ask, { id, tenant, ledger: newLedger(deps.place.root) });
  }

  async copy(
    from: Store,
    to: string,
    { tenant, leaveOut }: { tenant: string | null; leaveOut(ledger: Ledger): void },
  ): Promise<void> {
    const { database, deps } = this.#stores;
    const { ask } = database;
    const source = await this.#stores.open(from.id);
    try {
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        if ((await ask('select from store where id = $1', [to])).length === 1) return;
        await source.refresh();
        const { revision, lineage } = source;
        const ledger = newLedger(deps.place.root, { from: source.ledger, leaveOut });
        if (await addStore(ask, { id: to, tenant, ledger, files: { of: from.id, revision, lineage } })) return;
      }
      throw held(from.id);
    } finally {
      source.close();
    }
  }

  async remove(id: string): Promise<void> {
    await this.#ask(
      `update store set state = 'removed', fence = fence + 1, owner = null, until = null where id = $1 and state = 'ready'`,
      id,
    );
  }

  async restore(id: string): Promise<boolean> {
    const sql = `update store set state = 'ready' where id = $1 and state in ('ready', 'removed') returning 1 as one`;
    return (await this.#ask(sql, id)).length === 1;
  }

  async drop(id: string): Promise<void> {
    await this.#ask(
      `with gone as (delete from store where id = $1 returning id),
       pages as (delete from page using gone where store = gone.id),
       files as (delete from file using gone where store = gone.id)
       delete from checkin using gone where store = gone.id`,
      id,
    );
  }

  #ask(sql: string, id: string): Promise<object[]> {
    return this.#stores.database.ask(sql, [id]);
  }
}

interface NewStore {
  id: string;
  tenant: string | null;
  ledger: Omit<Changes, 'files'>;
  /** The store whose files it has, at this revision; default: none. */
  files?: { of: string; revision: number; lineage: string };
}

/** False where the other store is at another revision by now. One that is there stays as it is. */
async function addStore(ask: Ask, { id, tenant, ledger, files }: NewStore): Promise<boolean> {
  const { pages, pageBytes, ledgerVersion } = ledger;
  const origin = files ? 'select from store where id = $8 and revision = $9 and lineage = $10' : 'select';
  const copied = files
    ? ', files as (insert into file select id, path, 0, bytes from made, (select path, bytes from file where store = $8) as found)'
    : '';
  const found = await ask(
    `with origin as materialized (${origin}),
     made as (insert into store (id, name, state, revision, pages, page_bytes, ledger_version, tenant)
       select $1, $1, 'ready', 0, $2, $3::int, $4, $5 from origin on conflict do nothing returning id),
     pages as (insert into page select id, n, 0, substring($7::bytea from ((nth - 1) * $3::int + 1)::int for $3::int)
       from made, unnest($6::int[]) with ordinality as given (n, nth))${copied}
     select from origin`,
    [
      ...[id, pages.count, pageBytes, ledgerVersion, tenant],
      ...[[...pages.changed.keys()], Buffer.concat([...pages.changed.values()])],
      ...(files ? [files.of, files.revision, files.lineage] : []),
    ],
  );
  return found.length === 1;
}
