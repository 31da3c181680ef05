// The command line: which commands there are and how they end. What each does is in commands/, one file each, and is
// loaded only when it is asked for; the help and a word that is no command load them all.
// With --json stdout carries JSON only; everything else goes to stderr.

import type { Argument, Command } from 'commander';
import { describeError, isAppError } from '../../base/errors.ts';
import { packagePath, readTextNow } from '../../base/files/files.ts';
import { type AddCommand, type CommandGroup, useWings, type Wing, wings } from '../wing.ts';
import { EXIT, note, print } from './terminal/output.ts';

/** The groups of the help, and of each command the word that calls it and where it is. */
const COMMANDS: Record<CommandGroup, Record<string, () => Promise<AddCommand>>> = {
  'Everyday:': {
    remember: async () => (await import('./commands/remember.ts')).addRemember,
    forget: async () => (await import('./commands/forget.ts')).addForget,
    list: async () => (await import('./commands/list.ts')).addList,
    search: async () => (await import('./commands/search.ts')).addSearch,
    log: async () => (await import('./commands/log.ts')).addLog,
    report: async () => (await import('./commands/report.ts')).addReport,
    open: async () => (await import('./commands/open.ts')).addOpen,
    pin: async () => (await import('./commands/pin.ts')).addPin,
    unpin: async () => (await import('./commands/pin.ts')).addUnpin,
    recall: async () => (await import('./commands/recall.ts')).addRecall,
    status: async () => (await import('./commands/status.ts')).addStatus,
    why: async () => (await import('./commands/why.ts')).addWhy,
  },
  'Jobs:': {
    extract: async () => (await import('./commands/extract.ts')).addExtract,
    dream: async () => (await import('./commands/dream.ts')).addDream,
    reprocess: async () => (await import('./commands/reprocess.ts')).addReprocess,
    enqueue: async () => (await import('./commands/enqueue.ts')).addEnqueue,
    worker: async () => (await import('./commands/worker.ts')).addWorker,
    retry: async () => (await import('./commands/retry.ts')).addRetry,
    board: async () => (await import('./commands/board.ts')).addBoard,
    sweep: async () => (await import('./commands/sweep.ts')).addSweep,
    transcript: async () => (await import('./commands/transcript.ts')).addTranscript,
  },
  'History and undo:': {
    history: async () => (await import('./commands/history.ts')).addHistory,
    show: async () => (await import('./commands/history.ts')).addShow,
    explain: async () => (await import('./commands/explain.ts')).addExplain,
    diff: async () => (await import('./commands/history.ts')).addDiff,
    restore: async () => (await import('./commands/history.ts')).addRestore,
    undo: async () => (await import('./commands/undo.ts')).addUndo,
    redact: async () => (await import('./commands/redact.ts')).addRedact,
  },
  'Setup and care:': {
    install: async () => (await import('./commands/install.ts')).addInstall,
    uninstall: async () => (await import('./commands/install.ts')).addUninstall,
    doctor: async () => (await import('./commands/check.ts')).addDoctor,
    check: async () => (await import('./commands/check.ts')).addCheck,
    pause: async () => (await import('./commands/pause.ts')).addPause,
    resume: async () => (await import('./commands/pause.ts')).addResume,
    mcp: async () => (await import('./commands/mcp.ts')).addMcp,
    completion: async () => (await import('./commands/completion.ts')).addCompletion,
  },
};

/** Runs the command line with these wings and sets the exit code, as the table in output.ts says. */
export async function main(argv: string[], loadWings: () => Promise<{ WINGS: readonly Wing[] }>): Promise<void> {
  const [asked, ...rest] = argv.slice(2);
  // Programs ask this before they ask anything else: it loads nothing.
  if ((asked === '--version' || asked === '-V') && rest.length === 0) return print(version());
  try {
    useWings((await loadWings()).WINGS);
    await (await programFor(argv)).parseAsync(argv);
  } catch (error) {
    process.exitCode = exitOf(error);
  }
}

/** The program with the command that `argv` names, or with all of them. */
export async function programFor(argv: string[]): Promise<Command> {
  const { Command } = await import('commander');
  const program = new Command('nocturne')
    .description('Background memory for coding and chat agents: finished sessions in, Markdown out.')
    .version(version(), '-V, --version')
    // So that --version behind a command is the command's own.
    .enablePositionalOptions()
    .showHelpAfterError('(nocturne --help lists the commands)')
    .configureHelp({
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(termOf)].join(' '),
    })
    .exitOverride();
  const asked = argv.slice(2).find((word) => !word.startsWith('-'));
  const groups = Object.entries(COMMANDS).map(([heading, group]) => ({
    heading,
    group: Object.assign({}, group, ...wings().map(({ commands }) => commands?.[heading as CommandGroup])),
  }));
  const isKnown = groups.some(({ group }) => asked !== undefined && Object.hasOwn(group, asked));
  for (const { heading, group } of groups) {
    program.commandsGroup(heading);
    const wanted = Object.keys(group).filter((name) => !isKnown || name === asked);
    for (const add of await Promise.all(wanted.map((name) => group[name]?.()))) await add?.(program);
  }
  program.helpCommand('help [command]', 'what a command does, its options and an example');
  if (!isKnown) program.addHelpText('after', (await import('./terminal/manual.ts')).manual());
  nameOptionsAfterErrors(program);
  return program;
}

/** After wrong usage of a command, its own usage and options are named. */
function nameOptionsAfterErrors(program: Command): void {
  for (const command of program.commands) {
    const options = command.options.map((option) => option.long).join(', ');
    const help = command.createHelp().commandUsage(command);
    command.showHelpAfterError(`Usage: ${help}${options && `\nOptions: ${options}`}\n(--help says more)`);
    nameOptionsAfterErrors(command);
  }
}

function termOf(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
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
