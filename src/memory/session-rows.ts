// Sessions as rows: where each is, how far it was read, and, of one that was sent here or whose agent deletes its own, what was
// kept of it in pieces. Pieces are a snapshot: the messages as they were read, each text redacted whole before anything was cut.
// Promises: a session is one row in a memory; what is kept anew takes the place of what was there whole.

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { AppError, isAppError } from '../base/errors.ts';
import { listNames } from '../base/files/directories.ts';
import { makeDirectory, removeFile, writeNew } from '../base/files/files.ts';
import { isDead, thisProcess } from '../base/process.ts';
import { redact } from '../base/secrets/redact-text.ts';
import { type Db, insert, keepSetting, newId, type Sql, settingOf } from '../db/sql.ts';
import { openSession, openSnapshot, type ReadPoint, type Session, snapshotLines } from '../transcript/session.ts';

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
  /** Where to read on: a byte, and the hash of what stands before it. All before it is covered. */
  read_to: number | null;
  prefix_sha: string | null;
  /** Why nothing is to be learned of it. */
  ignored: string | null;
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

export function readPointOf({ read_to: byte, prefix_sha: hash }: SessionRow): ReadPoint | undefined {
  return byte === null || hash === null ? undefined : { byte, hash };
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

/** All before the point is covered; null: the next reading has to be from the beginning. */
export async function noteReadTo(sql: Sql, session: string, point: ReadPoint | null): Promise<void> {
  const values = [point?.byte ?? null, point?.hash ?? null, session];
  await sql.run('update session set read_to = ?, prefix_sha = ? where id = ?', ...values);
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
  copiesDir: string;
  openFile?: typeof openSession;
}

/** Opens a session where it is; to be discarded where it says how. Errors: those of `openSession`. */
export async function openTranscript(sql: Sql, by: OpenBy): Promise<Session> {
  const { openFile = openSession, isLive, copiesDir } = by;
  const row = by.session === undefined ? undefined : await sessionRow(sql, by.session);
  const path = by.transcript ?? (row?.machine === by.machine ? row.path : null) ?? '';
  try {
    return await openFile(path, { id: by.name ?? row?.name, isLive });
  } catch (error) {
    if (!row || !isAppError(error, 'transcript-gone')) throw error;
    const isKept = await sql.get('select 1 from piece where session = ? limit 1', row.id);
    // Where a file is to be read, that is what is missing.
    if (!isKept && path !== '') throw error;
    return openPieces(sql, row, copiesDir);
  }
}

const PIECE_BYTES = 2 ** 20;

/** The lines of a session's snapshot, in pieces of some size. */
export async function cutPieces(lines: AsyncIterable<string>): Promise<Buffer[]> {
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

/**
 * Opens what is kept of a session, like a file; `discard` it when it was read. `dir`: where a copy lies meanwhile. Errors:
 * `transcript-gone` where nothing is kept.
 */
export async function openPieces(sql: Sql, row: SessionRow, dir: string): Promise<Session> {
  const pieces = await sql.all<{ body: Buffer }>('select body from piece where session = ? order by n', row.id);
  if (pieces.length === 0) throw new AppError('transcript-gone', `Nothing is kept of session ${row.name}.`);
  const bytes = Buffer.concat(pieces.map(({ body }) => body));
  // Copies of processes that died.
  for (const name of listNames(dir))
    if (isDead(decodeURIComponent(name).split(' ')[0] as string)) removeFile(join(dir, name));
  const path = join(dir, encodeURIComponent(`${thisProcess()} ${randomUUID()}`));
  makeDirectory(dir);
  writeNew(path, bytes);
  try {
    const isSnapshot = bytes.subarray(0, 32).toString().startsWith('{"session":');
    const session = await (isSnapshot ? openSnapshot(path) : openSession(path, { id: row.name }));
    return Object.assign(session, { id: row.name, discard: () => removeFile(path) });
  } catch (error) {
    removeFile(path);
    throw error;
  }
}
