// Scaffold: topics for a project that runs over many sessions, and how recall tells an agent to keep them.

import type { Wing } from '../../doors/wing.ts';

export const scaffold: Wing = {
  name: 'scaffold',
  commands: { names: ['init'], load: () => import('./init-command.ts') },
  jobKinds: ['init'],
  recallNotes: async ({ dir }) => (await import('./scaffold.ts')).scaffoldNotes(dir),
};
