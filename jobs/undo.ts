// Undo: what one job made of files and rows is taken back in one commit, which can be undone itself.
//
// 1. Find the job, and the memories that it changed.
// 2. Inside the commit, find what it changed and who changed the same since: that stays.
// 3. Take its lines out of the files, whatever else was written into them meanwhile; the index follows.
// 4. Refuse where something stays, unless that was asked for, and while a dream, or its session's extraction, is at work.
// 5. Put the rows back. What it covered becomes `undone`; what no other run had covered is not learned by itself again.

import { AppError } from '../src/base/errors.ts';
import { marks, newId, type Row, type Sql, settingOf } from '../src/db/sql.ts';
import { commitAll, type FileChange, type Plan, withRows } from '../src/memory/commit.ts';
import { mergeLines, rawText } from '../src/memory/edit-text.ts';
import { type Actor, headAt, headOf } from '../src/memory/file-rows.ts';
import {
  enterJob,
  type FileChanges,
  fileChangesOf,
  isAtWork,
  type JobKind,
  laterChangesOf,
  type StartedBy,
  sayChange,
  startedBy,
  tooOld,
} from '../src/memory/job-rows.ts';
import { type Memories, memoryRow } from '../src/memory/memories.ts';
import { INDEX, withBuiltIndex, withFollowingIndex } from '../src/memory/memory-index.ts';
import { joinLogs, logDay, parseLog } from '../src/memory/text/daily-log.ts';
import { bodyStart } from '../src/memory/text/frontmatter.ts';
import { isTopicFile, parseTopic } from '../src/memory/text/topic.ts';
import { type Change, keyFrom, type RowChange, rowChangesOf, rowsWrittenBy } from '../src/memory/undo-rows.ts';
import { markForgotten } from './after-restore.ts';

export interface UndoRequest {
  /** `job_…` */
  job: string;
  /** Take back what nothing rests on, and leave the rest; default false. */
  partial?: boolean;
}

interface UndoDeps {
  memories: Memories;
  /** Who takes it back; default: a person. */
  actor?: Actor;
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
}

type JobRow = { id: string; kind: JobKind };

/**
 * Errors: `bad-input` for a job that is not there, was taken back already or changed nothing; `refused` where what it would
 * need is not kept any more. Every other ending is the report's `outcome`.
 */
export async function undo({ job: id, partial = false }: UndoRequest, deps: UndoDeps): Promise<UndoReport> {
  const { memories, actor = { kind: 'user', id: null } } = deps;
  const { db, clock } = memories;
  // 1.
  const job = await jobToUndo(db, id, partial);
  const changed = await memoriesOf(db, id);
  for (const memory of changed) await memories.of(memory);
  const own = newId('job');
  const nothing = { undo: null, job: id, kind: job.kind, files: [], turns: 0, stays: [] };
  let report: UndoReport = { ...nothing, outcome: 'refused' };
  let isOfEntries = false;
  const plan = async (sql: Sql): Promise<Plan[]> => {
    // 2.
    const [rows, files] = [await rowChangesOf(sql, id), await fileChangesOf(sql, id)];
    if (rows.length + files.length === 0)
      throw new AppError('bad-input', `${id} changed nothing that could be taken back.`);
    isOfEntries = rows.some(({ table }) => table === 'entry');
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
    const isBusy = await isAtWork(sql, { memories: changed, sessions: back.sessions, now: clock.now() });
    if (isBusy) report = { ...report, outcome: 'busy', stays: [] };
    if (isBusy || (stays.length > 0 && !partial)) return [];
    // 5.
    const outcome = stays.length > 0 ? 'undone-in-part' : 'undone';
    const end = async (change: Change) => {
      const turns = await back.putRowsBack(change);
      const versions = 'select distinct path from version where change = ? order by path';
      const files = (await sql.all<{ path: string }>(versions, change.id)).map(({ path }) => path);
      report = { ...report, outcome, undo: own, files, turns };
      await enterUndo(change, { report, actor, memory: changed[0] as string });
    };
    return plans.map((each, at) => (at === plans.length - 1 ? withRows(each, end) : each));
  };
  const targets = changed.map((memory) => ({ memory, paths: 'all' as const }));
  await commitAll(memories, targets, { job: own, actor }, plan);
  if (report.undo !== null && isOfEntries) await markForgotten(memories);
  return report;
}

/**
 * The job, no undo, that changed one of these memories last and was not taken back, not in part either; undefined: none.
 * `startedBy`: only of those.
 */
export async function lastJob(
  sql: Sql,
  { memories, startedBy }: { memories: readonly string[]; startedBy?: StartedBy },
): Promise<{ id: string; memory: string } | undefined> {
  return sql.get(
    `select job.id, job.memory from change join job on job.id = change.job
     where change.undone_by is null and job.kind <> 'undo' and job.memory in (${marks(memories)}) and not exists (select 1
       from job u join change k on k.job = u.id where u.undoes = job.id and k.undone_by is null)
       ${startedBy ? 'and job.started_by = ?' : ''} order by change.n desc limit 1`,
    ...[...memories, ...(startedBy ? [startedBy] : [])],
  );
}

async function jobToUndo(sql: Sql, id: string, partial: boolean): Promise<JobRow> {
  const job = await sql.get<JobRow & { at: string }>('select id, kind, created_at as at from job where id = ?', id);
  if (!job) {
    throw new AppError('bad-input', `There is no job ${id} here.`, {
      remedy: 'nocturne show --history names them.',
    });
  }
  const by = 'select b.job from change a join change b on b.id = a.undone_by where a.job = ?';
  const undone = await sql.get<{ job: string }>(by, id);
  if (undone) {
    const remedy = `nocturne undo ${undone.job} redoes it.`;
    throw new AppError('bad-input', `${id} was taken back already.`, { remedy });
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
  const ofRows = (await rowsWrittenBy(sql, job)).map(({ table, key }) => keyFrom(table, key));
  const memories = [...ofFiles, ...ofRows].map(({ memory }) => memory);
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
    files: built.files.map((each) =>
      each.path === INDEX ? { ...each, make: async (now) => make(await each.make(now)) } : each,
    ),
  };
}

function isIndex({ steps }: FileChanges): boolean {
  return steps.some(({ before, after }) => (after ?? before)?.path === INDEX);
}

/** The undo as a job; what it took back says so, unless something stays of it, and what it redid does no more. */
async function enterUndo(
  change: Change,
  { report, actor, memory }: { report: UndoReport; actor: Actor; memory: string },
): Promise<void> {
  const { sql } = change;
  const { undo: id, job, outcome, files, turns, stays } = report;
  if (id === null) return;
  const of = { kind: 'undo', memory, startedBy: startedBy(actor), request: { job }, undoes: job } as const;
  await enterJob(change, { ...of, outcome, output: { files, turns, stays } });
  if (outcome !== 'undone') return;
  await sql.run('update change set undone_by = null where undone_by in (select id from change where job = ?)', job);
  await sql.run('update change set undone_by = ? where job = ?', change.id, job);
}

/** Something of the job that stays, since it was changed or built on since. */
interface Staying {
  kind: 'entry' | 'turn' | 'line' | 'file';
  /** The entry's text, the turn's id, the line's text, the file's path. */
  name: string;
  /** Who changed it since: `dream job_…`, `an edit made outside`, `a person`. */
  by: string[];
}

type Job = { id: string; kind: string };

/** Keeps account of what stays of one job. All of it is asked within one commit. */
function takingBack(sql: Sql, { job, rows }: { job: Job; rows: RowChange[] }) {
  const changed = rows.filter(isChangedSince);
  const idsOf = (table: string, column: string) =>
    changed.flatMap((row) => (row.table === table ? [String(row.key[column])] : []));
  /** Entries whose row or support was changed since: their lines and their turns stay with them. */
  const staying = new Set([...idsOf('entry', 'id'), ...idsOf('rests', 'source')]);
  /** Lines of topics that are no longer there as the job wrote them: the file, a space, the line's id. */
  const linesGone = new Map<string, Staying>();
  const stays: Staying[] = [];

  /** What a file was before; of a log with the entries that stay. */
  function targetOf(path: string, { before, after }: FileChanges['steps'][number]): string | null {
    const day = logDay(path);
    const ids = day && after ? parseLog(after.text, day).map(({ id }) => id) : [];
    const leftOut = new Set(ids.filter((id) => !staying.has(id)));
    if (!day || !after || leftOut.size === ids.length) return before?.text ?? null;
    return joinLogs(before?.text ?? frameOf(path, after.text), after.text, { day, leftOut });
  }

  function textBack(path: string, { steps }: FileChanges, current: string | null) {
    let collisions = 0;
    let text = current;
    for (const step of steps) {
      const [before, after] = [targetOf(path, step), step.after?.text ?? null];
      const day = logDay(path);
      if (text === after) text = before;
      else if (day && before !== null && (text === null || after === null)) {
        // The log of its day was emptied, or begun again, since: what the job left in it was taken out by others.
        const leftOut = new Set(after === null ? [] : parseLog(after, day).map(({ id }) => id));
        const frame = frameOf(path, before);
        text = orNone(joinLogs(text ?? frame, before, { day, leftOut }), frame);
      } else if (after === null) collisions += text === before ? 0 : 1;
      else {
        const frame = frameOf(path, after);
        const back = mergeLines(after, { ours: before ?? frame, external: text ?? frame });
        collisions += back.collisions;
        text = before === null || text === null ? orNone(back.text, frame) : back.text;
      }
    }
    return { text, collisions };
  }

  return {
    /** Those of which it covered turns. */
    sessions: [...new Set(rows.flatMap(({ table, key }) => (table === 'turn' ? [String(key.session)] : [])))],
    stays: () => [...stays, ...linesGone.values()],

    /** Notes which rows stay. What a line rests on follows the line, and a proposal that a person decided on is theirs. */
    async noteRows(): Promise<void> {
      for (const { table, key, after, changedBy } of changed) {
        if (table !== 'entry' && table !== 'turn') continue;
        const name = table === 'entry' ? (after?.text ?? key.id) : key.id;
        stays.push({ kind: table, name: String(name), by: [await sayChange(sql, changedBy ?? '')] });
      }
    },

    /** What becomes of a file; nothing where it stands as it was before already. */
    async fileBack(file: FileChanges): Promise<FileChange[]> {
      const own = await headOf(sql, file.memory, file.file);
      const log = file.steps.at(-1)?.before?.path ?? '';
      const head = own?.path == null && logDay(log) ? ((await headAt(sql, file.memory, log)) ?? own) : own;
      const current = head?.content ? rawText(head.content) : null;
      const [first] = file.steps;
      const before = file.steps.at(-1)?.before?.path;
      // A name that it got since stays.
      const isBack = head?.path == null || head.path === first?.after?.path;
      const path = (isBack ? before : undefined) ?? head?.path ?? first?.after?.path ?? '';
      const gone = isTopicFile(path) ? goneLines(path, { file, current }) : [];
      const { text, collisions } = textBack(path, file, current);
      if (gone.length > 0 || collisions > 0) {
        const by = await laterChangesOf(sql, file);
        for (const { id, text: name } of gone) linesGone.set(`${file.file} ${id}`, { kind: 'line', name, by });
        if (gone.length === 0) stays.push({ kind: 'file', name: path, by });
      }
      if (text === current && (text === null || path === head?.path)) return [];
      const from = head?.path != null && head.path !== path ? { from: head.path } : {};
      return [{ path, ...from, file: head?.id ?? file.file, make: () => text }];
    },

    /** Answers how many turns are `undone` now. Whoever builds the index says which of its lines are generated. */
    async putRowsBack(change: Change): Promise<number> {
      const isGone = ({ table, key }: RowChange) => table === 'rests' && linesGone.has(`${key.file} ${key.line}`);
      // What a line said that was since taken over or taken away is not to be distilled again.
      const takenOver = new Set(rows.filter(isGone).map(({ key }) => key.source));
      const entriesStay = rows.filter(({ table, key }) => table === 'entry' && staying.has(String(key.id)));
      const turns = new Set(entriesStay.map(({ after, current }) => nameOfTurn(turnOf(after ?? current))));
      const before = coveredBefore(rows);
      const undone = new Set<string>();
      for (const row of rows) {
        const { table, key, current } = row;
        const isStaying =
          isChangedSince(row) ||
          isGone(row) ||
          (table === 'entry' && (staying.has(String(key.id)) || takenOver.has(String(key.id)))) ||
          (table === 'turn' && turns.has(nameOfTurn(key))) ||
          (table === 'rests' && key.source === 'index');
        if (isStaying) continue;
        const target = table === 'turn' && job.kind !== 'undo' ? uncovered(row, job, before) : row.back;
        if (target) await change.put(table, target);
        else await change.drop(table, key);
        if (table === 'turn' && target?.state === 'undone' && current?.state !== 'undone') undone.add(nameOfTurn(key));
      }
      return undone.size;
    },
  };
}

/** Of an entry's row. */
function turnOf(entry: Row | null): Row {
  return { session: entry?.session ?? null, id: entry?.turn ?? null };
}

/** A turn that is `undone`, or an entry that was withdrawn, needs no taking back; a proposal that was written again still is the job's. */
function isChangedSince({ table, changedBy, after, current }: RowChange): boolean {
  if (changedBy === null || (table === 'turn' && current?.state === 'undone')) return false;
  if (table === 'entry' && current?.reason === 'withdrawn') return false;
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
function uncovered({ key, back, after }: RowChange, job: Job, before: Set<string>): Row | null {
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

/** Nothing where nothing but the frame is left. */
function orNone(text: string, frame: string): string | null {
  return text.trim() === frame.trim() ? null : text;
}

/** What belongs to a file rather than to a line that a job wrote into it: it stays while others have lines there. */
function frameOf(path: string, text: string): string {
  if (isTopicFile(path)) {
    const body = bodyStart(text);
    return text.slice(0, body) + (/^(?:[ \t]*\r?\n)*/.exec(text.slice(body))?.[0] ?? '');
  }
  return logDay(path) ? (/^# [^\n]*\n\n?/.exec(text)?.[0] ?? '') : '';
}
