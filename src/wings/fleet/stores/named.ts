// Which store of the database a person means: by its id, its name, or the directory that it stands for.

import type { Config } from '../../../base/config/config.ts';
import { keepingOf } from '../../../doors/wing.ts';

/** None where memory is on this machine. `dir`: by what it is opened. */
export async function storesNamed(given: string, config: Config): Promise<{ id: string; dir: string }[]> {
  const keeping = keepingOf(config);
  if (!keeping) return [];
  try {
    const found = (await keeping.stores()).filter(({ id, name }) => id === given || name === given);
    return found.map(({ id }) => ({ id, dir: id }));
  } finally {
    await keeping.close();
  }
}
