// The rows of jobs: what was begun, by whom, and how it ended.

import type { Failure } from '../../base/errors.ts';
import { insert, newId, type Sql } from '../db/sql.ts';

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
  | 'redact'
  | 'check';

export type StartedBy = 'person' | 'program' | 'api' | 'hook';

export interface JobStart {
  kind: JobKind;
  memory?: string;
  session?: string;
  startedBy: StartedBy;
  actor?: string;
  process?: string;
  request?: object;
  /** The job that this one takes back. */
  undoes?: string;
  /** `job_…`; default: a new one. */
  id?: string;
  /** ISO-8601. */
  at: string;
}

export interface JobEnd {
  outcome: string;
  error?: Failure;
  output?: object;
  usage?: object;
  /** Default: `failed` with an error, else `completed`. */
  status?: 'completed' | 'failed' | 'canceled';
  at: string;
}

/** Enters a job that runs; answers its id. */
export async function beginJob(sql: Sql, start: JobStart): Promise<string> {
  const { id = newId('job'), kind, memory, session, startedBy, actor, process, request, undoes, at } = start;
  const row = { id, kind, memory, session, status: 'running', started_by: startedBy, actor, process, undoes };
  const given = Object.entries(row).map(([column, value]) => [column, value ?? null]);
  const times = { created_at: at, started_at: at };
  await insert(sql, 'job', [{ ...Object.fromEntries(given), request: JSON.stringify(request ?? {}), ...times }]);
  return id;
}

export async function endJob(sql: Sql, id: string, end: JobEnd): Promise<void> {
  const { outcome, error, output, usage, status = error ? 'failed' : 'completed', at } = end;
  const json = (value?: object) => (value === undefined ? null : JSON.stringify(value));
  await sql.run(
    'update job set status = ?, outcome = ?, code = ?, error = ?, output = ?, usage = ?, ended_at = ? where id = ?',
    ...[status, outcome, error?.code ?? null, error?.message ?? null, json(output), json(usage), at, id],
  );
}
