// Page: memory to look at and to decide on, in a browser on this machine. It stands on the server, which serves it, on
// review, whose proposals it shows, and on team, with which it shares.

import type { Wing } from '../../doors/wing.ts';

export const page: Wing = {
  name: 'page',
  standsOn: ['server', 'review', 'team'],
  commands: { names: ['open'], load: () => import('./open-command.ts') },
  pages: async (at) => (await import('./page.ts')).openPages(at),
};
