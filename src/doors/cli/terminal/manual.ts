// The help: `nocturne --help` fits a screen of 80 columns and 40 lines and holds the commands of every day; `nocturne help
// --all` has every command, older names, models, environment and exit codes. Both say what the specs say.

import type { Command } from 'commander';
import { OFFLINE_DESCRIPTION } from '../../../agent/offline/model.ts';
import { type CommandGroup, type CommandSpec, GROUPS, helpColumns } from '../spec.ts';
import { EXIT, EXIT_MEANINGS, print, wrap } from './output.ts';

const SHORT: CommandGroup[] = ['Every day', 'Jobs and numbers'];

/** Gives the program its help, and the command that asks for it. */
export function addHelp(program: Command, specs: CommandSpec[]): void {
  program.helpInformation = () => shortHelp(specs);
  program
    .command('help')
    .description('what a command does, its options and an example')
    .argument('[command...]')
    .option('--all', 'every command, older names, models, environment, exit codes')
    .action((words: string[], { all }: { all?: boolean }) => {
      if (all) return print(fullHelp(specs));
      let command = program;
      for (const word of words) {
        const named = command.commands.find((each) => each.name() === word);
        // Says what is nearest to it.
        if (!named) return program.parseAsync(['node', 'nocturne', word]).then(() => {});
        command = named;
      }
      command.outputHelp();
    });
}

/** What people call commands elsewhere, and what does it here. */
const ELSEWHERE: Record<string, string> = {
  add: 'remember',
  browse: 'open',
  cat: 'show',
  delete: 'forget',
  edit: 'show TOPIC --edit',
  find: 'search',
  grep: 'search',
  logs: 'list --day today',
  ls: 'list',
  redo: 'undo',
  remove: 'forget',
  rm: 'forget',
  run: 'learn --dream',
  topics: 'list',
  ui: 'open',
  update: 'learn',
  version: '--version',
  web: 'open',
};

/** After a word that is no command: what does it, where that is known; else commander names the nearest. */
export function hintAfter(program: Command, asked: string): void {
  const here = Object.hasOwn(ELSEWHERE, asked) ? ELSEWHERE[asked] : undefined;
  if (here === undefined) return;
  program.showSuggestionAfterError(false);
  program.showHelpAfterError(`(Did you mean nocturne ${here}?)\n(nocturne --help lists the commands)`);
}

function shortHelp(specs: CommandSpec[]): string {
  const lines = [
    'Usage: nocturne [command] [options]',
    '',
    'The memory of your coding agents: finished sessions in, Markdown out.',
    ...SHORT.flatMap((group) => ['', `${group}:`, ...(group === 'Every day' ? [ALONE] : []), ...rowsOf(specs, group)]),
    '',
    'Wherever it makes sense: --json, --memory <dir>, --scope <whose>',
    'nocturne help <command> says more; nocturne help --all lists the rest.',
    `Exit codes: ${Object.values(EXIT)
      .map((code, at) => `${code} ${SHORT_MEANINGS[at]}`)
      .join(', ')}.`,
  ];
  return `${wrap(lines.join('\n'), helpColumns())}\n`;
}

const ALONE = `  ${'nocturne'.padEnd(20)}  what was learned, what waits for you, what it costs`;

const SHORT_MEANINGS = ['fine', 'failed', 'wrong usage', 'it needs you', 'try again later'];

function fullHelp(specs: CommandSpec[]): string {
  const groups = GROUPS.flatMap((group) => ['', `${group}:`, ...rowsOf(specs, group)]);
  return ['Usage: nocturne [command] [options]', ...groups, manual()].join('\n');
}

/** Each with what calls it and what it is for, wrapped. */
function rowsOf(specs: CommandSpec[], group: CommandGroup): string[] {
  return specs
    .filter((spec) => spec.group === group)
    .map((spec) => {
      const call = [spec.name, ...(spec.args ?? []).map(([term]) => term)].join(' ');
      return wrap(`  ${call.padEnd(20)}  ${spec.about}`, helpColumns(), 24);
    });
}

export function manual(): string {
  const codes = Object.entries(EXIT).map(
    ([name, code]) => `  ${String(code).padStart(2)}  ${EXIT_MEANINGS[name as keyof typeof EXIT]}`,
  );
  return `
Models:
  A model id of the Anthropic Messages API, reached with ANTHROPIC_API_KEY or
  ANTHROPIC_AUTH_TOKEN and, for another endpoint of the same protocol,
  ANTHROPIC_BASE_URL; or offline:
${wrap(`  ${OFFLINE_DESCRIPTION}.`, helpColumns())}

Environment:
  NOCTURNE_HOME        settings, spend, logs (~/.nocturne)
  NOCTURNE_MEMORY_DIR  one memory directory for every session (else
                       CLAUDE_COWORK_MEMORY_PATH_OVERRIDE, else
                       autoMemoryDirectory of your Claude Code settings, else
                       the project's own)
  NOCTURNE_MODEL       default of --model
  NOCTURNE_QUEUE_URL   redis://… or postgres://… (else REDIS_URL; empty:
                       none, the worker looks every second itself)
  NOCTURNE_DATABASE_URL
                       postgres://… of memory that several machines share
  VISUAL, EDITOR       what nocturne show --edit starts
  NO_COLOR             no colours; there are none either where the output is
                       no terminal

Exit codes:
${codes.map((line) => wrap(line, helpColumns(), 6)).join('\n')}`;
}
