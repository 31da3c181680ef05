// Undo: what one job made of files and rows is taken back in one commit, which can be undone itself.
//
// 1. Find the job, and the memories that it changed.
// 2. Inside the commit, find what it changed and who changed the same since: that stays.
// 3. Take its lines out of the files, whatever else was written into them meanwhile; the index follows.
// 4. Refuse where something stays, unless that was asked for, and while a dream, or its session's extraction, is at work.
// 5. Put the rows back. What it covered becomes `undone`; what no other run had covered is not learned by itself again.
// 6. Name what git has handed on since: that is not taken back there.

import { AppError } from '../src/base/errors.ts';
import { marks, newId, type Sql, settingOf } from '../src/db/sql.ts';
import { commitAll, type FileChange, type Plan } from '../src/memory/commit.ts';
import type { Actor } from '../src/memory/file-rows.ts';
import { type FileChanges, fileChangesOf, type Pushed, pushedBy, tooOld } from '../src/memory/job-changes.ts';
import { beginJob, endJob, isAtWork, type JobKind, type StartedBy } from '../src/memory/job-rows.ts';
import { type Memories, memoryRow } from '../src/memory/memories.ts';
import { INDEX, withBuiltIndex, withFollowingIndex } from '../src/memory/memory-index.ts';
import { type Change, keyFrom, rowChangesOf, type UndoTable } from '../src/memory/undo-rows.ts';
import { type Staying, takingBack } from './undo/taking-back.ts';

export interface UndoRequest {
  /** `job_…` */
  job: string;
  /** Take back what nothing rests on, and leave the rest; default false. */
  partial?: boolean;
}

export interface UndoDeps {
  memories: Memories;
  /** Who takes it back; default: a person. */
  actor?: Actor;
  /** For asking git. */
  environment: Record<string, string | undefined>;
}

export interface UndoReport {
  /** `busy`: a dream of the memory, or the extraction of one of its sessions, is at work; `refused`: `stays` says why. */
  outcome: 'undone' | 'undone-in-part' | 'refused' | 'busy';
  /** The undo's own job, with which it can be undone; null where nothing was changed. */
  undo: string | null;
  /** The job that was to be taken back. */
  job: string;
  kind: JobKind;
  /** Paths that were changed. */
  files: string[];
  /** Turns that are `undone` now. */
  turns: number;
  stays: Staying[];
  /** Lines of it have left this machine in these files, to these branches. */
  pushed: Pushed[];
}

interface JobRow {
  id: string;
  kind: JobKind;
}

/**
 * Errors: `bad-input` for a job that is not there, was taken back already or changed nothing; `refused` where what it would
 * need is not kept any more. Every other ending is the report's `outcome`.
 */
export async function undo({ job: id, partial = false }: UndoRequest, deps: UndoDeps): Promise<UndoReport> {
  const { memories, environment, actor = { kind: 'user', id: null } } = deps;
  const { db, clock } = memories;
  // 1.
  const job = await jobToUndo(db, id, partial);
  const changed = await memoriesOf(db, id);
  for (const memory of changed) await memories.of(memory);
  const own = newId('job');
  const nothing = { undo: null, job: id, kind: job.kind, files: [], turns: 0, stays: [], pushed: [] };
  let report: UndoReport = { ...nothing, outcome: 'refused' };
  const plan = async (sql: Sql): Promise<Plan[]> => {
    // 2.
    const [rows, files] = [await rowChangesOf(sql, id), await fileChangesOf(sql, id)];
    if (rows.length + files.length === 0)
      throw new AppError('bad-input', `${id} changed nothing that could be taken back.`);
    const back = takingBack(sql, { job, rows });
    await back.noteRows();
    // 3.
    const plans: Plan[] = [];
    for (const memory of changed) {
      const ofMemory = files.filter((file) => file.memory === memory);
      plans.push(await planOf(sql, memory, { files: ofMemory, back }));
    }
    // 4.
    const stays = back.stays();
    report = { ...report, stays };
    if (await isAtWork(sql, { memories: changed, sessions: back.sessions, now: clock.now() }))
      throw new NotTakenBack('busy');
    if (stays.length > 0 && !partial) throw new NotTakenBack('refused');
    // 5.
    const outcome = stays.length > 0 ? 'undone-in-part' : 'undone';
    return ending(plans, async (change) => {
      const turns = await back.putRowsBack(change);
      const versions = 'select distinct path from version where change = ? order by path';
      const files = (await sql.all<{ path: string }>(versions, change.id)).map(({ path }) => path);
      report = { ...report, outcome, undo: own, files, turns };
      await enterUndo(change, { report, actor, memory: changed[0] as string });
    });
  };
  try {
    const targets = changed.map((memory) => ({ memory, paths: 'all' as const }));
    await commitAll(memories, targets, { job: own, actor }, plan);
  } catch (error) {
    if (!(error instanceof NotTakenBack)) throw error;
    return { ...report, outcome: error.outcome, ...(error.outcome === 'busy' && { stays: [] }) };
  }
  // 6.
  return { ...report, pushed: await pushedBy(db, { job: id, environment }) };
}

class NotTakenBack extends Error {
  readonly outcome: 'refused' | 'busy';
  constructor(outcome: 'refused' | 'busy') {
    super(outcome);
    this.outcome = outcome;
  }
}

/**
 * The job, no undo, that changed one of these memories last and was not taken back, with when it did; undefined: none.
 * `startedBy`: only of those.
 */
export async function lastJob(
  sql: Sql,
  { memories, startedBy }: { memories: readonly string[]; startedBy?: StartedBy },
): Promise<{ id: string; at: string } | undefined> {
  return sql.get(
    `select job.id, change.at from change join job on job.id = change.job
     where change.undone_by is null and job.kind <> 'undo' and job.memory in (${marks(memories)})
       ${startedBy ? 'and job.started_by = ?' : ''} order by change.n desc limit 1`,
    ...[...memories, ...(startedBy ? [startedBy] : [])],
  );
}

async function jobToUndo(sql: Sql, id: string, partial: boolean): Promise<JobRow> {
  const job = await sql.get<JobRow & { at: string }>('select id, kind, created_at as at from job where id = ?', id);
  if (!job) {
    throw new AppError('bad-input', `There is no job ${id} here.`, {
      remedy: 'nocturne and nocturne show --history name the jobs.',
    });
  }
  const undone = await sql.get<{ job: string }>(
    'select b.job from change a join change b on b.id = a.undone_by where a.job = ?',
    id,
  );
  if (undone) {
    throw new AppError('bad-input', `${id} was taken back already.`, {
      remedy: `nocturne undo ${undone.job} redoes it.`,
    });
  }
  if (job.kind === 'undo' && partial)
    throw new AppError('bad-input', `${id} is an undo, which is taken back as a whole or not at all.`);
  const keptFrom = await settingOf(sql, 'undo_from');
  if (keptFrom !== undefined && job.at < keptFrom) throw tooOld(id);
  return job;
}

/** All in which it changed something. */
async function memoriesOf(sql: Sql, job: string): Promise<string[]> {
  const ofFiles = await sql.all<{ memory: string }>(
    `select distinct v.memory from version v join change c on c.id = v.change where c.job = ?
     union select memory from job where id = ? and memory is not null`,
    ...[job, job],
  );
  const ofRows = await sql.all<{ tbl: UndoTable; key: string }>(
    'select u.tbl, u.key from undo u join change c on c.id = u.change where c.job = ?',
    job,
  );
  const memories = [...ofFiles, ...ofRows.map(({ tbl, key }) => keyFrom(tbl, key))].map(({ memory }) => memory);
  return [...new Set(memories)].filter((memory) => typeof memory === 'string').sort();
}

async function planOf(
  sql: Sql,
  memory: string,
  { files, back }: { files: FileChanges[]; back: ReturnType<typeof takingBack> },
): Promise<Plan> {
  const changes: FileChange[] = [];
  for (const file of files) if (!isIndex(file)) changes.push(...(await back.fileBack(file)));
  const { dir } = (await memoryRow(sql, memory)) ?? { dir: null };
  const at = { id: memory, dir };
  const ofIndex = files.filter(isIndex);
  if (ofIndex.length === 0) return withFollowingIndex(sql, at, changes);
  const built = await withBuiltIndex(sql, at, changes);
  const isBegun = ofIndex.some(({ steps }) => steps[0]?.after?.path === INDEX && steps.at(-1)?.before === null);
  // One that the job began and that holds nothing any more is no file.
  const make = (text: string | null) => (isBegun && /^(?:# Memory)?\s*$/.test(text ?? '') ? null : text);
  return {
    ...built,
    files: built.files.map((each) => (each.path === INDEX ? { ...each, make: (now) => make(each.make(now)) } : each)),
  };
}

function isIndex({ steps }: FileChanges): boolean {
  return steps.some(({ before, after }) => /^(?:MEMORY\.md$|index\/)/.test(after?.path ?? before?.path ?? ''));
}

/** The plans, the last of which does this, too. */
function ending(plans: Plan[], end: (change: Change) => Promise<void>): Plan[] {
  return plans.map(({ files, rows }, at) => ({
    files,
    async rows(change, heads) {
      await rows?.(change, heads);
      if (at === plans.length - 1) await end(change);
    },
  }));
}

/** The undo as a job; what it took back says so, unless something stays of it, and what it redid does no more. */
async function enterUndo(
  change: Change,
  { report, actor, memory }: { report: UndoReport; actor: Actor; memory: string },
): Promise<void> {
  const { sql, at } = change;
  const { undo: id, job, outcome, files, turns, stays } = report;
  if (id === null) return;
  const startedBy = actor.kind === 'user' ? 'person' : actor.kind === 'api' ? 'api' : 'program';
  await beginJob(sql, { id, kind: 'undo', memory, startedBy, request: { job }, undoes: job, at });
  await endJob(sql, id, { outcome, output: { files, turns, stays }, at });
  if (outcome !== 'undone') return;
  await sql.run('update change set undone_by = null where undone_by in (select id from change where job = ?)', job);
  await sql.run('update change set undone_by = ? where job = ?', change.id, job);
}
