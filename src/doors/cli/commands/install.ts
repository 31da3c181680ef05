// install, uninstall: puts nocturne's hooks into an agent's settings, and, where the person wants it, the night into the
// system's scheduler and the key where both find it. Everything is shown before anything is written.

import { text as readAll } from 'node:stream/consumers';
import { needsKey } from '../../../agent/types.ts';
import { type Config, loadConfig } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import { makeDirectory, makePrivate, readTextNow, statNow } from '../../../base/files/files.ts';
import { keepKey, keyPath, keySource } from '../../../base/key.ts';
import { unifiedDiff } from '../../../memory/history/line-diff.ts';
import { AGENT_NAMES, type AgentName, findAgent, findPrograms, refusePassing } from '../../setup/agents/agents.ts';
import { applyChange, type Change, hasOurs, planInstall, planUninstall } from '../../setup/agents/installing.ts';
import {
  type Night,
  nightOf,
  SCHEDULER_NAMES,
  type Scheduler,
  schedulerHere,
  schedulers,
  standing,
} from '../../setup/schedules.ts';
import { type NewSettings, planSettings, writeSettings } from '../../setup/settings-file.ts';
import type { CommandSpec, OptionSpec } from '../spec.ts';
import { canAsk, confirm, type Questions, withQuestions } from '../terminal/ask.ts';
import { EXIT, note, print, printRaw } from '../terminal/output.ts';

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
    'what starts the nightly run',
    { choices: ['auto', ...SCHEDULER_NAMES, 'none'], default: 'auto' },
  ],
  ['--key-file <path>', 'keep the key in this file in the nocturne home', { conflicts: ['keyStdin', 'keyCommand'] }],
  ['--key-stdin', 'read the key to keep from stdin', { conflicts: 'keyCommand' }],
  ['--key-command <command>', 'a command that prints the key, run whenever one is needed'],
];

const installCommand: CommandSpec<InstallOptions, [AgentName]> = {
  name: 'install',
  about: "put nocturne's hooks into an agent's settings, and the night into the system's scheduler",
  group: 'Older names',
  args: [['<agent>', 'the agent', AGENT_NAMES]],
  options: [
    ['--yes', 'do not ask'],
    ['--dry-run', 'show what would be changed, and change nothing'],
    ['--allow-memory-writes', 'let the agent write its memory files without asking (Claude Code)'],
    ...NIGHT_AND_KEY,
  ],
  json: '{ agent, file, isChanged, diff, rules, schedule: { name, texts } }',
  examples: ['install claude-code --allow-memory-writes'],
  run: ({ args: [agent], options }) => install(agent, options),
};

async function install(agent: AgentName, options: InstallOptions): Promise<void> {
  const config = await loadConfig();
  const isAsking = canAsk() && !options.yes && !options.dryRun && !options.json;
  const plan = await planWithRules(config, { agent, options, isAsking });
  await show(plan, options, config);
  if (options.dryRun || !(await isSure(options))) return;
  await carryOut(config, plan, options);
  if (isAsking) await askForKey(config, options);
  for (const line of afterwards(await loadConfig(), plan)) note(line);
}

/** At a terminal it is asked whether the agent may write its memory. */
async function planWithRules(
  config: Config,
  { agent, options, isAsking }: { agent: AgentName; options: InstallOptions; isAsking: boolean },
): Promise<Plan> {
  const plan = await planFor(config, { agents: [agent], options });
  if (!isAsking || rulesOf(plan).length > 0) return plan;
  const allowing = await planFor(config, { agents: [agent], options: { ...options, allowMemoryWrites: true } });
  if (rulesOf(allowing).length === 0) return plan;
  note(`${findAgent(agent).title} asks before it writes a memory file. These rules let it, and nothing else:`);
  for (const rule of rulesOf(allowing)) note(`  ${rule}`);
  return (await confirm('Add them?')) ? allowing : plan;
}

function rulesOf({ changes }: Plan): string[] {
  return changes.flatMap(({ receipt }) => receipt?.rules ?? []);
}

export async function planFor(
  config: Config,
  { agents, options }: { agents: AgentName[]; options: Omit<InstallOptions, 'yes'> },
): Promise<Plan> {
  const programs = findPrograms(config.environment);
  refusePassing(programs);
  const { keyCommand, schedule, allowMemoryWrites = false } = options;
  // The key first: the scheduler brings more of the environment where a command gives the key.
  const keyed = { ...config, keyCommand: keyCommand ? commandWords(keyCommand) : config.keyCommand };
  const scheduler = await chosenScheduler(config, schedule);
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

/** Whether the person says so, or `--yes`; else what was not done is told. */
async function isSure({ yes, json }: Pick<InstallOptions, 'yes' | 'json'>): Promise<boolean> {
  const isAsking = canAsk() && !json;
  if (yes || (isAsking && (await confirm('Change this?')))) return true;
  return leftAsItIs(isAsking);
}

/** Nobody said yes. */
export function leftAsItIs(isAsking: boolean): false {
  note(isAsking ? 'Nothing was changed.' : 'Nothing was changed: there is no terminal to ask at. Give --yes.');
  process.exitCode = EXIT.attention;
  return false;
}

async function chosenScheduler({ environment }: Config, name: string): Promise<Scheduler | null> {
  if (name === 'none') return null;
  if (name === 'auto') return schedulerHere(environment);
  const scheduler = schedulers(environment).find((each) => each.name === name) as Scheduler;
  if (await scheduler.isHere()) return scheduler;
  throw new AppError('bad-input', `There is no ${name} here that this user could use.`, {
    remedy: 'Choose another --schedule, or none: then the first session of a day catches up.',
  });
}

async function show(plan: Plan, { json }: InstallOptions, config: Config): Promise<void> {
  const { changes, scheduler, night } = plan;
  const [change] = changes as [Change];
  if (json) {
    const schedule = scheduler && night && { name: scheduler.name, texts: scheduler.texts(night) };
    print({ ...dataOf(change), rules: rulesOf(plan), schedule });
    return;
  }
  if (changeDiff(change) === '') print(`${change.file}: all is in place`);
  await showAll(plan, config);
}

export async function showAll({ changes, scheduler, night, settings = {} }: Plan, { home }: Config): Promise<void> {
  for (const change of changes) printRaw(changeDiff(change));
  const { file, from, to } = await planSettings(home, settings);
  if (to !== from) printRaw(unifiedDiff({ name: file, text: from }, { name: file, text: to }));
  for (const { path, text } of (night && scheduler?.texts(night)) ?? []) {
    printRaw(unifiedDiff({ name: path, text: standing(path) }, { name: path, text }));
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

async function askForKey(config: Config, options: InstallOptions): Promise<void> {
  if (options.keyStdin || options.keyFile || options.keyCommand || !needsKey(config.model)) return;
  const source = keySource(config);
  if (source === 'file' || source === 'command') return;
  const { apiKey } = config.access;
  if (apiKey && !(await confirm(`Keep the key of ANTHROPIC_API_KEY for the nights, in ${keyPath(config)} (0600)?`)))
    return;
  const key = apiKey ?? (await withQuestions(askForApiKey));
  if (key) keepKey(config, key);
}

/** Undefined or empty: there is none. */
export async function askForApiKey(questions: Questions): Promise<string | undefined> {
  return (await questions.askHidden('API key for the model (not shown; empty for none): '))?.trim();
}

function afterwards(config: Config, { changes, scheduler }: Plan): string[] {
  const source = keySource(config);
  const isKeyless = needsKey(config.model) && source === 'none';
  const isKeyInShell = needsKey(config.model) && source === 'environment';
  return [
    ...leftToDo(changes),
    scheduler
      ? `The night is in ${scheduler.name}.`
      : 'No scheduler starts the night: the first session after its time (dreamCron) does.',
    ...(isKeyless
      ? ['There is no key for the model yet: nocturne install with --key-stdin, --key-file or --key-command keeps one.']
      : []),
    ...(isKeyInShell && scheduler
      ? ['The key is in this shell alone; the night has none: --key-stdin, --key-file or --key-command keeps one.']
      : []),
    'nocturne doctor looks whether everything works.',
  ];
}

/** What the agents want of the person. */
export function leftToDo(changes: Change[]): string[] {
  return changes.flatMap(({ agent, from, to }) => (from === to ? [] : findAgent(agent).afterwards));
}

const uninstallCommand: CommandSpec<InstallOptions, [AgentName]> = {
  name: 'uninstall',
  about: "take nocturne's hooks out of an agent's settings; memory stays",
  group: 'Older names',
  args: [['<agent>', 'the agent', AGENT_NAMES]],
  options: [
    ['--yes', 'do not ask'],
    ['--dry-run', 'show what would be changed, and change nothing'],
  ],
  json: '{ agent, file, isChanged, diff }',
  examples: ['uninstall claude-code'],
  run: ({ args: [agent], options }) => uninstall(agent, options),
};

async function uninstall(agent: AgentName, options: InstallOptions): Promise<void> {
  const config = await loadConfig();
  const change = planUninstall(config, agent);
  const diff = changeDiff(change);
  if (options.json) print(dataOf(change));
  else if (diff === '') print(`${change.file}: nothing of nocturne's is in it`);
  else printRaw(diff);
  if (options.dryRun || (diff !== '' && !(await isSure(options)))) return;
  applyChange(config, change);
  if (AGENT_NAMES.some((name) => hasOurs(config, name))) return;
  for (const scheduler of schedulers(config.environment)) {
    if (await scheduler.remove()) note(`The night is out of ${scheduler.name}.`);
  }
  if (statNow(keyPath(config))) note(`The key stays in ${keyPath(config)}; remove it if nothing else needs it.`);
}

export const commands: CommandSpec[] = [installCommand, uninstallCommand];
