// What is remembered, of one project or of all: list (topics, and what no dream has read yet, the entries of a day, or what each session
// taught) and search.

import { join } from 'node:path';
import { AppError } from '../base/errors.ts';
import { isDirectory } from '../base/files/directories.ts';
import { statNow } from '../base/files/files.ts';
import { sayCount } from '../base/text/wording.ts';
import { DAY_MS, timeOf } from '../base/time.ts';
import { lookInto } from '../memory/commit.ts';
import { entriesAmong, entriesWhere } from '../memory/entries.ts';
import type { MemoryRow } from '../memory/memories.ts';
import type { FileText } from '../memory/memory-files.ts';
import { MEMORY_TYPES, type MemoryType } from '../memory/memory-types.ts';
import { isCheckedIn } from '../memory/paths.ts';
import { scopeDir } from '../memory/places.ts';
import { searchMemories } from '../memory/search.ts';
import { shortId } from '../memory/short-ids.ts';
import { logDay, logPath, parseLog } from '../memory/text/daily-log.ts';
import { cutDescription } from '../memory/text/index-file.ts';
import { isTopicPath, parseTopic } from '../memory/text/topic.ts';
import { EXIT, note, print, printTable, style } from '../terminal/output.ts';
import { dayAmong, sayWhen } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { memoriesHere, type NamedSession, namesOf, placeOf, sayHere, whoseMemory } from '../worker/whose-memory.ts';
import { type CommonOptions, isNamed, MEMORY, memoriesFor, memoryHere, wholeFrom } from './cli-options.ts';
import { stateOf } from './printer.ts';
import type { CommandSpec } from './spec.ts';

type Listing = Awaited<ReturnType<typeof listingOf>>;

interface ListOptions extends CommonOptions {
  type?: MemoryType;
  day?: string | true;
  sessions?: boolean;
  limit: number;
  all?: boolean;
}

const TOPICS =
  'topics: [{ name, path, type, description, lines, pinned, modifiedAt }], waiting: [{ id, type, text, day, state }]';
const LOG_JSON = '{ day, path, entries: [{ id, kind, state, type, text, evidence, by, at, … }] }';

const list: CommandSpec<ListOptions> = {
  name: 'list',
  about: 'topics, and what is new; --all: of all projects',
  options: [
    ['--type <type>', 'only of this type', { choices: MEMORY_TYPES }],
    [
      '--day [day]',
      'the entries of a day, with their quotes: today, yesterday, -1, YYYY-MM-DD (default: the latest)',
      { conflicts: ['type', 'all'] },
    ],
    ['--sessions', 'the sessions that were read, and what was learned from each', { conflicts: ['type', 'day'] }],
    ['--limit <n>', 'with --sessions: how many, newest first', { default: 10, parse: wholeFrom(1, 1_000) }],
    ['--all', 'of all projects', { conflicts: ['memory', 'scope'] }],
    ...MEMORY,
  ],
  json: `{ memory, ${TOPICS} }; with --day ${LOG_JSON}; with --all { memories: [{ project, memory, topics, waiting }] }; with --sessions { sessions: [{ memory, session, name, transcript, cwd, readAt, entries: [{ id, type, text, state }] }] }`,
  more: 'nocturne why SESSION says more about one.',
  examples: ['list --type feedback', 'list --day yesterday', 'list --all', 'list --sessions'],
  async inApp(app, { options }) {
    const { type, day, sessions, all, json } = options;
    if (sessions) return listSessions(app, options);
    if (day !== undefined) return tellDay(app, day === true ? undefined : day, options);
    if (all) return listAll(app, options);
    const listing = await listingOf(app, await memoryHere(app), type);
    if (json) return print(listing);
    await showListing(app, listing, type);
    const team = scopeDir(app.config, { memory: 'local', cwd: process.cwd() });
    if (!isNamed(options) && isCheckedIn(team) && isDirectory(team))
      note("The team's memory, which the repository carries: nocturne list --scope local");
    const same = await sayHere(app);
    if (same) note(`${same}: nocturne adopt`);
  },
};

/** Every memory that is known, each as it is listed alone. */
async function listAll(app: App, { json, type }: ListOptions): Promise<void> {
  const found = await Array.fromAsync(await memoriesFor(app, { all: true }), async (memory) => {
    return { whose: await whoseMemory(app, memory), listing: await listingOf(app, memory, type) };
  });
  if (json) return print({ memories: found.map(({ whose, listing }) => ({ project: whose.name, ...listing })) });
  if (found.length === 0) return print('Nothing is remembered yet, in any project.');
  for (const { whose, listing } of found) {
    print(`${style('bold', whose.name)}\n  ${whose.command('nocturne list')}`);
    await showListing(app, listing, type);
    print('');
  }
}

async function textsOf(app: App, memory: MemoryRow | null): Promise<FileText[]> {
  const { items } = memory ? await app.files(memory).list({ content: true }) : { items: [] };
  return items.flatMap((file) => ('text' in file ? [file] : []));
}

async function listingOf(app: App, memory: MemoryRow | null, type: MemoryType | undefined) {
  const isAsked = (item: { type: MemoryType | null }) => type === undefined || item.type === type;
  const topics = (await textsOf(app, memory)).flatMap(({ path, text, updatedAt }) => {
    if (!isTopicPath(path)) return [];
    // What was there before nocturne is as old as its file.
    const file = memory?.dir ? statNow(join(memory.dir, path)) : null;
    const modifiedAt = file ? new Date(file.modifiedMs).toISOString() : updatedAt;
    const { name, type: of, description, lines, pinned } = parseTopic(path, text);
    return [{ name, path, type: of ?? null, description, lines: lines.length, pinned, modifiedAt }];
  });
  const waiting = memory ? await entriesWhere(app.db, memory.id, "and state = 'new'") : [];
  return {
    memory: memory ? placeOf(memory) : app.memoryDirOf(),
    topics: topics.filter(isAsked).sort((a, b) => (a.name < b.name ? -1 : 1)),
    waiting: waiting.filter(isAsked).map(({ id, type: of, text, day }) => ({ id, type: of, text, day, state: 'new' })),
  };
}

async function showListing(app: App, { memory, topics, waiting }: Listing, type?: MemoryType): Promise<void> {
  const now = app.config.clock.now();
  if (topics.length + waiting.length === 0)
    print(
      type === undefined
        ? `There are no topics in ${memory} yet, and nothing waits to be sorted.`
        : `No topic in ${memory} is of type ${type}, and nothing of it waits to be sorted.`,
    );
  if (topics.length > 0) {
    const rows = topics.map(({ name, type, modifiedAt, lines, pinned, description }) => {
      const said = cutDescription(description);
      return [name, type ?? '–', ageOf(modifiedAt, now), String(lines), pinned ? 'pinned' : '', said];
    });
    printTable(['topic', 'type', 'age', 'lines', '', 'description'], rows);
  }
  if (waiting.length === 0) return;
  print(style('bold', `${topics.length > 0 ? '\n' : ''}Not sorted into topics yet:`));
  const rows = waiting.map(async ({ id, type, day, text }) => [await shortId(app.db, 'entry', id), type, day, text]);
  printTable(['entry', 'type', 'day', 'text'], await Promise.all(rows));
}

function ageOf(modifiedAt: string, now: Date): string {
  const days = Math.max(0, Math.floor((now.getTime() - Date.parse(modifiedAt)) / DAY_MS));
  return days === 0 ? 'today' : `${days} d`;
}

/** Default: the latest day that has a log. */
async function tellDay(app: App, given: string | undefined, { json }: ListOptions): Promise<void> {
  const memory = await memoryHere(app);
  const { config } = app;
  const place = memory ? placeOf(memory) : app.memoryDirOf();
  const logs = new Map((await textsOf(app, memory)).map(({ path, text }) => [logDay(path), text]));
  const days = [...logs.keys()].filter((day) => day !== null).sort();
  const none = new AppError('bad-input', `There is no daily log in ${place} yet.`, {
    remedy: 'nocturne remember or nocturne learn starts one.',
  });
  const day = dayAmong(days, { given, config, none, what: `log in ${place}` });
  const items = parseLog(logs.get(day) ?? '', day);
  const ids = { column: 'id', of: items.map(({ id }) => id) } as const;
  const rows = new Map((await entriesAmong(app.db, memory?.id ?? '', ids)).map((row) => [row.id, row]));
  const entries = items.map((item) => {
    const row = rows.get(item.id);
    return { ...item, state: row?.text === item.text ? stateOf(row) : 'new' };
  });
  if (json) return print({ day, path: logPath(day), entries });
  print(style('bold', `${day} · ${sayCount(entries.length, 'entry')}`));
  for (const entry of entries) {
    const time = entry.kind === 'own' ? timeOf(entry.at, config.zone) : '–'.padEnd(5);
    const mark = entry.state === 'sorted' ? '' : ` (${entry.state})`;
    const quotes = entry.kind === 'own' ? entry.evidence.map(({ quote }) => quote) : [];
    const shown = quotes.filter((quote) => quote !== entry.text);
    const lines = shown.map((quote) => style('dim', `${' '.repeat(18)}> ${quote}`));
    print([`${time}  ${entry.type.padEnd(9)}  ${entry.text}${style('dim', mark)}`, ...lines].join('\n'));
  }
}

const search: CommandSpec<CommonOptions & { limit: number; all?: boolean }, [string[]]> = {
  name: 'search',
  about: 'find words in topics, entries and logs, best first',
  args: [['<query...>', 'words or their beginnings, and "phrases" that must be there']],
  options: [
    ['--limit <n>', 'how many results', { default: 20, parse: wholeFrom(1, 10_000) }],
    ['--all', 'in all projects', { conflicts: ['memory', 'scope'] }],
    ...MEMORY,
  ],
  json: '{ query, total, hits: [{ kind, path, line, text, words, memory? }] }',
  more: 'A fact is one result: the line of a topic, with the entries it rests on. Exit code: 0 found, 1 nothing found.',
  examples: ['search release deadline', 'search pnpm --all'],
  async inApp(app, { args, options: { limit, all, json } }) {
    const query = args[0].join(' ');
    const memories = await memoriesFor(app, { all });
    for (const { id } of memories) await lookInto(app.memories, { memory: id, paths: 'all' });
    const ids = memories.map(({ id }) => id);
    const found = await searchMemories(app.db, ids, { query, limit });
    const { total } = found;
    if (total === 0) process.exitCode = EXIT.failed;
    const places = new Map(memories.map((memory) => [memory.id, placeOf(memory)]));
    const hits = found.hits.map(({ memory, ...hit }) => ({ ...hit, ...(all && { memory: places.get(memory) }) }));
    if (json) return print({ query, total, hits });
    if (total === 0) note(`Nothing in ${all ? 'any memory' : app.memoryDirOf()} matches ${JSON.stringify(query)}.`);
    for (const { memory, path, line, text } of hits)
      print(`${style('cyan', `${memory ? join(memory, path) : path}:${line}`)}  ${text}`);
    if (total > hits.length) note(`… and ${total - hits.length} more; --limit shows more.`);
  },
};

const WITH_SESSIONS = 'exists (select 1 from session where session.memory = memory.id)';

/** The latest first. */
async function listSessions(app: App, { limit, all, json }: ListOptions): Promise<void> {
  const memories = all ? await memoriesHere(app, WITH_SESSIONS) : await memoriesFor(app, { all });
  const taught = await Promise.all(memories.map((memory) => taughtIn(app, memory, limit)));
  const found = taught
    .flat()
    .sort((a, b) => b.at.localeCompare(a.at))
    .slice(0, limit);
  const names = await namesOf(
    app,
    found.map(({ row }) => row),
  );
  if (json)
    return print({
      sessions: found.map(({ of: _, row, at: __, ...told }) => ({ ...told, name: names.get(row)?.name ?? null })),
    });
  if (found.length === 0) return print(`No session was read${all ? '' : ` into ${app.memoryDirOf()}`} yet.`);
  for (const [memory, those] of Map.groupBy(found, ({ of }) => of)) {
    if (all) print(style('bold', (await whoseMemory(app, memory)).name));
    for (const each of those) print(await describeTaught(app, each, names.get(each.row)));
  }
}

type TaughtSession = Awaited<ReturnType<typeof taughtIn>>[number];

async function taughtIn({ db }: App, of: MemoryRow, limit: number) {
  type Row = { id: string; name: string; path: string | null; cwd: string | null; readAt: string; at: string };
  const rows = await db.all<Row>(
    `select s.id, s.name, s.path, s.cwd, max(job.ended_at) as "readAt", coalesce(s.modified_at, s.created_at) as at
     from session s join job on job.session = s.id where s.memory = ? and job.ended_at is not null
     group by s.id, s.name, s.path, s.cwd, s.modified_at, s.created_at order by 6 desc, 2 limit ?`,
    ...[of.id, limit],
  );
  const entries = await entriesAmong(db, of.id, { column: 'session', of: rows.map(({ id }) => id) });
  const ofSession = Map.groupBy(
    entries.sort((a, b) => a.at.localeCompare(b.at)),
    ({ session }) => session,
  );
  return rows.map(({ id: row, name: session, path: transcript, cwd, readAt, at }) => ({
    ...{ of, row, memory: placeOf(of), session, transcript, cwd, readAt, at },
    entries: (ofSession.get(row) ?? []).map(({ id, type, text, state, reason }) => {
      return { id, type, text, state: stateOf({ state, reason }) };
    }),
  }));
}

async function describeTaught(
  { db, config }: App,
  { session, readAt, entries }: TaughtSession,
  { name, about }: NamedSession = { name: null, about: '' },
): Promise<string> {
  const taught = entries.length > 0 ? sayCount(entries.length, 'entry') : 'nothing kept';
  const why = entries.length > 0 ? '' : 'nocturne why ';
  return [
    style('bold', name ?? 'A session without a name'),
    `  ${about}; read ${sayWhen(readAt, config)}: ${taught} (${why}${await shortId(db, 'session', session)})`,
    ...entries.map(({ type, text, state }) => {
      const mark = state === 'new' || state === 'sorted' ? '' : ` (${state})`;
      return `  ${type.padEnd(9)}  ${text}${mark}`;
    }),
  ].join('\n');
}

export const commands: CommandSpec[] = [list, search];
