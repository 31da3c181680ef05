// What set-up writes: nocturne's hooks into agents' settings, the night into the system's scheduler, settings into
// config.json, and the key where all find it. All of it can be shown before anything is written.

import { text as readAll } from 'node:stream/consumers';
import { type Config, loadConfig } from '../base/config/config.ts';
import { makeDirectory, makePrivate, readTextNow } from '../base/files/files.ts';
import { keepKey } from '../base/key.ts';
import { unifiedDiff } from '../memory/edit-text.ts';
import { type AgentName, findPrograms, refusePassing } from './agents/agents.ts';
import { applyChange, type Change, planInstall } from './agents/installing.ts';
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
