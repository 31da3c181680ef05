// Sessions as rows: where each is, and, of one that was sent here or whose agent deletes its own, what was
// kept of it in pieces. Pieces are a snapshot: the messages as they were read, each text redacted whole before anything was cut, without
// what is private. What clients send grows by parts.
// Promises: a session is one row in a memory; what is kept anew takes the place of what was there whole; what is sent again is there once;
// a part follows what is there, or changes nothing; who reads what was sent never learns a directory of the machine that it came from.

import { createHash } from 'node:crypto';
import { AppError, isAppError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import { DAY_MS } from '../base/time.ts';
import { type Db, insert, keepSetting, newId, type Sql, settingOf } from '../db/sql.ts';
import { scanDecoded } from '../transcript/records.ts';
import { openSession, openSnapshot, readDocument, type Session, snapshotLines } from '../transcript/session.ts';

export interface SessionRow {
  id: string;
  /** As its agent, or its sender, calls it. */
  name: string;
  memory: string;
  /** Where its transcript is; null: it was sent, and is kept in pieces alone. */
  machine: string | null;
  path: string | null;
  format: string | null;
  cwd: string | null;
  size: number | null;
  modified_at: string | null;
  redacted: string | null;
  created_at: string;
  sent_by: string | null;
}

export function sessionRow(sql: Sql, id: string): Promise<SessionRow | undefined> {
  return sql.get<SessionRow>('select * from session where id = ?', id);
}

export function sessionNamed(sql: Sql, memory: string, name: string): Promise<SessionRow | undefined> {
  return sql.get<SessionRow>('select * from session where memory = ? and name = ?', memory, name);
}

/** Where the sessions of a memory ran. */
export async function sessionDirs(sql: Sql, memory: string): Promise<string[]> {
  const select = 'select distinct cwd from session where memory = ? and cwd is not null';
  return (await sql.all<{ cwd: string }>(select, memory)).map(({ cwd }) => cwd);
}

const DECLINED = 'declined_before';

/** What was said before this instant was declined at set-up; ISO-8601. */
export async function declinedBefore(sql: Sql): Promise<string | undefined> {
  return settingOf(sql, DECLINED);
}

/** Declines what was said before now. */
export async function declineBefore(sql: Sql, now: Date): Promise<void> {
  await keepSetting(sql, DECLINED, now.toISOString());
}

/** Enters a session of a memory as it was opened, or brings its row up to date. `machine`: null where no file here is it. */
export async function enterSession(
  sql: Sql,
  { memory, machine, at }: { memory: string; machine: string | null; at: string },
  session: Pick<Session, 'id' | 'path' | 'format' | 'cwd' | 'sizeBytes' | 'modifiedAt'>,
): Promise<SessionRow> {
  const { format, cwd = null, sizeBytes: size, modifiedAt: modified_at } = session;
  const path = machine === null ? null : session.path;
  await insert(
    sql,
    'session',
    [{ id: newId('session'), name: session.id, memory, machine, path, format, cwd, size, modified_at, created_at: at }],
    `on conflict (memory, name) do update set machine = coalesce(excluded.machine, session.machine),
       path = coalesce(excluded.path, session.path), format = excluded.format, cwd = excluded.cwd, size = excluded.size,
       modified_at = excluded.modified_at`,
  );
  return (await sessionNamed(sql, memory, session.id)) as SessionRow;
}

interface OpenBy {
  /** The path of its transcript; default: where its row says that it is. */
  transcript?: string;
  /** The id of its row; where the transcript is gone, what is kept of it in pieces is read. */
  session?: string;
  /** As its agent calls it, for formats whose files do not say it. */
  name?: string;
  isLive: boolean;
  machine: string;
}

/** Opens a session where it is, else what is kept of it. Errors: those of `openSession`. */
export async function openTranscript(sql: Sql, by: OpenBy): Promise<Session> {
  const row = by.session === undefined ? undefined : await sessionRow(sql, by.session);
  const path = by.transcript ?? (row?.machine === by.machine ? row.path : null) ?? '';
  try {
    return await openSession(path, { id: by.name ?? row?.name, isLive: by.isLive });
  } catch (error) {
    if (!row || !isAppError(error, 'transcript-gone')) throw error;
    const isKept = await sql.get('select 1 from piece where session = ? limit 1', row.id);
    // Where a file is to be read, that is what is missing.
    if (!isKept && path !== '') throw error;
    return openPieces(sql, row);
  }
}

const PIECE_BYTES = 2 ** 20;

/** The lines of a session's snapshot, in pieces of some size. */
async function cutPieces(lines: AsyncIterable<string>): Promise<Buffer[]> {
  const pieces: Buffer[][] = [[]];
  let bytes = 0;
  for await (const line of lines) {
    const piece = Buffer.from(line);
    bytes += piece.length;
    pieces.at(-1)?.push(piece);
    if (bytes < PIECE_BYTES) continue;
    pieces.push([]);
    bytes = 0;
  }
  return pieces.map((each) => Buffer.concat(each));
}

/** Keeps a session as it is now, redacted. */
export async function keepPieces(db: Db, id: string, session: Session): Promise<void> {
  const pieces = await cutPieces(snapshotLines(session, redact));
  await db.write(async (sql) => {
    await sql.run('delete from piece where session = ?', id);
    for (const [n, body] of pieces.entries()) await insert(sql, 'piece', [{ session: id, n, body }]);
  });
}

/** Opens what is kept of a session, like a file. Errors: `transcript-gone` where nothing is kept. */
async function openPieces(sql: Sql, { id, name }: SessionRow): Promise<Session> {
  const pieces = await sql.all<{ body: Buffer }>('select body from piece where session = ? order by n', id);
  if (pieces.length === 0) throw new AppError('transcript-gone', `Nothing is kept of session ${name}.`);
  return Object.assign(openSnapshot(Buffer.concat(pieces.map(({ body }) => body))), { id: name });
}

export interface SentRow extends SessionRow {
  /** JSON: of each part how many messages came before it, how many it has, its SHA-256. */
  sent: string;
  sent_at: string;
}

type Part = [after: number, count: number, sha: string];

/** What was sent at once. */
interface SentPart {
  /** How many messages came before it. */
  after: number;
  count: number;
  /** Of what was sent, decompressed. */
  sha: string;
  pieces: Buffer[];
}

/** How many messages it has, as its sender counts them. */
export function messagesIn({ sent }: SentRow): number {
  const [after, count] = (JSON.parse(sent) as Part[]).at(-1) ?? [0, 0];
  return after + count;
}

export async function sentNamed(sql: Sql, memory: string, name: string): Promise<SentRow | undefined> {
  const row = await sessionNamed(sql, memory, name);
  return row && isSent(row) ? row : undefined;
}

export function isSent(row: SessionRow): row is SentRow {
  return typeof (row as SentRow).sent === 'string';
}

/** Whether a part was sent before as it is. */
export function hasPart({ sent }: SentRow, { after, sha }: Pick<SentPart, 'after' | 'sha'>): boolean {
  return (JSON.parse(sent) as Part[]).some(([before, , sum]) => before === after && sum === sha);
}

/** SHA-256 of a body that lies in a file, decompressed; null where it has more than `most` bytes. */
export async function sumOfBody(path: string, most: number): Promise<string | null> {
  const sum = createHash('sha256');
  let size = 0;
  for (const chunk of scanDecoded(path)) {
    size += chunk.length;
    if (size > most) return null;
    sum.update(chunk);
  }
  return sum.digest('hex');
}

/** Reads a body as messages to be kept. Errors: those of `openSession`. */
export async function readBody(path: string, { after, sha }: Pick<SentPart, 'after' | 'sha'>): Promise<SentPart> {
  const session = await openSession(path);
  let count = 0;
  const { messages, cwd: _, unreadableLines: __, ...head } = session;
  const kept: Session = {
    ...head,
    path: '',
    get unreadableLines() {
      return session.unreadableLines;
    },
    async *messages() {
      for await (const { cwd: _, branch: __, ...message } of messages()) {
        count += 1;
        // What was appended has ids of its own, chained to nothing that came before.
        yield after === 0 ? message : { ...message, id: `${after}/${message.id}` };
      }
    },
  };
  const pieces = await cutPieces(snapshotLines(kept, redact));
  return { after, count: session.format === 'messages' ? itemsIn(path) : count, sha, pieces };
}

/** Of an array its items count, whatever the reader makes of them. */
function itemsIn(path: string): number {
  const whole = readDocument(path) as unknown[] | { messages: unknown[] };
  return Array.isArray(whole) ? whole.length : whole.messages.length;
}

/** Enters a session with its first part, or adds one behind what is there; false where something else is there by now. */
export async function addPart(
  db: Db,
  { memory, name, by, now }: { memory: string; name: string; by: string; now: Date },
  { after, count, sha, pieces }: SentPart,
): Promise<boolean> {
  const at = now.toISOString();
  return db.write(async (sql) => {
    await sql.get(`select id from memory where id = ?${db.lock.wait}`, memory);
    const there = await sessionNamed(sql, memory, name);
    if (there ? !isSent(there) || messagesIn(there) !== after : after !== 0) return false;
    const id = there?.id ?? newId('session');
    const parts = there && isSent(there) ? JSON.parse(there.sent) : [];
    const sent = JSON.stringify([...parts, [after, count, sha]]);
    if (there) await sql.run('update session set sent = ?, sent_at = ? where id = ?', sent, at, id);
    else await insert(sql, 'session', [{ id, name, memory, created_at: at, sent_by: by, sent, sent_at: at }]);
    const last = await sql.get<{ n: number }>('select coalesce(max(n), -1) as n from piece where session = ?', id);
    const from = (last?.n ?? -1) + 1;
    for (const [nth, body] of pieces.entries()) await insert(sql, 'piece', [{ session: id, n: from + nth, body }]);
    return true;
  });
}

/** The sessions of a name that were sent, newest first, and those that have a transcript on a machine. */
export function sessionsNamed(sql: Sql, name: string): Promise<SessionRow[]> {
  const where = '(sent is not null and name = ?) or (sent is null and path is not null and name in (?, ?))';
  const select = `select * from session where ${where} order by coalesce(sent, '') = '', created_at desc, id desc`;
  return sql.all<SessionRow>(select, name, name, name.replace(/^sesn_/, ''));
}

/** Drops what was sent last so many days ago and waits for nothing; who it was stays with what was learned of it. */
export async function dropOldSent(db: Db, { now, days }: { now: Date; days: number }): Promise<void> {
  const before = new Date(now.getTime() - days * DAY_MS).toISOString();
  const old = `select id from session where sent_at < ?
    and not exists (select 1 from inbox where inbox.kind = 'extract' and inbox.key = session.id)`;
  await db.write(async (sql) => {
    await sql.run(`delete from piece where session in (${old})`, before);
    await sql.run(`update session set sent = null, sent_at = null where id in (${old})`, before);
  });
}
