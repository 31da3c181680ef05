// What logs tell that rows do not. Of a directory that came from elsewhere, or was left behind by a database that is lost, entries come
// in with their quotes and sources, and what they were learned from counts as read. What somebody edited past nocturne is taken at the
// word of who did: entries that were taken out are withdrawn, those that came back or were written by hand wait for a night.
// Promises: an entry that is known stays as it is, and so does what a person wrote; nothing that was forgotten comes back; what a log lost
// by damage (gone, emptied, cut off, bytes that are no text) takes no entry with it, until a person says that it was meant.

import { isUtf8 } from 'node:buffer';
import type { Day } from '../base/time.ts';
import { allOf, insert, newId, type Sql } from '../db/sql.ts';
import { type CommitDeps, commit } from './commit.ts';
import {
  coverageWhere,
  type EntryRow,
  type EntryState,
  entriesAmong,
  entriesWhere,
  handEdits,
  putEntry,
} from './entries.ts';
import { type Content, type Head, headAt, headsOf } from './file-rows.ts';
import { GENERATED, INDEX } from './memory-index.ts';
import { isCheckedIn } from './paths.ts';
import { readLines } from './text/blocks.ts';
import { type LogItem, logDay, logPath, parseLog } from './text/daily-log.ts';
import { indexLine } from './text/index-file.ts';
import { isArchivePath, isTopicFile, isTopicPath, lineId, parseTopic } from './text/topic.ts';
import type { Change } from './undo-rows.ts';

/** What is known of the entries beside their logs. */
export interface KnownHistory {
  entries: { id: string; state: EntryState; reason: string | null }[];
  /** Which lines of which files rest on what. */
  rests: { path: string; line: string; source: string }[];
}

const NOTHING: KnownHistory = { entries: [], rests: [] };

/** What `takeInLogs` takes in of a memory elsewhere, beside its logs. */
export async function knownHistory(sql: Sql, memory: string): Promise<KnownHistory> {
  return {
    entries: await sql.all(
      "select id, state, reason from entry where memory = ? and state <> 'gone' order by id",
      memory,
    ),
    rests: await sql.all(
      `select f.path, r.line, r.source from rests r join file f on f.memory = r.memory and f.id = r.file
       where r.memory = ? and f.path is not null order by f.path, r.line, r.source`,
      memory,
    ),
  };
}

/** Takes in what stands in the logs; answers how many entries that were. What their state is is told by `known`, else by topics. */
export async function takeInLogs(change: Change, memory: string, { entries, rests } = NOTHING): Promise<number> {
  const { sql, job } = change;
  const heads = await headsOf(sql, memory);
  const items = heads.flatMap(({ path, content }) => {
    const day = logDay(path ?? '');
    return day && content ? parseLog(content.toString(), day) : [];
  });
  const own = items.flatMap((item) => (item.kind === 'own' && !item.edited ? item : []));
  const rows = await entriesAmong(sql, memory, { column: 'id', of: own.map(({ id }) => id) });
  const knownIds = new Set(rows.map(({ id }) => id));
  const added = own.filter(({ id }) => !knownIds.has(id));
  const files = new Map(heads.map((head) => [head.path, head.id]));
  const standing = linesByText(heads);
  const states = new Map(entries.map((each) => [each.id, each]));
  const sessions = await sessionsNamed(change, memory, [...new Set(added.map(({ session }) => session))]);
  for (const { kind: _, edited: __, ...item } of added) {
    const session = sessions.get(item.session) ?? null;
    const place = standing.get(item.text);
    const state = states.get(item.id)?.state ?? (place ? (isArchivePath(place.path) ? 'archived' : 'placed') : 'new');
    const reason = states.get(item.id)?.reason ?? null;
    const row: EntryRow = { ...item, memory, session, turn: item.turn || null, job, state, reason };
    await putEntry(change, row);
    if (place) await change.put('rests', { memory, file: place.file, line: place.line, source: item.id });
    if (session !== null && row.turn !== null) await assumeRead(change, { ...row, session, turn: row.turn });
  }
  const ids = new Set(own.map(({ id }) => id));
  for (const { path, line, source } of [...rests, ...generatedIn(heads)]) {
    const file = files.get(path);
    if (file !== undefined && (ids.has(source) || !source.startsWith('e_')))
      await keepRest(change, { memory, file, line, source });
  }
  return added.length;
}

/** The same in a commit of its own. */
export async function takeInHistory(memories: CommitDeps, memory: string, job: string): Promise<number> {
  let count = 0;
  const by = { job, actor: { kind: 'job', id: job } } as const;
  await commit(memories, { memory, paths: 'all' }, by, async () => ({
    files: [],
    async rows(change) {
      count = await takeInLogs(change, memory);
    },
  }));
  return count;
}

async function keepRest(change: Change, row: { memory: string; file: string; line: string; source: string }) {
  const known = 'select 1 from rests where memory = ? and file = ? and line = ? and source = ?';
  if (!(await change.sql.get(known, ...Object.values(row)))) await change.put('rests', row);
}

/** The lines of the index as nocturne writes them. */
function generatedIn(heads: readonly Head[]): KnownHistory['rests'] {
  const topics = heads.flatMap(({ path, content }) =>
    path !== null && content && isTopicPath(path) ? parseTopic(path, content.toString()) : [],
  );
  const lines = new Set(topics.map((topic) => lineId(indexLine(topic))));
  const index = heads.find(({ path }) => path === INDEX)?.content?.toString() ?? '';
  const standing = readLines(index).map(({ text }) => lineId(text));
  return standing.filter((line) => lines.has(line)).map((line) => ({ path: INDEX, line, source: GENERATED }));
}

type Place = { file: string; path: string; line: string };

/** The lines of topics, by what they say: what an entry says word for word rests on it. */
function linesByText(heads: readonly Head[]): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const { id: file, path, content } of heads) {
    if (path === null || !content || !isTopicFile(path)) continue;
    for (const { id, text } of parseTopic(path, content.toString()).lines)
      if (!places.has(text)) places.set(text, { file, path, line: id });
  }
  return places;
}

/** The ids of the rows of sessions, which are made where they are missing. */
async function sessionsNamed({ sql, at }: Change, memory: string, names: string[]): Promise<Map<string, string>> {
  const rows = names.flatMap((name) => (name === '' ? [] : { id: newId('session'), name, memory, created_at: at }));
  await insert(sql, 'session', rows, 'on conflict (memory, name) do nothing');
  const select = 'select id, name from session where memory = ? and name in (#)';
  const found = await allOf<{ id: string; name: string }>(sql, select, names, memory);
  return new Map(found.map(({ id, name }) => [name, id]));
}

/** A turn that gave an entry was read, with all before it. */
async function assumeRead(
  change: Change,
  { memory, session, turn: id, day }: EntryRow & { session: string; turn: string },
): Promise<void> {
  if ((await coverageWhere(change.sql, { session, id })).some(({ state }) => state !== 'undone')) return;
  const assumed = { state: 'skipped', reason: 'assumed', day, job: change.job };
  await change.put('turn', { session, id, begins: '', memory, through: '', ...assumed });
}

export interface EditedLogs {
  /** Entries as the logs have them, where their rows do not. */
  changed: EntryRow[];
  /** Days whose logs lost entries by damage, which no person took as meant. */
  lost: Day[];
}

type OfMemory = { id: string; dir: string | null };

/** What logs say that rows do not. `isMeant`: whether a person says so of what a log lost. */
export async function editedLogs(
  sql: Sql,
  { id: memory, dir }: OfMemory,
  { isMeant = false } = {},
): Promise<EditedLogs> {
  const paths = await sql.all<{ path: string }>(
    "select distinct path from version where memory = ? and path like 'logs/%' and actor_kind <> 'job' order by path",
    memory,
  );
  const days = paths.flatMap(({ path }) => logDay(path) ?? []);
  const logs = new Map<Day, LogItem[]>();
  for (const day of days)
    logs.set(day, parseLog((await headAt(sql, memory, logPath(day)))?.content?.toString() ?? '', day));
  const named = [...logs.values()].flatMap((items) => items.map(({ id }) => id));
  const rows = new Map<string, EntryRow>();
  for (const row of await entriesAmong(sql, memory, { column: 'day', of: days })) rows.set(row.id, row);
  for (const row of await entriesAmong(sql, memory, { column: 'id', of: named })) rows.set(row.id, row);
  const ofPrograms = await sql.all<{ line: string }>(
    `select distinct r.line from rests r join file f on f.memory = r.memory and f.id = r.file
     where r.memory = ? and f.path like 'logs/%'`,
    memory,
  );
  const byPrograms = new Set(ofPrograms.map(({ line }) => line));
  const edits = handEdits({ memory, logs, rows: [...rows.values()], byPrograms });
  const gone = Map.groupBy(
    edits.filter(({ state }) => state === 'gone'),
    ({ day }) => day,
  );
  const lost = new Map<string, Day>();
  const debris = new Set<string>();
  // Git keeps what was there.
  for (const [day, those] of isMeant || isCheckedIn(dir) ? [] : gone) {
    const found = await lostAmong(sql, memory, { day, ids: those.map(({ id }) => id) });
    for (const id of found.lost) lost.set(id, day);
    for (const id of found.debris) if (!rows.has(id)) debris.add(id);
  }
  // Bytes that are no text read as U+FFFD.
  const isSaid = ({ id, text }: EntryRow) => !lost.has(id) && !debris.has(id) && !/\p{Cc}|\uFFFD/u.test(text);
  return { changed: edits.filter(isSaid), lost: [...new Set(lost.values())] };
}

/** Of entries that a log does not have any more, those that went with a damage, not with an edit; and what the damage left. */
async function lostAmong(
  sql: Sql,
  memory: string,
  { day, ids }: { day: Day; ids: readonly string[] },
): Promise<{ lost: string[]; debris: string[] }> {
  const lost: string[] = [];
  const debris: string[] = [];
  const idsIn = (content: Content) => parseLog(content?.toString() ?? '', day).map(({ id }) => id);
  const open = new Set(ids);
  const versions =
    'select content from version where memory = ? and path = ? and redacted_at is null order by seq desc limit 1 offset ?';
  let after: Content | undefined;
  for (let at = 0; open.size > 0; at += 1) {
    const version = await sql.get<{ content: Content }>(versions, memory, logPath(day), at);
    if (!version) break;
    const { content } = version;
    const had = new Set(idsIn(content));
    const went = [...open].filter((id) => had.has(id));
    for (const id of went) open.delete(id);
    if (went.length > 0 && after !== undefined && isDamaged(after, content)) {
      lost.push(...went);
      debris.push(...idsIn(after));
    }
    after = content;
  }
  return { lost, debris };
}

/** Whether what stands where a log was is no log that someone edited. */
function isDamaged(content: Content, before: Content): boolean {
  if (!before || before.length === 0) return false;
  if (content === null || content.length === 0 || content.includes(0)) return true;
  return (!isUtf8(content) && isUtf8(before)) || isCutOff(content, before);
}

function isCutOff(content: Buffer, before: Buffer): boolean {
  if (content.length >= before.length || !before.subarray(0, content.length).equals(content)) return false;
  const known = new Set(parseLog(before.toString(), '').map(({ id }) => id));
  const last = parseLog(content.toString(), '').at(-1);
  return last !== undefined && !known.has(last.id);
}

/** Whether so many of these were taken out at once that it looks like an accident rather than an edit. */
export async function isMassWithdrawal(sql: Sql, memory: string, changed: readonly EntryRow[]): Promise<boolean> {
  const withdrawn = changed.filter(({ state }) => state === 'gone').length;
  if (withdrawn < 3) return false;
  const known = (await entriesWhere(sql, memory, "and state <> 'gone'")).length;
  return (withdrawn >= 5 && withdrawn * 4 > known) || withdrawn === known;
}

/** The entries that wait for a night, with what people made of the logs meanwhile; by day. */
export async function entriesThatWait(sql: Sql, memory: OfMemory): Promise<EntryRow[]> {
  const waiting = await entriesWhere(sql, memory.id, "and state = 'new'");
  const { changed } = await editedLogs(sql, memory);
  const ids = new Set(changed.map(({ id }) => id));
  const all = [...waiting.filter(({ id }) => !ids.has(id)), ...changed.filter(({ state }) => state === 'new')];
  return all.sort((a, b) => a.day.localeCompare(b.day) || a.at.localeCompare(b.at));
}
