// The command line: which commands there are and how they end. What each is says its spec in commands/, by subject; a file
// of them is loaded only when one of its names is asked for, and all for the help and a word that is no command.
// With --json stdout carries JSON only; everything else goes to stderr.

import type { Command } from 'commander';
import { describeError, isAppError } from '../../base/errors.ts';
import { packagePath, readTextNow } from '../../base/files/files.ts';
import type { Parts } from '../job-bounds.ts';
import { useKeeping } from '../keeping.ts';
import type { CommandModule } from './spec.ts';
import { EXIT, note, print } from './terminal/output.ts';

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
  { names: ['move'], load: () => import('../../wings/fleet/commands/move-command.ts') },
  { names: ['fleet'], load: () => import('../../wings/fleet/commands/fleet.ts') },
];

/** Runs the command line and sets the exit code, as the table in output.ts says. `parts`: what apps are made with in the place of the usual. */
export async function main(argv: string[], parts?: Parts): Promise<void> {
  const [asked, ...rest] = argv.slice(2);
  // Programs ask this before they ask anything else: it loads nothing.
  if ((asked === '--version' || asked === '-V') && rest.length === 0) return print(version());
  try {
    useKeeping((await import('../../wings/fleet/fleet-keeping.ts')).keepInDatabase);
    if (asked === undefined) return await (await import('./commands/status.ts')).home(parts);
    await (await programFor(argv, parts)).parseAsync(argv);
  } catch (error) {
    process.exitCode = exitOf(error);
  }
}

/** The program with the command that `argv` names, or with all of them. */
export async function programFor(argv: string[], parts: Parts = {}): Promise<Command> {
  const [{ Command }, { addCommands, sayExitCodes }] = await Promise.all([import('commander'), import('./spec.ts')]);
  const program = new Command('nocturne')
    .description(
      'The memory of your coding agents: finished sessions in, Markdown out. Alone it says what was learned, what waits for you and what it costs.',
    )
    .version(version(), '-V, --version')
    // So that --version behind a command is the command's own.
    .enablePositionalOptions()
    .showHelpAfterError('(nocturne --help lists the commands)')
    .helpCommand('help [command]', 'what a command does, its options and an example')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpText('after', `\nExit codes:\n${sayExitCodes()}`)
    .exitOverride();
  const asked = argv.slice(2).find((word) => !word.startsWith('-')) ?? '';
  const known = MODULES.find(({ names }) => names.includes(asked));
  const loaded = await Promise.all((known ? [known] : MODULES).map(({ load }) => load()));
  const specs = loaded.flatMap(({ commands }) => commands);
  const wanted = known ? specs.filter(({ name }) => name.split(' ')[0] === asked) : specs;
  addCommands(program, wanted, { parts, version: version() });
  nameOptionsAfterErrors(program);
  return program;
}

/** After wrong usage of a command, its own usage and options are named. */
function nameOptionsAfterErrors(program: Command): void {
  for (const command of program.commands) {
    const shown = command.options.filter((option) => !option.hidden);
    const options = shown.map((option) => option.long).join(', ');
    const help = command.createHelp().commandUsage(command);
    command.showHelpAfterError(`Usage: ${help}${options && `\nOptions: ${options}`}\n(--help says more)`);
    nameOptionsAfterErrors(command);
  }
}

function exitOf(error: unknown): number {
  if (isAppError(error)) {
    note(`nocturne: ${error.message}${error.remedy ? `\n  ${error.remedy}` : ''}`);
    return EXIT.failed;
  }
  // Commander has told about wrong usage itself; help and version are no errors.
  const usage = error as { code?: string; exitCode?: number };
  if (usage.code?.startsWith('commander.')) return usage.exitCode === 0 ? EXIT.fine : EXIT.usage;
  if ((error as NodeJS.ErrnoException).syscall === 'uv_cwd') {
    note('nocturne: The directory you stand in is gone.\n  Go to one that is there, then run it again.');
    return EXIT.failed;
  }
  // Not one of ours: a fault, or a file that holds what it never should. The first line of ours says where.
  const where = /\(?([^\s(]*(?:src|jobs)\/[^\s)]+)\)?$/m.exec((error as Error).stack ?? '')?.[1];
  note(`nocturne: ${error instanceof Error ? `${error.name}: ${error.message}` : describeError(error)}`);
  note('  Nobody planned for this. nocturne check --repair and nocturne doctor tell whether a file is damaged;');
  note(`  else it is a fault of nocturne's own: please report it${where ? `, with ${where}` : ''}.`);
  return EXIT.failed;
}

function version(): string {
  const found: unknown = JSON.parse(readTextNow(packagePath('package.json')) ?? '{}');
  return String((found as { version?: unknown }).version ?? 'unknown');
}
