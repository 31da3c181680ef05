// What is done to work that waits without working it: a person lists, retries or dismisses it; what it waits for has changed; a
// clock that was ahead is right again.

import type { Figures } from '../agent/telemetry.ts';
import { type Clock, dayOf } from '../base/time.ts';
import { marks, type Sql } from '../db/sql.ts';
import { CLEAN, type InboxRow } from './inbox.ts';
import { spentOn } from './spend.ts';

export interface WorkRow extends InboxRow {
  /** Of an extraction, what its agent calls the session. */
  session: string | null;
}

/** What waits, is worked or was given up, in the order in which it is worked. */
export function listWork(sql: Sql, { memory = '' }: { memory?: string } = {}): Promise<WorkRow[]> {
  return sql.all<WorkRow>(
    `select inbox.*, session.name as session from inbox
     left join session on inbox.kind = 'extract' and session.id = inbox.key
     where inbox.memory = ? or ? = '' order by inbox.state desc, inbox.priority, inbox.turn, inbox.id`,
    ...[memory, memory],
  );
}

/** A person says to try these again, now, with what was given up of them; answers how many of them nobody is at work on. */
export async function retry(sql: Sql, ids: readonly number[], now: Date): Promise<number> {
  let count = 0;
  for (const id of ids) {
    const row = await sql.get<InboxRow>('select * from inbox where id = ? and owner is null', id);
    if (!row) continue;
    const { takeUp = [], ...payload } = JSON.parse(row.payload);
    const again = row.kind === 'extract' ? { ...payload, takeUp: [...new Set([...takeUp, 'gave_up'])] } : payload;
    count += await sql.run(
      `update inbox set state = 'waiting', not_before = ?, payload = ?, ${CLEAN} where owner is null and id = ?`,
      ...[now.toISOString(), JSON.stringify(again), id],
    );
  }
  return count;
}

/** Where the transcripts of sessions are, on a machine, that wait to be extracted. */
export async function waitingTranscripts(sql: Sql, machine: string): Promise<Set<string>> {
  const rows = await sql.all<{ path: string }>(
    `select session.path from inbox join session on session.id = inbox.key
     where inbox.kind = 'extract' and inbox.state = 'waiting' and session.machine = ? and session.path is not null`,
    machine,
  );
  return new Set(rows.map(({ path }) => path));
}

/** A person wants it no more; who works on it commits nothing from now on. */
export async function dismiss(sql: Sql, id: number): Promise<boolean> {
  return (await sql.run('delete from inbox where id = ?', id)) === 1;
}

/** Makes due now what waits for something that has changed. */
export async function release(sql: Sql, codes: readonly string[], now: Date): Promise<number> {
  const at = now.toISOString();
  return sql.run(
    `update inbox set not_before = ?, failures = 0 where state = 'waiting' and not_before > ? and code in (${marks(codes)})`,
    ...[at, at, ...codes],
  );
}

/** Makes due now what waits although it did not fail: work that a pause held back. */
export function releasePaused(sql: Sql, now: Date): Promise<number> {
  const at = now.toISOString();
  return sql.run(
    `update inbox set not_before = ?, error = null where state = 'waiting' and owner is null and code is null and fence > 0
       and not_before > ?`,
    ...[at, at],
  );
}

/** A clock that was ahead may be off by so much without a word. */
const AHEAD_MS = 60_000;

/** Moves what was put in by a clock that was ahead back to now, with the time that it had to wait from then on. */
export async function followClock(sql: Sql, now: Date): Promise<void> {
  const beyond = new Date(now.getTime() + AHEAD_MS).toISOString();
  const ahead = await sql.all<Pick<InboxRow, 'id' | 'since' | 'not_before'>>(
    'select id, since, not_before from inbox where since > ?',
    beyond,
  );
  for (const { id, since, not_before } of ahead) {
    const waitMs = Math.max(0, Date.parse(not_before) - Date.parse(since));
    const values = [now.toISOString(), new Date(now.getTime() + waitMs).toISOString(), id, since];
    await sql.run('update inbox set since = ?, not_before = ? where id = ? and since = ?', ...values);
  }
}

/** What metrics tell, of all memory in the database. */
export async function figuresOf({ db, clock, zone }: { db: Sql; clock: Clock; zone: string }): Promise<Figures> {
  const now = clock.now();
  const work = await db.get<Pick<Figures, 'waiting' | 'oldestSince' | 'leases'>>(
    `select count(*) as waiting, min(since) as "oldestSince", count(case when until >= ? then 1 end) as leases
     from inbox where state = 'waiting'`,
    now.toISOString(),
  );
  const { tokens, microUsd } = await spentOn(db, dayOf(now, zone));
  return { waiting: 0, oldestSince: null, leases: 0, ...work, tokens, microUsd };
}
