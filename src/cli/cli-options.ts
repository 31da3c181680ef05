// Options that several commands share, and what they lead to: the settings, the app, and the memory that is meant. Every command
// loads it: it loads nothing that only some of them need.

import { InvalidArgumentError } from 'commander';
import type { Config } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { listNames } from '../base/files/directories.ts';
import { isOnNetwork, statNow } from '../base/files/files.ts';
import { agentOfShell } from '../base/process.ts';
import type { Sql } from '../db/sql.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { MEMORY_SCOPES, type MemoryScope, notOfWorkingTree, scopeDir } from '../memory/places.ts';
import { shortId } from '../memory/short-ids.ts';
import { canAsk, confirm, exitFor, note, print } from '../terminal/output.ts';
import { NETWORK_RISK, shellWord } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import type { Parts } from '../worker/job-bounds.ts';
import { memoriesHere } from '../worker/whose-memory.ts';

export interface CommonOptions {
  memory?: string;
  scope?: MemoryScope;
  store?: string;
  model?: string;
  instructions?: string;
  json?: boolean;
}

/** Default: what is given, or with flags without a value true. */
export type OptionSpec = [flags: string, about: string, more?: OptionMore];

interface OptionMore {
  choices?: readonly string[];
  default?: unknown;
  /** Throws commander's `InvalidArgumentError`. `before`: what the same option gave already. */
  parse?(text: string, before: unknown): unknown;
  /** Names of options, as they are in `Call.options`. */
  conflicts?: string | string[];
  isRequired?: boolean;
  isHidden?: boolean;
}

/** `config`: where it is read already. */
type CalledWith = { options: CommonOptions; parts: Parts; config?: Config };

export const MEMORY: OptionSpec[] = [
  ['--memory <dir>', "memory directory (default: NOCTURNE_MEMORY_DIR, else the project's own)"],
  [
    '--scope <whose>',
    "whose memory: the project's, the user's in all projects, or the working tree's",
    { choices: MEMORY_SCOPES, conflicts: 'memory' },
  ],
  ['--store <name>', 'a memory store, by its name or id', { conflicts: ['memory', 'scope'] }],
];

export const MODEL: OptionSpec = ['--model <id>', 'model id, or offline'];

export const INSTRUCTIONS: OptionSpec = [
  '--instructions <text>',
  'what to keep, in your words; never overrides the rules',
];

/** The settings with what a command was given of them. */
export async function configFor(options: CommonOptions): Promise<Config> {
  const { memory, model, scope } = options;
  const [{ loadConfig }, { sayFormer }] = await Promise.all([
    import('../base/config/config.ts'),
    import('../base/config/settings.ts'),
  ]);
  const config = await loadConfig({ memoryDir: memory, model });
  for (const said of [sayFormer(config.former), config.unknown]) if (said) note(`config.json: ${said}`);
  if (memory !== undefined && statNow(memory)?.isFile)
    throw new AppError('bad-input', `--memory ${memory} is a file.`, { remedy: 'Give the memory directory.' });
  if (scope === undefined || scope === 'project') return config;
  if (scope === 'local' && config.databaseUrl !== undefined) throw notOfWorkingTree();
  const memoryDir = scopeDir(config, { memory: scope, cwd: process.cwd() });
  return { ...config, memoryDir, memoryDirFrom: `--scope ${scope}` };
}

/**
 * Runs a command with an app made from its options, and closes the app. A secret in the instructions is kept nowhere. What it
 * does is begun by the person who typed it, unless the shell is an agent's, or its parts say otherwise.
 */
export async function withApp<T>(
  { options, parts, config: known }: CalledWith,
  work: (app: App) => Promise<T>,
): Promise<T> {
  const [config, { openApp }] = await Promise.all([known ?? configFor(options), import('../worker/compose.ts')]);
  if (options.instructions !== undefined) {
    const { redact } = await import('../base/secrets/redact-text.ts');
    options.instructions = (await redact(options.instructions)).text;
  }
  if (options.instructions !== undefined && config.model === 'offline')
    note('nocturne: --instructions does nothing here: the offline model follows fixed rules.');
  const startedBy = agentOfShell(config.environment) ? 'program' : 'person';
  const app = await openApp(config, { startedBy, ...parts });
  if (app.db.trouble) note(`nocturne: ${app.db.trouble}`);
  if (app.db.engine === 'sqlite' && isOnNetwork(config.home))
    note(`nocturne: ${config.home} is on a network file system. ${NETWORK_RISK}`);
  try {
    return await work(options.store === undefined ? app : await ofStore(app, options.store));
  } finally {
    await app.close();
  }
}

/** Whether the options say which memory is meant. */
export function isNamed({ memory, scope, store }: CommonOptions): boolean {
  return memory !== undefined || scope !== undefined || store !== undefined;
}

/**
 * The memory here, for a command that only looks; null where nothing is kept there yet, and nothing is made. What others wrote into a
 * directory is taken in.
 */
export async function memoryHere(app: App): Promise<MemoryRow | null> {
  const known = await app.findMemory();
  const dir = app.memoryDirOf();
  return known ?? (app.db.engine === 'sqlite' && listNames(dir).length > 0 ? app.memoryFor({ isLook: true }) : null);
}

/** The same. Errors: `bad-input` where nothing is kept there. */
export async function memoryKept(app: App): Promise<MemoryRow> {
  const memory = await memoryHere(app);
  if (memory) return memory;
  throw new AppError('bad-input', `There is no memory at ${app.memoryDirOf()}.`);
}

/** The one here, or with `--all` all that are known. */
export async function memoriesFor(app: App, { all }: { all?: boolean }): Promise<MemoryRow[]> {
  const known = all ? await memoriesHere(app) : [await memoryHere(app)];
  return known.flatMap((memory) => memory ?? []);
}

/** The app with a memory store in the place of the memory here. */
async function ofStore(app: App, name: string): Promise<App> {
  const row = await app.memories.of((await storeNamed(app.db, name)).id);
  const memory = async () => row;
  return { ...app, memoryDirOf: () => row.dir ?? row.id, findMemory: memory, memoryFor: memory };
}

/** The memory store of this id or name; a memory of a project goes by its name, too, where no store has that. */
export async function storeNamed(sql: Sql, given: string): Promise<MemoryRow> {
  const select = 'select * from memory where deleted_at is null and (id = ? or name = ?) order by id';
  const rows = await sql.all<MemoryRow>(select, given, given);
  const stores = rows.filter(({ scope }) => scope === 'store');
  return theOne(stores.length > 0 ? stores : rows, given, 'store');
}

/** The one of this id or name. Errors: `bad-input` where there is none, or several. */
export function theOne<Row extends { id: string; name: string }>(
  rows: readonly Row[],
  given: string,
  kind: 'store' | 'key',
): Row {
  const named = rows.filter(({ id }) => id === given);
  const found = named.length > 0 ? named : rows.filter(({ name }) => name === given);
  const [row] = found;
  if (row && found.length === 1) return row;
  const what = kind === 'store' ? 'memory store' : 'key';
  throw new AppError(
    'bad-input',
    `There ${row ? `are ${found.length} ${what}s` : `is no ${what}`} ${JSON.stringify(given)}.`,
    {
      remedy: row ? `Give an id: ${found.map(({ id }) => id).join(', ')}.` : `nocturne ${kind}s list shows them all.`,
    },
  );
}

/** The command that undoes a job of the memory that these options name, as it can be pasted. */
export async function undoCommand(app: App, job: string, { memory, scope }: CommonOptions): Promise<string> {
  const where = memory ? ` --memory ${shellWord(memory)}` : scope && scope !== 'project' ? ` --scope ${scope}` : '';
  return `nocturne undo${where} ${await shortId(app.db, 'job', job)}`;
}

/** Throws `refused` in an agent's shell, for a command that is a person's word alone. */
export function requirePerson({ environment }: Pick<Config, 'environment'>, command: string): void {
  const agent = agentOfShell(environment);
  if (!agent) return;
  const why = `this is a shell of ${agent.name} (${agent.variable} is set)`;
  throw new AppError('refused', `nocturne ${command} is only for a person to run, and ${why}: nothing was changed.`, {
    remedy: `Run nocturne ${command} in a terminal of your own.`,
  });
}

/** Why nothing was done. */
export const BUSY = 'Another job works on this memory; try again when it has ended.';

/** A yes where someone is there to answer; else no, with the option that does it `without` asking. */
export async function agreed(question: string, without = '--yes'): Promise<boolean> {
  if (canAsk()) return confirm(question);
  note(`There is no terminal to ask on. To do it without asking: ${without}`);
  return false;
}

/** Tells what a command did to its memory, in JSON or in lines with how it is taken back, and how it ended. */
export async function printDone(
  app: App,
  options: CommonOptions,
  { report, lines }: { report: { outcome: string; job: string | null }; lines: string[] },
): Promise<void> {
  const { outcome, job } = report;
  const undo = job && !options.json ? [`${await undoCommand(app, job, options)} takes it back.`] : [];
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

/** Reads an option that is a whole number. */
export function wholeFrom(least: number, most: number): (text: string) => number {
  const read = (text: string) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : -1;
    return least <= number && number <= most ? number : undefined;
  };
  return parsed(read, `Give a whole number from ${least} to ${most}.`);
}
