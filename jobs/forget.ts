// Forget: something leaves the memory because a person says so, and is not learned again from the same source.
//
// 1. Find what is meant. What may mean several things changes nothing.
// 2. Find all that goes with it, and let the person confirm.
// 3. Refuse while a dream is at work: it would write down what it has read before.
// 4. In one commit take the entries out of their logs, the lines and empty topics out of the memory, what links these out of the
//    index, and what sessions were told and what waits for a word of it with them; keep the entries as tombstones. The versions
//    stay, so that undo brings everything back.

import { AppError } from '../src/base/errors.ts';
import { sayCount } from '../src/base/text/wording.ts';
import { newId, type Sql } from '../src/db/sql.ts';
import { commitAll, type FileChange, lookInto, type Plan } from '../src/memory/commit.ts';
import { type EntryRow, entriesWhere, isInLog, putEntry } from '../src/memory/entries.ts';
import { headsOf } from '../src/memory/file-rows.ts';
import { enterJob, isAtWork } from '../src/memory/job-rows.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import { INDEX, withBuiltIndex } from '../src/memory/memory-index.ts';
import { holdsWords } from '../src/memory/search-words.ts';
import { logPath, removeEntries } from '../src/memory/text/daily-log.ts';
import { withoutLinksTo } from '../src/memory/text/index-file.ts';
import { archivePath, editLines, isTopicFile, lineNumbers, parseTopic } from '../src/memory/text/topic.ts';
import type { Change } from '../src/memory/undo-rows.ts';
import { markForgotten } from './after-restore.ts';

export interface ForgetRequest {
  /** A topic's name, a line of it (`name:7`), an id of an entry, a line or a session, or words as they stand in what is meant. */
  target: string;
  /** What stood at the line that is named, as it was shown: where another stands there by now, nothing is meant. */
  said?: string;
  /** Take everything that a text may mean. */
  all?: boolean;
  /** Contract: nothing is changed unless it answers true. */
  confirm(meant: Meant): Promise<boolean>;
}

interface ForgetDeps {
  memories: Memories;
  memory: MemoryRow;
  /** The user's: what its sessions told of the user is forgotten there, too. */
  userMemory?: MemoryRow | null;
}

/** What goes, all together. */
export interface Meant {
  /** Topic files that are gone. */
  topics: string[];
  lines: { path: string; id: string; text: string }[];
  /** `scope`: it is kept, and forgotten, in the user's memory. */
  entries: { id: string; day: string; text: string; scope?: 'user' }[];
}

/** `job`: with which it can be undone; all but `forgotten` changed nothing. `candidates`: what it may mean, where that is not one thing. */
export type ForgetReport = Meant & { candidates: Candidate[] } & (
    | { outcome: 'forgotten'; job: string }
    | { outcome: 'ambiguous' | 'unknown' | 'unconfirmed' | 'busy'; job: null }
  );

/** Something that can be forgotten by itself. */
export interface Candidate {
  kind: 'topic' | 'line' | 'entry';
  /** What names it on the command line: the topic's name, `TOPIC:LINE`, the entry's id. */
  id: string;
  /** The file that holds it. */
  path: string;
  text: string;
  /** It is in the user's memory. */
  scope?: 'user';
}

/** Contract: every planned ending is the report's `outcome`. Errors: `bad-input` for no words. */
export async function forget(request: ForgetRequest, deps: ForgetDeps): Promise<ForgetReport> {
  const { memories, memory, userMemory } = deps;
  const target = request.target.trim();
  if (target === '') throw new AppError('bad-input', 'Say what to forget: a topic, an entry or a text.');
  const both = [memory, ...(userMemory && userMemory.id !== memory.id ? [userMemory] : [])];
  for (const { id } of both) await lookInto(memories, { memory: id, paths: 'all' });
  const read = (sql: Sql) => Promise.all(both.map((each) => readRemembered(sql, each, memory)));
  // 1.
  const remembered = await read(memories.db);
  const candidates = remembered.map((each) => findCandidates({ target, said: request.said }, each));
  const all = candidates.flat();
  const nothing = { job: null, topics: [], lines: [], entries: [], candidates: [] };
  if (all.length === 0) return { ...nothing, outcome: 'unknown' };
  if (all.length > 1 && !request.all) return { ...nothing, outcome: 'ambiguous', candidates: all };
  // 2.
  let goes = remembered.map((each, at) => everythingOf(candidates[at] ?? [], each));
  if (!(await request.confirm(meantBy(goes)))) return { ...nothing, ...meantBy(goes), outcome: 'unconfirmed' };
  const job = newId('job');
  let isBusy = false;
  const plan = async (sql: Sql): Promise<Plan[]> => {
    // 3.
    isBusy = await isAtWork(sql, { memories: both.map(({ id }) => id), now: memories.clock.now() });
    if (isBusy) return [];
    // 4.
    goes = (await read(sql)).map((each, at) => everythingOf(candidates[at] ?? [], each));
    const plans: Plan[] = [];
    for (const each of goes) plans.push(await planOf(sql, each, job));
    return plans;
  };
  const targets = both.map(({ id }) => ({ memory: id, paths: 'all' as const }));
  await commitAll(memories, targets, { job, actor: { kind: 'user', id: null } }, plan);
  if (isBusy) return { ...nothing, outcome: 'busy' };
  // Should rows be lost, a restore does not bring it back.
  await markForgotten(memories);
  return { outcome: 'forgotten', job, ...meantBy(goes), candidates: [] };
}

// What is remembered, and what is meant.

interface Line {
  file: string;
  path: string;
  id: string;
  text: string;
  /** Where it stands in its file, from 1. */
  first: number;
  last: number;
  /** What it rests on. */
  sources: readonly string[];
}

interface Remembered {
  memory: MemoryRow;
  /** Only what sessions of this memory told can be meant; null: everything. */
  tellers: ReadonlySet<string> | null;
  /** The lines of each topic, by path. */
  topics: Map<string, Line[]>;
  /** By id. */
  entries: Map<string, EntryRow>;
  /** How agents call the sessions, by the ids of their rows. */
  names: ReadonlyMap<string, string>;
}

async function readRemembered(sql: Sql, memory: MemoryRow, of: MemoryRow): Promise<Remembered> {
  const rests = await sql.all<{ file: string; line: string; source: string }>(
    'select file, line, source from rests where memory = ?',
    memory.id,
  );
  const sources = Map.groupBy(rests, ({ file, line }) => `${file} ${line}`);
  const topics = new Map<string, Line[]>();
  for (const { id: file, path, content } of await headsOf(sql, memory.id)) {
    if (path === null || content === null || !isTopicFile(path)) continue;
    const lines = lineNumbers(content.toString()).map(({ id, text, first, last }) => {
      const own = (sources.get(`${file} ${id}`) ?? []).map(({ source }) => source);
      return { file, path, id, text, first, last, sources: own };
    });
    topics.set(path, lines);
  }
  const entries = new Map<string, EntryRow>((await entriesWhere(sql, memory.id)).map((row) => [row.id, row]));
  for (const [id, row] of entries) if (!isInLog(row)) entries.delete(id);
  const sessions = await sql.all<{ id: string; name: string }>('select id, name from session where memory = ?', of.id);
  const names = new Map(sessions.map(({ id, name }) => [id, name]));
  return { memory, topics, entries, names, tellers: memory.id === of.id ? null : new Set(names.keys()) };
}

/** What the words of a person may mean: a name or an id one thing, other words everything that holds them. */
function findCandidates(
  { target, said: shown }: { target: string; said?: string },
  { topics: all, entries: known, tellers, names }: Remembered,
): Candidate[] {
  const topics = tellers ? new Map<string, Line[]>() : all;
  const entries = [...known.values()].filter(({ session }) => !tellers || tellers.has(session ?? ''));
  const entryOf = ({ id, day, text }: EntryRow): Candidate => {
    return { kind: 'entry', id, path: logPath(day), text, ...(tellers && { scope: 'user' }) };
  };
  // Equal lines of a file are one thing: they go together.
  const linesOf = (those: Line[]): Candidate[] =>
    those
      .filter(({ id, path }, at) => those.findIndex((each) => each.id === id && each.path === path) === at)
      .map(({ path, first, text }) => ({ kind: 'line', id: `${path.replace(/\.md$/i, '')}:${first}`, path, text }));
  const named = entries.filter(({ id }) => id === target || (/^e_[0-9a-f]{4,}$/.test(target) && id.startsWith(target)));
  if (named.length > 0) return named.map(entryOf);
  const pathOf = (name: string) =>
    [name, `${name}.md`, archivePath(name), archivePath(`${name}.md`)].find((each) => topics.has(each));
  const path = pathOf(target);
  if (path !== undefined) {
    const text = sayCount(topics.get(path)?.length ?? 0, 'line');
    return [{ kind: 'topic', id: path.replace(/\.md$/i, ''), path, text }];
  }
  const inSession = entries.filter(({ session }) => isOfSession(names.get(session ?? ''), target));
  if (inSession.length > 0) return inSession.map(entryOf);
  const lines = [...topics.values()].flat();
  const [, name = '', number] = /^(.+):(\d+)$/.exec(target) ?? [];
  const isAt = (line: Line) =>
    line.path === pathOf(name) && line.first <= Number(number) && Number(number) <= line.last;
  const told = lines.filter((line) => line.id === target || isAt(line));
  if (told.length > 0) return linesOf(told.filter(({ text }) => shown === undefined || text === shown));
  if (!/[\p{L}\p{N}]/u.test(target)) return [];
  const found = lines.filter((line) => holdsWords(line.text, target));
  // An entry that a found line rests on, or that says the same, goes with the line.
  const said = new Set(found.map((line) => plain(line.text)));
  const resting = new Set(found.flatMap(({ sources }) => sources));
  const isLoose = ({ id, text }: EntryRow) => holdsWords(text, target) && !said.has(plain(text)) && !resting.has(id);
  return [...linesOf(found), ...entries.filter(isLoose).map(entryOf)];
}

interface Going {
  memory: MemoryRow;
  isUsers: boolean;
  /** Topic files that were named: they go with everything in them. */
  whole: string[];
  /** Topic files of which nothing is left, these included. */
  topics: string[];
  /** Lines of topics, also of those. */
  lines: Line[];
  /** Entries that leave their log and are not learned again. */
  entries: EntryRow[];
  /** Entries that stay although their only line goes with another entry: the next dream reads them again. */
  again: EntryRow[];
}

/** Everything that goes where these go. */
function everythingOf(candidates: Candidate[], { memory, topics, entries, tellers }: Remembered): Going {
  const all = [...topics.values()].flat();
  const lines = new Set<Line>();
  const gone = new Set<string>();
  for (const { kind, id, path, text } of candidates) {
    if (kind === 'entry') gone.add(id);
    for (const line of topics.get(path) ?? []) {
      if (kind === 'entry' || (kind === 'line' && line.text !== text)) continue;
      lines.add(line);
      for (const row of entries.values()) if (plain(row.text) === plain(line.text)) gone.add(row.id);
    }
  }
  const restsElsewhere = (entry: string) => all.some((line) => !lines.has(line) && line.sources.includes(entry));
  for (const entry of [...lines].flatMap(({ sources }) => sources)) if (!restsElsewhere(entry)) gone.add(entry);
  // A line that rests on others too holds words of what goes: it goes as well, and the others are read again.
  for (const line of all) if (line.sources.some((source) => gone.has(source))) lines.add(line);
  const left = new Set([...lines].flatMap(({ sources }) => sources));
  const again = [...left].filter((entry) => !gone.has(entry) && !restsElsewhere(entry));
  const rowsOf = (ids: Iterable<string>) => [...ids].flatMap((id) => entries.get(id) ?? []);
  const whole = candidates.flatMap(({ kind, path }) => (kind === 'topic' ? path : []));
  const emptied = [...topics].flatMap(([path, of]) =>
    of.length > 0 && of.every((line) => lines.has(line)) ? path : [],
  );
  return {
    ...{ memory, isUsers: tellers !== null, whole, topics: [...new Set([...whole, ...emptied])].sort() },
    ...{ lines: [...lines], entries: rowsOf(gone), again: rowsOf(again) },
  };
}

function meantBy(goes: readonly Going[]): Meant {
  return {
    topics: goes.flatMap(({ topics }) => topics),
    lines: goes.flatMap(({ lines }) => lines.map(({ path, id, text }) => ({ path, id, text }))),
    entries: goes.flatMap(({ entries, isUsers }) =>
      entries.map(({ id, day, text }) => ({ id, day, text, ...(isUsers && { scope: 'user' as const }) })),
    ),
  };
}

/** Of a session, its subagents too; the beginning of its name will do. */
function isOfSession(name: string | undefined, target: string): boolean {
  return name !== undefined && (name.split('/')[0] === target || (target.length >= 8 && name.startsWith(target)));
}

/** White space, case and the full stop at the end make no difference to a person. */
function plain(text: string): string {
  return text.normalize('NFC').toLowerCase().replace(/\s+/g, ' ').trim().replace(/\.$/, '');
}

// What becomes of it.

async function planOf(sql: Sql, goes: Going, job: string): Promise<Plan> {
  const { memory, lines, whole, entries, again, isUsers } = goes;
  const gone = new Set<string>();
  const paths = [...new Set([...whole, ...lines.map(({ path }) => path)])];
  const topics = paths.map((path): FileChange => {
    const remove = new Set(lines.flatMap((line) => (line.path === path ? line.id : [])));
    return {
      path,
      make(current) {
        const text = whole.includes(path) || current === null ? null : editLines(current, { remove, add: [] });
        if (text !== null && parseTopic(path, text).lines.length > 0) return text;
        gone.add(path);
        return null;
      },
    };
  });
  const index = topics.length > 0 ? await withBuiltIndex(sql, memory, topics) : null;
  const files = (index?.files ?? []).map((file) =>
    file.path === INDEX ? { ...file, make: (now: string | null) => file.make(now && withoutLinksTo(now, gone)) } : file,
  );
  return {
    files: [...files, ...logChanges(entries)],
    async rows(change, heads) {
      await index?.rows(change, heads);
      if (!isUsers) await enterJob(change, { kind: 'forget', memory: memory.id, outcome: 'forgotten' });
      for (const { file, id, sources } of lines)
        for (const source of sources) await change.drop('rests', { memory: memory.id, file, line: id, source });
      for (const entry of entries) await putEntry(change, { ...entry, job, state: 'gone', reason: 'forgotten' });
      for (const entry of again) await putEntry(change, { ...entry, state: 'new', reason: null });
      if (entries.length > 0) await dropTold(change, memory.id, entries);
    },
  };
}

/** A log of which only the heading is left is no file. */
function logChanges(entries: readonly EntryRow[]): FileChange[] {
  return [...Map.groupBy(entries, ({ day }) => day)].map(([day, rows]) => ({
    path: logPath(day),
    make(current) {
      const left = removeEntries(current ?? '', new Set(rows.map(({ id }) => id)), day);
      return ['', `# ${day}`].includes(left.trim()) ? null : left;
    },
  }));
}

/** What sessions were told of the memory, and what waits for a person's word about these entries. */
async function dropTold(change: Change, memory: string, entries: readonly EntryRow[]): Promise<void> {
  await change.sql.run('delete from recalled where memory = ?', memory);
  const open = "select id, plan from proposal where memory = ? and state = 'open'";
  for (const { id, plan } of await change.sql.all<{ id: string; plan: string }>(open, memory))
    if (entries.some((entry) => plan.includes(entry.id))) await change.drop('proposal', { id });
}
