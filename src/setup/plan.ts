// What set-up writes: nocturne's hooks into agents' settings, the night into the system's scheduler, settings into
// config.json, and the key where all find it. All of it can be shown before anything is written.
// Of an agent's settings a receipt in the home keeps the text as it was before: as long as nobody else changed the file, removal
// puts those very bytes back, and removes a file and directories that were made. Where someone did, it takes out nocturne's own
// elements and leaves the rest. Files are written whole, through links, with the mode they had; a file that changed since it was
// read is not written.

import { hash } from 'node:crypto';
import { delimiter, dirname, join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { type Config, loadConfig } from '../base/config/config.ts';
import { AppError, attempt } from '../base/errors.ts';
import { isDirectory, kindOf, realPath, removeIfEmpty, replaceText } from '../base/files/directories.ts';
import {
  holdsText,
  makeDirectory,
  makePrivate,
  readTextNow,
  removeFile,
  statNow,
  writeWhole,
} from '../base/files/files.ts';
import { keepKey } from '../base/key.ts';
import { parseJson } from '../base/text/json.ts';
import { unifiedDiff } from '../memory/edit-text.ts';
import { type Agent, type AgentName, findAgent, findPrograms, type Programs, refusePassing } from './agents/agents.ts';
import { type Night, nightOf, type Scheduler, schedulerHere } from './schedules.ts';
import { type NewSettings, planSettings, writeSettings } from './settings-file.ts';

export interface KeyOptions {
  keyCommand?: string;
  keyStdin?: boolean;
}

/** What will be written. */
export interface Plan {
  changes: Change[];
  scheduler: Scheduler | null;
  night: Night | null;
  /** Of config.json. */
  settings?: NewSettings;
}

export async function planFor(
  config: Config,
  { agents, options }: { agents: AgentName[]; options: KeyOptions & { schedule: string } },
): Promise<Plan> {
  const programs = findPrograms(config.environment);
  refusePassing(programs);
  const { keyCommand, schedule } = options;
  // The key first: the scheduler brings more of the environment where a command gives the key.
  const keyed = { ...config, keyCommand: keyCommand ? commandWords(keyCommand) : config.keyCommand };
  const scheduler = schedule === 'none' ? null : await schedulerHere(config.environment);
  return {
    changes: agents.map((agent) => planInstall(keyed, { agent, programs })),
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

/** The whole of it, as differences. */
export async function diffsOf({ changes, scheduler, night, settings = {} }: Plan, { home }: Config): Promise<string[]> {
  const { file, from, to } = await planSettings(home, settings);
  return [
    ...changes.map(changeDiff),
    unifiedDiff({ name: file, text: from }, { name: file, text: to }),
    ...((night && scheduler?.texts(night)) ?? []).map(({ path, text }) =>
      unifiedDiff({ name: path, text: readTextNow(path) ?? '' }, { name: path, text }),
    ),
  ];
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

/** Keeps a key, and the address that this shell gives beside it: a proxy's key is not sent to Anthropic at night. */
export async function keepWithAddress({ home, access, ...config }: Config, key: string): Promise<void> {
  const baseUrl = config.baseUrl ?? access.baseURL;
  keepKey({ home, baseUrl }, key);
  if (baseUrl !== config.baseUrl) await writeSettings(home, { baseUrl });
}

async function keepGivenKey(config: Config, options: KeyOptions): Promise<void> {
  if (options.keyStdin) await keepWithAddress(config, await readAll(process.stdin));
  if (!options.keyCommand) return;
  await writeSettings(config.home, { keyCommand: commandWords(options.keyCommand) });
}

/** A command as a program and its arguments; one that needs a shell is given to a shell. */
function commandWords(command: string): string[] {
  const isPlain = /^[\w@%+=:,./ -]+$/.test(command);
  return isPlain ? command.trim().split(/ +/) : ['/bin/sh', '-c', command];
}

/** What is kept beside what was written into an agent's settings. */
interface Receipt {
  file: string;
  /** The text before; null: there was no file. */
  before: string | null;
  /** SHA-256 of the text that was written. */
  after: string;
  /** Directories that were made for it, the innermost first. */
  made: string[];
}

/** What would become of a file; nothing is written yet. */
export interface Change {
  agent: AgentName;
  file: string;
  /** Null: there is no file, or will be none. */
  from: string | null;
  to: string | null;
  /** Kept when it was written; null: the one there is goes. */
  receipt: Receipt | null;
}

/** What installing changes; `from` and `to` are the same where all is in place. */
export function planInstall(config: Config, ask: { agent: AgentName; programs: Programs }): Change {
  const agent = findAgent(ask.agent);
  const file = agent.file(config);
  const from = readFile(file);
  const old = readReceipt(config, ask.agent);
  const known = old?.file === file ? old : null;
  const before = from === null ? null : withoutOurs(agent, { text: from, file, receipt: known });
  const to = agent.add(before ?? '', ask.programs, config);
  const made = from === null ? missingAbove(file) : (known?.made ?? []);
  const isInPlace = from !== null && agent.find(from, file).join('\n') === agent.find(to, file).join('\n');
  if (isInPlace) return { agent: ask.agent, file, from, to: from, receipt: known };
  return { agent: ask.agent, file, from, to, receipt: { file, before, after: hash('sha256', to), made } };
}

/** What uninstalling changes. */
export function planUninstall(config: Config, name: AgentName): Change {
  const agent = findAgent(name);
  const receipt = readReceipt(config, name);
  const file = receipt?.file ?? agent.file(config);
  const from = readFile(file);
  return {
    agent: name,
    file,
    from,
    to: from === null ? null : withoutOurs(agent, { text: from, file, receipt }),
    receipt: null,
  };
}

/** Makes the change. Throws `conflict` where the file is not what the change was made from. */
export function applyChange(config: Config, { agent, file, from, to, receipt }: Change): void {
  if (readFile(file) !== from) {
    throw new AppError('conflict', `${file} changed meanwhile; nothing was written.`, {
      remedy: 'Run the same command again.',
    });
  }
  const old = readReceipt(config, agent);
  // Kept before the file is written: with a receipt for a text that was never written, uninstall looks for itself.
  if (receipt) writeWhole(receiptPath(config, agent), `${JSON.stringify(receipt, null, 2)}\n`);
  if (to !== null && to !== from) replaceText(file, to);
  if (to === null && from !== null) removeFile(file);
  if (receipt) return;
  for (const dir of old?.made ?? []) removeIfEmpty(dir);
  removeFile(receiptPath(config, agent));
}

/** The agents that nocturne was installed for on this home. */
export function isInstalled(config: Config, agent: AgentName): boolean {
  return readReceipt(config, agent) !== null;
}

/** Whether the agent is on this machine: its directory, or its program. */
export function isHere(name: AgentName, config: Config): boolean {
  const file = findAgent(name).file(config);
  if (isDirectory(name === 'opencode' ? dirname(dirname(file)) : dirname(file)) || isInstalled(config, name))
    return true;
  const program = name === 'claude-code' ? 'claude' : name;
  const path = (config.environment.PATH ?? '').split(delimiter).filter(Boolean);
  return path.some((dir) => statNow(join(dir, program)) !== null);
}

/** Whether there is something to take out: a receipt may be gone with the home while the hooks stay. */
export function hasOurs(config: Config, name: AgentName): boolean {
  if (isInstalled(config, name)) return true;
  const agent = findAgent(name);
  const file = agent.file(config);
  // What cannot be read is not ours to change.
  return attempt(
    () => agent.find(readTextNow(file) ?? '', file).length > 0,
    () => false,
  );
}

function withoutOurs(
  agent: Agent,
  { text, file, receipt }: { text: string; file: string; receipt: Receipt | null },
): string | null {
  if (receipt && hash('sha256', text) === receipt.after) return receipt.before;
  return agent.remove(text, { file, before: receipt ? receipt.before : '' });
}

function readFile(file: string): string | null {
  if (kindOf(file) === 'link' && realPath(file) === null) {
    throw new AppError('bad-input', `${file} is a broken link; nothing was changed.`, {
      remedy: 'Make the file it names, or remove the link.',
    });
  }
  const text = readTextNow(file);
  if (text === null || holdsText(file)) return text;
  throw new AppError('bad-input', `${file} is not UTF-8 text; nothing was changed.`, { remedy: 'Fix it by hand.' });
}

function receiptPath(config: Config, agent: AgentName): string {
  return join(config.home, 'installed', `${agent}.json`);
}

function readReceipt(config: Config, agent: AgentName): Receipt | null {
  // One that cannot be read is none: what is nocturne's is then found in the file itself.
  return (parseJson(readTextNow(receiptPath(config, agent)) ?? '') as Receipt | undefined) ?? null;
}

/** The directories above `path` that are not there, the innermost first. */
function missingAbove(path: string): string[] {
  const dir = dirname(path);
  return statNow(dir) !== null || dir === path ? [] : [dir, ...missingAbove(dir)];
}
