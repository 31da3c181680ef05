// What the command line says of itself, and what it says to those who mistype.

import type { Command } from 'commander';
import { beforeAll, expect, test } from 'vitest';
import { EXIT } from '../../src/terminal/output.ts';
import { wholeProgram } from '../docs/generate.ts';
import { environmentIn, testApp } from '../support/app.ts';
import { type EndedHere, runHere } from '../support/run-here.ts';
import { tempDir } from '../support/temp.ts';

let program: Command;
beforeAll(async () => {
  program = await wholeProgram();
});

/** The commands that do something, with their full names; `help` aside. */
function commands(of: Command = program, prefix = ''): [name: string, command: Command][] {
  return of
    .createHelp()
    .visibleCommands(of)
    .flatMap((command): [string, Command][] => {
      const name = `${prefix}${command.name()}`;
      if (command.name() === 'help') return [];
      return command.commands.length > 0 ? commands(command, `${name} `) : [[name, command]];
    });
}

async function helpOf(name: string): Promise<string> {
  return (await runHere([...name.split(' '), '--help'], {})).stdout;
}

test('every command has a description, an example that calls it, and documented JSON', async () => {
  const lacking: string[] = [];
  for (const [name, command] of commands()) {
    const help = await helpOf(name);
    if (command.description() === '') lacking.push(`${name}: description`);
    if (!new RegExp(`^Examples?:\n  nocturne ${name}\\b`, 'm').test(help)) lacking.push(`${name}: example`);
    const json = command.options.find((option) => option.long === '--json');
    if (!/^JSON on stdout: \S/.test(json?.description ?? '')) lacking.push(`${name}: --json`);
  }
  expect(lacking).toEqual([]);
  expect(commands().length).toBeGreaterThan(20);
});

test.each([['--help'], ['help', 'forget'], ['forget', '--help']])(
  'the help fits a narrow terminal, too: %j %j',
  async (...args) => {
    const { stdout } = await runHere(args.filter(Boolean), {}, { isTerminal: true, columns: 60 });
    const wide = stdout.split('\n').filter((line) => line.length > 60 && line.trim().includes(' '));
    expect(wide.filter((line) => !/^ {2}nocturne /.test(line))).toEqual([]);
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      args.includes('forget') ? 'and the exit code is 2.' : '75 try again later',
    );
  },
);

test('the help names every command once, in three groups, and every exit code', async () => {
  const { stdout, code } = await runHere(['--help'], {});
  expect(code).toBe(0);
  const lines = stdout.split('\n');
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  const groups = lines.filter((line) => /^(Every day|Jobs and numbers|Under the hood):$/.test(line));
  expect(groups).toHaveLength(3);
  for (const name of program.commands.map((command) => command.name()))
    expect(stdout.match(new RegExp(`^  ${name} `, 'gm')), name).toHaveLength(1);
  for (const code of Object.values(EXIT)) expect(stdout).toMatch(new RegExp(`^ +${code}  \\S`, 'm'));
});

test('help of a command is its own --help, and of none names the nearest', async () => {
  expect((await runHere(['help', 'forget'], {})).stdout).toBe(await helpOf('forget'));
  expect(await runHere(['help', 'lits'], {})).toMatchObject({
    code: EXIT.usage,
    stderr: expect.stringContaining('list'),
  });
});

test.each([
  ['a command that is none', ['lits'], 'Did you mean list?'],
  ['an option that is none', ['list', '--tpye', 'user'], 'Did you mean --type?'],
  ['a value that is none', ['list', '--type', 'habit'], 'user, feedback, project, reference'],
  ['a missing argument', ['search'], "missing required argument 'query'"],
])('%s is wrong usage, and the reader is told what is right', async (_, args, words) => {
  const { nocturne } = await testApp();
  expect(await nocturne(...args)).toMatchObject<Partial<EndedHere>>({
    code: EXIT.usage,
    stdout: '',
    stderr: expect.stringContaining(words),
  });
});

test.each([
  ['--memory here list --all', 'nocturne list --memory here --all'],
  ['--json list', 'nocturne list --json'],
])('nocturne %s is told that options stand behind their command', async (given, right) => {
  const { code, stdout, stderr } = await runHere(given.split(' '), environmentIn(tempDir()));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(right);
});

test.each(['--help', '-h', '--version', '-V'])(
  'nocturne %s is answered, whatever command stands behind it',
  async (given) => {
    const alone = await runHere([given], environmentIn(tempDir()));
    expect(alone).toMatchObject({ code: 0, stderr: '' });
    expect(await runHere([given, 'learn'], environmentIn(tempDir()))).toEqual(alone);
  },
);

test('a directory may be called as a command is', async () => {
  const { code } = await runHere(['--memory', 'list', '--json'], environmentIn(tempDir()));
  expect(code).not.toBe(2);
});
