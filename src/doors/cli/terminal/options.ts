// Options that several commands share, and what they lead to: the settings and the app. Every command loads it, a worker
// that waits for days, too: it loads nothing that only some of them need.

import { CommanderError, InvalidArgumentError } from 'commander';
import type { Config } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import { statNow } from '../../../base/files/files.ts';
import { agentOfShell } from '../../../base/process.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import type { App } from '../../compose.ts';
import { keepingOf } from '../../keeping.ts';
import { MEMORY_SCOPES, type MemoryScope, notOfWorkingTree, scopeDir } from '../../places.ts';
import type { Call, OptionSpec } from '../spec.ts';
import { EXIT, exitFor, note, print, tellProgress } from './output.ts';
import { shellWord } from './phrases.ts';

export interface CommonOptions {
  memory?: string;
  scope?: MemoryScope;
  /** Until the settings are read: the directory is in `memory` from then on. */
  store?: string;
  model?: string;
  instructions?: string;
  json?: boolean;
}

export const MEMORY: OptionSpec[] = [
  ['--memory <dir>', "memory directory (default: NOCTURNE_MEMORY_DIR, else the project's own)"],
  [
    '--scope <whose>',
    "whose memory: the project's, the user's in all projects, or the working tree's",
    { choices: MEMORY_SCOPES, conflicts: 'memory' },
  ],
  ['--store <name>', 'a memory store of this home, by its name or id', { conflicts: ['memory', 'scope'] }],
];

export const MODEL: OptionSpec = ['--model <id>', 'model id, or offline'];

export const INSTRUCTIONS: OptionSpec = [
  '--instructions <text>',
  'what to keep, in your words; never overrides the rules',
];

/** The settings with what a command was given of them. */
export async function configFor(options: CommonOptions): Promise<Config> {
  const { loadConfig } = await import('../../../base/config/config.ts');
  if (options.store !== undefined) {
    options.memory = await storeDir(options.store, await loadConfig());
    options.store = undefined;
  }
  const { memory, model, scope } = options;
  const config = await loadConfig({ memoryDir: memory, model });
  if (memory !== undefined && statNow(memory)?.isFile) {
    throw new AppError('bad-input', `--memory ${memory} is a file.`, { remedy: 'Give the memory directory.' });
  }
  if (scope === undefined || scope === 'project') return config;
  if (scope === 'local' && config.databaseUrl !== undefined) throw notOfWorkingTree();
  const memoryDir = scopeDir(config, { memory: scope, cwd: process.cwd() });
  return { ...config, memoryDir, memoryDirFrom: `--scope ${scope}` };
}

/** Where the one memory store of this name is. Ends in wrong usage, with their ids, where there are several. */
async function storeDir(name: string, config: Config): Promise<string> {
  const found = await storesNamed(name, config);
  const [store, ...others] = found;
  if (!store) {
    const isShared = config.databaseUrl !== undefined;
    const where = isShared ? 'the database' : config.home;
    throw new AppError('bad-input', `There is no memory store ${JSON.stringify(name)} in ${where}.`, {
      remedy: `nocturne ${isShared ? 'status --all' : 'stores list'} names those that there are.`,
    });
  }
  if (others.length === 0) return store.dir;
  note(`nocturne: ${found.length} memory stores have the name ${JSON.stringify(name)}. Give an id:`);
  for (const { id, dir } of found) note(`  ${id}  ${dir}`);
  throw new CommanderError(EXIT.usage, 'commander.severalStores', 'several stores have this name');
}

/** Those that clients have, and of a database all others. */
async function storesNamed(name: string, config: Config): Promise<{ id: string; dir: string }[]> {
  const sent = await (await import('../../clients/rows.ts')).storesNamed(name, config);
  const found = new Map(sent.map(({ id, dir }) => [id, { id, dir }]));
  const keeping = keepingOf(config);
  try {
    for (const each of (await keeping?.stores()) ?? [])
      if (each.id === name || each.name === name) found.set(each.id, { id: each.id, dir: each.id });
  } finally {
    await keeping?.close();
  }
  return [...found.values()];
}

/** The command that undoes a job of the memory that these options name, as it can be pasted. */
export function undoCommand(
  job: string | null,
  { memory, scope, ledger }: Pick<CommonOptions, 'memory' | 'scope'> & { ledger: Ledger },
): string {
  const where = memory ? ` --memory ${shellWord(memory)}` : scope && scope !== 'project' ? ` --scope ${scope}` : '';
  return `nocturne undo${where} ${job && shortId(ledger, 'job', job)}`;
}

/**
 * Runs a command with an app made from its options, and closes the app. A secret in the instructions is kept nowhere. What it
 * does is begun by the person who typed it, unless the shell is an agent's, or its parts say otherwise.
 */
export async function withApp<T>(
  { options, parts }: Pick<Call<CommonOptions>, 'options' | 'parts'>,
  work: (app: App) => Promise<T>,
): Promise<T> {
  const [config, { openApp }] = await Promise.all([configFor(options), import('../../compose.ts')]);
  if (options.instructions !== undefined) {
    const { redact } = await import('../../../base/text/redact.ts');
    options.instructions = (await redact(options.instructions)).text;
  }
  const startedBy = agentOfShell(config.environment) ? 'program' : 'person';
  const app = await openApp(config, { startedBy, onRequest: tellProgress, ...parts });
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}

/** Throws `refused` in an agent's shell, for a command that is a person's word alone. */
export function requirePerson({ environment }: Pick<Config, 'environment'>, command: string): void {
  const agent = agentOfShell(environment);
  if (!agent) return;
  const why = `this is a shell of ${agent.name} (${agent.variable} is set)`;
  throw new AppError('refused', `nocturne ${command} is for the person to say, and ${why}: nothing was changed.`, {
    remedy: `Run nocturne ${command} in a terminal of your own.`,
  });
}

/** What a command does that works with an app and asks nothing before. */
export function inApp<Options extends CommonOptions, Args extends unknown[]>(
  work: (app: App, call: Call<Options, Args>) => void | Promise<void>,
): (call: Call<Options, Args>) => Promise<void> {
  return (call) => withApp(call, async (app) => work(app, call));
}

/** Tells what a command did to its memory, in JSON or in lines with how it is taken back, and how it ended. */
export async function printDone(
  app: App,
  { options }: Pick<Call<CommonOptions>, 'options'>,
  { report, lines }: { report: { outcome: string; job: string | null }; lines: string[] },
): Promise<void> {
  const { outcome, job } = report;
  const { ledger = null } = job && !options.json ? await app.storeFor() : {};
  const undo = ledger ? [`${undoCommand(job, { ...options, ledger })} takes it back.`] : [];
  print(options.json ? report : [...lines, ...undo].join('\n'));
  process.exitCode = exitFor([outcome]);
}

/** Reads an option; `read` answers undefined for what it does not take. */
export function parsed<T>(read: (text: string) => T | undefined, problem: string): (text: string) => T {
  return (text) => {
    const value = read(text);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(problem);
  };
}

/** Reads an option that is a count. */
export function countUpTo(most: number): (text: string) => number {
  const count = (text: string) => (/^[1-9]\d*$/.test(text) && Number(text) <= most ? Number(text) : undefined);
  return parsed(count, `It is no whole number from 1 to ${most}.`);
}

/** Reads an option that is a whole number from 0. */
export const wholeNumber = parsed(
  (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
  'It must be a whole number from 0.',
);

/** An amount of US dollars, 0 or more; undefined where it is none. */
export function dollars(text: string): number | undefined {
  return /^\d{1,9}(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** Reads an option that is a port; 0: a free one. */
export const portOf = parsed(
  (text) => (/^\d+$/.test(text) && Number(text) < 65_536 ? Number(text) : undefined),
  'It must be a port, 0 to 65535.',
);
