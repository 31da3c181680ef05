// Logs that somebody edited past nocturne, taken at the word of who did: entries that were taken out are withdrawn, those that came
// back or were written by hand wait for a night. Which logs these are, their versions tell.
// Promises: what a log lost by damage (gone, emptied, cut off, bytes that are no text) takes no entry with it, until a person says
// that it was meant; it reads, and writes nothing.

import { isUtf8 } from 'node:buffer';
import type { Day } from '../base/time.ts';
import type { Sql } from '../db/sql.ts';
import { type EntryRow, entriesAmong, entriesWhere, handEdits } from './entries.ts';
import { type Content, headAt } from './file-rows.ts';
import type { MemoryRow } from './memories.ts';
import { isCheckedIn } from './paths.ts';
import { type LogItem, logDay, logPath, parseLog } from './text/daily-log.ts';

export interface EditedLogs {
  /** Entries as the logs have them, where their rows do not. */
  changed: EntryRow[];
  /** Days whose logs lost entries by damage, which no person took as meant. */
  lost: Day[];
}

/** What logs say that rows do not. `isMeant`: whether a person says so of what a log lost. */
export async function editedLogs(
  sql: Sql,
  { id: memory, dir }: Pick<MemoryRow, 'id' | 'dir'>,
  isMeant: (day: Day) => boolean = () => false,
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
  for (const [day, those] of isCheckedIn(dir) ? [] : gone) {
    if (isMeant(day)) continue;
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
export async function entriesThatWait(sql: Sql, memory: MemoryRow): Promise<EntryRow[]> {
  const waiting = await entriesWhere(sql, memory.id, "and state = 'new'");
  const { changed } = await editedLogs(sql, memory);
  const ids = new Set(changed.map(({ id }) => id));
  const all = [...waiting.filter(({ id }) => !ids.has(id)), ...changed.filter(({ state }) => state === 'new')];
  return all.sort((a, b) => a.day.localeCompare(b.day) || a.at.localeCompare(b.at));
}
