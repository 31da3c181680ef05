// Logs at their word: what somebody made of one past the jobs becomes its entries at once, in the change that takes the edit in.
// Entries that were taken out are withdrawn, those that came back or were written by hand wait for a night, and those that were learned
// elsewhere, or by a database that is lost, come in with their quotes and sessions, and what they were learned from counts as read.
// Promises: an entry that is known stays as it is, and so does what a person wrote; nothing that was forgotten comes back; what a log lost
// by damage (gone, emptied, cut off, bytes that are no text), or so much at once that it looks like an accident, takes no entry with it,
// until a person says that it was meant.

import { isUtf8 } from 'node:buffer';
import type { Day } from '../base/time.ts';
import { allOf, insert, newId, type Sql } from '../db/sql.ts';
import {
  coverageWhere,
  type EntryRow,
  type EntryState,
  entriesAmong,
  handEdits,
  isInLog,
  putEntry,
} from './entries.ts';
import { type Actor, type Content, type Head, headAt, headsOf } from './file-rows.ts';
import { type LogItem, logDay, logPath, parseLog } from './text/daily-log.ts';
import { isArchivePath, isTopicFile, lineId, parseTopic } from './text/topic.ts';
import type { Change } from './undo-rows.ts';

/** What a memory elsewhere knows of an entry. */
export interface KnownEntry {
  id: string;
  state: EntryState;
  reason: string | null;
}

/** The same as `followLog` for all logs among these files of a change; `heads`: as they are now. */
export async function followLogs(
  change: Change,
  { memory, actor }: { memory: string; actor: Actor },
  {
    files,
    heads,
  }: { files: readonly { path: string }[]; heads: readonly ({ before: string; content: Content } | null)[] },
): Promise<void> {
  const isByProgram = actor.kind === 'api' || actor.kind === 'session';
  for (const [at, { path }] of files.entries()) {
    const { before, content = null } = heads[at] ?? {};
    if (before !== undefined)
      await followLog(change, { memory, path, before: Buffer.from(before), after: content, isByProgram });
  }
}

interface LogEdit {
  memory: string;
  path: string;
  before: Content;
  after: Content;
  /** What was found there, which tells of a damage; default: `after`. */
  found?: Content;
  /** What came is a program's word, not the person's. */
  isByProgram?: boolean;
  known?: readonly KnownEntry[];
}

/**
 * What somebody made of a log becomes its entries: lines that are gone were withdrawn, those that came back or were changed or written
 * by hand wait for a night.
 */
export async function followLog(
  change: Change,
  { memory, path, before, after, found = after, isByProgram = false, known = [] }: LogEdit,
): Promise<void> {
  const day = logDay(path);
  if (day === null || isDamaged(found, before)) return;
  const itemsIn = (content: Content) => parseLog(content?.toString() ?? '', day);
  const [had, has] = [itemsIn(before), itemsIn(after)];
  const was = new Map(had.map(({ id, text }) => [id, text]));
  // Bytes that are no text read as U+FFFD.
  const came = has.filter(({ id, text }) => was.get(id) !== text && !/\p{Cc}|\uFFFD/u.test(text));
  const standing = new Set(has.map(({ id }) => id));
  const gone = had.filter(({ id }) => !standing.has(id));
  if (came.length + gone.length === 0) return;
  const ids = [...came, ...gone].map(({ id }) => id);
  const rows = await entriesAmong(change.sql, memory, { column: 'id', of: ids });
  const knownIds = new Set(rows.map(({ id }) => id));
  const isLearned = (item: LogItem) => item.kind === 'own' && !item.edited && !knownIds.has(item.id);
  await enterLearned(change, memory, came.filter(isLearned) as OwnItem[], known);
  const logs = new Map([[day, came.filter((item) => !isLearned(item))]]);
  const isWithdrawn = (row: EntryRow) => isInLog(row) && row.day === day && !standing.has(row.id);
  const isMeant = !(await isMass(change.sql, memory, rows.filter(isWithdrawn).length));
  const byPrograms = new Set(isByProgram ? came.map(({ text }) => lineId(text)) : []);
  const taken = rows.filter((row) => isMeant || !isWithdrawn(row));
  for (const entry of handEdits({ memory, logs, rows: taken, byPrograms }))
    await putEntry(change, { ...entry, job: entry.job || change.job });
}

/** Whether so many were taken out of a log at once that it looks like an accident rather than an edit. */
async function isMass(sql: Sql, memory: string, withdrawn: number): Promise<boolean> {
  if (withdrawn < 3) return false;
  const count = "select count(*) as n from entry where memory = ? and state <> 'gone'";
  const known = (await sql.get<{ n: number }>(count, memory))?.n ?? 0;
  return (withdrawn >= 5 && withdrawn * 4 > known) || withdrawn === known;
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

/** The entries that their logs lost, by damage or too many at once, which no person took as meant. */
async function lostEntries(sql: Sql, memory: string): Promise<EntryRow[]> {
  const paths = await sql.all<{ path: string }>(
    "select distinct path from version where memory = ? and path like 'logs/%' and actor_kind <> 'job' order by path",
    memory,
  );
  const days = paths.flatMap(({ path }) => logDay(path) ?? []);
  const standing = new Set<string>();
  for (const day of days)
    for (const { id } of parseLog((await headAt(sql, memory, logPath(day)))?.content?.toString() ?? '', day))
      standing.add(id);
  const rows = await entriesAmong(sql, memory, { column: 'day', of: days });
  return rows.filter((row) => isInLog(row) && !standing.has(row.id));
}

/** The days of these. */
export async function lostDays(sql: Sql, memory: string): Promise<Day[]> {
  return [...new Set((await lostEntries(sql, memory)).map(({ day }) => day))];
}

/** Takes what logs lost as meant. */
export async function withdrawLost(change: Change, memory: string): Promise<void> {
  for (const row of await lostEntries(change.sql, memory))
    await putEntry(change, { ...row, state: 'gone', reason: 'withdrawn' });
}

type OwnItem = Extract<LogItem, { kind: 'own' }>;

/** Entries that were learned elsewhere, or by a database that is lost, with their sessions, and their turns as read. */
async function enterLearned(
  change: Change,
  memory: string,
  items: readonly OwnItem[],
  known: readonly KnownEntry[],
): Promise<void> {
  if (items.length === 0) return;
  const standing = linesByText(await headsOf(change.sql, memory));
  const states = new Map(known.map((each) => [each.id, each]));
  const sessions = await sessionsNamed(change, memory, [...new Set(items.map(({ session }) => session))]);
  for (const { kind: _, edited: __, ...item } of items) {
    const session = sessions.get(item.session) ?? null;
    const place = standing.get(item.text);
    const state = states.get(item.id)?.state ?? (place ? (isArchivePath(place.path) ? 'archived' : 'placed') : 'new');
    const reason = states.get(item.id)?.reason ?? null;
    const row: EntryRow = { ...item, memory, session, turn: item.turn || null, job: change.job, state, reason };
    await putEntry(change, row);
    if (place) await change.put('rests', { memory, file: place.file, line: place.line, source: item.id });
    if (session !== null && row.turn !== null) await assumeRead(change, { ...row, session, turn: row.turn });
  }
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

/** A turn that gave an entry was read. */
async function assumeRead(
  change: Change,
  { memory, session, turn: id, day }: EntryRow & { session: string; turn: string },
): Promise<void> {
  if ((await coverageWhere(change.sql, { session, id })).some(({ state }) => state !== 'undone')) return;
  const assumed = { state: 'skipped', reason: 'assumed', day, job: change.job };
  await change.put('turn', { session, id, begins: '', memory, through: '', ...assumed });
}
