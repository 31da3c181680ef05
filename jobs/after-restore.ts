// After a restore: what is to be done to rows that came from a copy, before anything is told of them.
//
// 1. What was under way in the copy is nobody's; keys are off until a person says otherwise; that not all of what was spent is known is noted.
// 2. What was forgotten or redacted since the copy is so again: marks beside the copies of the database tell, as salted sums of ids. They
//    say nothing to who reads them without the rows.
// 3. Look into every working copy: files are what they are by now, and entries of logs that no row knows come in.

import { hash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { isDirectory } from '../src/base/files/directories.ts';
import { makeDirectory, readTextNow, writeWhole } from '../src/base/files/files.ts';
import { parseJson } from '../src/base/text/json.ts';
import { type Db, insert, keepSetting, newId, type Sql, settingOf } from '../src/db/sql.ts';
import { type EntryRow, entriesWhere } from '../src/memory/entries.ts';
import { addVersion, headOf } from '../src/memory/file-rows.ts';
import { beginJob, endJob } from '../src/memory/job-rows.ts';
import { takeInHistory } from '../src/memory/log-history.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import { dropWords, forgetEntry, REDACTED, wipe } from '../src/memory/redaction.ts';
import { Change } from '../src/memory/undo-rows.ts';
import { noteRestored } from '../src/queue/spend.ts';

/** A row of this in `setting` turns a key off, until it is confirmed. */
export const KEY_OFF = 'key off ';

export interface Restored {
  /** Memories whose directories were looked into. */
  memories: number;
  /** Entries that they have by now. */
  entries: number;
  /** Entries and versions that were forgotten or redacted again. */
  marked: number;
  /** Keys that are off until they are confirmed. */
  keys: number;
}

export async function afterRestore(memories: Memories): Promise<Restored> {
  const { db, clock, home, machine } = memories;
  const now = clock.now();
  // 1.
  const keys = await db.write(async (sql) => {
    await sql.run('update inbox set owner = null, until = null, fence = fence + 1000000');
    await noteRestored(sql, now);
    const rows = await sql.all<{ id: string }>('select id from api_key where revoked_at is null');
    const off = rows.map(({ id }) => ({ key: `${KEY_OFF}${id}`, value: now.toISOString() }));
    await insert(sql, 'setting', off, 'on conflict (key) do nothing');
    return rows.length;
  });
  // 2.
  const marked = await applyMarks(db, home, now);
  // 3.
  const rows = await db.all<MemoryRow>('select * from memory where machine = ? and deleted_at is null', machine);
  const report: Restored = { memories: 0, entries: 0, marked, keys };
  const job = newId('job');
  await beginJob(db, { id: job, kind: 'check', startedBy: 'person', at: now.toISOString() });
  for (const { id, dir } of rows) {
    if (dir === null || !isDirectory(dir)) continue;
    await memories.of(id);
    await takeInHistory(memories, id, job);
    report.memories += 1;
  }
  const known = "select count(*) as n from entry where state <> 'gone'";
  report.entries = (await db.get<{ n: number }>(known))?.n ?? 0;
  await endJob(db, job, { outcome: 'restored', output: report, at: clock.now().toISOString() });
  return report;
}

type Mark = { what: 'forgotten' | 'redacted'; salt: string; sums: string[] };

function marksPath(home: string): string {
  return join(home, 'backups', 'marks.jsonl');
}

/** `ids`: of versions, of entries behind the id of their memory (`memory_… e_…`), and of messages that these rest on (`markOf`). */
export function addMark(home: string, { what, ids }: { what: Mark['what']; ids: readonly string[] }): void {
  writeMarks(home, [...readMarks(home), ...marksOf(what, ids)]);
}

/** Brings the marks to what is forgotten by now, for who forgot something, or took that back; what rows do not know any more stays. */
export async function markForgotten({ db, home }: Memories): Promise<void> {
  const kept = await keptMarks(db);
  const isForgotten = ({ state, reason }: Pick<EntryRow, 'state' | 'reason'>) =>
    state === 'gone' && reason === 'forgotten';
  const which = kept.length > 0 ? '1 = 1' : FORGOTTEN;
  const [known, gone]: [string[][], string[]] = [[], []];
  for (const { memory } of await db.all<{ memory: string }>(`select distinct memory from entry where ${which}`)) {
    for (const row of await entriesWhere(db, memory, `and ${which}`)) {
      const ids = [`${memory} ${row.id}`, ...row.evidence.slice(0, 1).map(({ message }) => markOf(message))];
      known.push(ids);
      if (isForgotten(row)) gone.push(...ids);
    }
  }
  const stays = kept.flatMap((mark): Mark[] => {
    // Another entry of the same message, or the same in another memory, knows nothing of it.
    const [all, sum] = [new Set(mark.sums), (id: string) => sumOf(mark.salt, id)];
    const rows = mark.what === 'redacted' ? [] : known.filter(([own = '']) => all.has(sum(own)));
    const sums = [...all.difference(new Set(rows.flat().map(sum)))];
    return sums.length > 0 ? [{ ...mark, sums }] : [];
  });
  if (kept.length > 0) await keepSetting(db, KEPT, JSON.stringify(stays));
  const redacted = readMarks(home).filter(({ what }) => what === 'redacted');
  const lost = stays.filter(({ what }) => what === 'forgotten');
  writeMarks(home, [...redacted, ...lost, ...marksOf('forgotten', gone)]);
}

const FORGOTTEN = "state = 'gone' and reason = 'forgotten'";

function marksOf(what: Mark['what'], ids: readonly string[]): Mark[] {
  const salt = randomBytes(16).toString('hex');
  return ids.length === 0 ? [] : [{ what, salt, sums: [...new Set(ids)].map((id) => sumOf(salt, id)) }];
}

function readMarks(home: string): Mark[] {
  const lines = (readTextNow(marksPath(home)) ?? '').split('\n');
  return lines.flatMap((line) => (parseJson(line) as Mark | undefined) ?? []);
}

function writeMarks(home: string, marks: readonly Mark[]): void {
  if (marks.length === 0 && readTextNow(marksPath(home)) === null) return;
  makeDirectory(join(home, 'backups'));
  writeWhole(marksPath(home), marks.map((mark) => `${JSON.stringify(mark)}\n`).join(''));
}

function sumOf(salt: string, id: string): string {
  return hash('sha256', `${salt} ${id}`).slice(0, 32);
}

/** Does again to restored rows what was done to them since; answers how many it was. */
async function applyMarks(db: Db, home: string, now: Date): Promise<number> {
  const marks = readMarks(home);
  if (marks.length === 0) return 0;
  await keepMarks(db, marks);
  const known = marks.map(({ what, salt, sums }) => ({ what, salt, sums: new Set(sums) }));
  const doneTo = (id: string) =>
    new Set(known.flatMap(({ what, salt, sums }) => (sums.has(sumOf(salt, id)) ? what : [])));
  const entries = await db.all<{ memory: string; id: string }>('select memory, id from entry');
  const versions = await db.all<{ id: string }>('select id from version where redacted_at is null');
  return db.write(async (sql) => {
    let count = 0;
    for (const { memory, id } of entries) {
      const found = doneTo(`${memory} ${id}`);
      if (found.size > 0) count += 1;
      if (found.has('forgotten')) await forgetEntry(sql, memory, id);
      if (found.has('redacted')) await dropWords(sql, memory, id);
    }
    for (const { id } of versions) {
      if (!doneTo(id).has('redacted')) continue;
      count += 1;
      await replaceHead(sql, id, now);
      await wipe(sql, id, { by: { kind: 'user', id: null }, now });
    }
    return count;
  });
}

/** What was redacted and is a head by the restore gives way to a text that says so: what stood there since is lost. */
async function replaceHead(sql: Sql, id: string, now: Date): Promise<void> {
  const select = 'select memory, id as file, path from file where head = ?';
  const of = await sql.get<{ memory: string; file: string; path: string | null }>(select, id);
  if (!of || of.path === null) return;
  const head = await headOf(sql, of.memory, of.file);
  const change = new Change(sql, { job: 'restore', at: now.toISOString() });
  const made = { memory: of.memory, file: head, path: of.path, content: Buffer.from(`${REDACTED}\n`), change };
  await addVersion({ ...made, actor: { kind: 'user', id: null } });
  await change.end();
  await sql.run('update file set placed = head where memory = ? and id = ? and placed = ?', of.memory, of.file, id);
}

// What was said in these messages is not learned again, where the rows that knew it are lost.

const KEPT = 'marks';

export async function keepMarks(sql: Sql, marks: readonly Mark[]): Promise<void> {
  const all = new Map([...(await keptMarks(sql)), ...marks].map((mark) => [mark.salt, mark]));
  await keepSetting(sql, KEPT, JSON.stringify([...all.values()]));
}

/** An earlier build kept what was forgotten without saying so. */
async function keptMarks(sql: Sql): Promise<Mark[]> {
  const kept: (Omit<Mark, 'what'> & Partial<Mark>)[] = JSON.parse((await settingOf(sql, KEPT)) ?? '[]');
  return kept.map((mark) => ({ what: 'forgotten', ...mark }));
}

/** Marks of what was forgotten in a memory, for whoever carries it elsewhere: they hold nothing of it. */
export async function forgottenMarks(sql: Sql, memory: string): Promise<Mark[]> {
  const gone = await entriesWhere(sql, memory, `and ${FORGOTTEN}`);
  const messages = gone.flatMap(({ evidence }) => evidence.slice(0, 1).map(({ message }) => markOf(message)));
  return marksOf('forgotten', messages);
}

/** The mark of a message. */
export function markOf(message: string): string {
  return `message ${message}`;
}

/** Tells of a message whether something that was said in it was forgotten or redacted before a restore. */
export async function markedMessages(sql: Sql): Promise<(message: string) => boolean> {
  const known = (await keptMarks(sql)).map(({ salt, sums }) => ({ salt, sums: new Set(sums) }));
  return (message) => known.some(({ salt, sums }) => sums.has(sumOf(salt, markOf(message))));
}
