// All that the server keeps in a home, for whoever has an app: its tables, with which stores there are, who may use them, and
// what is the same for all of them; and which store a person means.

import { randomBytes } from 'node:crypto';
import type { Config } from '../../base/config/config.ts';
import { AppError } from '../../base/errors.ts';
import type { HomeDatabase } from '../../memory/home/home-database.ts';
import { newId } from '../../memory/ledger/ledger.ts';
import type { App } from '../compose.ts';
import { openHomeOf } from '../keeping.ts';
import { Dreams } from './dreams.ts';
import { Keys } from './keys.ts';
import { Sessions } from './sessions.ts';
import { DirectoryPlaces } from './store-places.ts';
import { type StoreRow, Stores } from './stores.ts';

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

export type RowsOwner = Pick<App, 'home' | 'shared'> & { config: Pick<Config, 'clock'> };

export function rowsOf({ home, config: { clock }, shared }: RowsOwner): Rows {
  const rows = home.database;
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
