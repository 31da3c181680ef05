// What a command is: one spec says its name, what it is for, its arguments and options, the JSON it prints and an example,
// and runs it. The builder makes commander's commands of specs; the help and docs/commands.md say what the specs say.
// A module of commands is loaded when one of its names is asked for. JSON shapes stay as they are from release to release.

import { Argument, Command, Option } from 'commander';
import { describeError, isAppError } from '../base/errors.ts';
import { EXIT, EXIT_MEANINGS, note, wrap } from '../terminal/output.ts';
import type { App } from '../worker/compose.ts';
import type { Parts } from '../worker/job-bounds.ts';
import type { OptionSpec } from './cli-options.ts';

/** The commands as the help lists them. */
const GROUPS = {
  'Every day': [
    '',
    ...'setup doctor list search show learn remember forget why next undo review pause share open'.split(' '),
  ],
  'Jobs and numbers': ['dream', 'config', 'cost', 'worker'],
  'Under the hood': 'check redact retry adopt export import snapshot stores keys serve mcp'.split(' '),
};

/** `<name>` must be there, `[name]` may; `...` behind it takes all that follow. */
type ArgumentSpec = [term: string, about: string, choices?: readonly string[]];

/** What a command is called with. */
export interface Call<Options extends object = object, Args extends unknown[] = unknown[]> {
  args: Args;
  options: Options;
  /** What its app is made with in the place of the usual. */
  parts: Parts;
  /** Of nocturne. */
  version: string;
  /** Ends in wrong usage, with what is right. */
  wrong(message: string): never;
}

export interface CommandSpec<Options extends object = object, Args extends unknown[] = unknown[]> {
  /** Two words: a command of a command. Empty: what nocturne does alone. */
  name: string;
  about: string;
  args?: ArgumentSpec[];
  options?: OptionSpec[];
  /** What `--json` prints, as a person who scripts it reads it; without it the command has no such option. */
  json?: string;
  /** What the help says below the options. */
  more?: string;
  /** Calls of it, without `nocturne` before them where that is what they begin with. */
  examples?: string[];
  run?(call: Call<Options, Args>): void | Promise<void>;
  /** The same with an app of its options, which is closed behind it. */
  inApp?(app: App, call: Call<Options, Args>): void | Promise<void>;
}

/** What every command of a program is called with. */
type CalledAt = Pick<Call, 'parts' | 'version'>;

/** Commands that share a subject, and so a file. */
export interface CommandModule {
  names: string[];
  load(): Promise<{ commands: CommandSpec[] }>;
}

/** How wide the help is: as the terminal, and at most 80. */
function helpColumns(): number {
  return Math.min(process.stdout.columns || 80, 80);
}

/** What every command may end with. */
function sayExitCodes(): string {
  const codes = Object.entries(EXIT) as [keyof typeof EXIT, number][];
  return codes
    .map(([name, code]) => wrap(`  ${String(code).padStart(2)}  ${EXIT_MEANINGS[name]}`, helpColumns(), 6))
    .join('\n');
}

/** Adds the commands to the program, group by group. */
function addCommands(program: Command, specs: CommandSpec[], at: CalledAt): void {
  for (const [group, names] of Object.entries(GROUPS)) {
    program.commandsGroup(`${group}:`);
    for (const name of names)
      for (const spec of specs.filter((each) => each.name.split(' ')[0] === name)) addCommand(program, spec, at);
  }
}

function addCommand(program: Command, spec: CommandSpec, at: CalledAt): void {
  const [first = '', second] = spec.name.split(' ');
  const above = second === undefined ? program : program.commands.find((each) => each.name() === first);
  const command = describe(first === '' ? program : (above ?? program).command(second ?? first), spec);
  for (const [term, about, choices] of spec.args ?? []) {
    const argument = new Argument(term, about);
    command.addArgument(choices ? argument.choices(choices) : argument);
  }
  for (const option of spec.options ?? []) command.addOption(optionOf(option));
  if (spec.json !== undefined) command.option('--json', `JSON on stdout: ${spec.json}`);
  if (!spec.run && !spec.inApp) return;
  command.action(async (...given: unknown[]) => {
    const wrong = (message: string): never => command.error(`error: ${message}`);
    const args = given.slice(0, command.registeredArguments.length);
    const call = { ...at, args, options: command.opts(), wrong };
    if (!spec.inApp) return spec.run?.(call);
    const { withApp } = await import('./cli-options.ts');
    return withApp(call, async (app) => spec.inApp?.(app, call));
  });
}

function describe(command: Command, { about, more, examples = [] }: CommandSpec): Command {
  const calls = examples.map((each) => `  ${/^(?:nocturne|claude)(?: |$)/.test(each) ? each : `nocturne ${each}`}`);
  const example = calls.length > 0 ? `${calls.length > 1 ? 'Examples' : 'Example'}:\n${calls.join('\n')}` : undefined;
  // Paragraphs are laid out here, whatever the width of the lines in the spec.
  const said = more && wrap(more.replace(/(?<!\n)\n(?!\n)/g, ' '), helpColumns());
  const after = [said, example].filter((each) => each !== undefined).join('\n\n');
  command.description(about);
  return after === '' ? command : command.addHelpText('after', `\n${after}`);
}

function optionOf([flags, about, more = {}]: OptionSpec): Option {
  const option = new Option(flags, about);
  if (more.choices) option.choices(more.choices);
  if (more.parse) option.argParser(more.parse);
  if (more.default !== undefined) option.default(more.default);
  if (more.conflicts) option.conflicts(more.conflicts);
  if (more.isRequired) option.makeOptionMandatory();
  return more.isHidden ? option.hideHelp() : option;
}

/** What takes the next word for its value. */
const VALUED = /^--(?:memory|scope|store)$/;

function isCommand(modules: CommandModule[], word: string): boolean {
  return word !== '' && modules.some(({ names }) => names.includes(word));
}

/** The program with the command that `argv` names, or with all of them. */
export async function programOf(modules: CommandModule[], argv: string[], at: CalledAt): Promise<Command> {
  const program = new Command('nocturne')
    .version(at.version, '-V, --version')
    // So that --version behind a command is the command's own.
    .enablePositionalOptions()
    .showHelpAfterError('(nocturne help COMMAND says how it is called)')
    .helpCommand('help [command]', 'what a command does, its options and an example')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .exitOverride();
  const [first = '', ...rest] = argv.slice(2);
  const isAlone = /^(?:-|$)/.test(first);
  const behind = rest.findIndex((word, at) => isCommand(modules, word) && !VALUED.test([first, ...rest][at] ?? ''));
  // Help and version are answered wherever they stand.
  if (isAlone && behind >= 0 && !/^(?:-[hV]|--help|--version)$/.test(first)) {
    const [name, ...more] = rest.slice(behind);
    const right = ['nocturne', name, first, ...rest.slice(0, behind), ...more].join(' ');
    program.error(`error: options stand behind their command: ${right}`);
  }
  const isHelp = ['-h', '--help'].includes(first);
  const asked = isAlone ? '' : first;
  const known = isHelp ? undefined : modules.find(({ names }) => names.includes(asked));
  const loaded = await Promise.all((known ? [known] : modules).map(({ load }) => load()));
  const specs = loaded.flatMap(({ commands }) => commands);
  const wanted = known ? specs.filter(({ name }) => name.split(' ')[0] === asked) : specs;
  // With something to do itself it would take a word that is no command for an argument.
  addCommands(
    program,
    isAlone ? wanted : wanted.map((spec) => (spec.name === '' ? { ...spec, run: undefined } : spec)),
    at,
  );
  program.addHelpText('after', `\nExit codes:\n${sayExitCodes()}`);
  return program;
}

/** The exit code of what a command threw, which is told. */
export function exitOf(error: unknown): number {
  if (isAppError(error)) {
    note(`nocturne: ${error.message}${error.remedy ? `\n  ${error.remedy}` : ''}`);
    return EXIT.failed;
  }
  // Commander has told about wrong usage itself; help and version are no errors.
  const usage = error as { code?: string; exitCode?: number };
  if (usage.code?.startsWith('commander.')) return usage.exitCode === 0 ? EXIT.fine : EXIT.usage;
  if ((error as NodeJS.ErrnoException).syscall === 'uv_cwd') {
    note('nocturne: The current directory no longer exists.\n  Change to another one, then run it again.');
    return EXIT.failed;
  }
  // Not one of ours: a fault, or a file that holds what it never should. The first line of ours says where.
  const where = /\(?([^\s(]*(?:src|jobs)\/[^\s)]+)\)?$/m.exec((error as Error).stack ?? '')?.[1];
  note(`nocturne: ${error instanceof Error ? `${error.name}: ${error.message}` : describeError(error)}`);
  note('  This was not expected. nocturne check and nocturne doctor say whether a file is damaged;');
  note(`  if none is, it is a bug in nocturne: please report it${where ? `, with ${where}` : ''}.`);
  return EXIT.failed;
}
