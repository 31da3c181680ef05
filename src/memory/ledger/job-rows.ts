// The jobs that ran in a memory directory, which `status` and `undo` name, and the leases under which they work.
// What a person did by a command that can be taken back is a job too: an undo, something remembered or forgotten.
// A key has one owner at a time, with a fence that grows at every taking. A commit carries the fence, so a writer that
// lost its lease changes nothing. The lease of a dead process is broken at once.

import { AppError, type Failure } from '../../base/errors.ts';
import { isDead, type ProcessName, thisProcess } from '../../base/process.ts';
import type { Day } from '../../base/time.ts';
import { type Ledger, newId, type StartedBy, type Transaction } from './ledger.ts';

/** What works by itself, or for long: what may wait in an inbox. */
export const JOB_KINDS = ['extract', 'dream', 'reprocess'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** Over with its one commit: done by a person, or the delivery of an outbox. */
type PersonsJobKind =
  | 'undo'
  | 'remember'
  | 'forget'
  | 'deliver'
  | 'pin'
  | 'unpin'
  | 'restore'
  | 'edit'
  | 'import'
  | 'review'
  | 'share'
  | 'apply-snapshot';

export interface JobRow {
  id: string;
  kind: JobKind | PersonsJobKind;
  /** `running` until it ends. */
  status: 'running' | 'ended';
  outcome: string | null;
  error: string | null;
  /** The code of the error. */
  code: string | null;
  /** The session it worked on, of an extraction. */
  session: string | null;
  createdAt: string;
  endedAt: string | null;
  /** Of an undo: the job that it took back. */
  undoes: string | null;
}

/** Enters a job that begins; answers its id. */
export function beginJob(
  ledger: Ledger,
  job: { kind: JobKind; session?: string; instructions?: string; now: Date },
): string {
  const id = newId('job');
  ledger.insert('job', {
    id,
    kind: job.kind,
    status: 'running',
    session: job.session ?? null,
    instructions: job.instructions ?? null,
    created_at: job.now.toISOString(),
    process: thisProcess(),
    started_by: ledger.startedBy,
  });
  return id;
}

export function hasJob(ledger: Ledger, id: string): boolean {
  return ledger.get('select 1 from job where id = ?', id) !== undefined;
}

/**
 * Enters a job that ran and ended on `day`, of which no more is known; one that is there stays as it is. None ended after
 * `now`, when that is learned.
 */
export function rememberJob(
  ledger: Ledger,
  { id, kind, day, now }: { id: string; kind: JobKind; day: Day; now: string },
): void {
  if (hasJob(ledger, id)) return;
  const noon = `${day}T12:00:00.000Z`;
  const at = noon < now ? noon : now;
  ledger.insert('job', { id, kind, status: 'ended', outcome: 'remembered', created_at: at, ended_at: at });
}

export function endJob(
  ledger: Ledger,
  id: string,
  end: { outcome: string; error?: Failure; usage: unknown; now: Date },
): void {
  ledger.run(
    "update job set status = 'ended', outcome = ?, error = ?, code = ?, usage = ?, ended_at = ? where id = ?",
    end.outcome,
    end.error?.message ?? null,
    end.error?.code ?? null,
    JSON.stringify(end.usage),
    end.now.toISOString(),
    id,
  );
}

const JOB = `id, kind, status, outcome, error, code, session, created_at as createdAt, ended_at as endedAt, undoes`;

/** Ends the jobs whose process died before it could: their outcome is `interrupted`. What they committed stays. */
export function endInterrupted(ledger: Ledger, now: Date, isGone: (process: ProcessName) => boolean = isDead): void {
  for (const { id, process } of ledger.all("select id, process from job where status = 'running'")) {
    if (process !== null && !isGone(process as string)) continue;
    ledger.run(
      "update job set status = 'ended', outcome = 'interrupted', ended_at = ? where id = ? and status = 'running'",
      now.toISOString(),
      id as string,
    );
  }
}

/** The newest jobs first. */
export function lastJobs(ledger: Ledger, limit: number): JobRow[] {
  return ledger.all<JobRow>(`select ${JOB} from job order by created_at desc, rowid desc limit ?`, limit);
}

/** The newest jobs of a session first. */
export function jobsOfSession(ledger: Ledger, session: string, limit: number): JobRow[] {
  const sql = `select ${JOB} from job where session = ? order by created_at desc, rowid desc limit ?`;
  return ledger.all<JobRow>(sql, session, limit);
}

/** The newest dream that is over. */
export function lastDreamJob(ledger: Ledger): JobRow | undefined {
  return ledger.get<JobRow>(
    `select ${JOB} from job where kind = 'dream' and status = 'ended' order by ended_at desc, rowid desc limit 1`,
  );
}

/** When a job last ended as planned, an undo apart. */
export function lastSuccessAt(ledger: Ledger): string | null {
  const sql = "select max(ended_at) as at from job where error is null and outcome <> 'interrupted' and kind <> 'undo'";
  return ledger.get<{ at: string | null }>(sql)?.at ?? null;
}

/** When a dream last changed the memory. */
export function lastDreamAt(ledger: Ledger, now: Date): string | null {
  // What ended in the future ended by a clock that was wrong.
  const sql = `select max(ended_at) as at from job
    where kind = 'dream' and outcome in ('dreamed', 'proposed') and ended_at <= ?`;
  return ledger.get<{ at: string | null }>(sql, now.toISOString())?.at ?? null;
}

export function jobRow(ledger: Ledger, id: string): JobRow | undefined {
  return ledger.get<JobRow>(`select ${JOB} from job where id = ?`, id);
}

/**
 * Enters what a person did, which is over with its commit; answers its id. `now`: default: when the commit was made.
 * `undoes`: the job that an undo took back. `startedBy`: who began it, where that is not whoever works with the ledger.
 */
export function enterPersonsJob(
  { ledger, commit }: Pick<Transaction, 'ledger' | 'commit'>,
  job: { kind: PersonsJobKind; outcome: string; now?: Date; undoes?: string; id?: string; startedBy?: StartedBy },
): string {
  const id = job.id ?? newId('job');
  const now = job.now?.toISOString() ?? committedAt({ ledger, commit });
  ledger.insert('job', {
    id,
    kind: job.kind,
    status: 'ended',
    outcome: job.outcome,
    created_at: now,
    ended_at: now,
    undoes: job.undoes ?? null,
    commit,
    started_by: job.startedBy ?? ledger.startedBy,
  });
  return id;
}

/** When a commit was made, as it is being written. */
export function committedAt({ ledger, commit }: Pick<Transaction, 'ledger' | 'commit'>): string {
  return ledger.get('select at from "commit" where id = ?', commit)?.at as string;
}

/** The undo that took the whole job back and was not undone itself. */
export function undoneBy(ledger: Ledger, job: string): string | undefined {
  return ledger
    .all<{ id: string }>("select id from job where undoes = ? and outcome = 'undone'", job)
    .find(({ id }) => undoneBy(ledger, id) === undefined)?.id;
}

/** The commits of a job, newest first: it made them, or, being a person's, was made by one. */
export function commitsOf(ledger: Ledger, job: string): number[] {
  const sql = `select id from "commit" where actor = ? or id = (select "commit" from job where id = ?) order by id desc`;
  return ledger.all<{ id: number }>(sql, `job:${job}`, job).map(({ id }) => id);
}

/** Of jobs that were entered before it was noted: what only a person began. */
const BY_PERSON = `(started_by = 'person' or
  (started_by is null and kind not in ('extract', 'dream', 'deliver') and process is null))`;

/**
 * The job, no undo, that changed the directory last and was not taken back; `byPerson`: of those that a person began.
 * Answers when its last commit was made, too.
 */
export function lastChangingJob(ledger: Ledger, { byPerson = false } = {}): { id: string; at: string } | undefined {
  const isWanted = `kind != 'undo'${byPerson ? ` and ${BY_PERSON}` : ''}`;
  return ledger
    .all<{ id: string; at: string }>(
      `select id, max(last), at from (
         select job.id, "commit".id as last, at from "commit" join job on job.id = substr(actor, 5)
           where actor like 'job:%' and ${isWanted}
         union all
         select job.id, "commit".id, at from job join "commit" on "commit".id = job."commit" where ${isWanted}
       ) group by id order by 2 desc`,
    )
    .find(({ id }) => undoneBy(ledger, id) === undefined);
}

export interface Lease {
  key: string;
  owner: ProcessName;
  fence: number;
  /** Of a store that is kept elsewhere: it is compared where a commit is checked in, not in the ledger. */
  isKeptElsewhere?: boolean;
  /** The id of the inbox item that is worked, where nothing is to be committed once that is gone or was replaced. */
  item?: number;
  /** Asked inside each commit: throws where what is worked is wanted no more. */
  mayCommit?(): void;
}

/** `owner`: null where nobody holds it. */
type LeaseRow = { owner: string | null; fence: number; until: string };

export interface LeaseTaking {
  key: string;
  /** A process, and what in it works: `host:pid:start/job`. */
  owner: string;
  now: Date;
  ttlMs: number;
}

/** Takes the lease, or answers null where another live owner holds it. */
export function takeLease(ledger: Ledger, taking: LeaseTaking): Lease | null {
  return ledger.transaction(() => {
    const { key, owner, now } = taking;
    const row = ledger.get<LeaseRow>('select owner, fence, until from lease where key = ?', key);
    if (row?.owner && row.until > now.toISOString() && !isDead(processOf(row.owner))) return null;
    const fence = (row?.fence ?? 0) + 1;
    ledger.replace('lease', { key, owner, fence, until: untilOf(taking) });
    return { key, owner, fence };
  });
}

/** Whether someone works on a key that begins with `prefix`. */
export function isLeased(ledger: Ledger, { prefix, now }: { prefix: string; now: Date }): boolean {
  return countLeased(ledger, now, prefix) > 0;
}

/** How many keys that begin with `prefix` someone works on. */
export function countLeased(ledger: Ledger, now: Date, prefix = ''): number {
  const sql = 'select owner from lease where owner is not null and until > ? and substr(key, 1, ?) = ?';
  const owners = ledger.all<{ owner: string }>(sql, now.toISOString(), prefix.length, prefix);
  return owners.filter(({ owner }) => !isDead(processOf(owner))).length;
}

/** Lets the lease go; the fence stays, so that it never repeats. */
export function releaseLease(ledger: Ledger, lease: Lease): void {
  ledger.run(
    'update lease set owner = null where key = ? and owner = ? and fence = ?',
    lease.key,
    lease.owner,
    lease.fence,
  );
}

/** Throws `fenced` where the lease was taken by someone else meanwhile, or the work is wanted no more. Call it inside the commit's transaction. */
export function checkFence(ledger: Ledger, lease: Lease): void {
  // Else both are compared where the commit is checked in.
  if (!lease.isKeptElsewhere) {
    const row = ledger.get('select owner, fence from lease where key = ?', lease.key);
    if (row?.fence !== lease.fence || row.owner !== lease.owner) throw takenOver(lease);
    const isOver = lease.item !== undefined && !ledger.get('select 1 from inbox where id = ?', lease.item);
    if (isOver) throw notWanted(lease);
  }
  lease.mayCommit?.();
}

/** What a commit fails with whose inbox item is gone. */
export function notWanted({ key }: Pick<Lease, 'key'>): AppError {
  return new AppError('fenced', `The work on ${key} is wanted no more; nothing of this run was kept.`);
}

/** What a commit fails with whose lease was taken by someone else. */
export function takenOver({ key }: Pick<Lease, 'key'>): AppError {
  return new AppError('fenced', `The work on ${key} was taken over meanwhile; nothing of this run was kept.`);
}

/** Until when a lease lasts. */
export function untilOf(span: { now: Date; ttlMs: number }): string {
  return new Date(span.now.getTime() + span.ttlMs).toISOString();
}

function processOf(owner: string): ProcessName {
  return owner.split('/')[0] as string;
}
