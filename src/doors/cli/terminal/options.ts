// Options that several commands share, and what they lead to: the app, or for those who only look the memory: its store,
// which first takes in what was edited outside; where nothing can be written there, the directory as it stands.

import { isAbsolute, join, relative, sep } from 'node:path';
import { CommanderError, InvalidArgumentError } from 'commander';
import type { Config } from '../../../base/config/config.ts';
import { AppError, describeError, onAppError } from '../../../base/errors.ts';
import { canonicalPath, isDirectory } from '../../../base/files/directories.ts';
import { statNow } from '../../../base/files/files.ts';
import { didYouMean } from '../../../base/text/wording.ts';
import { DAY_MS, type Day, dayOf, isDay } from '../../../base/time.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import { catalogTopics } from '../../../memory/recall/catalog.ts';
import { locateFile } from '../../../memory/store/confine.ts';
import { type MemoryReader, ReadOnlyStore } from '../../../memory/store/live-files.ts';
import { isTopicFile } from '../../../memory/text/topic.ts';
import type { App } from '../../compose.ts';
import { type Keeping, keepingOf } from '../../keeping.ts';
import { MEMORY_SCOPES, type MemoryScope, memoryDirFor, notOfWorkingTree, scopeDir } from '../../places.ts';
import type { Call, OptionSpec } from '../spec.ts';
import { EXIT, exitFor, note, print } from './output.ts';
import { tellProgress } from './progress.ts';
import { type Seen, shellWord } from './words.ts';

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
 * does is begun by the person who typed it, unless its parts say otherwise.
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
  const app = await openApp(config, { startedBy: 'person', onRequest: tellProgress, ...parts });
  try {
    return await work(app);
  } finally {
    await app.close();
  }
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

/** A memory to look into; `ledger` is null where nocturne has not worked in it yet. */
export interface Looking {
  config: Config;
  /** What it is called: its directory, or its id where it is kept elsewhere. */
  id: string;
  dir: string;
  ledger: Ledger | null;
}

/** Runs a command that only reads: nothing is made or locked, also where there is no memory yet. */
export function withLooking<T>(
  call: Pick<Call<CommonOptions>, 'options'>,
  work: (at: Looking) => T | Promise<T>,
): Promise<T> {
  return lookAt(call, { isAll: false }, ([at]) => work(at as Looking));
}

/** The same for all memory directories that this home knows, and the one here; of a database those of this machine. */
export function withLookingAtAll<T>(
  call: Pick<Call<CommonOptions>, 'options'>,
  work: (places: Looking[]) => T | Promise<T>,
): Promise<T> {
  return lookAt(call, { isAll: true }, work);
}

async function lookAt<T>(
  { options }: Pick<Call<CommonOptions>, 'options'>,
  { isAll }: { isAll: boolean },
  work: (places: Looking[]) => T | Promise<T>,
): Promise<T> {
  const [config, { findLedger }] = await Promise.all([configFor(options), import('../../../memory/ledger/ledger.ts')]);
  const dir = memoryDirFor(config, {});
  const keeping = keepingOf(config);
  const opened: Ledger[] = [];
  const onDisk = (of: string): Looking => {
    const ledger = findLedger(of);
    if (ledger) opened.push(ledger);
    return { config, id: of, dir: of, ledger };
  };
  try {
    if (keeping && isAll) return await work(await keptPlaces(keeping, config));
    // Null: there is no store that stands for the directory.
    const kept = await keeping?.findStore(dir);
    if (kept) return await work([{ config, id: kept.id, dir: kept.dir, ledger: kept.ledger }]);
    if (isAll) return await work(await knownPlaces(config, { dir, onDisk }));
    const at = onDisk(dir);
    if (keeping && at.ledger) {
      note(`${dir} is on this disk and not in the database: nocturne move --to-database brings it there.`);
    }
    const isUnread = !at.ledger && statNow(join(dir, '.nocturne', 'ledger.db')) !== null;
    if (isUnread) note(`The ledger of ${dir} cannot be read: what follows is what the files alone say.`);
    return await work([at]);
  } finally {
    for (const ledger of opened) ledger.close();
    await keeping?.close();
  }
}

async function keptPlaces(keeping: Keeping, config: Config): Promise<Looking[]> {
  const here = (await keeping.stores()).filter(({ isHere }) => isHere);
  const stores = await Array.fromAsync(here, ({ id }) => keeping.findStore(id));
  return stores.flatMap((store) => (store ? [{ config, id: store.id, dir: store.dir, ledger: store.ledger }] : []));
}

async function knownPlaces(
  config: Config,
  { dir, onDisk }: { dir: string; onDisk(of: string): Looking },
): Promise<Looking[]> {
  const { lookIntoHome } = await import('../../../memory/home/home.ts');
  const known = lookIntoHome(config.home, config.clock)?.stores ?? [];
  return [...new Set([canonicalPath(dir), ...known].filter(isDirectory))].map((of) => {
    try {
      return onDisk(of);
    } catch (error) {
      note(`nocturne: ${describeError(error)}`);
      return { config, id: of, dir: of, ledger: null };
    }
  });
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

/** Reads an option that is a port; 0: a free one. */
export const portOf = parsed(
  (text) => (/^\d+$/.test(text) && Number(text) < 65_536 ? Number(text) : undefined),
  'It must be a port, 0 to 65535.',
);

/** Whether `dayAmong` reads it. */
export function isDayWord(given: string): boolean {
  return isDay(given) || /^(?:today|yesterday|-\d{1,5})$/.test(given);
}

/**
 * The day that is given, default the latest of `days`, those that there are. Throws `bad-input`: `none` where there is no day
 * at all, else that there is no `what` of it, with the nearest days.
 */
export function dayAmong(
  days: Day[],
  { given, config, none, what }: { given?: string; config: Seen; none: AppError; what: string },
): Day {
  const day = given === undefined ? days.at(-1) : dayFrom(given, { now: config.clock.now(), zone: config.zone, days });
  if (day === undefined || days.length === 0) throw none;
  if (days.includes(day)) return day;
  const near = [days.findLast((each) => each < day), days.find((each) => each > day)].filter(Boolean);
  throw new AppError('bad-input', `There is no ${what} of ${day}.`, {
    remedy: `The nearest days with one: ${near.join(' and ')}.`,
  });
}

/** From `YYYY-MM-DD`, `today`, `yesterday` or `-N` days before today. `days` are those worth naming in an error. */
function dayFrom(given: string, { now, zone, days }: { now: Date; zone: string; days: Day[] }): Day {
  if (isDay(given)) return given;
  const back = given === 'today' ? 0 : given === 'yesterday' ? 1 : /^-\d{1,5}$/.test(given) ? -Number(given) : null;
  // Counted on the calendar: a day of 23 or 25 hours is a day.
  if (back !== null) return dayOf(new Date(Date.parse(dayOf(now, zone)) - back * DAY_MS), 'UTC');
  throw new AppError('bad-input', `${JSON.stringify(given)} is no day.`, {
    remedy: `Use YYYY-MM-DD, today, yesterday or -1${days.length > 0 ? `; the latest is ${days.at(-1)}` : ''}.`,
  });
}

/**
 * The file of a topic in the memory directory, by its name or its path; `called`: what the memory is called. Throws `bad-input`
 * that names the nearest.
 */
export function topicFile(dir: string, given: string, called = dir): string {
  const found = findTopic(dir, given);
  if (found) return found;
  const names = catalogTopics(dir, null).map((topic) => topic.name);
  throw new AppError('bad-input', `There is no topic ${JSON.stringify(given)} in ${called}.`, {
    remedy: didYouMean(given, names, 'nocturne list names the topics.'),
  });
}

/** The same, or undefined where there is none; what was put away is found by its path. */
export function findTopic(dir: string, given: string): string | undefined {
  const path = isAbsolute(given)
    ? relative(dir, canonicalPath(given)).split(sep).join('/')
    : given.replace(/^\.\//, '');
  return [path, `${path}.md`].find((each) => isTopicFile(each) && statNow(`${dir}/${each}`)?.isFile);
}

/** The one name of a file, relative to the memory directory, however it is spelled. Refuses what leads out of it. */
export function memoryPath({ dir }: Pick<MemoryReader, 'dir'>, given: string): string {
  const path = isAbsolute(given) ? relative(dir, canonicalPath(given)) : given;
  return locateFile(dir, path.split(sep).join('/').replace(/^\.\//, '')).path;
}

/** What a command does that only reads the memory here. */
export function inReader<Options extends CommonOptions, Args extends unknown[]>(
  work: (reader: MemoryReader, app: App, call: Call<Options, Args>) => void | Promise<void>,
): (call: Call<Options, Args>) => Promise<void> {
  return (call) => withApp(call, (app) => withReader(app, (reader) => work(reader, app, call)));
}

/** Looking makes no memory. */
export async function withReader<T>(app: App, work: (reader: MemoryReader) => Promise<T> | T): Promise<T> {
  const isThere = app.keeping !== null || (await app.hasMemory());
  const orRead = (error: AppError) => {
    try {
      return new ReadOnlyStore(app.memoryDirOf());
    } catch {
      // Where it cannot even be read, the first error says what to do.
      throw error;
    }
  };
  const reader = isThere
    ? await app.storeFor().catch(onAppError(orRead, 'storage'))
    : new ReadOnlyStore(app.memoryDirOf());
  try {
    return await work(reader);
  } finally {
    if (reader instanceof ReadOnlyStore) reader.close();
  }
}
