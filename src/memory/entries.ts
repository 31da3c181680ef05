// What became of turns, and what was learned of them: coverage and entries. What lies behind the furthest range of a turn is pending. The
// words of an entry stand in the daily logs, too; what a person makes of a line there is theirs (`handEdits`).
// Promises: ranges of one turn and session never overlap, since a new one cuts what it covers out of those that stand; a turn
// that is covered under one session of a memory is covered under every other that holds it (resumed, forked, compacted copies);
// an entry that was forgotten keeps its row, so that the same is not learned again from the same source, however it is
// worded the next time. Another session may say it again.

import type { Day } from '../base/time.ts';
import { allOf, type Sql, type Value } from '../db/sql.ts';
import type { Found } from '../rules/lessons.ts';
import type { Entry, Evidence } from './memory-types.ts';
import { compare, fold } from './text/blocks.ts';
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

/** An entry as it is kept, with what its session and its job tell of it. */
export interface KeptEntry extends EntryRow {
  /** As its agent calls the session; null where none said it. */
  name: string | null;
  /** Where the session ran, and where its transcript is, or was. */
  cwd: string | null;
  machine: string | null;
  transcript: string | null;
  learnedAt: string;
  /** The kind of its job. */
  learnedBy: string | null;
}

/** Who is the author of words that a person wrote into a log, changed there, or wants kept. */
export const PERSON = 'person';

const ENTRY = `select * from (select e.memory, e.id, e.session, e.turn, e.at, e.day, e.type, e.text, e.quotes, e.said_by as "by",
  e.strength, e.changes, e.again, e.found, e.person, e.prompt, e.job, e.state, e.reason, coalesce(s.name, e.session) as name, s.cwd, s.machine,
  s.path as transcript, coalesce(j.created_at, e.at) as "learnedAt",
  j.kind as "learnedBy"
  from entry e left join session s on s.id = e.session left join job j on j.id = e.job) entry`;

type Kept = Omit<KeptEntry, 'evidence' | 'changes' | 'again' | 'found' | 'person'> & {
  quotes: string;
  changes: string | null;
  again: string | null;
  found: Found | null;
  person: string | null;
};

function entryOf({ quotes, changes, again, found, person, ...row }: Kept): KeptEntry {
  const more = { ...(changes !== null && { changes }), ...(again !== null && { again }), ...(found && { found }) };
  return { ...row, evidence: JSON.parse(quotes) as Evidence[], ...more, ...(person && { person }) };
}

export async function entryRow(sql: Sql, memory: string, id: string): Promise<KeptEntry | undefined> {
  const row = await sql.get<Kept>(`${ENTRY} where memory = ? and id = ?`, memory, id);
  return row && entryOf(row);
}

/** The entries of a memory for which `and` holds, by time; `and`: SQL that begins with `and`, or nothing. */
export async function entriesWhere(sql: Sql, memory: string, and = '', ...values: Value[]): Promise<KeptEntry[]> {
  return (await sql.all<Kept>(`${ENTRY} where memory = ? ${and} order by at, id`, memory, ...values)).map(entryOf);
}

/** Those with these values in a column, by time. */
export async function entriesAmong(
  sql: Sql,
  memory: string,
  { column, of }: { column: 'id' | 'turn' | 'day' | 'session'; of: readonly string[] },
): Promise<KeptEntry[]> {
  const rows = await allOf<Kept>(sql, `${ENTRY} where memory = ? and ${column} in (#)`, [...new Set(of)], memory);
  return rows.map(entryOf).sort((a, b) => compare(a.at, b.at) || compare(a.id, b.id));
}

/** Whether an entry should stand in the log of its day. */
export function isInLog({ state }: Pick<EntryRow, 'state'>): boolean {
  return state !== 'gone';
}

export async function putEntry(change: Change, entry: EntryRow): Promise<void> {
  const { memory, id, session, turn, at, day, type, strength, text, prompt, job, state, reason } = entry;
  await change.put('entry', {
    ...{ memory, id, session, turn, at, day, type, strength, said_by: entry.by, text },
    ...{
      changes: entry.changes ?? null,
      again: entry.again ?? null,
      found: entry.found ?? null,
      person: entry.person ?? null,
    },
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

/** `done`: it was extracted. `gave_up`: that failed too often. `undone`: a person took it back, and nothing learns it by itself. */
export type TurnState = 'done' | 'skipped' | 'gave_up' | 'undone';

/** Why a range was skipped. `own-write`: the agent wrote it down itself. `assumed`: it is taken for covered after a loss. */
export type SkipReason = 'private' | 'own-write' | 'declined' | 'assumed';

/** A state of a range, or why it was skipped, as people and JSON read it. */
const WORDS: Record<string, string> = { 'own-write': 'main-agent', gave_up: 'gave-up' };
export const stateWord = (word: string) => WORDS[word] ?? word;

/** A row of the table `turn`. */
export interface TurnRow {
  /** Id of the session's row. */
  session: string;
  /** The turn's. */
  id: string;
  /** The first message that was looked at; '': from the beginning of the turn. */
  begins: string;
  memory: string;
  /** The last message that was looked at; '', of what is assumed: the whole turn. */
  through: string;
  state: TurnState;
  reason: SkipReason | null;
  /** Of the turn. */
  day: Day;
  job: string;
}

/** A turn with the ids of its messages, in order. */
export type TurnIds = { id: string; messageIds: readonly string[] };

/** Positions of messages in a turn, both inclusive. */
export type Interval = { start: number; end: number };

/**
 * What is known of turns in a memory, under whatever session, in their order. A copy that begins in the middle of a turn knows
 * it by another id, but through the same messages.
 */
export async function coverageOf(sql: Sql, memory: string, turns: readonly TurnIds[]): Promise<TurnRow[][]> {
  const find = (column: string, of: string[]) =>
    allOf<TurnRow>(sql, `select * from turn where memory = ? and ${column} in (#)`, of, memory);
  const ids = turns.map(({ id }) => id);
  const messages = turns.flatMap(({ messageIds }) => messageIds);
  const found = [...(await find('id', ids)), ...(await find('through', messages))];
  const rows = [...new Map(found.map((row) => [`${row.session} ${row.id} ${row.begins}`, row])).values()];
  const [byId, byThrough] = [Map.groupBy(rows, ({ id }) => id), Map.groupBy(rows, ({ through }) => through)];
  return turns.map(({ id, messageIds }) => [
    ...new Set([...(byId.get(id) ?? []), ...messageIds.flatMap((message) => byThrough.get(message) ?? [])]),
  ]);
}

/** The rows where columns have these values. */
export function coverageWhere(sql: Sql, where: Partial<TurnRow>): Promise<TurnRow[]> {
  const columns = Object.keys(where) as (keyof TurnRow)[];
  const are = columns.map((column) => `${column} = ?`).join(' and ');
  return sql.all<TurnRow>(`select * from turn where ${are}`, ...columns.map((column) => where[column] ?? null));
}

/**
 * Where a range lies among the messages of a turn, which this copy of it may hold only in part; null where nothing of it is
 * there. One through a message that is not there reaches beyond the end.
 */
export function intervalOf(range: Pick<TurnRow, 'begins' | 'through'>, ids: readonly string[]): Interval | null {
  const from = range.begins === '' ? 0 : ids.indexOf(range.begins);
  const through = ids.indexOf(range.through);
  if (from === -1 && through === -1) return null;
  const end = through === -1 ? ids.length : through;
  return { start: Math.min(Math.max(from, 0), end), end };
}

/** Covers a range of a turn. What other ranges of the same session said of it no longer stands. */
export async function cover(change: Change, turn: TurnIds, range: Omit<TurnRow, 'id' | 'job'>): Promise<void> {
  const ids = turn.messageIds;
  const own = intervalOf(range, ids);
  const cut: TurnRow[] = [];
  const stands = new Map([[range.begins, { ...range, id: turn.id, job: change.job }]]);
  for (const row of own ? await coverageWhere(change.sql, { session: range.session, id: turn.id }) : []) {
    const interval = intervalOf(row, ids);
    if (!own || !interval || interval.start > own.end || interval.end < own.start) continue;
    cut.push(row);
    if (interval.start < own.start) stands.set(row.begins, { ...row, through: ids[own.start - 1] as string });
    const next = interval.end > own.end ? ids[own.end + 1] : undefined;
    if (next !== undefined) stands.set(next, { ...row, begins: next });
  }
  for (const row of cut) if (!stands.has(row.begins)) await change.drop('turn', { ...row });
  for (const row of stands.values()) await change.put('turn', { ...row });
}
