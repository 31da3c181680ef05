// The inbox: work that waits, is worked, or was given up, by kind and key. It is the truth that a queue only wakes for.
// Promises: of all processes one works an item at a time, by a claim that it renews; who lost it changes nothing. News of what
// waits is merged into it; news that came while it was worked is worked again. Tenants take turns, however much one puts in.
// Settled by the table of errors.ts: done, waits for as long as it takes, tried again, or given up, which a person is told.
// Every call is done whole or not at all.

import { AppError, backoffMs, ERRORS, type Failure, isGivenUp } from '../base/errors.ts';
import { isDead, type ProcessName } from '../base/process.ts';
import { type Db, marks, type Sql } from '../db/sql.ts';
import type { Claim } from '../memory/commit.ts';
import type { JobKind } from '../memory/job-rows.ts';

/** Who goes first. What a person waits for, then what is learned, then what sorts it. */
export const PRIORITY = { person: 0, extract: 10, dream: 30 } as const;

export interface NewItem {
  kind: JobKind;
  /** Of an extraction the session's id, of a dream its memory's. */
  key: string;
  memory?: string;
  /** The machine that alone can work it; default: any. */
  machine?: string;
  /** The row of a job that a client asked for. */
  job?: string;
  payload: object;
  notBefore: Date;
  /** Default: that of its kind. */
  priority?: number;
  /** Whose turn it takes; default: this machine's own. */
  tenant?: string;
}

export interface InboxRow {
  id: number;
  kind: JobKind;
  key: string;
  memory: string | null;
  machine: string;
  job: string | null;
  /** JSON. */
  payload: string;
  /** `failed`: given up, until a person retries or dismisses it. */
  state: 'waiting' | 'failed';
  priority: number;
  turn: number;
  /** Since when something waits under the key. */
  since: string;
  not_before: string;
  /** How often it was put in. */
  news: number;
  /** Tries that were used up, and failures in a row. */
  attempts: number;
  failures: number;
  /** What the last try failed with, or what it waits for. */
  code: string | null;
  error: string | null;
  owner: string | null;
  fence: number;
  until: string | null;
}

/** What was claimed. */
export type Item = Claim & Omit<InboxRow, 'owner' | 'payload' | 'until'> & { payload: Record<string, unknown> };

/** How the work on an item ended. */
export interface Ending {
  outcome: string;
  error?: Failure;
  /** Turns covered by a model's word, or operations kept: what failed after that begins to count anew. */
  progress?: number;
  /** It is not over, and no failure: it is worked again from then on. */
  again?: Date;
  /** What it waits for until then. */
  why?: string;
  /** The job gave up what it was about, and said so in its rows. */
  isGivenUp?: boolean;
}

export type Settled =
  /** `fenced`: it is another's by now, or wanted no more; nothing was changed. */
  { state: 'done' | 'failed' | 'fenced' } | { state: 'waits'; until: string; news: number };

/** A claim lasts so long, and is renewed three times in it. */
export const CLAIM_MS = 60_000;

interface Moment {
  now: Date;
  /** Default: `CLAIM_MS`. */
  forMs?: number;
}

const untilOf = ({ now, forMs = CLAIM_MS }: Moment) => new Date(now.getTime() + forMs).toISOString();
const FREE = 'owner = null, until = null';
export const CLEAN = 'attempts = 0, failures = 0, code = null, error = null';

/** A waiting item's instant, and how often it was put in: what a queue is told. */
export type Put = { notBefore: string; news: number };

/**
 * Puts work in, or merges it into what waits under its key. Where that changes the payload, tries that were used up are given
 * back, and what was given up waits again; where it does not, what failed goes on waiting as it did.
 */
export async function put(sql: Sql, item: NewItem, now: Date): Promise<Put> {
  const { kind, key, memory = null, machine = '', job = null } = item;
  const at = now.toISOString();
  const notBefore = item.notBefore.toISOString();
  const priority = item.priority ?? priorityOf(kind);
  const row = await sql.get<InboxRow>(
    'update inbox set news = news + 1 where kind = ? and key = ? returning *',
    ...[kind, key],
  );
  if (!row) {
    const made = await sql.run(
      `insert into inbox (kind, key, memory, machine, job, payload, priority, turn, since, not_before)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (kind, key) do nothing`,
      ...[kind, key, memory, machine, job, JSON.stringify(item.payload), priority],
      ...[await nextTurn(sql, item.tenant), at, notBefore],
    );
    // Else another process was faster.
    return made === 1 ? { notBefore, news: 1 } : put(sql, item, now);
  }
  const payload = JSON.stringify({ ...JSON.parse(row.payload), ...item.payload });
  const isOther = payload !== row.payload;
  if (!isOther && row.code !== null) return { notBefore: row.not_before, news: row.news };
  const turn = row.state === 'failed' ? await nextTurn(sql, item.tenant) : row.turn;
  await sql.run(
    `update inbox set state = 'waiting', payload = ?, memory = coalesce(?, memory), machine = ?, job = coalesce(?, job),
       priority = ?, turn = ?, since = ?, not_before = ?, ${CLEAN} where id = ?`,
    ...[payload, memory, machine, job, Math.min(priority, row.priority), turn],
    // What came while it is worked waits from now on.
    ...[row.owner !== null || row.state === 'failed' ? at : row.since, notBefore, row.id],
  );
  return { notBefore, news: row.news };
}

export function inboxRow(sql: Sql, { kind, key }: Pick<InboxRow, 'kind' | 'key'>): Promise<InboxRow | undefined> {
  return sql.get<InboxRow>('select * from inbox where kind = ? and key = ?', kind, key);
}

/** The same of what happened by itself, at a pace. */
export async function announce(sql: Sql, item: Omit<NewItem, 'notBefore'>, pace: Pace): Promise<Put> {
  const { kind, key } = item;
  const waiting = await sql.get<{ since: string }>(
    "select since from inbox where kind = ? and key = ? and owner is null and state = 'waiting'",
    ...[kind, key],
  );
  const worked = await sql.get<{ at: string | null }>('select max(started_at) as at from job where session = ?', key);
  const notBefore = dueAt(pace, { since: waiting?.since, workedAt: worked?.at });
  return put(sql, { ...item, notBefore }, pace.now);
}

function priorityOf(kind: JobKind): number {
  return kind in PRIORITY ? PRIORITY[kind as keyof typeof PRIORITY] : PRIORITY.person;
}

/** The row of all tenants: the highest turn that is done. */
const ALL = '*';

/** Behind its tenant's last, but never before what was done already: who comes late has saved up no turns. */
async function nextTurn(sql: Sql, tenant = ''): Promise<number> {
  const row = await sql.get<{ turn: number }>(
    `insert into tenant (id, turn) values (?, 1 + coalesce((select turn from tenant where id = '${ALL}'), 0))
     on conflict (id) do update
       set turn = case when tenant.turn >= excluded.turn then tenant.turn + 1 else excluded.turn end returning turn`,
    tenant,
  );
  return row?.turn ?? 1;
}

/** Claims the item whose turn it is, of those that may be worked now; null: there is none. */
export async function claim(
  db: Db,
  { owner, machine, kinds, ...at }: { owner: string; machine: string; kinds: readonly JobKind[] } & Moment,
): Promise<Item | null> {
  if (kinds.length === 0) return null;
  const now = at.now.toISOString();
  // SQLite would sort all that is due; PostgreSQL knows better by its statistics.
  const statement = `update inbox set owner = ?, until = ?, fence = fence + 1 where id = (
    select id from inbox due${db.engine === 'sqlite' ? ' indexed by inbox_due' : ''} where state = 'waiting' and not_before <= ? and (until is null or until < ?)
      and machine in ('', ?) and kind in (${marks(kinds)})
      and (kind <> 'dream' or not exists (select 1 from inbox other where other.memory = due.memory
        and other.kind = 'extract' and other.state = 'waiting'
        and (other.not_before <= ? or other.until >= ?)))
    order by priority, turn, id limit 1${db.lock.skip}) returning *`;
  const values = [owner, untilOf(at), now, now, machine, ...kinds, now, now];
  const row = await change<InboxRow>(db, statement, values);
  return row ? itemOf(row) : null;
}

/** One statement that changes rows and answers one. PostgreSQL needs no transaction around it. */
function change<Row>(db: Db, statement: string, values: (string | number)[]): Promise<Row | undefined> {
  if (db.engine === 'postgres') return db.get<Row>(statement, ...values);
  return db.write((sql) => sql.get<Row>(statement, ...values));
}

function itemOf(row: InboxRow): Item {
  const { owner, payload, until, ...rest } = row;
  return { ...rest, owner: owner ?? '', payload: JSON.parse(payload) };
}

/**
 * Claims an item for a person's command, whether it waits, is new, or was given up. Errors: `conflict`, which says who works on
 * it. A command that is killed leaves it waiting for a worker.
 */
export async function take(
  db: Db,
  { owner, item, ...at }: { owner: string; item: Omit<NewItem, 'notBefore'> } & Moment,
): Promise<Item> {
  const now = at.now.toISOString();
  await freeClaims(db);
  return db.write(async (sql) => {
    await put(sql, { priority: PRIORITY.person, ...item, notBefore: at.now }, at.now);
    const row = await sql.get<InboxRow>(
      `update inbox set owner = ?, until = ?, fence = fence + 1, state = 'waiting', ${CLEAN}
       where kind = ? and key = ? and (until is null or until < ?) and (job is null or job = ?) returning *`,
      ...[owner, untilOf(at), item.kind, item.key, now, item.job ?? ''],
    );
    if (row) return itemOf(row);
    const held = await inboxRow(sql, item);
    // Thrown, so that nothing was put in either.
    throw busy(item.kind, held?.owner ?? owner);
  });
}

function busy(kind: JobKind, owner: string): AppError {
  const [host, pid] = owner.split(':');
  const what = kind === 'dream' ? 'A dream over it' : 'Work on it';
  return new AppError('conflict', `${what} is under way already, in process ${pid} on ${host}.`, {
    remedy: 'Try again when it is over.',
  });
}

/** Makes a claim last longer; false where it is lost. */
export async function renew(sql: Sql, { id, owner, fence }: Claim, at: Moment): Promise<boolean> {
  const values = [untilOf(at), id, owner, fence];
  return (await sql.run('update inbox set until = ? where id = ? and owner = ? and fence = ?', ...values)) === 1;
}

/** Makes an item what it was: it was given up, and there was nothing new to do. */
export async function restore(sql: Sql, { id, state, attempts, failures, code, error }: InboxRow): Promise<void> {
  const set = `${FREE}, state = ?, attempts = ?, failures = ?, code = ?, error = ?`;
  await sql.run(`update inbox set ${set} where id = ?`, state, attempts, failures, code, error, id);
}

/** Gives a claim back, as if it had not been taken. */
export async function giveBack(sql: Sql, { id, owner, fence }: Claim): Promise<void> {
  await sql.run(`update inbox set ${FREE} where id = ? and owner = ? and fence = ?`, id, owner, fence);
}

/** Frees what processes of this machine held that are gone. */
export async function freeClaims(sql: Sql, isGone: (owner: ProcessName) => boolean = isDead): Promise<void> {
  const owners = await sql.all<{ owner: string }>('select distinct owner from inbox where owner is not null');
  for (const { owner } of owners) if (isGone(owner)) await sql.run(`update inbox set ${FREE} where owner = ?`, owner);
}

/** Says what became of an item. `isProbe`: it was the one that tried for all, which uses up no try. */
export async function settle(
  db: Db,
  item: Item,
  ending: Ending,
  { now, isProbe = false }: { now: Date; isProbe?: boolean },
): Promise<Settled> {
  return db.write(async (sql): Promise<Settled> => {
    const { id, owner, fence } = item;
    const row = await sql.get<InboxRow>(
      `select * from inbox where id = ? and owner = ? and fence = ?${db.lock.wait}`,
      ...[id, owner, fence],
    );
    if (!row) return { state: 'fenced' };
    await noteTurn(sql, row.turn);
    const hasNews = row.news !== item.news;
    const { error } = ending;
    const wait = async (at: string, set: string, ...values: (string | number | null)[]): Promise<Settled> => {
      const until = hasNews && row.not_before > at ? row.not_before : at;
      await sql.run(`update inbox set ${FREE}, not_before = ?, ${set} where id = ?`, until, ...values, id);
      return { state: 'waits', until, news: row.news };
    };
    if (!error) {
      if (hasNews) return wait(row.not_before, CLEAN);
      const { again, why = null } = ending;
      if (again) return wait(again.toISOString(), 'attempts = 0, failures = 0, code = null, error = ?', why);
      await sql.run('delete from inbox where id = ?', id);
      return { state: 'done' };
    }
    const before = ending.progress || hasNews ? { attempts: 0, failures: 0 } : row;
    const isCounted = ERRORS[error.code].tries !== null && !isProbe && !hasNews;
    const attempts = before.attempts + (isCounted ? 1 : 0);
    const failures = before.failures + 1;
    const said = [attempts, failures, error.code, error.message];
    const set = 'attempts = ?, failures = ?, code = ?, error = ?';
    if (!hasNews && (ending.isGivenUp || isGivenUp(error.code, attempts))) {
      await sql.run(`update inbox set ${FREE}, state = 'failed', ${set} where id = ?`, ...said, id);
      return { state: 'failed' };
    }
    const waitMs = backoffMs(error, { failures, seed: `${now.toISOString()} ${id} ${failures}` });
    return wait(new Date(now.getTime() + waitMs).toISOString(), set, ...said);
  });
}

async function noteTurn(sql: Sql, turn: number): Promise<void> {
  const only = 'on conflict (id) do update set turn = excluded.turn where tenant.turn < excluded.turn';
  await sql.run(`insert into tenant (id, turn) values (?, ?) ${only}`, ALL, turn);
}

/** The instant from which the next item is due that nobody works, be it in the past; `after`: of those that are due later. */
export async function nextDue(
  sql: Sql,
  { machine, now, after }: { machine: string; now: Date; after?: Date },
): Promise<Date | null> {
  const row = await sql.get<{ at: string }>(
    `select not_before as at from inbox where state = 'waiting' and not_before > ? and (until is null or until < ?)
       and machine in ('', ?) order by not_before limit 1`,
    ...[after?.toISOString() ?? '', now.toISOString(), machine],
  );
  return row ? new Date(row.at) : null;
}
/**
 * When news of a session is worked: once it was quiet for a while, but not more often than its pace allows, and however much news
 * keeps coming no later than that either.
 */
export interface Pace {
  /** What the clock says. */
  now: Date;
  /** When the news came; default: now. */
  at?: Date;
  /** From the last news to the work. */
  debounceMs: number;
  /** From the beginning of one work to that of the next; 0: as often as there is news. */
  throttleMs: number;
  /** The session is over: `throttleMs` does not hold it back, only bounds how long news may. */
  isLast?: boolean;
}

/** The instant from which news is due. `since`: since when something waits; `workedAt`: when it was worked last. */
function dueAt(
  { now, at = now, debounceMs, throttleMs, isLast }: Pace,
  had: { since?: string | null; workedAt?: string | null },
): Date {
  const nowMs = now.getTime();
  const msOf = (instant: string | null | undefined) => (instant ? Date.parse(instant) : Number.NEGATIVE_INFINITY);
  // What began later began by a clock that was wrong, and holds nothing back.
  const past = (ms: number) => (ms > nowMs ? Number.NEGATIVE_INFINITY : ms);
  const cameMs = Math.min(at.getTime(), nowMs);
  const workedMs = past(msOf(had.workedAt));
  const sinceMs = past(msOf(had.since));
  const patientMs = Math.max(Number.isFinite(sinceMs) ? sinceMs : cameMs, workedMs) + Math.max(debounceMs, throttleMs);
  const quietMs = Math.min(cameMs + debounceMs, patientMs);
  const restedMs = isLast ? cameMs : workedMs + throttleMs;
  return new Date(Math.max(cameMs, quietMs, restedMs));
}
