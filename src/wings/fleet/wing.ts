// Fleet: memory in PostgreSQL, for more than one machine. Without a database's URL nothing of it is loaded.

import type { Wing } from '../../doors/wing.ts';

export const fleet: Wing = {
  name: 'fleet',
  commands: { names: ['move'], load: () => import('./commands/move.ts') },
};
