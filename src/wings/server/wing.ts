// Server: memory stores over HTTP, as the official SDK speaks them, over the same store as everything else.

import type { Wing } from '../../doors/wing.ts';

export const server: Wing = {
  name: 'server',
  commands: {
    names: ['serve', 'stores', 'keys'],
    async load() {
      const parts = await Promise.all([
        import('./commands/serve.ts'),
        import('./commands/stores.ts'),
        import('./commands/keys.ts'),
      ]);
      return { commands: parts.flatMap(({ commands }) => commands) };
    },
  },
  worker: {
    takeIn: async (app) => (await import('./dreams/work.ts')).takeIn(app),
    termsOf: async (item, app) => (await import('./dreams/work.ts')).termsOf(item, app),
  },
  storesNamed: async (name, config) => (await import('./rows/rows.ts')).storesNamed(name, config),
  undoes: async (id, app) =>
    id.startsWith('memstore_') ? (await import('./rows/rows.ts')).undoRemoval(id, app) : null,
};
