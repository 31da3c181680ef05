// The entries that a night is about: those that wait, and those that are gone although lines rest on them. And what earlier
// nights left of them, which the dreams' own rows tell.

import { DAY_MS } from '../../src/base/time.ts';
import { allOf, type Sql, type Value } from '../../src/db/sql.ts';
import type { Entry, Evidence } from '../../src/memory/memory-types.ts';

export interface NightEntry
  extends Pick<Entry, 'id' | 'type' | 'strength' | 'text' | 'changes' | 'again' | 'found' | 'evidence' | 'by' | 'at'> {
  /** As its agent calls it; empty where no session said it. */
  session: string;
  /** Where the session ran. */
  cwd: string | null;
  /** When it was learned. */
  learnedAt: string;
  state: string;
  /** Of one that is gone, or was and came back, the lines that rest on it and stand. */
  holds?: { file: string; line: string }[];
}

type Kept = Omit<NightEntry, 'changes' | 'again' | 'found' | 'evidence'> & {
  changes: string | null;
  again: string | null;
  found: NightEntry['found'] | null;
  quotes: string;
};

const SELECT = `select e.id, e.type, e.strength, e.text, e.changes, e.again, e.found, e.quotes, e.said_by as "by", e.at, e.state,
    coalesce(s.name, e.session, '') as session, s.cwd, coalesce(j.created_at, e.at) as "learnedAt"
  from entry e left join session s on s.id = e.session left join job j on j.id = e.job where e.memory = ?`;

function entryOf({ changes, again, found, quotes, ...row }: Kept): NightEntry {
  const more = { ...(changes !== null && { changes }), ...(again !== null && { again }), ...(found && { found }) };
  return { ...row, evidence: JSON.parse(quotes) as Evidence[], ...more };
}

async function entriesWhere(sql: Sql, memory: string, and: string, ...values: Value[]): Promise<NightEntry[]> {
  return (await sql.all<Kept>(`${SELECT} ${and} order by e.at, e.id`, memory, ...values)).map(entryOf);
}

/** Those that wait for a night, by time. */
export function waitingEntries(sql: Sql, memory: string): Promise<NightEntry[]> {
  return entriesWhere(sql, memory, "and e.state = 'new'");
}

/** Those of these ids, by time. */
export async function entriesOf(sql: Sql, memory: string, ids: readonly string[]): Promise<NightEntry[]> {
  const rows = await allOf<Kept>(sql, `${SELECT} and e.id in (#)`, [...new Set(ids)], memory);
  return rows.map(entryOf).sort((a, b) => (a.at < b.at || (a.at === b.at && a.id < b.id) ? -1 : 1));
}

/** Those in a state on which lines rest that stand, with these; `isStanding` tells which lines do. */
export async function entriesHolding(
  sql: Sql,
  memory: string,
  { state, isStanding }: { state: 'gone' | 'new'; isStanding(line: { file: string; line: string }): boolean },
): Promise<NightEntry[]> {
  const rests = await sql.all<{ source: string; file: string; line: string }>(
    `select r.source, r.file, r.line from rests r join entry e on e.memory = r.memory and e.id = r.source
     where r.memory = ? and e.state = ?`,
    ...[memory, state],
  );
  const holds = Map.groupBy(rests.filter(isStanding), ({ source }) => source);
  const entries = await entriesOf(sql, memory, [...holds.keys()]);
  return entries.map((entry) => ({ ...entry, holds: holds.get(entry.id) ?? [] }));
}

/** What earlier nights could not place. */
export interface Unplaced {
  entry: string;
  /** In how many nights it was tried. */
  nights: number;
  /** When for the first time. */
  since: string;
  /** What stood in its way the last time. */
  reason: string;
}

/** From so many nights on a person is told, and it is tried once a week. */
export const TELL_AFTER_NIGHTS = 3;
const AGAIN_AFTER_MS = 7 * DAY_MS;

/** Of these entries those that nights left, by what the dreams' rows say. */
export async function unplacedOf(sql: Sql, memory: string, entries: readonly NightEntry[]): Promise<Unplaced[]> {
  const since = entries.map(({ learnedAt }) => learnedAt).sort()[0];
  if (since === undefined) return [];
  const waiting = new Set(entries.map(({ id }) => id));
  const rows = await sql.all<{ at: string; output: string }>(
    `select created_at as at, output from job where memory = ? and kind = 'dream' and created_at >= ? and output is not null
     order by created_at, id`,
    ...[memory, since],
  );
  const found = new Map<string, Unplaced>();
  for (const { at, output } of rows) {
    const { left = [] } = JSON.parse(output) as { left?: { entry: string; reason: string }[] };
    for (const { entry, reason } of left) {
      const before = found.get(entry) ?? { entry, nights: 0, since: at, reason };
      if (waiting.has(entry)) found.set(entry, { ...before, nights: before.nights + 1, reason });
    }
  }
  return [...found.values()];
}

/** Whether it is not asked about tonight: it was tried in vain for nights, and a person was told. */
export function isResting({ nights, since }: Unplaced, now: Date): boolean {
  return nights >= TELL_AFTER_NIGHTS && now.getTime() - Date.parse(since) < nights * AGAIN_AFTER_MS;
}
