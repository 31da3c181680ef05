// Fleet: memory in PostgreSQL, for more than one machine. Without a database's URL nothing of it is loaded.

import type { Wing } from '../../doors/wing.ts';
import { FleetKeeping } from './keeping.ts';

export const fleet: Wing = {
  name: 'fleet',
  keeping: (config, parts) => (config.databaseUrl ? new FleetKeeping(config.databaseUrl, config, parts) : null),
  storesNamed: async (name, config) => (await import('./stores/named.ts')).storesNamed(name, config),
  commands: {
    names: ['move', 'fleet'],
    async load() {
      const parts = await Promise.all([import('./commands/move.ts'), import('./commands/fleet.ts')]);
      return { commands: parts.flatMap(({ commands }) => commands) };
    },
  },
};
