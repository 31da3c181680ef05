// Coverage: what became of each range of a turn. What lies behind the furthest range is pending.
// Promises: ranges of one turn and session never overlap, since a new one cuts what it covers out of those that stand; a turn
// that is covered under one session of a memory is covered under every other that holds it (resumed, forked, compacted copies).

import type { Day } from '../base/time.ts';
import { allOf, type Sql } from '../db/sql.ts';
import type { Change } from './undo-rows.ts';

/** `done`: it was extracted. `gave_up`: that failed too often. `undone`: a person took it back, and nothing learns it by itself. */
export type TurnState = 'done' | 'skipped' | 'gave_up' | 'undone';

/** Why a range was skipped. `own-write`: the agent wrote it down itself. `assumed`: it is taken for covered after a loss. */
export type SkipReason = 'private' | 'own-write' | 'declined' | 'assumed';

/** A row of the table `turn`. */
export interface TurnRow {
  /** Id of the session's row. */
  session: string;
  /** The turn's. */
  id: string;
  /** The first message that was looked at; '': from the beginning of the turn. */
  begins: string;
  memory: string;
  /** The last message that was looked at; '', of what is assumed: the whole turn, and all before it in its session. */
  through: string;
  state: TurnState;
  reason: SkipReason | null;
  /** Of the turn. */
  day: Day;
  job: string;
}

/** A turn with the ids of its messages, in order. */
export interface TurnIds {
  id: string;
  messageIds: readonly string[];
}

/** Positions of messages in a turn, both inclusive. */
export interface Interval {
  start: number;
  end: number;
}

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

/** How what one job said of a turn is told from what others did, also where a later range cut it. */
export function nameOf({ session, id, state, reason, job }: TurnRow): string {
  return [session, id, state, reason, job].join('\n');
}

/** The rows where columns have these values. */
export function coverageWhere(sql: Sql, where: Partial<TurnRow>): Promise<TurnRow[]> {
  const columns = Object.keys(where) as (keyof TurnRow)[];
  const are = columns.map((column) => `${column} = ?`).join(' and ');
  return sql.all<TurnRow>(`select * from turn where ${are}`, ...columns.map((column) => where[column] ?? null));
}

/** Whether a row, of what is assumed, stands for its whole turn and for all before it. */
export function standsForMore({ reason, through }: TurnRow): boolean {
  return reason === 'assumed' && through === '';
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
