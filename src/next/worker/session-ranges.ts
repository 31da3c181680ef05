// The turns of a session in ranges of one fate each, as a person is told it.

import type { SortedTurns } from '../jobs/extract/pending-turns.ts';
import { coverageOf, intervalOf, type TurnRow } from '../memory/coverage.ts';
import type { EntryRow } from '../memory/entries.ts';
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

/** `taught`: what it gave; `why`: what keeps what is pending waiting. */
export async function rangesOf(
  { db }: App,
  sorted: SortedTurns,
  { memory, taught, why }: { memory: string; taught: readonly EntryRow[]; why: string },
): Promise<SessionRange[]> {
  const rows = await coverageOf(db, memory, sorted.turns);
  const endedAt = new Map<string, string | null>();
  for (const job of new Set(rows.flat().map((row) => row.job)))
    endedAt.set(
      job,
      (await db.get<{ at: string | null }>('select ended_at as at from job where id = ?', job))?.at ?? null,
    );
  const byCode = new Map(sorted.byCode.map(({ range, reason }) => [range.turn.id, reason]));
  const ranges: SessionRange[] = [];
  const add = (id: string, state: string, of: { job?: string; messages?: SessionRange['messages'] } = {}) => {
    const { job = null, messages = null } = of;
    const last = ranges.at(-1);
    if (last && last.state === state && last.job === job && !last.messages && !messages) {
      last.to = id;
      last.turns += 1;
    } else
      ranges.push({
        from: id,
        to: id,
        turns: 1,
        messages,
        state,
        why: WHY[state] ?? why,
        job,
        at: (job && endedAt.get(job)) || null,
      });
  };
  for (const [n, turn] of sorted.turns.entries()) {
    const ids = turn.messageIds;
    const known = (rows[n] ?? []).flatMap((row) => {
      const at = intervalOf(row, ids);
      return at ? [{ row, at }] : row.through === '' ? [{ row, at: { start: 0, end: ids.length - 1 } }] : [];
    });
    const parts = known.sort((a, b) => a.at.start - b.at.start);
    const isPending = sorted.pending.has(turn.id);
    const isWhole = parts.length + (isPending ? 1 : 0) < 2;
    for (const { row, at } of parts) {
      const messages = isWhole ? null : { from: ids[at.start] ?? '', through: ids[at.end] ?? row.through };
      add(turn.id, stateOf(row, { ids, at, taught }), { job: row.job, messages });
    }
    const state = isPending
      ? 'pending'
      : stateWord(byCode.get(turn.id) ?? (sorted.unsettled > 0 && n === sorted.turns.length - 1 ? 'open' : 'own'));
    const begins = sorted.pending.get(turn.id)?.begins;
    if (isPending || parts.length === 0)
      add(turn.id, state, { messages: isWhole ? null : { from: begins ?? '', through: ids.at(-1) ?? '' } });
  }
  return ranges;
}

const stateWord = (word: string) => (word === 'own-write' ? 'main-agent' : word === 'gave_up' ? 'gave-up' : word);

function stateOf(
  row: TurnRow,
  { ids, at, taught }: { ids: readonly string[]; at: { start: number; end: number }; taught: readonly EntryRow[] },
): string {
  if (row.state !== 'done') return stateWord(row.state === 'skipped' ? (row.reason ?? 'assumed') : row.state);
  const isIn = (message = '') => ids.indexOf(message) >= at.start && ids.indexOf(message) <= at.end;
  const gave = taught.some(({ turn, evidence }) => turn === row.id && isIn(evidence[0]?.message));
  return gave ? 'recorded' : 'nothing';
}
