// Fleet: memory in PostgreSQL, for more than one machine. Without a database's URL nothing of it is loaded.

import type { Config } from '../../base/config/config.ts';
import { keepingOf, type Wing } from '../../doors/wing.ts';
import { FleetKeeping } from './keeping.ts';

export const fleet: Wing = {
  name: 'fleet',
  keeping: (config, parts) => (config.databaseUrl ? new FleetKeeping(config.databaseUrl, config, parts) : null),
  storesNamed,
  commands: {
    names: ['move', 'fleet'],
    async load() {
      const parts = await Promise.all([import('./commands/move.ts'), import('./commands/fleet.ts')]);
      return { commands: parts.flatMap(({ commands }) => commands) };
    },
  },
};

/** The stores of an id or a name; none where memory is on this machine. `dir`: by what it is opened. */
async function storesNamed(given: string, config: Config): Promise<{ id: string; dir: string }[]> {
  const keeping = keepingOf(config);
  if (!keeping) return [];
  try {
    const found = (await keeping.stores()).filter(({ id, name }) => id === given || name === given);
    return found.map(({ id }) => ({ id, dir: id }));
  } finally {
    await keeping.close();
  }
}
