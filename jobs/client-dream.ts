// A dream that a client of the server asked for: a job row whose work waits in the inbox. It learns from the sessions that the client
// names, into a copy of the memory that it names, or into that memory itself, and dreams over what came of them.
//
// 1. Look whether it is wanted still, in time, and what it reads is there.
// 2. Copy the memory and begin, in one transaction, under the claim.
// 3. Extract each session into it; what was extracted before is passed by.
// 4. Dream, as this job, so that a cancel takes it back.
// 5. End the job. What fails for now is tried again from 1; what fails too often ends it.
//
// Promises: an end never changes; a memory is dreamed into by one at a time; after a cancel nothing more is committed for it, and
// what it committed is taken back, by whoever comes to it first; the memory that is read is never changed, unless it is the target.

import type { Usage } from '../src/base/config/prices.ts';
import { AppError, type Failure, isAppError, isGivenUp } from '../src/base/errors.ts';
import { DAY_MS } from '../src/base/time.ts';
import { type Db, insert, newId, type Row, type Sql } from '../src/db/sql.ts';
import { countFiles, enterFile, headsOf } from '../src/memory/file-rows.ts';
import { endJob, type JobUsage } from '../src/memory/job-rows.ts';
import { addMemory, type Memories, type MemoryRow, memoryRow } from '../src/memory/memories.ts';
import { isSent, openTranscript, type SessionRow, sessionRow } from '../src/memory/session-rows.ts';
import { Change } from '../src/memory/undo-rows.ts';
import { CLEAN, type Ending, type Item, PRIORITY, put, renew } from '../src/queue/inbox.ts';
import type { KeyCeiling } from '../src/queue/spend.ts';
import type { Session } from '../src/transcript/session.ts';
import type { DreamReport, DreamRequest } from './dream.ts';
import type { ExtractReport, ExtractRequest } from './extract.ts';
import { undo } from './undo.ts';

/** What was asked for, as the job's row keeps it. */
export interface ClientDream {
  /** The memory that it reads. */
  input: string;
  /** It writes to the memory that it reads. */
  updates: boolean;
  /** As the client names them, and the ids of their rows, which are null where it sees none. */
  sessions: { id: string; row: string | null }[];
  model: string;
  speed: 'standard' | null;
  instructions: string | null;
}

export interface DreamJob {
  /** `drm_…` */
  id: string;
  /** The memory that it writes to; null until that is made. */
  memory: string | null;
  status: 'pending' | 'running' | 'completed' | 'failed' | 'canceled';
  outcome: string | null;
  error: string | null;
  /** The key that asked for it. */
  actor: string;
  /** JSON. */
  request: string;
  usage: string | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  archived_at: string | null;
}

/** How it failed, as clients are told: the outcome of its job. */
export type DreamFailure =
  | 'timeout'
  | 'internal_error'
  | 'input_memory_store_unavailable'
  | 'input_session_unavailable';

export function clientDream(sql: Sql, id: string): Promise<DreamJob | undefined> {
  return sql.get<DreamJob>("select * from job where id = ? and id like 'drm%'", id);
}

/** Enters a dream; answers its id, or that of the one that the memory is held for. `failed`: it is over already. */
export async function askDream(
  db: Db,
  of: ClientDream & { key: string; tenant: string; failed?: { how: DreamFailure; why: string } },
  now: Date,
): Promise<{ id: string } | { heldBy: string }> {
  const { key, tenant, failed, ...request } = of;
  const { input, updates } = request;
  const [id, at] = [newId('drm'), now.toISOString()];
  return db.write(async (sql) => {
    const held = `select job from inbox where job like 'drm%' and ((kind = 'dream' and key = ?) or (kind = 'undo' and memory = ?))`;
    const holder = updates ? await sql.get<{ job: string }>(held, input, input) : undefined;
    if (holder) return { heldBy: holder.job };
    const row = { id, kind: 'dream', memory: updates ? input : null, status: 'pending', started_by: 'api', actor: key };
    await insert(sql, 'job', [{ ...row, request: JSON.stringify(request), created_at: at }]);
    if (failed) await fail(sql, id, { ...failed, at });
    const item = { kind: 'dream', key: updates ? input : id, memory: input, job: id, payload: {}, tenant } as const;
    if (!failed) await put(sql, { ...item, notBefore: now, priority: PRIORITY.dream }, now);
    return { id };
  });
}

async function fail(sql: Sql, id: string, { how, why, at }: { how: DreamFailure; why: string; at: string }) {
  await sql.run(
    `update job set status = 'failed', outcome = ?, error = ?, ended_at = ? where id = ? and ended_at is null`,
    ...[how, why, at, id],
  );
}

const HOUR_MS = 3_600_000;

/** Ends those that lasted too long. */
export async function endLate(db: Db, hours: number, now: Date): Promise<void> {
  const before = new Date(now.getTime() - hours * HOUR_MS).toISOString();
  const late = await db.all<{ id: string }>(
    `select job.id from inbox join job on job.id = inbox.job
     where inbox.kind = 'dream' and job.id like 'drm%' and job.ended_at is null and job.created_at <= ?`,
    before,
  );
  const failure = { how: 'timeout', why: `It was not done within ${hours} hours.`, at: now.toISOString() } as const;
  for (const { id } of late) {
    await db.write(async (sql) => {
      await fail(sql, id, failure);
      // So that nothing more is committed for it.
      await sql.run("delete from inbox where job = ? and kind = 'dream'", id);
    });
  }
}

/**
 * Cancels a dream that is not over; answers false while what it changed is still to be taken back: whoever works on the same keeps
 * that waiting, and a worker does it then.
 */
export async function cancelDream(id: string, memories: Memories): Promise<boolean> {
  await markCanceled(id, memories);
  return (await takeBackDream(id, memories)).outcome === 'undone';
}

/** Who works on it has lost its claim, and what is left to do is known to every worker. */
export async function markCanceled(id: string, { db, clock }: Memories): Promise<void> {
  const now = clock.now();
  await db.write(async (sql) => {
    const canceled = `update job set status = 'canceled', outcome = 'canceled', ended_at = ? where id = ? and ended_at is null`;
    if ((await sql.run(canceled, now.toISOString(), id)) === 0) return;
    await sql.run(
      `update inbox set kind = 'undo', key = job, memory = coalesce((select memory from job where id = inbox.job), memory),
         owner = null, until = null, fence = fence + 1, state = 'waiting', priority = ?, not_before = ?, ${CLEAN} where job = ?`,
      ...[PRIORITY.person, now.toISOString(), id],
    );
  });
}

/** Takes back what a canceled dream changed. It can be done again, by several at once. */
export async function takeBackDream(id: string, memories: Memories): Promise<Ending> {
  const { db, clock } = memories;
  const changed = await db.get('select 1 from change where job = ? and undone_by is null', id);
  if (changed) {
    const actor = { kind: 'job', id } as const;
    const taken = await undo({ job: id, partial: true }, { memories, actor }).catch((error) => {
      // Another was faster.
      if (isAppError(error, 'bad-input')) return null;
      throw error;
    });
    if (taken?.outcome === 'busy')
      return { outcome: 'busy', again: new Date(clock.now().getTime() + 1_000), why: 'another process works on it' };
  }
  await db.run("delete from inbox where job = ? and kind = 'undo'", id);
  return { outcome: 'undone' };
}

/** How a job of it is run. */
type PartOptions = { memory: MemoryRow; model: string; ceiling?: KeyCeiling; onUsage(usage: Usage): Promise<void> };

interface ClientDreamDeps {
  memories: Memories;
  hours: number;
  /** So long sessions are kept that were sent. */
  sessionDays: number;
  /** Why nocturne does not work there. */
  off?: string;
  extract(request: ExtractRequest, options: PartOptions): Promise<ExtractReport>;
  dream(request: Omit<DreamRequest, 'startedBy'> & { review?: boolean }, options: PartOptions): Promise<DreamReport>;
}

/** Works one that was claimed. */
export async function workClientDream(item: Item, deps: ClientDreamDeps): Promise<Ending> {
  const { db, clock } = deps.memories;
  try {
    return await workDream(item, deps);
  } catch (error) {
    if (!(error instanceof Unfinished)) throw error;
    const { how, message: why } = error;
    await db.write(async (sql) => {
      const now = clock.now();
      if (await renew(sql, item, { now })) await fail(sql, item.job ?? '', { how, why, at: now.toISOString() });
    });
    return { outcome: how, why };
  }
}

/** It can never be done. */
class Unfinished extends Error {
  readonly how: DreamFailure;
  constructor(how: DreamFailure, why: string) {
    super(why);
    this.how = how;
  }
}

async function workDream(item: Item, deps: ClientDreamDeps): Promise<Ending> {
  const { memories, hours } = deps;
  const { db, clock } = memories;
  // 1.
  await endLate(db, hours, clock.now());
  const job = await clientDream(db, item.job ?? '');
  if (!job || job.ended_at !== null) return { outcome: 'skipped', why: `the dream ${item.job} is over` };
  const asked: ClientDream = JSON.parse(job.request);
  if (deps.off !== undefined) throw new Unfinished('internal_error', deps.off);
  // 2.
  const memory = await memories.of(await begin(item, { job, asked }, deps));
  const key = await db.get<{ usd: number | null }>('select day_usd as usd from api_key where id = ?', job.actor);
  const options: PartOptions = {
    memory,
    model: asked.model,
    ...(key?.usd != null && { ceiling: { key: job.actor, dayMoneyUsd: key.usd / 1e6 } }),
    onUsage: (usage) => addUsage(db, job.id, usage),
  };
  const instructions = asked.instructions ?? undefined;
  // 3.
  for (const session of asked.sessions) {
    const opened = await openOne(session, deps);
    const takeUp: ExtractRequest['takeUp'] = ['declined', 'gave_up'];
    const request = { opened, ended: true, instructions, takeUp, attempts: item.attempts };
    const { error, readTurns } = await deps.extract(request, options);
    if (error) return failed(error, item, readTurns);
  }
  // 4.
  // Of a client's store nobody would look at what waits.
  const review = memory.scope === 'store' ? false : undefined;
  const dreamed = await deps.dream({ job: job.id, isPart: true, instructions, review }, options);
  const { error, outcome, job: _, ...output } = dreamed;
  if (error) return failed(error, item, output.operations.length);
  // 5.
  const { usage } = (await clientDream(db, job.id)) ?? job;
  const end = { outcome, output, usage: JSON.parse(usage ?? '{}'), progress: output.operations.length };
  const now = clock.now();
  await db.write(async (sql) => {
    if (await renew(sql, item, { now })) await endJob(sql, job.id, { ...end, at: now.toISOString() });
  });
  return { outcome };
}

function failed(error: Failure, { attempts }: Item, progress: number): Ending {
  if (progress === 0 && isGivenUp(error.code, attempts + 1)) throw new Unfinished('internal_error', error.message);
  return { outcome: 'failed', error, progress };
}

/** Makes what it writes to, where that is not there, and says that it runs. Answers the id of the memory that it writes to. */
async function begin(
  item: Item,
  { job, asked }: { job: DreamJob; asked: ClientDream },
  deps: ClientDreamDeps,
): Promise<string> {
  const { db, clock } = deps.memories;
  const now = clock.now();
  if (job.started_at !== null) {
    if (await memoryRow(db, job.memory ?? '')) return job.memory ?? '';
    throw new Unfinished('internal_error', 'The memory store that it writes to was deleted.');
  }
  const input = await memoryRow(db, asked.input);
  if (!input || input.archived_at !== null) {
    const why = `The memory store ${asked.input} is not there, or was archived.`;
    throw new Unfinished('input_memory_store_unavailable', why);
  }
  for (const { id, row } of asked.sessions)
    if (!(await sessionThere(db, row, { now, days: deps.sessionDays })))
      throw new Unfinished('input_session_unavailable', `The session ${id} is not there, or not any more.`);
  const at = now.toISOString();
  const output = job.memory ?? newId('memstore');
  const key = await db.get<{ tenant: string }>('select tenant from api_key where id = ?', job.actor);
  await db.write(async (sql) => {
    if (!(await renew(sql, item, { now })))
      throw new AppError('fenced', 'This work was taken over by another worker, so nothing of it is written.');
    if (job.memory === null)
      await copyMemory(sql, { from: input.id, to: output, owner: job.actor, tenant: key?.tenant ?? '', at });
    await sql.run("update job set status = 'running', memory = ?, started_at = ? where id = ?", output, at, job.id);
    await sql.run('update inbox set memory = ? where id = ?', output, item.id);
  });
  return output;
}

/** The row of a session that can be read. */
async function sessionThere(
  sql: Sql,
  id: string | null,
  { now, days }: { now: Date; days: number },
): Promise<SessionRow | undefined> {
  const row = id === null ? undefined : await sessionRow(sql, id);
  return row && isKept(row, { now, days }) ? row : undefined;
}

/** What was sent is kept for so many days. */
export function isKept(row: SessionRow, { now, days }: { now: Date; days: number }): boolean {
  return !isSent(row) || Date.parse(row.sent_at) >= now.getTime() - days * DAY_MS;
}

async function openOne(
  { id, row }: ClientDream['sessions'][number],
  { memories, sessionDays: days }: ClientDreamDeps,
): Promise<Session> {
  const { db, machine, clock } = memories;
  const there = await sessionThere(db, row, { now: clock.now(), days });
  try {
    const opened = there && (await openTranscript(db, { session: there.id, isLive: false, machine }));
    // Nothing says where it is in the memory that is written to.
    if (opened) return Object.assign(opened, { isKept: true });
  } catch (error) {
    if (!isAppError(error)) throw error;
  }
  // Without a word of where it was.
  throw new Unfinished('input_session_unavailable', `The session ${id} can no longer be read.`);
}

async function addUsage(db: Db, id: string, usage: Usage): Promise<void> {
  await db.write(async (sql) => {
    const row = await sql.get<{ usage: string | null }>(`select usage from job where id = ?${db.lock.wait}`, id);
    const sums: Partial<JobUsage> = JSON.parse(row?.usage ?? '{}');
    for (const name of ['calls', 'inputTokens', 'cachedInputTokens', 'cacheWriteTokens', 'outputTokens'] as const)
      sums[name] = (sums[name] ?? 0) + usage[name];
    await sql.run('update job set usage = ? where id = ?', JSON.stringify(sums), id);
  });
}

interface Copied {
  from: string;
  /** `memstore_…` */
  to: string;
  /** The key whose store it is, and its tenant. */
  owner: string;
  tenant: string;
  at: string;
}

async function copyMemory(sql: Sql, { from, to, owner, tenant, at }: Copied): Promise<void> {
  const of = await memoryRow(sql, from);
  if (!of) return;
  const { name, description, metadata } = of;
  const flags = JSON.stringify({ ...JSON.parse(of.flags), owner });
  await addMemory(sql, { id: to, scope: 'store', name, description, metadata, flags, tenant }, at);
  // Nothing that a dream did: it is not taken back with one.
  const change = new Change(sql, { job: owner, at });
  for (const head of await headsOf(sql, from)) {
    const { id: file, path, version, content, sha, size, createdAt: created_at, updatedAt: updated_at } = head;
    const id = newId('memver');
    const by = await sql.get<Row>('select actor_kind, actor from version where id = ?', version);
    const made = { id, memory: to, file, change: change.id, op: 'created', path, sha, size, content, at };
    await insert(sql, 'version', [{ ...made, ...by }]);
    change.versions += 1;
    await enterFile(sql, { memory: to, id: file, path, head: id, placed: null, created_at, updated_at }, content);
  }
  await countFiles(sql, to, at);
  const sessions = new Map<unknown, string>();
  for (const row of await sql.all<Row>('select * from session where memory = ?', from)) {
    const id = newId('session');
    sessions.set(row.id, id);
    const of = { id, name: row.name ?? '', memory: to };
    await insert(sql, 'session', [{ ...of, format: row.format ?? null, created_at: at }]);
  }
  const moved = (row: Row): Row => ({ ...row, memory: to, ...(row.session && { session: sessions.get(row.session) }) });
  for (const table of ['turn', 'entry']) {
    const rows = await sql.all<Row>(`select * from ${table} where memory = ?`, from);
    await insert(sql, table, rows.map(moved));
  }
  const columns = 'file, line, source';
  await sql.run(`insert into rests (memory, ${columns}) select ?, ${columns} from rests where memory = ?`, to, from);
  await change.end();
}
