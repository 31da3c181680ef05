// Sessions that clients send to a memory: a row each, and their messages as pieces, redacted and without what is private. They grow
// by parts.
// Promises: what is sent again is there once; a part follows what is there, or changes nothing; an id is known within its memory
// alone; who reads what was sent never learns a directory of the machine that it was sent from.

import { createHash } from 'node:crypto';
import { redact } from '../base/secrets/redact-text.ts';
import { parseJson } from '../base/text/json.ts';
import { DAY_MS } from '../base/time.ts';
import { type Db, insert, newId, type Sql } from '../db/sql.ts';
import { scanDecoded } from '../transcript/records.ts';
import { openSession, type Session, snapshotLines } from '../transcript/session.ts';
import { cutPieces, type SessionRow, sessionNamed } from './session-rows.ts';

export interface SentRow extends SessionRow {
  /** JSON: of each part how many messages came before it, how many it has, its SHA-256. */
  sent: string;
  sent_at: string;
}

type Part = [after: number, count: number, sha: string];

/** What was sent at once. */
export interface SentPart {
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
  for await (const chunk of scanDecoded(path)) {
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
  const { messages, cwd: _, request: __, unreadableLines: ___, ...head } = session;
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
  return { after, count: session.format === 'messages' ? await itemsIn(path) : count, sha, pieces };
}

/** Of an array its items count, whatever the reader makes of them. */
async function itemsIn(path: string): Promise<number> {
  const pieces: Buffer[] = [];
  for await (const chunk of scanDecoded(path)) pieces.push(Buffer.from(chunk));
  const text = Buffer.concat(pieces)
    .toString()
    .replace(/^\ufeff/, '');
  const whole = parseJson(text) as unknown[] | { messages: unknown[] };
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

/** How many that were sent wait to be learned from: all, those for memories of a tenant, or those that a key sent. */
export async function waitingSent(sql: Sql, of: { tenant: string } | { key: string } | 'all'): Promise<number> {
  const [where, ...values] =
    of === 'all' ? [''] : 'key' in of ? ['and s.sent_by = ?', of.key] : ['and m.tenant = ?', of.tenant];
  const row = await sql.get<{ n: number }>(
    `select count(*) as n from inbox i join session s on s.id = i.key join memory m on m.id = s.memory
     where i.kind = 'extract' and i.state = 'waiting' and s.sent is not null ${where}`,
    ...values,
  );
  return row?.n ?? 0;
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
