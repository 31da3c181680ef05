// Undo: what one job made of files and rows is taken back in one commit, which can be undone itself.
//
// 1. Find the job, and the memories that it changed.
// 2. Inside the commit, find what it changed and who changed the same since: that stays.
// 3. Take its lines out of the files, whatever else was written into them meanwhile; the index follows.
// 4. Refuse where something stays, unless that was asked for, and while a dream, or its session's extraction, is at work.
// 5. Put the rows back. What it covered becomes `undone`; what no other run had covered is not learned by itself again.
// 6. Name what git has handed on since: that is not taken back there.

import { AppError } from '../../base/errors.ts';
import { missingLines, takeBackLines } from '../../memory/history/line-diff.ts';
import { rawText } from '../../memory/store/edit-text.ts';
import { logDay, removeEntries } from '../../memory/text/daily-log.ts';
import { bodyStart } from '../../memory/text/frontmatter.ts';
import { isTopicFile, parseTopic } from '../../memory/text/topic.ts';
import { marks, newId, type Row, type Sql } from '../db/sql.ts';
import { commitAll, type FileChange, type Plan } from '../memory/commit.ts';
import { type Actor, headOf } from '../memory/file-rows.ts';
import {
  type FileChanges,
  fileChangesOf,
  laterChangesOf,
  type Pushed,
  pushedBy,
  sayChange,
  tooOld,
} from '../memory/job-changes.ts';
import { beginJob, endJob, type JobKind, type StartedBy } from '../memory/job-rows.ts';
import type { Memories } from '../memory/memories.ts';
import { type Change, keyFrom, type RowChange, rowChangesOf, type UndoTable } from '../memory/undo-rows.ts';

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
  /** What MEMORY.md becomes; default: it is taken back as any other file. */
  index?: IndexOf;
}

/** What is to be done to the index of a memory once these of its files have these texts; asked within the commit. */
export type IndexOf = (
  sql: Sql,
  of: { memory: string; files: { path: string; text: string | null }[] },
) => Promise<Plan>;

/** Something of the job that stays, since it was changed or built on since. */
export interface Staying {
  kind: 'entry' | 'turn' | 'line' | 'file';
  /** The entry's text, the turn's id, the line's text, the file's path. */
  name: string;
  /** Who changed it since: `dream job_…`, `an edit made outside`, `a person`. */
  by: string[];
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
    const back = new TakingBack(sql, { job, rows });
    await back.nameChanged();
    // 3.
    const plans: Plan[] = [];
    for (const memory of changed) {
      const ofMemory = files.filter((file) => file.memory === memory);
      plans.push(await planOf(back, { memory, files: ofMemory, index: deps.index }));
    }
    // 4.
    const { stays } = back;
    report = { ...report, stays };
    if (await isWorkedOn(sql, { memories: changed, sessions: back.sessions, now: clock.now() }))
      throw new NotTakenBack('busy');
    if (stays.length > 0 && !partial) throw new NotTakenBack('refused');
    // 5.
    const outcome = stays.length > 0 ? 'undone-in-part' : 'undone';
    const paths = plans.flatMap((each) => each.files.map(({ path }) => path));
    return ending(plans, async (change) => {
      const turns = await back.putRowsBack(change, { withIndex: deps.index === undefined });
      report = { ...report, outcome, undo: own, files: [...new Set(paths)].sort(), turns };
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
  const kept = await sql.get<{ value: string }>("select value from setting where key = 'undo_from'");
  if (kept && job.at < kept.value) throw tooOld(id);
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

/** Whether a dream works on one of the memories, or an extraction on one of the sessions. */
async function isWorkedOn(
  sql: Sql,
  { memories, sessions, now }: { memories: string[]; sessions: string[]; now: Date },
): Promise<boolean> {
  const held = await sql.all<{ kind: string; memory: string; key: string }>(
    `select kind, memory, key from inbox where owner is not null and until > ? and memory in (${marks(memories)})`,
    ...[now.toISOString(), ...memories],
  );
  return held.some(({ kind, key }) => kind === 'dream' || sessions.includes(key));
}

async function planOf(
  back: TakingBack,
  { memory, files, index }: { memory: string; files: FileChanges[]; index: UndoDeps['index'] },
): Promise<Plan> {
  const isIndex = (path: string) => index !== undefined && /^(?:MEMORY\.md$|index\/)/.test(path);
  const changes: (FileChange & { text: string | null })[] = [];
  for (const file of files) changes.push(...(await back.fileBack(file)));
  const own = changes.filter(({ path }) => !isIndex(path));
  const built = await index?.(back.sql, { memory, files: own });
  return { files: [...own, ...(built?.files ?? [])], rows: built?.rows };
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

/** Takes the changes of one job back, and keeps account of what stays. */
class TakingBack {
  readonly sql: Sql;
  readonly #job: JobRow;
  readonly #rows: RowChange[];
  /** Entries whose row or support was changed since: their lines and their turns stay with them. */
  readonly #staying: Set<string>;
  /** Lines of topics that are no longer there as the job wrote them: the file, a space, the line's id. */
  readonly #gone = new Map<string, Staying>();
  readonly #stays: Staying[] = [];

  constructor(sql: Sql, { job, rows }: { job: JobRow; rows: RowChange[] }) {
    this.sql = sql;
    this.#job = job;
    this.#rows = rows;
    const changed = rows.filter(isChangedSince);
    const idsOf = (table: string, column: string) =>
      changed.flatMap((row) => (row.table === table ? [String(row.key[column])] : []));
    this.#staying = new Set([...idsOf('entry', 'id'), ...idsOf('rests', 'source')]);
  }

  get stays(): Staying[] {
    return [...this.#stays, ...this.#gone.values()];
  }

  /** Those of which it covered turns. */
  get sessions(): string[] {
    return [...new Set(this.#rows.flatMap(({ table, key }) => (table === 'turn' ? [String(key.session)] : [])))];
  }

  /** Notes which rows stay. What a line rests on follows the line, and a proposal that a person decided on is theirs. */
  async nameChanged(): Promise<void> {
    for (const { table, key, after, changedBy } of this.#rows.filter(isChangedSince)) {
      if (table === 'rests' || table === 'proposal') continue;
      const [kind, name] =
        table === 'entry' ? (['entry', after?.text ?? key.id] as const) : (['turn', key.id] as const);
      this.#stays.push({ kind, name: String(name), by: [await sayChange(this.sql, changedBy ?? '')] });
    }
  }

  /** What becomes of a file; nothing where it stands as it was before already. */
  async fileBack(file: FileChanges): Promise<(FileChange & { text: string | null })[]> {
    const head = await headOf(this.sql, file.memory, file.file);
    const current = head?.content ? rawText(head.content) : null;
    const [first] = file.steps;
    const before = file.steps.at(-1)?.before?.path;
    // A name that it got since stays.
    const isBack = head?.path == null || head.path === first?.after?.path;
    const path = (isBack ? before : undefined) ?? head?.path ?? first?.after?.path ?? '';
    const gone = isTopicFile(path) ? goneLines(path, { file, current }) : [];
    const { text, collisions } = this.#textBack(path, { file, current });
    if (gone.length > 0 || collisions > 0) {
      const by = await laterChangesOf(this.sql, file);
      for (const { id, text: name } of gone) this.#gone.set(`${file.file} ${id}`, { kind: 'line', name, by });
      if (gone.length === 0) this.#stays.push({ kind: 'file', name: path, by });
    }
    if (text === current && (text === null || path === head?.path)) return [];
    const from = head?.path != null && head.path !== path ? { from: head.path } : {};
    return [{ path, ...from, file: file.file, make: () => text, text }];
  }

  #textBack(path: string, { file, current }: { file: FileChanges; current: string | null }) {
    let collisions = 0;
    let text = current;
    for (const step of file.steps) {
      const [before, after] = [step.before?.text ?? null, step.after?.text ?? null];
      const keep =
        after !== null && logDay(path) ? missingLines(after, removeEntries(after, this.#staying)) : new Set<number>();
      if (text === after && keep.size === 0) text = before;
      else if (text === null || after === null) collisions += text === before ? 0 : 1;
      else {
        const frame = frameOf(path, after);
        const back = takeBackLines({ before: before ?? frame, after, current: text }, keep);
        collisions += back.collisions;
        text = before === null && back.text.trim() === frame.trim() ? null : back.text;
      }
    }
    return { text, collisions };
  }

  /** Answers how many turns are `undone` now. */
  async putRowsBack(change: Change, { withIndex }: { withIndex: boolean }): Promise<number> {
    const isGone = ({ table, key }: RowChange) => table === 'rests' && this.#gone.has(`${key.file} ${key.line}`);
    // What a line said that was since taken over or taken away is not to be distilled again.
    const takenOver = new Set(this.#rows.filter(isGone).map(({ key }) => key.source));
    const turnOf = (row: Row | null) => `${row?.session} ${row?.turn}`;
    const turns = new Set(
      this.#rows.flatMap(({ table, key, after, current }) =>
        table === 'entry' && this.#staying.has(String(key.id)) ? [turnOf(after ?? current)] : [],
      ),
    );
    const before = coveredBefore(this.#rows);
    let undone = 0;
    for (const row of this.#rows) {
      const { table, key, current } = row;
      const isStaying =
        isChangedSince(row) ||
        isGone(row) ||
        (table === 'entry' && (this.#staying.has(String(key.id)) || takenOver.has(String(key.id)))) ||
        (table === 'turn' && turns.has(nameOfTurn(key))) ||
        (table === 'rests' && key.source === 'index' && !withIndex);
      if (isStaying) continue;
      const target = table === 'turn' && this.#job.kind !== 'undo' ? uncovered(row, this.#job, before) : row.back;
      if (target) await change.put(table, target);
      else await change.drop(table, key);
      if (table === 'turn' && target?.state === 'undone' && current?.state !== 'undone') undone += 1;
    }
    return undone;
  }
}

/** A turn that is `undone` already needs no taking back; a proposal that was written again still is the job's. */
function isChangedSince({ table, changedBy, after, current }: RowChange): boolean {
  if (changedBy === null || (table === 'turn' && current?.state === 'undone')) return false;
  return table !== 'proposal' || current === null || current.state !== after?.state;
}

/** The turns all of which other runs had covered before, however the job divided them. */
function coveredBefore(rows: readonly RowChange[]): Set<string> {
  const turns = Map.groupBy(rows, ({ table, key }) => (table === 'turn' ? nameOfTurn(key) : ''));
  turns.delete('');
  const wasWhole = (of: RowChange[]) =>
    of.some(({ back }) => back && of.some((row) => row.after?.through === back.through));
  return new Set([...turns].flatMap(([turn, of]) => (wasWhole(of) ? turn : [])));
}

function nameOfTurn({ session, id }: Row): string {
  return `${session} ${id}`;
}

/** A range of a turn as it is once its extraction is taken back: as other runs had covered it, else `undone`. */
function uncovered({ key, back, after }: RowChange, job: JobRow, before: Set<string>): Row | null {
  if (!after || after.job !== job.id || before.has(nameOfTurn(key))) return back;
  return { ...after, state: 'undone', reason: null };
}

/** The lines that the job left in a topic and that are no longer there. */
function goneLines(path: string, { file, current }: { file: FileChanges; current: string | null }) {
  const linesOf = (text = '') => parseTopic(path, text).lines;
  const before = new Set(linesOf(file.steps.at(-1)?.before?.text).map((line) => line.id));
  const now = new Set(linesOf(current ?? '').map((line) => line.id));
  return linesOf(file.steps[0]?.after?.text).filter((line) => !before.has(line.id) && !now.has(line.id));
}

/** What belongs to a file rather than to a line that a job wrote into it: it stays while others have lines there. */
function frameOf(path: string, text: string): string {
  if (isTopicFile(path)) {
    const body = bodyStart(text);
    return text.slice(0, body) + (/^(?:[ \t]*\r?\n)*/.exec(text.slice(body))?.[0] ?? '');
  }
  return logDay(path) ? (/^# [^\n]*\n\n?/.exec(text)?.[0] ?? '') : '';
}
