// What a job did is taken back, step by step, as far as nobody changed or built on it since; the rest stays, with who did.

import type { Row, Sql } from '../../src/db/sql.ts';
import type { FileChange } from '../../src/memory/commit.ts';
import { rawText } from '../../src/memory/edit-text.ts';
import { headAt, headOf } from '../../src/memory/file-rows.ts';
import { type FileChanges, laterChangesOf, sayChange } from '../../src/memory/job-changes.ts';
import { missingLines, takeBackLines } from '../../src/memory/line-diff.ts';
import { joinLogs, logDay, removeEntries } from '../../src/memory/text/daily-log.ts';
import { bodyStart } from '../../src/memory/text/frontmatter.ts';
import { isTopicFile, parseTopic } from '../../src/memory/text/topic.ts';
import type { Change, RowChange } from '../../src/memory/undo-rows.ts';

/** Something of the job that stays, since it was changed or built on since. */
export interface Staying {
  kind: 'entry' | 'turn' | 'line' | 'file';
  /** The entry's text, the turn's id, the line's text, the file's path. */
  name: string;
  /** Who changed it since: `dream job_…`, `an edit made outside`, `a person`. */
  by: string[];
}

interface Job {
  id: string;
  kind: string;
}

/** Keeps account of what stays of one job. All of it is asked within one commit. */
export function takingBack(sql: Sql, { job, rows }: { job: Job; rows: RowChange[] }) {
  const changed = rows.filter(isChangedSince);
  const idsOf = (table: string, column: string) =>
    changed.flatMap((row) => (row.table === table ? [String(row.key[column])] : []));
  /** Entries whose row or support was changed since: their lines and their turns stay with them. */
  const staying = new Set([...idsOf('entry', 'id'), ...idsOf('rests', 'source')]);
  /** Lines of topics that are no longer there as the job wrote them: the file, a space, the line's id. */
  const linesGone = new Map<string, Staying>();
  const stays: Staying[] = [];

  function textBack(path: string, { steps }: FileChanges, current: string | null) {
    let collisions = 0;
    let text = current;
    for (const step of steps) {
      const [before, after] = [step.before?.text ?? null, step.after?.text ?? null];
      const keep = after !== null && logDay(path) ? missingLines(after, removeEntries(after, staying)) : NONE;
      const day = logDay(path);
      if (text === after && keep.size === 0) text = before;
      // The log of its day was begun again since.
      else if (day && text !== null && after === null && before !== null)
        text = joinLogs(text, before, { day, leftOut: new Set() });
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

const NONE: Set<number> = new Set();

/** Of an entry's row. */
function turnOf(entry: Row | null): Row {
  return { session: entry?.session ?? null, id: entry?.turn ?? null };
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

/** What belongs to a file rather than to a line that a job wrote into it: it stays while others have lines there. */
function frameOf(path: string, text: string): string {
  if (isTopicFile(path)) {
    const body = bodyStart(text);
    return text.slice(0, body) + (/^(?:[ \t]*\r?\n)*/.exec(text.slice(body))?.[0] ?? '');
  }
  return logDay(path) ? (/^# [^\n]*\n\n?/.exec(text)?.[0] ?? '') : '';
}
