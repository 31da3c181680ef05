// Undo: one job's files and ledger rows are taken back in one commit, which can be undone itself.
//
// 1. Find the job, and hold what it and those who build on it work under: the dream's lease, its session's.
// 2. Inside the commit, find what it changed and who changed the same since: that stays.
// 3. Take its lines out of the files, whatever else was written into them meanwhile; rebuild the index.
// 4. Refuse where something stays, unless that was asked for.
// 5. Put the rows back. What it covered becomes `undone`; what no other run had covered is not swept again.
// 6. Name what git has handed on since: that is not taken back there.

import { AppError, isAppError } from '../src/base/errors.ts';
import type { Clock } from '../src/base/time.ts';
import { indexChange } from '../src/memory/dream/index-change.ts';
import { indexFollowing } from '../src/memory/dream/index-follow.ts';
import {
  changedSince,
  changesOf,
  type FileChanges,
  type JobChanges,
  type Pushed,
  pushedBy,
  type RowChange,
} from '../src/memory/history/job-changes.ts';
import { missingLines, takeBackLines } from '../src/memory/history/line-diff.ts';
import { markUnread } from '../src/memory/history/log-items.ts';
import { enterPersonsJob, type JobRow, jobRow, lastChangingJob, undoneBy } from '../src/memory/ledger/job-rows.ts';
import type { Ledger, Row, Transaction } from '../src/memory/ledger/ledger.ts';
import { findId, shortId } from '../src/memory/ledger/short-ids.ts';
import type { Actor } from '../src/memory/ledger/version-rows.ts';
import type { FileChange, Store, WithLease } from '../src/memory/store/store.ts';
import { logDay, removeEntries } from '../src/memory/text/daily-log.ts';
import { isReportPath, takeBackReport } from '../src/memory/text/dream-report.ts';
import { bodyStart } from '../src/memory/text/frontmatter.ts';
import { isIndexPath } from '../src/memory/text/index-file.ts';
import { isTopicFile, parseTopic } from '../src/memory/text/topic.ts';

export interface UndoRequest {
  /** Exactly one of `job` and `last`. */
  job?: string;
  /** The job that changed the directory last and was not taken back. */
  last?: boolean;
  /** Take back what nothing rests on, and leave the rest. */
  partial?: boolean;
}

interface UndoDeps {
  store: Store;
  clock: Clock;
  withLease: WithLease;
  /** Who takes it back; default: a person. */
  actor?: Actor;
  /** For asking git. */
  environment: Record<string, string | undefined>;
}

/** `undo`: the undo's own job, with which it can be undone; null where nothing was changed. */
type UndoEnd = { outcome: 'undone' | 'undone-in-part'; undo: string } | { outcome: 'refused' | 'busy'; undo: null };

export type UndoReport = UndoEnd & {
  /** The job that was to be taken back. */
  job: string;
  kind: JobRow['kind'];
  files: string[];
  /** Turns that are `undone` now. */
  turns: number;
  stays: Staying[];
  /** Lines of it have left this machine in these files, to these branches. */
  pushed: Pushed[];
};

/** What was taken back, and what stays. */
type TakenBack = UndoEnd & Pick<UndoReport, 'files' | 'turns' | 'stays'>;

/** Contract: throws `bad-input` for a job that cannot be undone; every other ending is the report's `outcome`. */
export async function undo(request: UndoRequest, deps: UndoDeps): Promise<UndoReport> {
  const { ledger } = deps.store;
  // 1.
  const job = findJob(ledger, request);
  const covered = changesOf(ledger, job.id).rows.filter((row) => row.table === 'coverage');
  const sessions = new Set(covered.map((row) => `session:${row.key.session}`));
  const done = await holdAll(['dream', ...sessions], deps, () => takeBack(job, request, deps));
  const busy: TakenBack = { outcome: 'busy', undo: null, files: [], turns: 0, stays: [] };
  // 6.
  const pushed = done?.undo ? await pushedBy(deps.store, job.id, deps.environment) : [];
  return { job: job.id, kind: job.kind, ...(done ?? busy), pushed };
}

function findJob(ledger: Ledger, { job: id, last, partial }: UndoRequest): JobRow {
  if ((id === undefined) === !last) {
    throw new AppError('bad-input', 'Say what to undo: one job, or --last, not both.', { remedy: NAMED });
  }
  const found = id ? findId(ledger, 'job', id) : lastChangingJob(ledger)?.id;
  const job = found && jobRow(ledger, found);
  if (!job) {
    throw new AppError('bad-input', id ? `There is no job ${id} here.` : 'There is no job left to undo here.', {
      remedy: NAMED,
    });
  }
  const name = shortId(ledger, 'job', job.id);
  const undone = undoneBy(ledger, job.id);
  if (undone) {
    throw new AppError('bad-input', `${name} was taken back already.`, {
      remedy: `nocturne undo ${shortId(ledger, 'job', undone)} redoes it.`,
    });
  }
  if (job.kind === 'undo' && partial) {
    throw new AppError('bad-input', `${name} is an undo, which is taken back as a whole or not at all.`);
  }
  return job;
}

const NAMED = 'nocturne status and nocturne show --history name the jobs.';

async function holdAll<T>(keys: string[], deps: UndoDeps, work: () => Promise<T>): Promise<T | null> {
  const [key, ...rest] = keys;
  return key === undefined ? work() : deps.withLease(deps.store, key, () => holdAll(rest, deps, work));
}

async function takeBack(job: JobRow, request: UndoRequest, { store, clock, actor }: UndoDeps): Promise<TakenBack> {
  let stays: Staying[] = [];
  let done: TakenBack | undefined;
  try {
    await store.commit({ actor: actor ?? 'person' }, (ledger) => {
      // 2.
      const changes = changesOf(ledger, job.id);
      if (changes.rows.length + changes.files.length === 0) {
        throw new AppError('bad-input', `${shortId(ledger, 'job', job.id)} changed nothing that could be taken back.`);
      }
      const back = takingBack(ledger, { job, changes });
      // 3.
      const files = changes.files.filter((file) => !isIndexPath(file.path)).map((file) => back.fileChange(file));
      const isBuilt = changes.files.some((file) => isIndexPath(file.path));
      const index = isBuilt ? indexChange(store) : indexFollowing(store);
      files.push(...('files' in index ? index.files : [withoutEmpty(index.memory, changes), ...index.overflow()]));
      return {
        files,
        rows(transaction) {
          index.finish(transaction);
          // 4.
          stays = back.stays();
          const isWhole = stays.length === 0;
          if (!isWhole && !request.partial) throw new AppError('refused', `Later work rests on ${job.id}.`);
          // 5.
          const turns = back.putRowsBack(transaction);
          const outcome = isWhole ? 'undone' : 'undone-in-part';
          const by = actor === undefined ? {} : { startedBy: 'program' as const };
          const undoes = { kind: 'undo', undoes: job.id, outcome, now: clock.now(), ...by } as const;
          const undo = enterPersonsJob(transaction, undoes);
          const changed = 'select path from version where "commit" = ? order by path';
          const paths = store.ledger.all(changed, transaction.commit).map((row) => row.path as string);
          done = { outcome, undo, files: paths, turns, stays };
        },
      };
    });
  } catch (error) {
    if (!isAppError(error, 'refused') || stays.length === 0) throw error;
    return { outcome: 'refused', undo: null, files: [], turns: 0, stays };
  }
  return done as TakenBack;
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

/** Something of the job that stays, since it was changed or built on since. */
export interface Staying {
  kind: 'entry' | 'turn' | 'line' | 'file';
  /** The entry's text, the turn's id, the line's text, the file's path. */
  name: string;
  /** Who changed it since. */
  by: string[];
}

/** Takes the changes of one job back, and keeps account of what stays. */
function takingBack(ledger: Ledger, { job, changes }: { job: JobRow; changes: JobChanges }) {
  const rows = changes.rows.filter(({ table }) => table !== 'session' && table !== 'index_line');
  /** Entries whose row or support was changed since: their lines and their turns stay with them. */
  const staying = new Set<string>();
  /** Lines of topics that are no longer there as the job wrote them: `path`, a space, the line's id. */
  const linesGone = new Map<string, Staying>();
  const stays: Staying[] = [];
  /** By the name that the job gave a file, the one that it has again. */
  const moved = new Map<string, string>();
  const isGone = ({ key }: RowChange) => linesGone.has(`${key.path} ${key.line}`);
  for (const row of rows.filter(isChangedSince)) {
    if (row.table === 'entry') staying.add(row.key.id as string);
    if (row.table === 'support') staying.add(row.key.entry as string);
    // A proposal that a person decided on is theirs by now.
    if (row.table !== 'support' && row.table !== 'proposal') stays.push(describeRow(row));
  }

  function takeBackSteps(
    { path, steps }: FileChanges,
    current: string | null,
  ): { text: string | null; collisions: number } {
    let collisions = 0;
    let text = current;
    for (const { before, after } of steps) {
      const keep =
        after !== null && logDay(path) ? missingLines(after, removeEntries(after, staying)) : new Set<number>();
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

  function describeRow({ table, key, after, changedBy }: RowChange): Staying {
    const by = [describeActor(changedBy ?? '')];
    if (table === 'entry') return { kind: 'entry', name: (after?.text ?? key.id) as string, by };
    if (table === 'coverage') return { kind: 'turn', name: key.turn as string, by };
    return { kind: 'file', name: Object.values(key).join(' '), by };
  }

  function describeActor(actor: string): string {
    if (actor === 'external') return 'an edit made outside';
    const id = actor.replace(/^job:/, '');
    return id === actor ? `a ${actor}` : `${jobRow(ledger, id)?.kind ?? 'job'} ${id}`;
  }

  return {
    fileChange(file: FileChanges): FileChange {
      const { path, steps, movedFrom } = file;
      if (movedFrom !== undefined) moved.set(path, movedFrom);
      const change = (current: string | null) => {
        if (isReportPath(path))
          return steps.reduce((text, step) => takeBackReport(path, { ...step, current: text }), current);
        const by = changedSince(ledger, file).map(describeActor);
        const gone = isTopicFile(path) ? goneLines(file, current) : [];
        for (const { id, text } of gone) linesGone.set(`${path} ${id}`, { kind: 'line', name: text, by });
        const { text, collisions } = takeBackSteps(file, current);
        if (collisions > 0 && gone.length === 0) stays.push({ kind: 'file', name: path, by });
        return text;
      };
      return movedFrom === undefined ? { path, change } : { path: movedFrom, from: path, change };
    },
    stays: () => [...stays, ...linesGone.values()],
    /** Answers how many turns are `undone` now. */
    putRowsBack(transaction: Transaction): number {
      // What a line said that was since taken over or taken away is not to be distilled again.
      const takenOver = new Set(
        rows.filter((row) => row.table === 'support' && isGone(row)).map(({ key }) => key.entry),
      );
      const ofStaying = rows.filter(({ table, key }) => table === 'entry' && staying.has(key.id as string));
      const turns = new Set(ofStaying.map(({ after, current }) => (after ?? current)?.turn));
      const undone = new Set<string>();
      for (const row of rows) {
        const { table, key } = row;
        const isStaying =
          isChangedSince(row) ||
          (table === 'entry' && (staying.has(key.id as string) || takenOver.has(key.id as string))) ||
          (table === 'support' && isGone(row)) ||
          (table === 'coverage' && turns.has(key.turn as string));
        if (isStaying) continue;
        const target = table === 'coverage' && job.kind !== 'undo' ? uncovered(row, job) : row.before;
        if (table === 'entry' && target?.state === 'new') markUnread(transaction.ledger, target.day as string);
        if (target) transaction.put(table, target);
        else transaction.drop(table, key);
        const from = table === 'support' && target === null ? moved.get(key.path as string) : undefined;
        // What the lines rested on went along with the file.
        const there = { ...key, path: from ?? '' };
        if (from && !rows.some((other) => other.before && isKey(other, there))) transaction.drop(table, there);
        if (target?.became === 'undone') undone.add(key.turn as string);
      }
      return undone.size;
    },
  };
}

/**
 * Whether the row is not as the job left it. One that is `undone` already, or as before, needs no taking back; a proposal
 * that was pinned again still is the job's.
 */
function isChangedSince({ table, changedBy, after, current }: RowChange): boolean {
  if (table === 'proposal' && current !== null && current.state === after?.state) return false;
  return changedBy !== null && !(table === 'coverage' && current?.became === 'undone');
}

/** A range as it is once its extraction is taken back: as other runs had covered it, else `undone`. */
function uncovered({ before, after }: RowChange, job: JobRow): RowChange['before'] {
  if (!after || after.job !== job.id || after.again === 1) return before;
  return before?.through_message === after.through_message ? before : { ...after, became: 'undone' };
}

/** The lines that the job left in a topic and that are no longer there. */
function goneLines({ path, steps }: FileChanges, current: string | null): { id: string; text: string }[] {
  const linesOf = (text: string | null | undefined) => parseTopic(path, text ?? '').lines;
  const before = new Set(linesOf(steps.at(-1)?.before).map((line) => line.id));
  const now = new Set(linesOf(current).map((line) => line.id));
  return linesOf(steps[0]?.after).filter((line) => !before.has(line.id) && !now.has(line.id));
}

function isKey({ table, key }: RowChange, support: Row): boolean {
  return table === 'support' && ['path', 'line', 'entry'].every((column) => key[column] === support[column]);
}

/** What belongs to a file rather than to a line that a job wrote into it: it stays while others have lines there. */
function frameOf(path: string, text: string): string {
  if (isTopicFile(path)) {
    const body = bodyStart(text);
    return text.slice(0, body) + (/^(?:[ \t]*\r?\n)*/.exec(text.slice(body))?.[0] ?? '');
  }
  return logDay(path) ? (/^# [^\n]*\n\n?/.exec(text)?.[0] ?? '') : '';
}
