// Undo: one job's files and ledger rows are taken back in one commit, which can be undone itself.
//
// 1. Find the job, and hold what it and those who build on it work under: the dream's lease, its session's.
// 2. Inside the commit, find what it changed and who changed the same since: that stays.
// 3. Take its lines out of the files, whatever else was written into them meanwhile; build the index anew.
// 4. Refuse where something stays, unless that was asked for.
// 5. Put the rows back. What it covered becomes `undone`; what no other run had covered is not swept again.

import { AppError, isAppError } from '../src/base/errors.ts';
import type { Clock } from '../src/base/time.ts';
import { indexChange } from '../src/memory/dream/index-change.ts';
import { changesOf, type JobChanges } from '../src/memory/history/undo.ts';
import { JOB_KINDS } from '../src/memory/ledger/inbox.ts';
import { enterPersonsJob, type JobRow, jobRow, lastChangingJob, undoneBy } from '../src/memory/ledger/job-rows.ts';
import type { Ledger } from '../src/memory/ledger/ledger.ts';
import type { FileChange, Store, WithLease } from '../src/memory/store/store.ts';
import { type Staying, TakingBack } from './undo/taking-back.ts';

/** Kinds of jobs that need no wing. */
const OWN_KINDS: string[] = [...JOB_KINDS, 'undo', 'remember', 'forget', 'deliver', 'review'];

export interface UndoRequest {
  /** Exactly one of `job` and `last`. */
  job?: string;
  /** The job that changed the directory last and was not taken back. */
  last?: boolean;
  /** Take back what nothing rests on, and leave the rest. */
  partial?: boolean;
}

export interface UndoDeps {
  store: Store;
  /** Kinds of jobs that the wings enter; a job of a wing that is not there is left alone. */
  wingKinds?: string[];
  clock: Clock;
  withLease: WithLease;
}

export interface UndoReport {
  outcome: 'undone' | 'undone-in-part' | 'refused' | 'busy';
  /** The job that was to be taken back. */
  job: string;
  kind: JobRow['kind'];
  /** The undo's own job, with which it can be undone; null where nothing was changed. */
  undo: string | null;
  files: string[];
  /** Turns that are `undone` now. */
  turns: number;
  stays: Staying[];
}

/** Contract: throws `bad-input` for a job that cannot be undone; every other ending is the report's `outcome`. */
export async function undo(request: UndoRequest, deps: UndoDeps): Promise<UndoReport> {
  const { store } = deps;
  // 1.
  const job = findJob(store.ledger, request);
  refuseUnknown(job, deps);
  const report: UndoReport = {
    outcome: 'busy',
    job: job.id,
    kind: job.kind,
    undo: null,
    files: [],
    turns: 0,
    stays: [],
  };
  const { rows } = changesOf(store.ledger, job.id);
  const sessions = new Set(rows.filter((row) => row.table === 'coverage').map((row) => row.key.session as string));
  const keys = ['dream', ...[...sessions].map((session) => `session:${session}`)];
  try {
    await holdAll(keys, deps, () => takeBack({ job, request, report }, deps));
  } catch (error) {
    if (!isAppError(error, 'refused') || report.stays.length === 0) throw error;
    report.outcome = 'refused';
  }
  return report;
}

function findJob(ledger: Ledger, { job: id, last, partial }: UndoRequest): JobRow {
  if ((id === undefined) === !last) {
    throw new AppError('bad-input', 'Say what to undo: one job, or --last, not both.', {
      remedy: 'nocturne status and nocturne history name the jobs.',
    });
  }
  const found = id ?? lastChangingJob(ledger);
  const job = found && jobRow(ledger, found);
  if (!job) {
    throw new AppError('bad-input', id ? `There is no job ${id} here.` : 'There is no job left to undo here.', {
      remedy: 'nocturne status and nocturne history name the jobs.',
    });
  }
  const undone = undoneBy(ledger, job.id);
  if (undone) {
    throw new AppError('bad-input', `${job.id} was taken back already.`, {
      remedy: `nocturne undo ${undone} redoes it.`,
    });
  }
  if (job.kind === 'undo' && partial) {
    throw new AppError('bad-input', `${job.id} is an undo, which is taken back as a whole or not at all.`);
  }
  return job;
}

/** What a wing kept is put back with what it knows of it, or not at all. */
function refuseUnknown(job: JobRow, { store: { ledger }, wingKinds = [] }: UndoDeps): void {
  const jobs = [job, job.undoes ? jobRow(ledger, job.undoes) : null];
  const unknown = jobs.find((each) => each && !OWN_KINDS.includes(each.kind) && !wingKinds.includes(each.kind));
  if (!unknown) return;
  throw new AppError(
    'bad-input',
    `${unknown.id} is a job of a kind that this nocturne does not have: ${unknown.kind}.`,
    {
      remedy:
        'Undo it with the nocturne that made it, or take the change out by hand: nocturne history names its files.',
    },
  );
}

async function holdAll<T>(keys: string[], deps: UndoDeps, work: () => Promise<T>): Promise<T | null> {
  const [key, ...rest] = keys;
  return key === undefined ? work() : deps.withLease(deps.store, key, () => holdAll(rest, deps, work));
}

interface Run {
  job: JobRow;
  request: UndoRequest;
  report: UndoReport;
}

async function takeBack({ job, request, report }: Run, { store, clock }: UndoDeps): Promise<true> {
  await store.commit({ actor: 'person' }, (ledger) => {
    // 2.
    const changes = changesOf(ledger, job.id);
    if (changes.rows.length + changes.files.length === 0) {
      throw new AppError('bad-input', `${job.id} changed nothing that could be taken back.`);
    }
    const back = new TakingBack(ledger, { job, changes });
    // 3.
    const files = changes.files.filter((file) => !isIndexPath(file.path)).map((file) => back.fileChange(file));
    const index = changes.files.some((file) => isIndexPath(file.path)) ? indexChange(store) : null;
    if (index) files.push(withoutEmpty(index.memory, changes), ...index.overflow());
    return {
      files,
      rows(transaction) {
        index?.finish(transaction);
        // 4.
        report.stays = back.stays();
        const isWhole = report.stays.length === 0;
        if (!isWhole && !request.partial) throw new AppError('refused', `Later work rests on ${job.id}.`);
        // 5.
        report.turns = back.putRowsBack(transaction);
        report.outcome = isWhole ? 'undone' : 'undone-in-part';
        const undoes = { kind: 'undo', undoes: job.id, outcome: report.outcome, now: clock.now() } as const;
        report.undo = enterPersonsJob(transaction, undoes);
        report.files = store.ledger
          .all('select path from version where "commit" = ? order by path', transaction.commit)
          .map((row) => row.path as string);
      },
    };
  });
  return true;
}

function isIndexPath(path: string): boolean {
  return path === 'MEMORY.md' || path.startsWith('index/');
}

/** An index that the job began and that holds nothing any more is no file. */
function withoutEmpty(index: FileChange, changes: JobChanges): FileChange {
  const { path, change } = index;
  const isBegun = changes.files.some((file) => file.path === path && file.steps.at(-1)?.before === null);
  return {
    path,
    change(current) {
      const text = change(current);
      return isBegun && /^(?:# Memory)?\s*$/.test(text ?? '') ? null : text;
    },
  };
}
