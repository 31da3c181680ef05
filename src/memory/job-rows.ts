// The rows of jobs: what was begun, by whom, and how it ended. Whoever runs a job begins and ends its row. And what a job changed in
// files, by their versions; who changed the same since.
// Promises: a job ends once, so that the end of one that was canceled, or whose process was taken for dead, changes nothing; one
// whose process died is ended by whoever notices it.

import { AppError, type Failure } from '../base/errors.ts';
import { isDead, type ProcessName, thisProcess } from '../base/process.ts';
import { insert, marks, newId, type Sql } from '../db/sql.ts';
import { rawText } from './edit-text.ts';
import type { Actor, Content } from './file-rows.ts';

export type JobKind =
  | 'extract'
  | 'dream'
  | 'reprocess'
  | 'remember'
  | 'forget'
  | 'undo'
  | 'edit'
  | 'review'
  | 'share'
  | 'snapshot'
  | 'import'
  | 'adopt'
  | 'redact'
  | 'check';

export type StartedBy = 'person' | 'program' | 'api' | 'hook';

interface JobStart {
  kind: JobKind;
  memory?: string;
  session?: string;
  startedBy: StartedBy;
  actor?: string;
  /** Default: this one. */
  process?: ProcessName;
  request?: object;
  /** The job that this one takes back. */
  undoes?: string;
  /** `job_…`; default: a new one. The row may be there already: what a client asked for and what waits (`pending`). */
  id?: string;
  /** ISO-8601. */
  at: string;
}

interface JobEnd {
  outcome: string;
  error?: Failure;
  /** Default: what its commits wrote into the row. */
  output?: object;
  /** Default: the sums of its requests to the model. */
  usage?: object;
  /** Turns covered by a model's word, or operations kept; default: 0. */
  progress?: number;
  /** Default: `failed` with an error, else `completed`. */
  status?: 'completed' | 'failed' | 'canceled';
  at: string;
}

/** What all requests of a job used; of one without an answer it is known only that it was made. Money in millionths of a dollar. */
export interface JobUsage {
  calls: number;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  microUsd: number;
  /** How many of the calls an agent's program made on a plan. */
  onPlan?: number;
}

/** Enters a job that runs; answers its id. */
export async function beginJob(sql: Sql, start: JobStart): Promise<string> {
  const { id = newId('job'), kind, memory, session, startedBy, actor, process, request, undoes, at } = start;
  const row = { id, kind, memory, session, started_by: startedBy, actor, undoes };
  const given = Object.fromEntries(Object.entries(row).map(([column, value]) => [column, value ?? null]));
  const running = { status: 'running', process: process ?? thisProcess(), started_at: at };
  await insert(
    sql,
    'job',
    [{ ...given, ...running, request: JSON.stringify(request ?? {}), created_at: at }],
    `on conflict (id) do update set status = excluded.status, process = excluded.process, started_at = excluded.started_at
       where job.ended_at is null`,
  );
  return id;
}

export async function endJob(sql: Sql, id: string, end: JobEnd): Promise<void> {
  const { outcome, error, output, usage, progress = 0, status = error ? 'failed' : 'completed', at } = end;
  const retryMs = error?.retryAfterMs;
  const retryAt = retryMs === undefined ? null : new Date(Date.parse(at) + retryMs).toISOString();
  await sql.run(
    `update job set status = ?, outcome = ?, code = ?, error = ?, output = coalesce(?, output), usage = ?, progress = ?, retry_at = ?, ended_at = ?
     where id = ? and ended_at is null`,
    ...[status, outcome, error?.code ?? null, error?.message ?? null, output ? JSON.stringify(output) : null],
    ...[JSON.stringify(usage ?? (await usageOf(sql, id))), progress, retryAt, at, id],
  );
}

type Done = Omit<JobStart, 'id' | 'at' | 'startedBy'> & { startedBy?: StartedBy } & Pick<JobEnd, 'outcome' | 'output'>;

/** Enters a job that is done, in the transaction of the change that it made; default: a person's. */
export async function enterJob(
  { sql, job: id, at }: { sql: Sql; job: string; at: string },
  { outcome, output, ...start }: Done,
): Promise<void> {
  await beginJob(sql, { startedBy: 'person', ...start, id, at });
  await endJob(sql, id, { outcome, output, at });
}

/** Who began what an actor does. */
export function startedBy({ kind }: Actor): StartedBy {
  return kind === 'user' ? 'person' : kind === 'api' ? 'api' : 'program';
}

export async function usageOf(sql: Sql, job: string): Promise<JobUsage> {
  const found = await sql.get<Required<JobUsage>>(
    `select count(*) as calls, cast(coalesce(sum(case when ' ' || scope || ' ' like '% plan %' then 1 else 0 end), 0) as bigint) as "onPlan", cast(coalesce(sum(input), 0) as bigint) as "inputTokens",
       cast(coalesce(sum(cached), 0) as bigint) as "cachedInputTokens",
       cast(coalesce(sum(written), 0) as bigint) as "cacheWriteTokens",
       cast(coalesce(sum(output), 0) as bigint) as "outputTokens", cast(coalesce(sum(micro_usd), 0) as bigint) as "microUsd"
     from call where job = ?`,
    job,
  );
  const { onPlan, ...usage } = found as Required<JobUsage>;
  return { ...usage, ...(onPlan > 0 && { onPlan }) };
}

/** Ends the jobs whose process is gone: their outcome is `interrupted`. What they committed stays. */
export async function endInterrupted(sql: Sql, at: Date, isGone: (process: ProcessName) => boolean = isDead) {
  const running = await sql.all<{ id: string; process: string }>(
    "select id, process from job where status = 'running' and process is not null",
  );
  for (const { id, process } of running)
    if (isGone(process)) await endJob(sql, id, { outcome: 'interrupted', status: 'failed', at: at.toISOString() });
}

/** Whether a dream works on one of the memories, or an extraction on one of the sessions. */
export async function isAtWork(
  sql: Sql,
  { memories, sessions = [], now }: { memories: readonly string[]; sessions?: readonly string[]; now: Date },
): Promise<boolean> {
  const held = await sql.all<{ kind: string; memory: string; key: string }>(
    `select kind, memory, key from inbox where owner is not null and until > ? and memory in (${marks(memories)})`,
    ...[now.toISOString(), ...memories],
  );
  return held.some(({ kind, key }) => kind === 'dream' || sessions.includes(key));
}

/** What one of the job's versions made of a file; null: no file. */
type FileStep = { before: { path: string; text: string } | null; after: { path: string; text: string } | null };

export interface FileChanges {
  memory: string;
  /** `mem_…` */
  file: string;
  /** Newest first. */
  steps: FileStep[];
  /** The `seq` of the job's newest version of it. */
  last: number;
}

interface VersionRow {
  memory: string;
  file: string;
  seq: number;
  previous: string | null;
  id: string;
  path: string | null;
  content: Content;
  redacted: string | null;
  wasId: string | null;
  wasPath: string | null;
  was: Content;
  wasRedacted: string | null;
}

/** What a job did to files. Errors: `refused` where that is not all kept any more. */
export async function fileChangesOf(sql: Sql, job: string): Promise<FileChanges[]> {
  const rows = await sql.all<VersionRow>(
    `select v.memory, v.file, v.seq, v.previous, v.id, v.path, v.content, v.redacted_at as redacted, p.id as "wasId",
       p.path as "wasPath", p.content as was, p.redacted_at as "wasRedacted"
     from version v join change c on c.id = v.change left join version p on p.id = v.previous
     where c.job = ? order by v.seq desc`,
    job,
  );
  for (const { id, previous, redacted, wasId, wasRedacted } of rows) {
    if (redacted !== null || wasRedacted !== null) throw wasTakenOut(redacted === null ? (wasId ?? '') : id);
    if (previous !== null && wasId === null) throw tooOld(job);
  }
  return [...Map.groupBy(rows, ({ file }) => file)].map(([file, of]) => ({
    memory: of[0]?.memory ?? '',
    file,
    last: of[0]?.seq ?? 0,
    steps: of.map(({ path, content, wasPath, was }) => ({
      before: stateOf(wasPath, was),
      after: stateOf(path, content),
    })),
  }));
}

function stateOf(path: string | null, content: Content): FileStep['after'] {
  return path === null || content === null ? null : { path, text: rawText(content) };
}

function wasTakenOut(version: string): AppError {
  return new AppError('refused', `Version ${version} was redacted, and undoing would need it.`, {
    remedy: 'Edit the files by hand; your edit counts.',
  });
}

export function tooOld(job: string): AppError {
  return new AppError('refused', `${job} is too old to be taken back: its versions are gone.`, {
    remedy: 'Edit the files by hand; your edit counts. versionDays in config.json keeps them longer.',
  });
}

/** Who changed a file after the job did; and where that was no job, as what the file was before it. */
export async function laterChangesOf(sql: Sql, { memory, file, last }: FileChanges): Promise<string[]> {
  const rows = await sql.all<{ change: string }>(
    'select change from version where memory = ? and file = ? and seq > ? order by seq',
    ...[memory, file, last],
  );
  const said: string[] = [];
  for (const { change } of rows) said.push(await sayChange(sql, change));
  return [...new Set(said)];
}

const ACTORS: Record<Actor['kind'], string> = {
  external: 'an edit of the file',
  user: 'a person',
  api: 'a client',
  session: 'an agent',
  job: 'a job',
};

/** Who made a change, in words: `dream job_…`, `an edit made outside`. */
export async function sayChange(sql: Sql, change: string): Promise<string> {
  const job = 'select job.id, job.kind from change join job on job.id = change.job where change.id = ?';
  const row = await sql.get<{ id: string; kind: string }>(job, change);
  return row ? `${row.kind} ${row.id}` : sayActor(sql, change);
}

/** The same where it belongs to no job that is kept. */
export async function sayActor(sql: Sql, change: string): Promise<string> {
  const actor = 'select actor_kind as kind from version where change = ? limit 1';
  return ACTORS[(await sql.get<{ kind: Actor['kind'] }>(actor, change))?.kind ?? 'job'];
}
