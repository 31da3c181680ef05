// The turns of a session in ranges of one fate each, as a person is told it.

import type { SortedTurns } from '../../jobs/extract/pending-turns.ts';
import type { KnownTurn } from '../../jobs/extract/turn-ranges.ts';
import { coverageOf, type EntryRow, entriesAmong, type Interval, intervalOf, type TurnRow } from '../memory/entries.ts';
import type { App } from './compose.ts';

/** Consecutive turns of one fate, or a part of one turn. */
export interface SessionRange {
  from: string;
  to: string;
  turns: number;
  /** Of a part of a turn: its first and its last message. */
  messages: { from: string; through: string } | null;
  state: string;
  why: string;
  /** Where the main agent wrote it down itself. */
  wrote: string | null;
  /** The job that covered them, and when it ended. */
  job: string | null;
  at: string | null;
}

/** Why turns in a state would not be shown to the model now. */
const WHY: Record<string, string> = {
  open: 'they may still go on',
  own: "they are nocturne's own agent at work, or an edited prompt was sent in their place",
  recorded: 'they were extracted before',
  nothing: 'they were extracted before, and nothing in them was worth keeping',
  'main-agent': 'the main agent itself wrote them down in a memory',
  private: 'something in them is marked as private',
  'gave-up': 'extracting them failed, and was given up',
  assumed: 'they were extracted before the database was lost',
  undone: 'their extraction was undone',
  declined: 'they are from before nocturne was set up, and were declined',
};

/** `writes`: which file a message's call wrote, by message; `why`: what keeps what is pending waiting. */
export async function rangesOf(
  { db }: App,
  sorted: SortedTurns,
  { memory, writes, why }: { memory: string; writes: ReadonlyMap<string, string>; why: string },
): Promise<SessionRange[]> {
  const rows = await coverageOf(db, memory, sorted.turns);
  const taught = await entriesAmong(db, memory, { column: 'turn', of: sorted.turns.map(({ id }) => id) });
  const endedAt = new Map<string, string | null>();
  for (const id of new Set(rows.flat().map((row) => row.job)))
    endedAt.set(
      id,
      (await db.get<{ at: string | null }>('select ended_at as at from job where id = ?', id))?.at ?? null,
    );
  const ranges: SessionRange[] = [];
  for (const [n, turn] of sorted.turns.entries()) {
    const parts = partsOf(turn, { rows: rows[n] ?? [], sorted, taught });
    const isLast = n === sorted.turns.length - 1;
    if (parts.length === 0) {
      // What the agent wrote in a turn that may go on is covered once that is over.
      const state = sorted.written.has(turn.id) ? 'main-agent' : sorted.unsettled > 0 && isLast ? 'open' : 'own';
      parts.push({ start: 0, end: turn.messageIds.length - 1, state, job: null });
    }
    for (const { start, end, state, job } of parts) {
      const ids = turn.messageIds.slice(start, end + 1);
      const messages = parts.length > 1 ? { from: ids[0] ?? '', through: ids.at(-1) ?? '' } : null;
      const wrote = state === 'main-agent' ? (ids.flatMap((id) => writes.get(id) ?? []).at(-1) ?? null) : null;
      const last = ranges.at(-1);
      const isAlike = last?.state === state && last.job === job && last.wrote === wrote;
      if (last && isAlike && !last.messages && !messages) {
        last.to = turn.id;
        last.turns += 1;
        continue;
      }
      const at = (job && endedAt.get(job)) || null;
      ranges.push({ from: turn.id, to: turn.id, turns: 1, messages, state, why: WHY[state] ?? why, wrote, job, at });
    }
  }
  return ranges;
}

type PartOfTurn = Interval & { state: string; job: string | null };

/** In the order of their messages: what is covered, what code covers, what is pending. */
function partsOf(
  { id, messageIds: ids }: KnownTurn,
  { rows, sorted, taught }: { rows: readonly TurnRow[]; sorted: SortedTurns; taught: readonly EntryRow[] },
): PartOfTurn[] {
  const whole = { start: 0, end: ids.length - 1 };
  const known = rows.flatMap((row): PartOfTurn[] => {
    const at = intervalOf(row, ids) ?? (row.through === '' ? whole : null);
    return at ? [{ ...at, state: stateOf(row, { ids, at, taught }), job: row.job }] : [];
  });
  const isKnown = ({ start, end }: Interval) => known.some((part) => part.start <= start && part.end >= end);
  const byCode = sorted.byCode.flatMap(({ range, reason }): PartOfTurn[] => {
    const at = range.turn.id === id ? intervalOf(range, ids) : null;
    return at && !isKnown(at) ? [{ ...at, state: stateWord(reason), job: null }] : [];
  });
  const pending = sorted.pending.get(id);
  const open = pending && intervalOf(pending, ids);
  return [...known, ...byCode, ...(open ? [{ ...open, state: 'pending', job: null }] : [])].sort(
    (a, b) => a.start - b.start,
  );
}

export type Skipped = { what: 'lines' | 'turns' | 'parts' | 'messages'; count: number; why: string };

/** Why so many turns, parts of turns, and what is in no turn, would not be shown to a model. */
export function skippedIn(
  ranges: readonly SessionRange[],
  apart: { lines: number; abandoned: number; byProgram: number },
): Skipped[] {
  const skipped = ranges.filter(({ state, messages }) => state !== 'pending' && (!messages || state !== 'recorded'));
  const groups = Map.groupBy(skipped, ({ state, messages }) => `${messages ? 'parts' : 'turns'} ${state}`);
  const inTurns = [...groups.values()].map(
    (of): Skipped => ({
      what: of[0]?.messages ? 'parts' : 'turns',
      count: of.reduce((sum, { turns }) => sum + turns, 0),
      why: of[0]?.why ?? '',
    }),
  );
  const others: Skipped[] = [
    { what: 'lines', count: apart.lines, why: 'they cannot be read' },
    ...inTurns,
    { what: 'messages', count: apart.abandoned, why: 'abandoned: the session went back to before they were said' },
    { what: 'messages', count: apart.byProgram, why: 'the program wrote them, not a person or an agent' },
  ];
  return others.filter(({ count }) => count > 0);
}

/** A state of a range, or why it was skipped, as people and JSON read it. */
const WORDS: Record<string, string> = { 'own-write': 'main-agent', gave_up: 'gave-up' };
export const stateWord = (word: string) => WORDS[word] ?? word;

function stateOf(
  row: TurnRow,
  { ids, at, taught }: { ids: readonly string[]; at: { start: number; end: number }; taught: readonly EntryRow[] },
): string {
  if (row.state !== 'done') return stateWord(row.state === 'skipped' ? (row.reason ?? 'assumed') : row.state);
  const isIn = (message = '') => ids.indexOf(message) >= at.start && ids.indexOf(message) <= at.end;
  const gave = taught.some(({ turn, evidence }) => turn === row.id && isIn(evidence[0]?.message));
  return gave ? 'recorded' : 'nothing';
}
