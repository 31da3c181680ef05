// Team: statements of one's own memory are shared into the memory that the repository carries, and that is recalled
// beside a project's. The setting `team` says whether it is read, or written without being asked.

import type { Nocturne } from '../../doors/compose.ts';
import type { Wing } from '../../doors/wing.ts';

export const team: Wing = {
  name: 'team',
  commands: { names: ['share'], load: () => import('./share-command.ts') },
  jobKinds: ['share'],
  dream: {
    options: [
      ['--share', "share what it changed in topics of the project and references with the working tree's team"],
    ],
    keys: ['shared?'],
    asks: ({ share }, { cwd }) => (share ? { shareFrom: cwd } : {}),
    async after({ job, own, options }, app) {
      if (app.config.team !== 'write' && options.shareFrom === undefined) return {};
      const { shareChanged } = await import('./share.ts');
      return { shared: await shareChanged(job, { app, own, cwd: options.shareFrom }) };
    },
    async say({ shared }) {
      return shared ? { outcome: shared.outcome, lines: (await import('./share-command.ts')).sayShare(shared) } : null;
    },
  },
  remember: {
    options: [
      ['--share', "put it into the team's memory too, .claude/memory in the working tree"],
      ['--redacted', 'with --share: share secrets as placeholders; without it, they keep the words from being shared'],
    ],
    keys: ['shared?'],
    begin: async (given, at) => (given.share ? (await import('./share-command.ts')).beginRemember(given, at) : null),
  },
  extraScopes: (config) => (config.team === 'off' ? [] : ['local']),
  onSessionStart: async (cwd, at) => (await import('./team-memory.ts')).onSessionStart(cwd, at),
  // Two clones would both distil what stands in a log there, and what is shared was distilled already.
  keepsNightFrom: (store, { memoryDirOf }) =>
    store.isCheckedIn && memoryDirOf({}) !== store.dir ? "a team's memory: only its index is kept up to date" : null,
  afterRedact: async (match, at) => (await import('./team-memory.ts')).afterRedact(match, at),
  library: (app) => ({
    share: async (...[own, request, by]: Parameters<Nocturne['share']>) => {
      const { shareWithTeam } = await import('./share.ts');
      return shareWithTeam(request, { app, own, ...by });
    },
  }),
};
