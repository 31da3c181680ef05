// Which store a person means.

import type { Config } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import type { Said, WingApp } from '../../../doors/wing.ts';
import { openHome } from '../../../memory/home/home.ts';
import { openRows } from './schema.ts';
import { type StoreRow, Stores } from './stores.ts';

/** The stores of an app's home, memories of projects among them. */
export async function storesOf({ home, config }: Pick<WingApp, 'home' | 'config'>): Promise<Stores> {
  const stores = new Stores(openRows(home), { home, clock: config.clock });
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
  const home = openHome(config.home, config.clock, config.zone);
  try {
    const stores = await storesOf({ home, config });
    return await stores.named(given);
  } finally {
    await home.close();
  }
}

export async function undoRemoval(id: string, app: WingApp): Promise<Said> {
  const stores = await storesOf(app);
  const { name, dir } = await stores.restore(id);
  return { outcome: 'undone', lines: [`${id} ${name} is back: ${dir}`] };
}
