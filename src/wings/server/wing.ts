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
};
