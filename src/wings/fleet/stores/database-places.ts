// The stores in the database that clients of the server make: made, copied, put aside, brought back and dropped.
// Promises: each is one statement, so it is done whole or not at all; a copy holds what the other store held at one revision; to a
// store that is put aside nothing is written, by nobody, however late.

import type { Ledger } from '../../../memory/ledger/ledger.ts';
import type { Store } from '../../../memory/store/store.ts';
import { held } from './checked-out.ts';
import { type FleetStores, newLedger } from './fleet-stores.ts';
import { addStore } from './store-rows.ts';

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
        const files = { of: from.id, revision, lineage };
        if ((await addStore(ask, { id: to, tenant, ledger, files })).isAt) return;
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
