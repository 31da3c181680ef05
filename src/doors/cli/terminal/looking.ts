// For commands that only look: the memory that the options name, its store, which first takes in what was edited outside;
// where nothing can be written there, the directory as it stands. What a person names in it: a day, a topic, a file. And what
// dreams did with each entry, and why: the report that they wrote, dream by dream. And how the reports of jobs are printed.
// Promises: looking makes, locks and changes nothing where nocturne has not worked yet.

import { isAbsolute, join, relative, sep } from 'node:path';
import type { DreamEstimate, DreamReport } from '../../../../jobs/dream.ts';
import type { ExtractReport } from '../../../../jobs/extract.ts';
import { programOf } from '../../../agent/programs/programs.ts';
import type { Config } from '../../../base/config/config.ts';
import { AppError, describeError, onAppError } from '../../../base/errors.ts';
import { canonicalPath, isDirectory, listNames } from '../../../base/files/directories.ts';
import { readTextNow, statNow } from '../../../base/files/files.ts';
import { didYouMean, sayCount } from '../../../base/text/wording.ts';
import { type Day, timeOf } from '../../../base/time.ts';
import { writtenLines } from '../../../memory/history/versions.ts';
import { gitRoot } from '../../../memory/home/paths.ts';
import { sessionDirs } from '../../../memory/ledger/coverage.ts';
import { entryRow } from '../../../memory/ledger/entries.ts';
import { jobRow } from '../../../memory/ledger/job-rows.ts';
import { type Ledger, lookIntoLedger } from '../../../memory/ledger/ledger.ts';
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
import { sayOp } from '../../../memory/types.ts';
import type { App } from '../../compose.ts';
import type { Whose } from '../../doctor/facts.ts';
import { type Keeping, keepingOf } from '../../keeping.ts';
import { memoryDirFor, memoryDirIfTold } from '../../places.ts';
import type { Call } from '../spec.ts';
import { type CommonOptions, configFor, withApp } from './options.ts';
import { note, type Printing, print, style } from './output.ts';
import { dayAmong, fromHome, shellPath } from './phrases.ts';

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

export function whoseMemory({ dir, ledger }: { dir: string; ledger: Ledger | null }, config: Config): Whose {
  const roots = new Set((ledger ? sessionDirs(ledger) : []).flatMap((cwd) => (cwd ? (gitRoot(cwd) ?? cwd) : [])));
  const [root] = roots.size === 1 ? roots : [];
  const keeps = (cwd: string) => {
    const told = isDirectory(cwd) ? memoryDirIfTold(config, { cwd }) : null;
    return told !== null && canonicalPath(told) === dir;
  };
  const name = fromHome(root ?? dir, config);
  if (dir === canonicalPath(join(config.claudeDir, 'memory'))) {
    return { name: 'all your projects', command: (what) => `${what} --scope user` };
  }
  if (keeps(process.cwd())) return { name, command: (what) => what };
  if (root !== undefined && keeps(root)) return { name, command: (what) => `cd ${shellPath(root, config)} && ${what}` };
  return { name, command: (what) => `${what} --memory ${shellPath(dir, config)}` };
}

/** `here`: the memory where one stands; another one is named, because nobody would look there. */
export function printExtract(report: ExtractReport, { json, here }: Printing & { here?: string }): void {
  print(json ? report : describeExtract(report, here));
  if (!json && report.error) note(`  ${report.error.message}`);
}

function describeExtract(report: ExtractReport, here: string | undefined): string {
  const { session, memory } = report;
  const name = session === '' ? report.transcript : shortIdIn(memory, 'session', session);
  const lines = [`${name}: ${sayExtract(report)}`];
  for (const { type, text, memory } of report.entries) {
    lines.push(`  ${type.padEnd(9)} ${text}${memory ? ` [user scope, ${memory}]` : ''}`);
  }
  if (report.entries.length > 0 && here !== undefined && memory !== here) {
    lines.push(`  kept in ${memory}, the memory of the project that it ran in`);
  }
  const { rawInputTokens, outputTokens } = report.spend;
  if (report.fork && rawInputTokens + outputTokens > 0) lines.push(`  ${sayContinued(report.spend, report.fork)}`);
  return [...lines, ...sayOnPlan(report.spend)].join('\n');
}

/** In place of what it cost in money. */
function sayOnPlan({ onPlan = 0, rawInputTokens, outputTokens }: ExtractReport['spend']): string[] {
  if (onPlan === 0) return [];
  const tokens = (rawInputTokens + outputTokens).toLocaleString('en-US');
  return [`  ${sayCount(onPlan, 'request')}, ${tokens} tokens on your plan`];
}

/** What an id begins with in the memory that knows it now, if one does. */
export function shortIdIn(memory: string | null, kind: 'session' | 'job', id: string): string {
  const ledger = memory === null ? null : lookIntoLedger(memory);
  try {
    return shortId(ledger, kind, id);
  } finally {
    ledger?.close();
  }
}

function sayContinued(spend: ExtractReport['spend'], { by, why }: NonNullable<ExtractReport['fork']>): string {
  const { calls, rawInputTokens, weightedInputTokens, outputTokens } = spend;
  const reason = why ? ` (no prefix: ${why.replace(/\.$/, '')})` : '';
  return `by ${by}${reason}: ${sayCount(calls, 'call')}, ${rawInputTokens} input tokens (at the price of ${weightedInputTokens} uncached), ${outputTokens} output tokens`;
}

/** `more`: what is said of its sharing. */
export function printDream(report: DreamReport, { json, more = [] }: Printing & { more?: string[] }): void {
  print(json ? report : [describeDream(report), ...more].join('\n'));
  if (!json && report.error) note(`  ${report.error.message}`);
}

function describeDream(report: DreamReport): string {
  const counts = Map.groupBy(report.operations, (operation) => operation.kind);
  const summary = [...counts].map(([kind, list]) => `${list.length} ${sayOp(kind)}`).join(', ');
  const { topics } = report;
  // A dream that did not come so far has not counted them.
  const size = topics.length > 0 ? `; ${sayCount(topics.length, 'topic')}` : '';
  const lines = [`dream: ${report.outcome}${summary ? ` (${summary})` : ''}${size}`];
  for (const { kind, entries, topic, reason } of report.operations) {
    const size = entries.length > 1 ? `, ${sayCount(entries.length, 'entry')}` : '';
    lines.push(`  ${sayOp(kind).padEnd(10)} ${topic ?? '–'}${size}: ${reason}`);
  }
  if (report.proposals.length > 0)
    lines.push(
      `  ${report.proposals.length} ${report.proposals.length === 1 ? 'waits' : 'wait'} for your word: nocturne review`,
    );
  return [...lines, ...sayOnPlan(report.spend)].join('\n');
}

export function printEstimate(estimate: DreamEstimate, { json }: Printing): void {
  if (json) {
    print(estimate);
    return;
  }
  const { model, entries, withdrawn, requests, inputTokens, outputTokens } = estimate;
  for (const [at, { input }] of requests.entries()) print(`--- request ${at + 1} of ${requests.length} ---\n${input}`);
  const unpriced = programOf(model) ? "paid as the program's login pays" : 'no price known';
  const usd = (micro: number | null) => (micro === null ? unpriced : `about $${(micro / 1_000_000).toFixed(4)}`);
  const cost = usd(estimate.microUsd);
  const news = `${sayCount(entries, 'entry')}${withdrawn > 0 ? `, ${withdrawn} withdrawn` : ''}`;
  const size = `about ${inputTokens} tokens in, ${outputTokens} out`;
  print(
    `dry run: ${news}; ${sayCount(requests.length, 'request')} to ${model}, ${size}, ${cost}. Nothing was changed.`,
  );
}

function sayExtract(report: ExtractReport): string {
  const unread = report.unreadableLines > 0 ? `, ${sayCount(report.unreadableLines, 'unreadable line')} skipped` : '';
  const waiting = report.unsettledTurns > 0 ? `, ${sayCount(report.unsettledTurns, 'turn')} still open` : '';
  const kept = report.entries.length > 0 ? ` (${sayCount(report.entries.length, 'entry')})` : '';
  return `${report.outcome}${kept}${unread}${waiting}`;
}
