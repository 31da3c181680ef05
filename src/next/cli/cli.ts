// The command line of the next house: which commands there are. What each is says its spec, by subject; a file of them is loaded
// only when one of its names is asked for, and all for the help and a word that is no command.

import type { Command } from 'commander';
import { type CalledAt, type CommandModule, exitOf, programOf } from '../../doors/cli/spec.ts';

/** In the order of the help, group by group. */
const MODULES: CommandModule[] = [
  { names: ['setup'], load: () => import('./setup-command.ts') },
  { names: ['doctor'], load: () => import('./doctor-command.ts') },
  { names: ['list', 'search', 'sessions'], load: () => import('./list-command.ts') },
  { names: ['show', 'restore'], load: () => import('./history-command.ts') },
  { names: ['learn', 'extract', 'dream', 'reprocess'], load: () => import('./learn-command.ts') },
  { names: ['remember', 'forget', 'pin'], load: () => import('./remember-command.ts') },
  { names: ['why'], load: () => import('./why-command.ts') },
  { names: ['undo'], load: () => import('./undo-command.ts') },
  { names: ['review'], load: () => import('./review-command.ts') },
  { names: ['pause', 'retry'], load: () => import('./waiting-command.ts') },
  { names: ['config'], load: () => import('./config-command.ts') },
  { names: ['cost'], load: () => import('./cost-command.ts') },
  { names: ['status'], load: () => import('./status-command.ts') },
  { names: ['check'], load: () => import('./check-command.ts') },
  { names: ['redact'], load: () => import('./redact-command.ts') },
  { names: ['export', 'import'], load: () => import('./carry-command.ts') },
  { names: ['share'], load: () => import('./share-command.ts') },
  { names: ['snapshot'], load: () => import('./snapshot-command.ts') },
  { names: ['stores', 'keys'], load: () => import('./keys-command.ts') },
  { names: ['serve'], load: () => import('./serve-command.ts') },
  { names: ['mcp'], load: () => import('./mcp-command.ts') },
  { names: ['worker'], load: () => import('./worker-command.ts') },
  { names: ['enqueue'], load: () => import('./enqueue-command.ts') },
  { names: ['recall'], load: () => import('./recall-command.ts') },
  { names: ['open'], load: () => import('./open-command.ts') },
];

type Called = Partial<CalledAt> & { version: string };

/** Runs the command line and sets the exit code. */
export async function main(argv: string[], called: Called): Promise<void> {
  try {
    if (argv.length <= 2) return await (await import('./status-command.ts')).home(called.parts);
    await (await programFor(argv, called)).parseAsync(argv);
  } catch (error) {
    process.exitCode = exitOf(error);
  }
}

/** The program with the command that `argv` names, or with all of them. */
export function programFor(argv: string[], { parts = {}, version }: Called): Promise<Command> {
  return programOf(MODULES, argv, { parts, version });
}
