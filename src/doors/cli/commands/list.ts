// What is remembered, of one project or of all: list (topics, and what no dream has read yet), search, and sessions (what
// each taught).

import { join } from 'node:path';
import { AppError } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { DAY_MS, timeOf } from '../../../base/time.ts';
import { fateOf, learnedSessions } from '../../../memory/ledger/coverage.ts';
import { entriesOfSession, isInLog } from '../../../memory/ledger/entries.ts';
import { lastSuccessAt } from '../../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import {
  type CatalogEntry,
  catalogEntries,
  catalogTopics,
  folderMemories,
  logDays,
  waitingEntries,
} from '../../../memory/recall/catalog.ts';
import { searchMemories } from '../../../memory/recall/search.ts';
import { logPath } from '../../../memory/text/daily-log.ts';
import { cutDescription } from '../../../memory/text/index-file.ts';
import { MEMORY_TYPES, type MemoryType } from '../../../memory/types.ts';
import type { Call, CommandSpec } from '../spec.ts';
import { type Looking, whoseMemory, withLooking, withLookingAtAll } from '../terminal/looking.ts';
import { type CommonOptions, countUpTo, MEMORY } from '../terminal/options.ts';
import { EXIT, note, print, printTable, style } from '../terminal/output.ts';
import { dayAmong, sayFate, sayWhen, shellPath } from '../terminal/phrases.ts';

/** So many memories in folders are named where nothing else is remembered. */
const NAMED = 10;

type Listing = ReturnType<typeof listingOf>;

interface ListOptions extends CommonOptions {
  type?: MemoryType;
  day?: string | true;
  all?: boolean;
}

const TOPICS =
  'topics: [{ name, path, type, description, lines, pinned, modifiedAt }], waiting: [{ id, type, text, day, state }]';
const LOG_JSON = '{ day, path, entries: [{ id, kind, state, type, text, evidence, by, at, … }] }';

const list: CommandSpec<ListOptions> = {
  name: 'list',
  about: 'topics, and what is new; of all projects, of a day',
  group: 'Every day',
  options: [
    ['--type <type>', 'only of this type', { choices: MEMORY_TYPES }],
    [
      '--day [day]',
      'the entries of a day, with their quotes: today, yesterday, -1, YYYY-MM-DD (default: the latest)',
      { conflicts: ['type', 'all'] },
    ],
    ['--all', 'of all projects, these first', { conflicts: ['memory', 'scope'] }],
    ...MEMORY,
  ],
  json: `{ memory, ${TOPICS} }; with --day ${LOG_JSON}; with --all { projects: [{ project, memory, topics, waiting, learnedAt }], memories: [{ memory, topics, waiting }] }`,
  examples: ['list --type feedback', 'list --day yesterday', 'list --all'],
  run(call) {
    const { type, day, all, json } = call.options;
    if (day !== undefined) return tellDay(call, day === true ? undefined : day);
    if (all) return listAll(call);
    return withLooking(call, (at) => {
      const listing = listingOf(at, type);
      if (json) print(listing);
      else showListing(listing, at);
    });
  },
};

/** Every memory directory that is known: first how much is where, then each as it is listed alone. */
function listAll(call: Call<ListOptions>): Promise<void> {
  return withLookingAtAll(call, (places) => {
    const { json, type } = call.options;
    const found = places.map((at) => {
      const { ledger, config } = at;
      const whose = whoseMemory({ dir: at.id, ledger }, config);
      return { at, whose, listing: listingOf(at, type), learnedAt: ledger && lastSuccessAt(ledger) };
    });
    if (json) {
      const projects = found.map(({ whose, listing: { memory, topics, waiting }, learnedAt }) => {
        return { project: whose.name, memory, topics: topics.length, waiting: waiting.length, learnedAt };
      });
      return print({ projects, memories: found.map(({ listing }) => listing) });
    }
    if (found.length === 0) return print('Nothing is remembered of any project yet.');
    const rows = found.map(({ at, whose, listing: { topics, waiting }, learnedAt }) => {
      return [
        String(topics.length),
        String(waiting.length),
        learnedAt ? sayWhen(learnedAt, at.config) : '–',
        whose.name,
      ];
    });
    printTable(['topics', 'new', 'last learned', 'project'], rows);
    for (const { at, whose, listing } of found) {
      if (listing.topics.length + listing.waiting.length === 0) continue;
      print(`\n${style('bold', whose.name)}\n  ${whose.command('nocturne list')}`);
      showListing(listing, at);
    }
  });
}

function listingOf({ id: memory, dir, ledger }: Looking, type: MemoryType | undefined) {
  const isAsked = (item: { type: MemoryType | null }) => type === undefined || item.type === type;
  return {
    memory,
    topics: catalogTopics(dir, ledger).filter(isAsked),
    waiting: waitingEntries(dir, ledger)
      .filter(isAsked)
      .map(({ id, type: of, text, day, state }) => ({ id, type: of, text, day, state })),
  };
}

function showListing({ topics, waiting }: Listing, at: Looking): void {
  const { config, ledger } = at;
  const now = config.clock.now();
  if (topics.length + waiting.length === 0) print(instead(at));
  if (topics.length > 0) {
    const rows = topics.map(({ name, type, modifiedAt, lines, pinned, description }) => {
      const said = cutDescription(description);
      return [name, type ?? '–', ageOf(modifiedAt, now), String(lines), pinned ? 'pinned' : '', said];
    });
    printTable(['topic', 'type', 'age', 'lines', '', 'description'], rows);
  }
  if (waiting.length === 0) return;
  print(style('bold', `${topics.length > 0 ? '\n' : ''}Not sorted into topics yet:`));
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

/** What is said where there is no topic and no entry: a program may keep memories in folders alone. */
function instead({ id, dir, config, ledger }: Looking): string {
  const paths = folderMemories(dir, ledger);
  const [first] = paths;
  if (first === undefined) return `Nothing is remembered in ${id} yet.`;
  const more = paths.length > NAMED ? [`  … and ${paths.length - NAMED} more`] : [];
  return [
    `There are no topics in ${id}, only memories in folders (${paths.length}):`,
    ...paths.slice(0, NAMED).map((path) => `  ${path}`),
    ...more,
    `To see one: nocturne show ${shellPath(first, config)} --memory ${shellPath(id, config)}`,
  ].join('\n');
}

function ageOf(modifiedAt: string, now: Date): string {
  const days = Math.max(0, Math.floor((now.getTime() - Date.parse(modifiedAt)) / DAY_MS));
  return days === 0 ? 'today' : `${days} d`;
}

/** Default: the latest day that has a log. */
function tellDay(call: Pick<Call<CommonOptions>, 'options'>, given: string | undefined): Promise<void> {
  return withLooking(call, ({ config, id, dir, ledger }) => {
    const days = logDays(dir);
    const none = new AppError('bad-input', `There is no daily log in ${id} yet.`, {
      remedy: 'nocturne remember or nocturne extract begins one.',
    });
    const day = dayAmong(days, { given, config, none, what: `log in ${id}` });
    const path = logPath(day);
    const entries = catalogEntries(dir, [path], ledger);
    if (call.options.json) return print({ day, path, entries });
    print(style('bold', `${day} · ${sayCount(entries.length, 'entry')}`));
    for (const entry of entries) print(describeEntry(entry, config));
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
  args: [['<query...>', 'words or how they begin, "phrases" that must be there']],
  options: [
    ['--limit <n>', 'so many results', { default: 20, parse: countUpTo(10_000) }],
    ['--all', 'in all projects', { conflicts: ['memory', 'scope'] }],
    ...MEMORY,
  ],
  json: '{ query, total, hits: [{ kind, path, line, text, words, memory? }], meant? }',
  more: 'A fact is one result: the line of a topic, with the entries it rests on. Exit code: 0 found, 1 nothing found.',
  examples: ['search release deadline', 'search pnpm --all'],
  async run(call) {
    const query = call.args[0].join(' ');
    const { limit, all, json } = call.options;
    await withPlaces(call, (places) =>
      showFound(searchMemories(places, { query, limit }), { places, query, all, json }),
    );
  },
};

function showFound(
  { hits, total, meant }: ReturnType<typeof searchMemories>,
  { places, query, all, json }: { places: Looking[]; query: string; all?: boolean; json?: boolean },
): void {
  if (total === 0) process.exitCode = EXIT.failed;
  const idOf = (dir: string) => places.find((place) => place.dir === dir)?.id ?? dir;
  if (json) {
    const told = hits.map(({ dir, ...hit }) => (all ? { ...hit, memory: idOf(dir) } : hit));
    print({ query, total, hits: told, meant });
    return;
  }
  if (total === 0) note(`Nothing in ${all ? 'any memory' : places[0]?.id} holds ${shown(query)}.`);
  if (meant) note(`Did you mean ${shown(meant)}?`);
  for (const { dir, path, line, text } of hits)
    print(`${style('cyan', `${all ? join(idOf(dir), path) : path}:${line}`)}  ${text}`);
  if (total > hits.length) note(`… and ${total - hits.length} more; --limit shows more.`);
}

/** Of this memory, or with --all of all that are known. */
function withPlaces(
  call: Pick<Call<CommonOptions & { all?: boolean }>, 'options'>,
  work: (places: Looking[]) => void,
): Promise<void> {
  return call.options.all ? withLookingAtAll(call, work) : withLooking(call, (at) => work([at]));
}

function shown(query: string): string {
  return query.length > 200 ? `${JSON.stringify(query.slice(0, 200))}…` : JSON.stringify(query);
}

interface SessionsOptions extends CommonOptions {
  limit: number;
  all?: boolean;
}

type TaughtSession = ReturnType<typeof taughtIn>[number];

const sessions: CommandSpec<SessionsOptions> = {
  name: 'sessions',
  about: 'the sessions that were read, and what each taught',
  group: 'Under the hood',
  options: [
    ['--limit <n>', 'so many, the latest first', { default: 10, parse: countUpTo(1_000) }],
    ['--all', 'of all projects', { conflicts: ['memory', 'scope'] }],
    ...MEMORY,
  ],
  json: '{ sessions: [{ memory, session, transcript, cwd, readAt, entries: [{ id, type, text, state }] }] }',
  more: 'nocturne why SESSION says more of one.',
  examples: ['sessions --limit 3'],
  run: (call) => withPlaces(call, (places) => tellSessions(places, call.options)),
};

function tellSessions(places: Looking[], { limit, all, json }: SessionsOptions): void {
  const found = places
    .flatMap((at) => (at.ledger ? taughtIn(at.ledger, { dir: at.id, limit }).map((taught) => ({ at, taught })) : []))
    .sort((a, b) => b.taught.readAt.localeCompare(a.taught.readAt))
    .slice(0, limit);
  if (json) print({ sessions: found.map(({ taught }) => taught) });
  else if (found.length === 0) print(`No session was read${all ? '' : ` into ${places[0]?.id}`} yet.`);
  if (json) return;
  for (const [at, of] of Map.groupBy(found, (each) => each.at)) {
    if (all) print(style('bold', whoseMemory({ dir: at.id, ledger: at.ledger }, at.config).name));
    for (const { taught } of of) print(describeTaught(taught, at));
  }
}

function taughtIn(ledger: Ledger, { dir, limit }: { dir: string; limit: number }) {
  return learnedSessions(ledger, limit).map((session) => ({
    memory: dir,
    ...session,
    entries: entriesOfSession(ledger, session.session).map(({ id, type, text, state }) => ({ id, type, text, state })),
  }));
}

function describeTaught({ session, readAt, entries }: TaughtSession, { ledger, config }: Looking): string {
  const when = sayWhen(readAt, config);
  const taught = entries.length > 0 ? sayCount(entries.length, 'entry') : sayFate(ledger && fateOf(ledger, session));
  const name = ledger ? shortId(ledger, 'session', session) : session;
  return [
    `${name}  ${when}: ${taught}`,
    ...entries.map(({ type, text, state }) => `  ${type.padEnd(9)}  ${text}${isInLog({ state }) ? '' : ` (${state})`}`),
  ].join('\n');
}

export const commands: CommandSpec[] = [list, search, sessions];
