// init: the scaffold of a project that runs over many sessions.

import type { CommandSpec } from '../../doors/cli/spec.ts';
import { type CommonOptions, MEMORY, printDone, withApp } from '../../doors/cli/terminal/options.ts';
import type { InitReport } from './scaffold.ts';

const init: CommandSpec<CommonOptions & { dryRun?: boolean }> = {
  name: 'init',
  about: 'a progress log, a feature checklist and start-up notes, for work over many sessions',
  group: 'Under the hood',
  options: [['--dry-run', 'only say what would be written'], ...MEMORY],
  json: '{ outcome, written, kept, job }',
  more: 'They are topics of the memory: yours and your agent’s to write, changed by no dream. What is there stays.',
  examples: ['init --dry-run'],
  run: (call) =>
    withApp(call, async (app) => {
      const { initScaffold, planScaffold } = await import('./scaffold.ts');
      const { clock, zone } = app.config;
      const cwd = process.cwd();
      const dir = app.memoryDirOf({ cwd });
      const openStore = () => app.storeFor({ cwd });
      const report = call.options.dryRun
        ? planScaffold(dir)
        : await initScaffold({ openStore, clock, zone, withLease: app.withLease });
      await printDone(app, call, { report, lines: describe(report, dir) });
    }),
};

function describe({ outcome, written, kept }: InitReport, dir: string): string[] {
  if (outcome === 'busy') return ['busy; a dream works on this memory. Try again when it is done.'];
  const verb = outcome === 'planned' ? 'would write' : 'wrote';
  const lines = [
    ...written.map((path) => `  ${verb}  ${path}`),
    ...kept.map((path) => `  is there, left as it is  ${path}`),
  ];
  return [`memory ${dir}`, ...lines];
}

export const commands: CommandSpec[] = [init];
