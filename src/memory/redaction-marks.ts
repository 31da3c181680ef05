// Marks beside the copies of the database: what was forgotten or redacted since one was made, as salted sums of ids, so that no restore
// brings it back. They say nothing to who reads them without the rows.

import { hash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { makeDirectory, readTextNow, writeWhole } from '../base/files/files.ts';
import { parseJson } from '../base/text/json.ts';
import { type Db, keepSetting, type Sql, settingOf } from '../db/sql.ts';
import { addVersion, headOf } from './file-rows.ts';
import { dropWords, forgetEntry, wipe } from './redaction.ts';
import { REDACTED } from './scrub.ts';
import { Change } from './undo-rows.ts';

interface Mark {
  what: 'forgotten' | 'redacted';
  salt: string;
  sums: string[];
}

function marksPath(home: string): string {
  return join(home, 'backups', 'marks.jsonl');
}

/** `ids`: of versions, of entries behind the id of their memory (`memory_… e_…`), and of messages that these rest on (`markOf`). */
export function addMark(home: string, { what, ids }: { what: Mark['what']; ids: readonly string[] }): void {
  if (ids.length === 0) return;
  const salt = randomBytes(16).toString('hex');
  const mark: Mark = { what, salt, sums: [...new Set(ids)].map((id) => sumOf(salt, id)) };
  makeDirectory(join(home, 'backups'));
  writeWhole(marksPath(home), `${readTextNow(marksPath(home)) ?? ''}${JSON.stringify(mark)}\n`);
}

function sumOf(salt: string, id: string): string {
  return hash('sha256', `${salt} ${id}`).slice(0, 32);
}

/** Does again to restored rows what was done to them since; answers how many it was. */
export async function applyMarks(db: Db, home: string, now: Date): Promise<number> {
  const marks = (readTextNow(marksPath(home)) ?? '')
    .split('\n')
    .flatMap((line) => (parseJson(line) as Mark | undefined) ?? []);
  if (marks.length === 0) return 0;
  await keepMarks(db, marks);
  const isIn = marks.map(({ what, salt, sums }) => {
    const known = new Set(sums);
    return { what, has: (id: string) => known.has(sumOf(salt, id)) };
  });
  const marksOf = (id: string) => new Set(isIn.flatMap(({ what, has }) => (has(id) ? what : [])));
  const entries = await db.all<{ memory: string; id: string }>('select memory, id from entry');
  const versions = await db.all<{ id: string }>('select id from version where redacted_at is null');
  return db.write(async (sql) => {
    let count = 0;
    for (const { memory, id } of entries) {
      const found = marksOf(`${memory} ${id}`);
      if (found.size > 0) count += 1;
      if (found.has('forgotten')) await forgetEntry(sql, memory, id);
      if (found.has('redacted')) await dropWords(sql, memory, id);
    }
    for (const { id } of versions) {
      if (!marksOf(id).has('redacted')) continue;
      count += 1;
      await replaceHead(sql, id, now);
      await wipe(sql, id, { by: { kind: 'user', id: null }, now });
    }
    return count;
  });
}

/** What was redacted and is a head by the restore gives way to a text that says so: what stood there since is lost. */
async function replaceHead(sql: Sql, id: string, now: Date): Promise<void> {
  const of = await sql.get<{ memory: string; file: string; path: string | null }>(
    'select memory, id as file, path from file where head = ?',
    id,
  );
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

async function keepMarks(sql: Sql, marks: readonly Mark[]): Promise<void> {
  await keepSetting(sql, KEPT, JSON.stringify(marks.map(({ salt, sums }) => ({ salt, sums }))));
}

/** The mark of a message. */
export function markOf(message: string): string {
  return `message ${message}`;
}

/** Tells of a message whether something that was said in it was forgotten or redacted before a restore. */
export async function markedMessages(sql: Sql): Promise<(message: string) => boolean> {
  const kept: { salt: string; sums: string[] }[] = JSON.parse((await settingOf(sql, KEPT)) ?? '[]');
  const known = kept.map(({ salt, sums }) => ({ salt, sums: new Set(sums) }));
  return (message) => known.some(({ salt, sums }) => sums.has(sumOf(salt, markOf(message))));
}
