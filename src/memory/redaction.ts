// Where words can stand in rows, and how they are taken out there: a text that should never have been kept leaves every column that
// this file names. Who did what and when stays, and so do ids. In JSON it looks at what the strings say, not at how they are escaped, and
// into JSON that is kept in a string. A part of an id or of a sum is no match: four digits of a door's code stand in many.
// Promises: it can be done again from the beginning, whenever it broke off; a version that is a head, or stands in a working copy, is
// left to whoever makes a new one first; a row that was changed meanwhile is not written over.

import { AppError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import { parseJson } from '../base/text/json.ts';
import { type Db, insert, marks, type Row, type Sql } from '../db/sql.ts';
import { rawText } from './edit-text.ts';
import type { Actor, Content } from './file-rows.ts';
import type { Evidence } from './memory-types.ts';
import { logDay, parseLog, sealAgain } from './text/daily-log.ts';
import { readFrontmatter, setKeys } from './text/frontmatter.ts';
import { isTopicFile, parseTopic } from './text/topic.ts';
import { keyOf } from './undo-rows.ts';

/** In which rows; default: in those of every memory, and in what belongs to none. */
export type Where = { memories?: readonly string[] };

interface Words {
  key: readonly string[];
  columns: Record<string, 'text' | 'json'>;
  /** The rows of memories: `#` stands for the list of their ids; null where none belongs to one. */
  of: string | null;
}

const OF_MEMORY = 'memory in (#)';
const OF_UNDO = `change in (select change from version where memory in (#)
  union select c.id from change c join job j on j.id = c.job where j.memory in (#))`;

/** Columns of words, by table. `version`, `line`, `piece` and what `file` and `rests` derive of files are treated below. */
export const WORDS: Record<string, Words> = {
  memory: {
    key: ['id'],
    columns: { name: 'text', description: 'text', metadata: 'json', origin: 'text' },
    of: 'id in (#)',
  },
  session: { key: ['id'], columns: { path: 'text', cwd: 'text' }, of: OF_MEMORY },
  entry: {
    key: ['memory', 'id'],
    columns: { text: 'text', changes: 'text', quotes: 'json', person: 'text', reason: 'text' },
    of: OF_MEMORY,
  },
  undo: { key: ['change', 'n'], columns: { before: 'json' }, of: OF_UNDO },
  job: { key: ['id'], columns: { request: 'json', output: 'json', error: 'text' }, of: OF_MEMORY },
  inbox: { key: ['id'], columns: { payload: 'json', error: 'text' }, of: OF_MEMORY },
  proposal: { key: ['id'], columns: { plan: 'json', because: 'text' }, of: OF_MEMORY },
  recalled: { key: ['session', 'memory', 'request'], columns: { request: 'text', text: 'text' }, of: OF_MEMORY },
  snapshot_base: { key: ['memory', 'path'], columns: { path: 'text', text: 'text' }, of: OF_MEMORY },
  api_key: { key: ['id'], columns: { name: 'text' }, of: null },
};

/** Whether rows hold what is to go, which with `isDry` stays: answers in how many it was. */
export async function scrubRows(db: Db, scrub: Scrub, at: Where & { isDry?: boolean }): Promise<number> {
  let count = 0;
  for (const [table, { key, columns, of }] of Object.entries(WORDS)) {
    const rows = await rowsOf<Row>(db, `select ${[...key, ...Object.keys(columns)].join(', ')} from ${table}`, of, at);
    for (const row of rows) {
      const after: Row = {};
      for (const [column, form] of Object.entries(columns)) {
        const value = row[column];
        if (typeof value !== 'string') continue;
        const scrubbed = form === 'json' ? await scrubJson(scrub, value) : await scrub(value);
        if (scrubbed !== value) after[column] = scrubbed;
      }
      if (Object.keys(after).length === 0) continue;
      count += 1;
      if (!at.isDry) await put(db, table, { key, row, after });
    }
  }
  return count;
}

/** Writes columns of a row, where they hold what was read. */
async function put(db: Db, table: string, { key, row, after }: { key: readonly string[]; row: Row; after: Row }) {
  const changed = Object.keys(after);
  const set = changed.map((column) => `${column} = ?`).join(', ');
  const where = [...new Set([...key, ...changed])];
  await db.run(
    `update ${table} set ${set} where ${where.map((column) => `${column} = ?`).join(' and ')}`,
    ...[...Object.values(after), ...where.map((column) => row[column] ?? null)],
  );
}

async function rowsOf<Found>(sql: Sql, select: string, of: string | null, { memories }: Where): Promise<Found[]> {
  if (!memories) return sql.all<Found>(select);
  if (of === null || memories.length === 0) return [];
  const values = [...of.matchAll(/#/g)].flatMap(() => memories);
  return sql.all<Found>(`${select} where ${of.replaceAll('#', marks(memories))}`, ...values);
}

/** The entries that say it, or rest on words that do, with the message that carries each. */
export async function entriesHolding(
  sql: Sql,
  scrub: Scrub,
  at: Where,
): Promise<{ memory: string; id: string; message: string }[]> {
  type Said = { memory: string; id: string; text: string; quotes: string };
  const entries = await rowsOf<Said>(sql, 'select memory, id, text, quotes from entry', OF_MEMORY, at);
  const found: { memory: string; id: string; message: string }[] = [];
  for (const { memory, id, text, quotes } of entries)
    if ((await scrub(text)) !== text || (await scrubJson(scrub, quotes)) !== quotes)
      found.push({ memory, id, message: (JSON.parse(quotes) as Evidence[])[0]?.message ?? '' });
  return found;
}

// Lines of search, and versions.

/** Lines that search knows, which follow the heads: what stands there still is put anew. */
export async function scrubLines(db: Db, scrub: Scrub, at: Where): Promise<void> {
  type Line = { id: number; memory: string; file: string; text: string };
  const rows = await rowsOf<Line>(db, 'select id, memory, file, text from line', OF_MEMORY, at);
  for (const { id, memory, file, text: before } of rows) {
    const text = await scrub(before);
    if (text === before) continue;
    await db.write(async (sql) => {
      await sql.run('delete from line where id = ?', id);
      await insert(sql, 'line', [{ memory, file, text }]);
    });
  }
}

const AT_ONCE = 100;
/** What is told by no version any more: heads of files that are there, and what stands in a working copy. */
const IS_STANDING = `exists (select 1 from file where file.memory = version.memory and file.id = version.file
  and ((file.placed = version.id and version.content is not null) or (file.head = version.id and file.path is not null)))`;

interface Wiped {
  /** Ids of versions. */
  versions: string[];
  /** Paths of files whose new version has not reached their directory: what stands there still holds it. */
  waiting: string[];
}

/** Versions whose text or place holds what is to go lose both, with hash and size. */
export async function wipeVersions(
  db: Db,
  scrub: Scrub,
  { by, now, isDry, ...at }: Where & { by: Actor; now: Date; isDry?: boolean },
): Promise<Wiped> {
  const wiped: Wiped = { versions: [], waiting: [] };
  const all = await rowsOf<{ id: string }>(db, 'select id from version', OF_MEMORY, at);
  for (let from = 0; from < all.length; from += AT_ONCE) {
    const ids = all.slice(from, from + AT_ONCE).map(({ id }) => id);
    const select = `select id, path, content from version where redacted_at is null and id in (${marks(ids)})`;
    const rows = await db.all<{ id: string; path: string | null; content: Content }>(select, ...ids);
    for (const { id, path, content } of rows) {
      const text = content ? rawText(content) : '';
      if ((await scrub(text)) === text && (path === null || (await scrub(path)) === path)) continue;
      if (isDry || (await wipe(db, id, { by, now }))) wiped.versions.push(id);
      else wiped.waiting.push(path ?? id);
    }
  }
  return wiped;
}

/** Answers whether it was: what stands is left. */
export async function wipe(sql: Sql, id: string, { by, now }: { by: Actor; now: Date }): Promise<boolean> {
  const wiped = await sql.run(
    `update version set content = null, path = null, sha = null, size = null, redacted_at = ?, redacted_by = ?
     where id = ? and not ${IS_STANDING}`,
    ...[now.toISOString(), JSON.stringify(by), id],
  );
  return wiped > 0;
}

/** What an entry says, and was said to say before, goes. */
export async function dropWords(sql: Sql, memory: string, id: string): Promise<void> {
  const words = "text = ?, quotes = '[]', changes = null";
  await sql.run(`update entry set ${words} where memory = ? and id = ?`, REDACTED, memory, id);
  await sql.run("delete from undo where tbl = 'entry' and key = ?", keyOf('entry', { memory, id }));
}

export async function forgetEntry(sql: Sql, memory: string, id: string): Promise<void> {
  await sql.run("update entry set state = 'gone', reason = 'forgotten' where memory = ? and id = ?", memory, id);
}

/** The entries that stood in this version of a log and stand in none that is left are forgotten, with their words; answers their ids. */
export async function forgetWords(
  sql: Sql,
  { memory, file, path, content }: { memory: string; file: string; path: string | null; content: Content },
): Promise<string[]> {
  const day = logDay(path ?? '');
  if (!day || !content) return [];
  const left = await sql.all<{ content: Buffer }>(
    'select content from version where memory = ? and file = ? and content is not null',
    ...[memory, file],
  );
  const standing = new Set(left.flatMap((each) => parseLog(each.content.toString(), day).map(({ id }) => id)));
  const ids = [...new Set(parseLog(content.toString(), day).map(({ id }) => id))].filter((id) => !standing.has(id));
  for (const id of ids) {
    await forgetEntry(sql, memory, id);
    await dropWords(sql, memory, id);
  }
  const select = 'select id, plan from proposal where memory = ?';
  for (const { id, plan } of await sql.all<{ id: string; plan: string }>(select, memory))
    if (ids.some((entry) => plan.includes(entry))) await sql.run('delete from proposal where id = ?', id);
  return ids;
}

// Sessions that were sent, or kept.

/** Rewrites sessions in which it is; answers their ids. */
export async function scrubSessions(db: Db, scrub: Scrub, at: Where & { isDry?: boolean }): Promise<string[]> {
  const of = 'session in (select id from session where memory in (#))';
  const sessions = await rowsOf<{ session: string }>(db, 'select distinct session from piece', of, at);
  const found: string[] = [];
  for (const { session } of sessions) {
    const select = 'select n, body from piece where session = ? order by n';
    const pieces = await db.all<{ n: number; body: Buffer }>(select, session);
    const before = Buffer.concat(pieces.map(({ body }) => body));
    const lines: string[] = [];
    for (const line of before.toString().split('\n')) lines.push(await scrubRecord(scrub, line));
    const after = Buffer.from(lines.join('\n'));
    if (after.equals(before)) continue;
    found.push(session);
    if (at.isDry) continue;
    await db.write(async (sql) => {
      await sql.get(`select 1 from session where id = ?${db.lock.wait}`, session);
      const now = Buffer.concat((await sql.all<{ body: Buffer }>(select, session)).map(({ body }) => body));
      if (!now.equals(before)) return;
      await sql.run('delete from piece where session = ?', session);
      await insert(sql, 'piece', [{ session, n: pieces[0]?.n ?? 0, body: after }]);
      await sql.run("update session set redacted = 'yes' where id = ?", session);
    });
  }
  return found;
}

/** A line of a session; ids of messages stay. */
async function scrubRecord(scrub: Scrub, line: string): Promise<string> {
  const record = parseJson(line) as { message?: { id?: unknown } } | undefined;
  if (typeof record !== 'object' || record === null) return scrub(line);
  const after = await scrubValue(scrub, record);
  if (after === record) return line;
  const id = record.message?.id;
  return JSON.stringify(id === undefined ? after : { ...after, message: { ...(after.message as object), id } });
}

export const REDACTED = '[redacted]';

/** The same text where there is nothing to take out. */
export type Scrub = (text: string) => Promise<string>;

/** Our ids, and where ids stand (in the comment of an entry, as a string of JSON) those of sessions and messages, and sums. */
const IDS =
  /(?<![\w-])[a-z]+_[0-9a-f]{12}(?:[0-9a-f]{12})?(?![\w-])|(?<= [a-z]=)(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}|[0-9a-f]{12})(?= )|(?<=")(?=\d*[a-f-])[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?(?=")/g;
const IS_ID = /^(?:[a-z]+_[0-9a-f]{12}(?:[0-9a-f]{12})?|[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?)$/;
/** No id is longer, with what must stand before it. */
const ID_CHARACTERS = 60;

function isPartOfId(text: string, { at, length }: { at: number; length: number }): boolean {
  if (length >= ID_CHARACTERS) return false;
  const from = Math.max(0, at - ID_CHARACTERS);
  const around = text.slice(from, at + length + ID_CHARACTERS);
  return [...around.matchAll(IDS)].some(
    ({ 0: id, index }) => id.length > length && from + index <= at && at + length <= from + index + id.length,
  );
}

/** A scrub for the words of `match`, or for a pattern between slashes: `/acct-\d+/i`. Errors: `bad-input`. */
export function scrubOf(match: string): Scrub {
  if (match.trim() === '') throw new AppError('bad-input', 'There is no text to redact.');
  const pattern = /^\/(.+)\/([a-z]*)$/s.exec(match);
  const find = pattern ? regexOf(pattern[1] as string, pattern[2] as string) : match;
  return async (text) =>
    text.replaceAll(find, (found: string, ...more: unknown[]) => {
      const at = more.find((each) => typeof each === 'number') as number;
      return isPartOfId(text, { at, length: found.length }) ? found : REDACTED;
    });
}

/** A scrub for what looks like a secret. */
export const scrubSecrets: Scrub = async (text) => (await redact(text)).text;

function regexOf(source: string, flags: string): RegExp {
  let regex: RegExp;
  try {
    regex = new RegExp(source, [...new Set(`${flags}g`)].join(''));
  } catch (error) {
    const what = `/${source}/${flags} is not a valid pattern: ${(error as Error).message}.`;
    throw new AppError('bad-input', what, { cause: error });
  }
  if (!''.match(regex) && !regex.sticky) return regex;
  throw new AppError('bad-input', `/${source}/${flags} matches an empty text, so it would match everywhere.`, {
    remedy: 'Give a pattern that matches only what should go.',
  });
}

/** The same for the strings of a JSON text, names of fields too; what is no JSON is a text. */
export async function scrubJson(scrub: Scrub, json: string): Promise<string> {
  const value = parseJson(json);
  if (value === undefined) return scrub(json);
  const scrubbed = await scrubValue(scrub, value);
  return scrubbed === value ? json : JSON.stringify(scrubbed);
}

/** The very same value where there is nothing to take out. */
async function scrubValue<T>(scrub: Scrub, value: T): Promise<T> {
  if (typeof value === 'string') return (await scrubString(scrub, value)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const before = Array.isArray(value) ? value : Object.entries(value);
  const after: unknown[] = [];
  for (const each of before) after.push(await scrubValue(scrub, each));
  if (after.every((each, at) => each === before[at])) return value;
  return (Array.isArray(value) ? after : Object.fromEntries(after as [string, unknown][])) as T;
}

async function scrubString(scrub: Scrub, text: string): Promise<string> {
  const after = /^\s*[[{]/.test(text) ? await scrubJson(scrub, text) : await scrub(text);
  // As a whole an id may be what is looked for.
  return IS_ID.test(text) && after !== REDACTED ? text : after;
}

/** What a file of a memory becomes: nothing of it passes for an edit of a person's. */
export async function scrubFile(scrub: Scrub, path: string, text: string): Promise<string> {
  if (path.endsWith('.json')) return scrubJson(scrub, text);
  const scrubbed = await scrub(text);
  if (scrubbed === text) return text;
  if (logDay(path)) return sealAgain(text, scrubbed);
  const description = isTopicFile(path) ? readFrontmatter(text).data.description : undefined;
  if (typeof description !== 'string') return scrubbed;
  // Bare, `[redacted]` would make a list of it.
  const said = await scrub(description);
  return said === description ? scrubbed : scrub(setKeys(text, { description: said }));
}

/** The lines of a topic whose ids a scrub of it changes. */
export function movedLines(path: string, before: string, after: string): { from: string; to: string }[] {
  if (!isTopicFile(path)) return [];
  const now = parseTopic(path, after).lines;
  return parseTopic(path, before).lines.flatMap(({ id: from }, at) => {
    const to = now[at]?.id;
    return to === undefined || to === from ? [] : [{ from, to }];
  });
}
