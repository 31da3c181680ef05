// What is remembered: list (topics, and what no dream has read yet), log (a day's entries), search.

import { join } from 'node:path';
import { AppError } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { timeOf } from '../../../base/time.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import {
  type CatalogEntry,
  type CatalogTopic,
  catalogEntries,
  catalogTopics,
  logDays,
  waitingEntries,
} from '../../../memory/recall/catalog.ts';
import { type Hit, searchMemories } from '../../../memory/recall/search.ts';
import { logPath } from '../../../memory/text/daily-log.ts';
import { cutDescription } from '../../../memory/text/index-file.ts';
import { MEMORY_TYPES, type MemoryType } from '../../../memory/types.ts';
import type { CommandSpec } from '../spec.ts';
import {
  type CommonOptions,
  countUpTo,
  dayFrom,
  type Looking,
  MEMORY,
  withLooking,
  withLookingAtAll,
} from '../terminal/options.ts';
import { EXIT, note, print, style } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

const DAY_MS = 24 * 60 * 60_000;

interface Listing {
  memory: string;
  topics: CatalogTopic[];
  waiting: { id: string; type: MemoryType; text: string; day: string; state: string }[];
}

const list: CommandSpec<CommonOptions & { type?: MemoryType }> = {
  name: 'list',
  about: 'the topics, and entries no dream has read yet',
  group: 'Every day',
  options: [['--type <type>', 'only of this type', { choices: MEMORY_TYPES }], ...MEMORY],
  json: '{ memory, topics: [{ name, path, type, description, lines, pinned, modifiedAt }], waiting: [{ id, type, text, day, state }] }',
  examples: ['list --type feedback'],
  run: (call) =>
    withLooking(call, (at) => {
      const listing = listingOf(at, call.options.type);
      if (call.options.json) print(JSON.stringify(listing));
      else showListing(listing, { now: at.config.clock.now(), ledger: at.ledger });
    }),
};

function listingOf({ dir, ledger }: Looking, type: MemoryType | undefined): Listing {
  const isAsked = (item: { type: MemoryType | null }) => type === undefined || item.type === type;
  return {
    memory: dir,
    topics: catalogTopics(dir, ledger).filter(isAsked),
    waiting: waitingEntries(dir, ledger)
      .filter(isAsked)
      .map(({ id, type: of, text, day, state }) => ({ id, type: of, text, day, state })),
  };
}

function showListing(
  { memory, topics, waiting }: Listing,
  { now, ledger }: { now: Date; ledger: Ledger | null },
): void {
  if (topics.length + waiting.length === 0) print(`Nothing is remembered in ${memory} yet.`);
  if (topics.length > 0) {
    const rows = topics.map(({ name, type, modifiedAt, lines, pinned, description }) => {
      const said = cutDescription(description);
      return [name, type ?? '–', ageOf(modifiedAt, now), String(lines), pinned ? 'pinned' : '', said];
    });
    printTable(['topic', 'type', 'age', 'lines', '', 'description'], rows);
  }
  if (waiting.length === 0) return;
  print(style('bold', `${topics.length > 0 ? '\n' : ''}Not distilled yet:`));
  printTable(
    ['entry', 'type', 'day', 'text'],
    waiting.map(({ id, type, day, text, state }) => [
      shortId(ledger, 'entry', id),
      type,
      day,
      state === 'held' ? `${text} (held)` : text,
    ]),
  );
}

function ageOf(modifiedAt: string, now: Date): string {
  const days = Math.max(0, Math.floor((now.getTime() - Date.parse(modifiedAt)) / DAY_MS));
  return days === 0 ? 'today' : `${days} d`;
}

const log: CommandSpec<CommonOptions & { days?: boolean }, [string | undefined]> = {
  name: 'log',
  about: 'the entries of a day; without a day the latest',
  group: 'Older names',
  args: [['[day]', 'YYYY-MM-DD, today, yesterday, or -1 for the day before today']],
  options: [['--days', 'only name the days that have a log'], ...MEMORY],
  json: '{ day, path, entries: [{ id, kind, state, type, text, evidence, by, at, … }] }, or { days }',
  examples: ['log yesterday'],
  run: (call) =>
    withLooking(call, ({ config, dir, ledger }) => {
      const [given] = call.args;
      const { json } = call.options;
      const days = logDays(dir);
      if (call.options.days) return print(json ? JSON.stringify({ days }) : days.join('\n'));
      const day =
        given === undefined ? days.at(-1) : dayFrom(given, { now: config.clock.now(), zone: config.zone, days });
      if (day === undefined || !days.includes(day)) throw noLog(day, { dir, days });
      const path = logPath(day);
      const entries = catalogEntries(dir, [path], ledger);
      if (json) return print(JSON.stringify({ day, path, entries }));
      print(style('bold', `${day} · ${sayCount(entries.length, 'entry')}`));
      for (const entry of entries) print(describeEntry(entry, config));
    }),
};

function noLog(day: string | undefined, { dir, days }: { dir: string; days: string[] }): AppError {
  if (day === undefined) {
    return new AppError('bad-input', `There is no daily log in ${dir} yet.`, {
      remedy: 'nocturne remember or nocturne extract begins one.',
    });
  }
  const near = [days.findLast((each) => each < day), days.find((each) => each > day)].filter(Boolean);
  return new AppError('bad-input', `There is no log of ${day} in ${dir}.`, {
    remedy: near.length > 0 ? `The nearest days with one: ${near.join(' and ')}.` : 'There is none of any day.',
  });
}

function describeEntry(entry: CatalogEntry, { zone }: { zone: string }): string {
  const time = entry.kind === 'own' ? timeOf(entry.at, zone) : '–'.padEnd(5);
  const mark = entry.state === 'distilled' ? '' : ` (${entry.state})`;
  const quotes = entry.kind === 'own' ? entry.evidence.map(({ quote }) => quote) : [];
  const shown = quotes.filter((quote) => quote !== entry.text);
  return [
    `${time}  ${entry.type.padEnd(9)}  ${entry.text}${style('dim', mark)}`,
    ...shown.map((quote) => style('dim', `${' '.repeat(18)}> ${quote}`)),
  ].join('\n');
}

const search: CommandSpec<CommonOptions & { limit: number; all?: boolean }, [string[]]> = {
  name: 'search',
  about: 'find words in topics, entries and logs, best first',
  group: 'Every day',
  args: [['<query...>', 'words, "phrases" that must be there, begin* of words']],
  options: [
    ['--limit <n>', 'so many results', { default: 20, parse: countUpTo(10_000) }],
    ['--all', 'in all projects'],
    ...MEMORY,
  ],
  json: '{ query, total, hits: [{ kind, path, line, text, words, memory? }], meant? }',
  more: 'A fact is one result: the line of a topic, with the entries it rests on. Exit code: 0 found, 1 nothing found.',
  examples: ['search release deadline'],
  async run(call) {
    const query = call.args[0].join(' ');
    const { limit, all, json } = call.options;
    const look = (places: Looking[]) =>
      showFound(searchMemories(places, { query, limit }), { places, query, all, json });
    await (all ? withLookingAtAll(call, look) : withLooking(call, (at) => look([at])));
  },
};

function showFound(
  { hits, total, meant }: ReturnType<typeof searchMemories>,
  { places, query, all, json }: { places: Looking[]; query: string; all?: boolean; json?: boolean },
): void {
  if (total === 0) process.exitCode = EXIT.failed;
  if (json) {
    const told = hits.map(({ dir, ...hit }) => (all ? { ...hit, memory: dir } : hit));
    print(JSON.stringify({ query, total, hits: told, meant }));
    return;
  }
  if (total === 0) note(`Nothing in ${all ? 'any memory' : places[0]?.dir} holds ${shown(query)}.`);
  if (meant) note(`Did you mean ${shown(meant)}?`);
  for (const { dir, ...hit } of hits) print(describeHit({ ...hit, path: all ? join(dir, hit.path) : hit.path }));
  if (total > hits.length) note(`… and ${total - hits.length} more; --limit shows more.`);
}

function shown(query: string): string {
  return query.length > 200 ? `${JSON.stringify(query.slice(0, 200))}…` : JSON.stringify(query);
}

function describeHit({ path, line, text }: Hit): string {
  return `${style('cyan', `${path}:${line}`)}  ${text}`;
}

export const commands: CommandSpec[] = [list, log, search];
