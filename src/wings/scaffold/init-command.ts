// nocturne init: the scaffold of a project that runs over many sessions.

import type { Command } from 'commander';
import { type CommonOptions, undoCommand, withApp, withJson, withMemory } from '../../doors/cli/terminal/options.ts';
import { exitFor, print } from '../../doors/cli/terminal/output.ts';
import type { InitReport } from './scaffold.ts';

export function addInit(program: Command): void {
  const command = program
    .command('init')
    .description('a progress log, a feature checklist and start-up notes, for work over many sessions')
    .option('--dry-run', 'only say what would be written');
  withJson(withMemory(command), '{ outcome, written, kept, job }')
    .addHelpText(
      'after',
      '\nThey are topics of the memory: yours and your agent’s to write, changed by no dream. What is there stays.\n\nExample:\n  nocturne init --dry-run',
    )
    .action((options: CommonOptions & { dryRun?: boolean }) =>
      withApp(options, async (app) => {
        const { initScaffold, planScaffold } = await import('./scaffold.ts');
        const cwd = process.cwd();
        const report = options.dryRun
          ? planScaffold(app.memoryDirOf({ cwd }))
          : await initScaffold({
              openStore: () => app.storeFor({ cwd }),
              clock: app.config.clock,
              zone: app.config.zone,
              withLease: app.withLease,
            });
        print(options.json ? JSON.stringify(report) : describe(report, app.memoryDirOf({ cwd }), options));
        process.exitCode = exitFor([report.outcome]);
      }),
    );
}

function describe({ outcome, written, kept, job }: InitReport, dir: string, options: CommonOptions): string {
  if (outcome === 'busy') return 'busy; a dream works on this memory. Try again when it is done.';
  const verb = outcome === 'planned' ? 'would write' : 'wrote';
  const lines = [
    ...written.map((path) => `  ${verb}  ${path}`),
    ...kept.map((path) => `  is there, left as it is  ${path}`),
  ];
  const end = job === null ? [] : [`${undoCommand(job, options)} takes it back.`];
  return [`memory ${dir}`, ...lines, ...end].join('\n');
}
