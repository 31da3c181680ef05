// What is known of a session's turns, as a report says it.

import type { Sql } from '../../src/db/sql.ts';
import { coverageWhere, intervalOf, type SkipReason, type TurnState } from '../../src/memory/coverage.ts';
import { entriesAmong } from '../../src/memory/entries.ts';
import type { KnownTurn } from './turn-ranges.ts';

/** What became of consecutive turns. `recorded` and `nothing` were extracted. */
export interface CoveredTurns {
  from: string;
  to: string;
  became: 'recorded' | 'nothing' | SkipReason | Exclude<TurnState, 'done' | 'skipped'>;
}

/** Of these turns, in their order. `session`: id of its row; `memories`: where its entries went. */
export async function coveredTurns(
  sql: Sql,
  { session, memories, turns }: { session: string; memories: readonly string[]; turns: readonly KnownTurn[] },
): Promise<CoveredTurns[]> {
  const rows = Map.groupBy(await coverageWhere(sql, { session }), ({ id }) => id);
  const of = await Promise.all(
    memories.map((memory) => entriesAmong(sql, memory, { column: 'session', of: [session] })),
  );
  const entries = of.flat().filter(({ state, reason }) => state !== 'gone' || reason === 'withdrawn');
  const ranges: CoveredTurns[] = [];
  let isOpen = false;
  for (const { id, messageIds } of turns) {
    const placed = (rows.get(id) ?? []).map((row) => ({
      row,
      at: intervalOf(row, messageIds) ?? { start: 0, end: 0 },
    }));
    isOpen &&= placed.length > 0;
    for (const { row, at } of placed.sort((a, b) => a.at.start - b.at.start)) {
      const isIn = (message = '') => messageIds.indexOf(message) >= at.start && messageIds.indexOf(message) <= at.end;
      const isRecorded = entries.some(({ turn, evidence }) => turn === id && isIn(evidence[0]?.message));
      const done = isRecorded ? 'recorded' : 'nothing';
      const became = row.state === 'done' ? done : row.state === 'skipped' ? (row.reason ?? 'assumed') : row.state;
      const last = ranges.at(-1);
      if (isOpen && last?.became === became) last.to = id;
      else ranges.push({ from: id, to: id, became });
      isOpen = true;
    }
  }
  return ranges;
}
