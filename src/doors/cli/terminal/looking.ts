// For commands that only look: the memory that the options name, its store, which first takes in what was edited outside;
// where nothing can be written there, the directory as it stands. What a person names in it: a day, a topic, a file. And what
// dreams did with each entry, and why: the report that they wrote, dream by dream.
// Promises: looking makes, locks and changes nothing where nocturne has not worked yet.

import { isAbsolute, join, relative, sep } from 'node:path';
import type { Config } from '../../../base/config/config.ts';
import { AppError, describeError, onAppError } from '../../../base/errors.ts';
import { canonicalPath, isDirectory, listNames } from '../../../base/files/directories.ts';
import { readTextNow, statNow } from '../../../base/files/files.ts';
import { didYouMean } from '../../../base/text/wording.ts';
import { DAY_MS, type Day, dayOf, isDay, timeOf } from '../../../base/time.ts';
import { writtenLines } from '../../../memory/history/versions.ts';
import { entryRow } from '../../../memory/ledger/entries.ts';
import { jobRow } from '../../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import { catalogTopics } from '../../../memory/recall/catalog.ts';
import { locateFile } from '../../../memory/store/confine.ts';
import { type MemoryReader, ReadOnlyStore } from '../../../memory/store/live-files.ts';
import {
  numbered,
  parseJsonReport,
  reportDay,
  reportPath,
  sayOps,
  splitMarkdown,
} from '../../../memory/text/dream-report.ts';
import { isTopicFile } from '../../../memory/text/topic.ts';
import type { App } from '../../compose.ts';
import { type Keeping, keepingOf } from '../../keeping.ts';
import { memoryDirFor } from '../../places.ts';
import type { Call } from '../spec.ts';
import { type CommonOptions, configFor, withApp } from './options.ts';
import { note, print, style } from './output.ts';
import type { Seen } from './phrases.ts';

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

export type ReportedDream = ReturnType<typeof dreamsOf>[number];

interface Asked {
  /** Default: the day of the last dream, and that alone. */
  given?: string;
  /** That dream alone. */
  job?: string;
}

export function reportDreams({ options }: Pick<Call<CommonOptions>, 'options'>, { given, job }: Asked): Promise<void> {
  return withLooking({ options }, ({ config, id, dir, ledger }) => {
    const days = listNames(join(dir, '.nocturne/dreams')).flatMap((name) => reportDay(name) ?? []);
    const read = (of: Day) => dreamsOf(readTextNow(join(dir, reportPath(of, 'json'))) ?? '', ledger);
    const ofJob = job && days.findLast((of) => read(of).some((dream) => dream.job === job));
    const none = new AppError('bad-input', `No dream has done anything in ${id} yet.`, {
      remedy: 'nocturne dream works the logs into topics now; nocturne status names the jobs that ran.',
    });
    const day = ofJob || dayAmong(days, { given, config, none, what: `report of a dream in ${id}` });
    const all = read(day);
    const last = given === undefined ? all.slice(-1) : all;
    const dreams = ofJob ? all.filter((dream) => dream.job === job) : last;
    if (options.json) print({ day, dreams });
    else {
      const text = readTextNow(join(dir, reportPath(day, 'md'))) ?? '';
      const told = dreams.map(({ job, at, rows }) => {
        const when = `${day}${at ? ` ${timeOf(at, config.zone)}` : ''}`;
        return `${style('bold', `Dream of ${when}, ${shortId(ledger, 'job', job)}: ${sayOps(rows)}`)}\n\n${textOf(job, text, ledger)}`;
      });
      print(told.join('\n\n'));
    }
  });
}

/** What is in the JSON report of a day, dream by dream. */
export function dreamsOf(text: string, ledger: Ledger | null) {
  const jobs = Map.groupBy(parseJsonReport(text) ?? [], (row) => row.job);
  return [...jobs].map(([job, rows]) => ({
    job,
    /** Null where the ledger does not know the job any more. */
    at: (ledger && jobRow(ledger, job)?.createdAt) ?? null,
    rows: numbered(rows).map(({ entry, op, operation, topic, lines, gone = [], reason, over }) => {
      /** What the entry says. */
      const text = (ledger && entryRow(ledger, entry)?.text) || null;
      // As they were written, as far as a version still has them.
      const textsOf = (ids: string[]) => (ledger && topic ? writtenLines(ledger, { path: topic, lines: ids }) : []);
      const told = { entry, op, operation, topic, lines, reason, over, text };
      /** `written`: the lines that rest on it; `removed`: those that went. */
      return { ...told, written: textsOf(lines), removed: textsOf(gone) };
    }),
    /** Entries that wait for another night. */
    left: rows.flatMap(({ batch }) => batch?.left ?? []),
  }));
}

/** What the report for people says of a dream, with the ids that stand there as comments. */
function textOf(job: string, report: string, ledger: Ledger | null): string {
  return splitMarkdown(report)
    .filter((part) => part.startsWith('## ') && part.split('\n', 1)[0]?.includes(` ${job}:`))
    .map((part) => part.slice(part.indexOf('\n') + 1).trim())
    .join('\n\n')
    .replace(/ <!-- (\w+) -->/g, (_, entry: string) => ` (${shortId(ledger, 'entry', entry)})`)
    .replace(/^(- \*\*\w+\*\* → )\[(.+?)\]\((?:<.*?>|\S*?)\): /gm, '$1$2: ');
}
