// Versions: what every file was, since when and by whom. Commits write them; they leave when their time is over, or when a
// person redacts them. With them leaves all else that is kept for a time alone.
// Promises: a version that is a head, stands in a working copy, or that a job of the retention time can be undone with, stays.

import { AppError } from '../base/errors.ts';
import { DAY_MS } from '../base/time.ts';
import { type Db, keepSetting, marks, type Sql, type Value } from '../db/sql.ts';
import type { Actor, Content } from './file-rows.ts';
import { parseTopic } from './text/topic.ts';

export type Operation = 'created' | 'modified' | 'deleted';

export interface Version {
  /** `memver_…` */
  id: string;
  /** `mem_…`: the same over all versions of a file. */
  file: string;
  /** Of a deletion: where the file stood. Null where it was redacted; so are `sha` and `size`, which a deletion lacks, too. */
  path: string | null;
  op: Operation;
  sha: string | null;
  /** Bytes. */
  size: number | null;
  /** The version before it, which may be kept no more. */
  previous: string | null;
  actor: Actor;
  /** Whose change it was; null where that is not kept any more, or it was none of a job's. */
  job: string | null;
  /** That the job read, as its agent or its sender calls it. */
  session: string | null;
  /** ISO-8601. */
  at: string;
  redactedAt: string | null;
  redactedBy: Actor | null;
  /** Where contents are asked for; null for a deletion and where it was redacted. Bytes that are no UTF-8 are shown as U+FFFD. */
  text?: string | null;
}

export interface ListVersions {
  /** `mem_…` */
  file?: string;
  /** The file that has it now, and what had it before. */
  path?: string;
  op?: Operation;
  /** Of all kinds, or of one, and of one of that kind. */
  actor?: { kind: Actor['kind']; id?: string };
  /** Of jobs that read this session, of a dream by the end of its id, and of who names it themselves. */
  session?: string;
  /** Instants, both inclusive. */
  since?: string;
  until?: string;
  /** `next` of the page before. */
  after?: string;
  /** 1 to 1,000; default 20. */
  limit?: number;
  /** Default false. */
  content?: boolean;
}

interface VersionRow extends Omit<Version, 'actor' | 'redactedBy' | 'text'> {
  seq: number;
  actorKind: Actor['kind'];
  actorId: string | null;
  redactedBy: string | null;
  content?: Content;
}

const SELECT = `select v.seq, v.id, v.file, v.path, v.op, v.sha, v.size, v.previous, v.actor_kind as "actorKind", v.actor as "actorId",
  job.id as job, s.name as session, v.at, v.redacted_at as "redactedAt", v.redacted_by as "redactedBy"`;
const FROM = `from version v left join change c on c.id = v.change left join job on job.id = c.job
  left join session s on s.id = job.session where v.memory = ?`;

/** The versions of a memory, newest first. Errors: `bad-input` for a limit or a page that is none. */
export async function versionsOf(
  sql: Sql,
  memory: string,
  { file, path, op, actor, session, since, until, after, limit = 20, content = false }: ListVersions = {},
): Promise<{ items: Version[]; next: string | null }> {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
    throw new AppError('bad-input', `The limit is ${limit}; it must be a whole number from 1 to 1000.`);
  if (after !== undefined && !/^\d{1,15}$/.test(after))
    throw new AppError('bad-input', `There is no page ${JSON.stringify(after)} of versions.`);
  const asked: [string, ...(Value | undefined)[]][] = [
    ['v.file = ?', file],
    ['(v.path = ? or v.file in (select id from file where memory = v.memory and path = ?))', path, path],
    ['v.op = ?', op],
    ['v.actor_kind = ?', actor?.kind],
    ['v.actor = ?', actor?.id],
    [`(s.name in (?, ?) or (v.actor_kind in ('job', 'session') and v.actor in (?, ?, ?)))`, ...namesOf(session)],
    ['v.at >= ?', since],
    ['v.at <= ?', until],
    ['v.seq < ?', after === undefined ? undefined : Number(after)],
  ];
  const conditions = asked.filter(([, value]) => value !== undefined);
  const where = conditions.map(([condition]) => ` and ${condition}`).join('');
  const rows = await sql.all<VersionRow>(
    `${SELECT}${content ? ', v.content' : ''} ${FROM}${where} order by v.seq desc limit ?`,
    ...[memory, ...conditions.flatMap(([, ...values]) => values as Value[]), limit + 1],
  );
  const shown = rows.slice(0, limit);
  const next = rows.length > limit ? String(shown.at(-1)?.seq) : null;
  return { items: shown.map((row) => versionFrom(row)), next };
}

/** The version that brought a line of a topic, which stands there since; undefined where it is not known. */
export async function versionBringing(sql: Sql, memory: string, { path, id }: { path: string; id: string }) {
  const { items } = await versionsOf(sql, memory, { path, limit: 1_000, content: true });
  const isIn = ({ text }: Version) => parseTopic(path, text ?? '').lines.some((line) => line.id === id);
  const end = items.findIndex((version) => !isIn(version));
  const [first, before] = end < 0 ? items.slice(-1) : items.slice(end - 1);
  return first?.previous === (before?.id ?? null) ? first : undefined;
}

function namesOf(session: string | undefined): (string | undefined)[] {
  if (session === undefined) return [undefined];
  const bare = session.replace(/^sesn_/, '');
  return [session, bare, session, `drm_${bare}`, `job_${bare}`];
}

/** A version with its text; null where there is none of this id. */
export async function versionOf(sql: Sql, memory: string, id: string): Promise<Version | null> {
  const row = await sql.get<VersionRow>(`${SELECT}, v.content ${FROM} and v.id = ?`, memory, id);
  return row ? versionFrom(row) : null;
}

function versionFrom({ seq: _, actorKind, actorId, redactedBy, content, ...row }: VersionRow): Version {
  return {
    ...row,
    actor: { kind: actorKind, id: actorId },
    redactedBy: redactedBy === null ? null : JSON.parse(redactedBy),
    ...(content !== undefined && { text: content?.toString() ?? null }),
  };
}

interface Retention {
  now: Date;
  /** Versions younger than this stay, and all that undo needs for them. */
  versionDays: number;
  /** So many of the newest versions of each file, logs apart, stay, however old. */
  versionsKept: number;
}

const CALL_DAYS = 400;
const JOB_DAYS = 400;
const RECALLED_DAYS = 90;
/** Rows that are dropped in one transaction: others wait no longer than for these. */
const AT_ONCE = 500;

/** Of a log, which grows line by line until its day is over, the newest has all that the others had. */
const OLD_VERSIONS = `with ranked as (select id, at, path, row_number() over (partition by memory, file order by seq desc) as nth from version)
  select id from ranked where at < ? and (nth > ? or (path >= 'logs/' and path < 'logs0'))
    and id not in (select head from file) and id not in (select placed from file where placed is not null)
    and id not in (select previous from version where previous is not null and at >= ?)`;

/** Drops what is older than it is kept; answers how many versions went. It may be stopped and done again at any point. */
export async function dropOld(db: Db, { now, versionDays, versionsKept }: Retention): Promise<number> {
  const before = (days: number) => new Date(now.getTime() - days * DAY_MS).toISOString();
  const since = before(versionDays);
  // Undo is told first: it must not miss what is gone by then.
  await db.write((sql) => keepSetting(sql, 'undo_from', since));
  const versions = await db.all<{ id: string }>(OLD_VERSIONS, since, versionsKept, since);
  await dropAll(db, 'version', 'id', versions);
  const undone = 'select distinct change as id from undo where change in (select id from change where at < ?)';
  await dropAll(db, 'undo', 'change', await db.all<{ id: string }>(undone, since));
  const isRead = `session in (select id from session where coalesce(modified_at, created_at) < ?
    and not exists (select 1 from inbox where inbox.kind = 'extract' and inbox.key = session.id))`;
  for (const [table, where, days] of [
    ['change', 'at < ? and not exists (select 1 from version where version.change = change.id)', versionDays],
    ['proposal', 'decided_at < ?', versionDays],
    ['piece', isRead, versionDays],
    ['call', 'day < ?', CALL_DAYS],
    ['job', 'ended_at < ?', JOB_DAYS],
    ['recalled', 'at < ?', RECALLED_DAYS],
  ] as const) {
    await db.run(`delete from ${table} where ${where}`, before(days));
  }
  const deleted = await db.all<{ id: string }>('select id from memory where deleted_at < ?', since);
  for (const { id } of deleted) await db.write((sql) => dropMemory(sql, id));
  return versions.length;
}

async function dropAll(db: Db, table: string, key: string, rows: readonly { id: string }[]): Promise<void> {
  for (let at = 0; at < rows.length; at += AT_ONCE) {
    const ids = rows.slice(at, at + AT_ONCE).map(({ id }) => id);
    await db.run(`delete from ${table} where ${key} in (${marks(ids)})`, ...ids);
  }
}

const OF_MEMORY = 'line rests turn entry proposal recalled topic_use snapshot_base inbox version file place session';

/** All of a memory that was deleted; what jobs did and cost stays as long as of others. */
async function dropMemory(sql: Sql, memory: string): Promise<void> {
  await sql.run('delete from piece where session in (select id from session where memory = ?)', memory);
  for (const table of OF_MEMORY.split(' ')) await sql.run(`delete from ${table} where memory = ?`, memory);
  await sql.run('delete from memory where id = ?', memory);
}
