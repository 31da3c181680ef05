// The command line: which commands there are and how they end. What each is says its spec in commands/, by subject; a file
// of them is loaded only when one of its names is asked for, and all for the help and a word that is no command.
// With --json stdout carries JSON only; everything else goes to stderr.

import type { Command } from 'commander';
import { packagePath, readTextNow } from '../../base/files/files.ts';
import type { Parts } from '../job-bounds.ts';
import type { CommandModule } from './spec.ts';
import { print } from './terminal/output.ts';

/** In the order of the help, group by group. */
const MODULES: CommandModule[] = [
  { names: ['setup'], load: () => import('./commands/setup.ts') },
  { names: ['doctor', 'check'], load: () => import('./commands/check-command.ts') },
  { names: ['list', 'search', 'sessions'], load: () => import('./commands/list.ts') },
  { names: ['show', 'restore'], load: () => import('./commands/history.ts') },
  { names: ['remember', 'forget', 'pin'], load: () => import('./commands/remember-command.ts') },
  { names: ['why'], load: () => import('./commands/why.ts') },
  { names: ['undo'], load: () => import('./commands/undo-command.ts') },
  { names: ['learn', 'extract', 'dream', 'reprocess'], load: () => import('./commands/learn-command.ts') },
  { names: ['config', 'pause'], load: () => import('./commands/config-command.ts') },
  { names: ['worker'], load: () => import('./commands/worker-command.ts') },
  { names: ['cost'], load: () => import('./commands/cost-command.ts') },
  { names: ['status'], load: () => import('./commands/status.ts') },
  { names: ['enqueue', 'retry'], load: () => import('./commands/enqueue.ts') },
  { names: ['redact'], load: () => import('./commands/redact-command.ts') },
  { names: ['export', 'import'], load: () => import('./commands/carry.ts') },
  { names: ['recall'], load: () => import('./commands/recall-command.ts') },
  { names: ['mcp'], load: () => import('./commands/mcp-command.ts') },
  { names: ['share', 'snapshot'], load: () => import('./commands/share-command.ts') },
  { names: ['review'], load: () => import('./commands/review-command.ts') },
  { names: ['serve', 'open'], load: () => import('../../wings/page/serve-command.ts') },
  { names: ['stores', 'keys'], load: () => import('../../wings/server/commands/stores-command.ts') },
  { names: ['move', 'fleet'], load: () => import('../../wings/fleet/commands/fleet.ts') },
];

/** Runs the command line, of the house that is asked for, and sets the exit code, as the table in output.ts says. `parts`: what apps are made with in the place of the usual. */
export async function main(argv: string[], parts?: Parts): Promise<void> {
  const [asked, ...rest] = argv.slice(2);
  // Programs ask this before they ask anything else: it loads nothing.
  if ((asked === '--version' || asked === '-V') && rest.length === 0) return print(version());
  const { isNextHouse } = await import('../../base/config/config.ts');
  if (isNextHouse()) return (await import('../../next/cli/cli.ts')).main(argv, { parts, version: version() });
  try {
    const [{ useKeeping }, { keepInDatabase }] = await Promise.all([
      import('../keeping.ts'),
      import('../../wings/fleet/fleet-keeping.ts'),
    ]);
    useKeeping(keepInDatabase);
    if (asked === undefined) return await (await import('./commands/status.ts')).home(parts);
    await (await programFor(argv, parts)).parseAsync(argv);
  } catch (error) {
    process.exitCode = (await import('./spec.ts')).exitOf(error);
  }
}

/** The program with the command that `argv` names, or with all of them. */
export async function programFor(argv: string[], parts: Parts = {}): Promise<Command> {
  return (await import('./spec.ts')).programOf(MODULES, argv, { parts, version: version() });
}

function version(): string {
  const found: unknown = JSON.parse(readTextNow(packagePath('package.json')) ?? '{}');
  return String((found as { version?: unknown }).version ?? 'unknown');
}
