// Entries: what was learned, with the words it rests on, and what became of it. Their words stand in the daily logs, too; what a
// person makes of a line there is theirs (`handEdits`).
// Promises: an entry that was forgotten keeps its row, so that the same is not learned again from the same source, however it is
// worded the next time. Another session may say it again.

import type { Day } from '../base/time.ts';
import { allOf, type Sql, type Value } from '../db/sql.ts';
import type { Found } from '../rules/lessons.ts';
import type { Entry, Evidence } from './memory-types.ts';
import { fold } from './text/blocks.ts';
import type { LogItem } from './text/daily-log.ts';
import { lineId } from './text/topic.ts';
import type { Change } from './undo-rows.ts';

/** `new`: it waits for a night. `placed`: a line of a topic rests on it. `archived`: that line was put away. `gone`: see the reason. */
export type EntryState = 'new' | 'placed' | 'dropped' | 'archived' | 'gone';

/** `withdrawn`: a person took it out of its log. `replaced`: its turn was extracted again and gave something else. */
export type GoneReason = 'withdrawn' | 'forgotten' | 'undone' | 'replaced';

export interface EntryRow extends Omit<Entry, 'session' | 'turn'> {
  memory: string;
  /** Id of the session's row; null: no session said it. */
  session: string | null;
  turn: string | null;
  job: string;
  state: EntryState;
  /** Of what is gone a `GoneReason`; of what was dropped why, in words. */
  reason: string | null;
}

/** Who is the author of words that a person wrote into a log, or changed there. */
const PERSON = 'person';

const ENTRY = `select memory, id, session, turn, at, day, type, text, quotes, said_by as "by", strength, changes, again, found, prompt,
  job, state, reason from entry`;

type Kept = Omit<EntryRow, 'evidence' | 'changes' | 'again' | 'found'> & {
  quotes: string;
  changes: string | null;
  again: string | null;
  found: Found | null;
};

function entryOf({ quotes, changes, again, found, ...row }: Kept): EntryRow {
  const more = { ...(changes !== null && { changes }), ...(again !== null && { again }), ...(found && { found }) };
  return { ...row, evidence: JSON.parse(quotes) as Evidence[], ...more };
}

export async function entryRow(sql: Sql, memory: string, id: string): Promise<EntryRow | undefined> {
  const row = await sql.get<Kept>(`${ENTRY} where memory = ? and id = ?`, memory, id);
  return row && entryOf(row);
}

/** The entries of a memory for which `and` holds, by time; `and`: SQL that begins with `and`, or nothing. */
export async function entriesWhere(sql: Sql, memory: string, and = '', ...values: Value[]): Promise<EntryRow[]> {
  return (await sql.all<Kept>(`${ENTRY} where memory = ? ${and} order by at, id`, memory, ...values)).map(entryOf);
}

/** Those with these values in a column, in no order. */
export async function entriesAmong(
  sql: Sql,
  memory: string,
  { column, of }: { column: 'id' | 'turn' | 'day' | 'session'; of: readonly string[] },
): Promise<EntryRow[]> {
  return (await allOf<Kept>(sql, `${ENTRY} where memory = ? and ${column} in (#)`, of, memory)).map(entryOf);
}

/** Whether an entry should stand in the log of its day. */
export function isInLog({ state }: Pick<EntryRow, 'state'>): boolean {
  return state !== 'gone';
}

export async function putEntry(change: Change, entry: EntryRow): Promise<void> {
  const { memory, id, session, turn, at, day, type, strength, text, prompt, job, state, reason } = entry;
  await change.put('entry', {
    ...{ memory, id, session, turn, at, day, type, strength, said_by: entry.by, text },
    ...{ changes: entry.changes ?? null, again: entry.again ?? null, found: entry.found ?? null },
    ...{ quotes: JSON.stringify(entry.evidence), prompt, job, state, reason },
  });
}

// What was forgotten.

export interface Statement {
  /** Id of the session's row. */
  session: string;
  text: string;
  /** When it was said. */
  at: string;
  /** What carries it. */
  message: string;
  quote: string;
}

/** Words in a row that two quotes of one message share where they are of one statement. */
const SHARED_RUN = 4;
/** The part of the shorter text's words that the other has too, where both say the same. */
const ALIKE = 0.75;

/**
 * Tells of a statement whether a person had it forgotten in one of these memories: it rests on the same words of the same
 * message as a forgotten entry, or says the same in the same session, in something said before the forgetting.
 */
export async function forgottenIn(sql: Sql, memories: readonly string[]): Promise<(statement: Statement) => boolean> {
  const rows = await allOf<{ session: string | null; text: string; quotes: string; at: string | null }>(
    sql,
    `select entry.session, entry.text, entry.quotes, job.created_at as at
      from entry left join job on job.id = entry.job
      where entry.memory in (#) and entry.state = 'gone' and entry.reason = 'forgotten'`,
    memories,
  );
  return ({ session, text, at, message, quote }) =>
    rows.some((row) => {
      const [first] = JSON.parse(row.quotes) as Evidence[];
      const isSameText = areAlike(row.text, text);
      if (first?.message === message) return isSameText || shareWords(first.quote, quote);
      return row.session === session && isSameText && (row.at === null || at <= row.at);
    });
}

/** Whether two quotes of one message are about the same words of it. */
function shareWords(a: string, b: string): boolean {
  const [shorter = [], longer = []] = [wordsOf(a), wordsOf(b)].sort((x, y) => x.length - y.length);
  const size = Math.min(SHARED_RUN, shorter.length);
  const runs = (words: string[]) =>
    words.flatMap((_, at) => (at + size <= words.length ? [words.slice(at, at + size).join(' ')] : []));
  const known = new Set(runs(longer));
  return runs(shorter).some((run) => known.has(run));
}

function areAlike(a: string, b: string): boolean {
  const [shorter, longer] = [new Set(wordsOf(a)), new Set(wordsOf(b))].sort((x, y) => x.size - y.size);
  return !!shorter?.size && !!longer && shorter.intersection(longer).size >= shorter.size * ALIKE;
}

function wordsOf(text: string): string[] {
  const words = fold(text)
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return words ?? [];
}

// What a person makes of a log.

interface EditedLogs {
  memory: string;
  /** What the logs hold as they stand, by day; nothing of one that is gone. */
  logs: ReadonlyMap<Day, readonly LogItem[]>;
  /** The entries of these days, and those whose ids stand in these logs. */
  rows: readonly EntryRow[];
  /** Ids of lines that a program wrote: those are its word, not the person's. */
  byPrograms?: ReadonlySet<string>;
}

/**
 * What entries become by the logs as they stand: one whose lines are gone was withdrawn, one that came back is new again, what a
 * person changed is theirs, and so is a line of their own, which becomes an entry. Answers only those that change.
 */
export function handEdits({ memory, logs, rows, byPrograms = new Set() }: EditedLogs): EntryRow[] {
  const known = new Map(rows.map((row) => [row.id, row]));
  const standing = new Set<string>();
  const changed: EntryRow[] = [];
  for (const items of logs.values()) {
    for (const item of items) {
      if (standing.has(item.id)) continue;
      standing.add(item.id);
      const before = known.get(item.id);
      const row = entryOfItem(item, { memory, before, byPrograms });
      if (row !== before) changed.push(row);
    }
  }
  const gone = rows.filter((row) => isInLog(row) && logs.has(row.day) && !standing.has(row.id));
  return [...changed, ...gone.map((row): EntryRow => ({ ...row, state: 'gone', reason: 'withdrawn' }))];
}

function entryOfItem(
  item: LogItem,
  { memory, before, byPrograms }: { memory: string; before?: EntryRow; byPrograms: ReadonlySet<string> },
): EntryRow {
  const { id, type, text, day } = item;
  if (before?.text === text) {
    const isBack = before.state === 'gone' && before.reason !== 'forgotten';
    if (!isBack && before.day === day) return before;
    return { ...before, day, ...(isBack && { state: 'new', reason: null }) };
  }
  const source = { session: before?.session ?? null, turn: before?.turn ?? null, job: before?.job ?? '' };
  const kept = { memory, id, type, text, day, ...source, state: 'new', reason: null } as const;
  if (item.kind === 'own' && !item.edited) {
    const { strength, evidence, by, at, prompt, changes } = item;
    return { ...kept, strength, evidence, by, at, prompt, ...(changes && { changes }) };
  }
  const by = byPrograms.has(lineId(text)) ? 'assistant' : PERSON;
  return { ...kept, strength: 'stated', evidence: [], by, at: before?.at ?? `${day}T12:00:00.000Z`, prompt: '' };
}
