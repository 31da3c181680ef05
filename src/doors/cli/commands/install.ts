// What setup writes: nocturne's hooks into agents' settings, the night into the system's scheduler, and the key where both
// find it. All of it can be shown before anything is written.

import { text as readAll } from 'node:stream/consumers';
import { type Config, loadConfig } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import { makeDirectory, makePrivate, readTextNow } from '../../../base/files/files.ts';
import { keepKey } from '../../../base/key.ts';
import { unifiedDiff } from '../../../memory/history/line-diff.ts';
import { type AgentName, findAgent, findPrograms, refusePassing } from '../../setup/agents/agents.ts';
import { applyChange, type Change, planInstall } from '../../setup/agents/installing.ts';
import { type Night, nightOf, type Scheduler, schedulerHere } from '../../setup/schedules.ts';
import { type NewSettings, planSettings, writeSettings } from '../../setup/settings-file.ts';
import type { OptionSpec } from '../spec.ts';
import type { Questions } from '../terminal/ask.ts';
import { EXIT, note, printRaw } from '../terminal/output.ts';

export interface KeyOptions {
  keyFile?: string;
  keyCommand?: string;
  keyStdin?: boolean;
}

export interface InstallOptions extends KeyOptions {
  yes?: boolean;
  dryRun?: boolean;
  json?: boolean;
  allowMemoryWrites?: boolean;
  schedule: string;
}

/** What will be written. */
export interface Plan {
  changes: Change[];
  scheduler: Scheduler | null;
  night: Night | null;
  /** Of config.json. */
  settings?: NewSettings;
}

export const NIGHT_AND_KEY: OptionSpec[] = [
  [
    '--schedule <which>',
    "what starts the nightly run: the system's scheduler, or nothing but sessions",
    { choices: ['auto', 'none'], default: 'auto' },
  ],
  ['--key-file <path>', 'keep the key in this file in the nocturne home', { conflicts: ['keyStdin', 'keyCommand'] }],
  ['--key-stdin', 'read the key to keep from stdin', { conflicts: 'keyCommand' }],
  ['--key-command <command>', 'a command that prints the key, run whenever one is needed'],
];

export async function planFor(
  config: Config,
  { agents, options }: { agents: AgentName[]; options: Omit<InstallOptions, 'yes'> },
): Promise<Plan> {
  const programs = findPrograms(config.environment);
  refusePassing(programs);
  const { keyCommand, schedule, allowMemoryWrites = false } = options;
  // The key first: the scheduler brings more of the environment where a command gives the key.
  const keyed = { ...config, keyCommand: keyCommand ? commandWords(keyCommand) : config.keyCommand };
  const scheduler = schedule === 'none' ? null : await schedulerHere(config.environment);
  return {
    changes: agents.map((agent) => planInstall(keyed, { agent, programs, allowMemoryWrites })),
    scheduler,
    night: scheduler && nightOf(keyed, programs),
  };
}

export async function carryOut(
  config: Config,
  { changes, scheduler, night, settings = {} }: Plan,
  options: KeyOptions,
): Promise<void> {
  makeDirectory(config.home);
  makePrivate(config.home);
  await writeSettings(config.home, settings);
  await keepGivenKey(await loadConfig(), options);
  for (const change of changes) if (change.from !== change.to) applyChange(config, change);
  if (scheduler && night) await scheduler.install(night);
}

/** Nobody said yes. */
export function leftAsItIs(isAsking: boolean): false {
  note(isAsking ? 'Nothing was changed.' : 'Nothing was changed: there is no terminal to ask at. Give --yes.');
  process.exitCode = EXIT.attention;
  return false;
}

export async function showAll({ changes, scheduler, night, settings = {} }: Plan, { home }: Config): Promise<void> {
  for (const change of changes) printRaw(changeDiff(change));
  const { file, from, to } = await planSettings(home, settings);
  if (to !== from) printRaw(unifiedDiff({ name: file, text: from }, { name: file, text: to }));
  for (const { path, text } of (night && scheduler?.texts(night)) ?? []) {
    printRaw(unifiedDiff({ name: path, text: readTextNow(path) ?? '' }, { name: path, text }));
  }
}

/** A change as JSON tells it. */
export function dataOf(change: Change) {
  const diff = changeDiff(change);
  return { agent: change.agent, file: change.file, isChanged: diff !== '', diff };
}

function changeDiff({ file, from, to }: Change): string {
  const side = (text: string | null) => ({ name: text === null ? '/dev/null' : file, text: text ?? '' });
  return unifiedDiff(side(from), side(to));
}

async function keepGivenKey(config: Config, options: KeyOptions): Promise<void> {
  if (options.keyStdin) keepKey(config, await readAll(process.stdin));
  if (options.keyFile) {
    const text = readTextNow(options.keyFile);
    if (text === null) throw new AppError('bad-input', `There is no file ${options.keyFile}.`);
    keepKey(config, text);
  }
  if (!options.keyCommand) return;
  await writeSettings(config.home, { keyCommand: commandWords(options.keyCommand) });
}

/** A command as a program and its arguments; one that needs a shell is given to a shell. */
function commandWords(command: string): string[] {
  const isPlain = /^[\w@%+=:,./ -]+$/.test(command);
  return isPlain ? command.trim().split(/ +/) : ['/bin/sh', '-c', command];
}

/** Undefined or empty: there is none. */
export async function askForApiKey(questions: Questions): Promise<string | undefined> {
  return (await questions.askHidden('API key for the model (not shown; empty for none): '))?.trim();
}

/** What the agents want of the person. */
export function leftToDo(changes: Change[]): string[] {
  return changes.flatMap(({ agent, from, to }) => (from === to ? [] : findAgent(agent).afterwards));
}
