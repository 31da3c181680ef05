// What an extraction answers: how it ended, what it recorded, what the ledger says of the session's turns, what it cost.

import { ERRORS, type Failure, failureOf, isAppError } from '../../src/base/errors.ts';
import type { SpentTotal } from '../../src/memory/home/spend.ts';
import { coverageWhere } from '../../src/memory/ledger/coverage.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import type { Ledger } from '../../src/memory/ledger/ledger.ts';
import type { Disposition } from '../../src/memory/types.ts';
import type { CitedMessages } from './propose.ts';
import type { ShownBy } from './show.ts';
import type { SortedTurns } from './sort-turns.ts';

export type ExtractEnd =
  | { outcome: 'recorded' | 'nothing-new' | 'nothing-worth-keeping' | 'turn-limit' | 'busy'; error?: undefined }
  /** Why it failed, or what was given up, and which class of failure it is. */
  | { outcome: 'ceiling' | 'transcript-gone' | 'unknown-format' | 'failed'; error: Failure };

export type ExtractOutcome = ExtractEnd['outcome'];

export interface ReportedEntry {
  id: string;
  type: string;
  text: string;
  evidence: { message: string; quote: string; speaker: string; at: string | null }[];
  session: string;
  turn: string;
  /** The memory directory it goes to, where that is not the session's: the user scope. */
  memory?: string;
}

export type ExtractReport = ExtractEnd &
  Done & {
    session: string;
    transcript: string;
    /** The memory directory that it belongs to; null where the session could not be read. */
    memory: string | null;
    spend: SpentTotal;
  };

/** What an extraction did of a session, as far as it came. */
export interface Done {
  entries: ReportedEntry[];
  /** What the ledger says of the session's turns; consecutive ones of one kind in one row. */
  coverage: { from: string; to: string; became: Disposition }[];
  /** Turns that may still go on: they wait until the session ends or is quiet. */
  unsettledTurns: number;
  unreadableLines: number;
  /** Its id in the ledger; null where there was nothing to do. */
  job: string | null;
  /** Turns that a failure left to be extracted. */
  pendingTurns: number;
  /** Turns that this run covered, those that it gave up apart. */
  coveredTurns: number;
  /** How the model was shown the session, where it was asked. */
  fork?: ShownBy;
}

export const NOTHING_DONE: Done = {
  entries: [],
  coverage: [],
  unsettledTurns: 0,
  unreadableLines: 0,
  job: null,
  pendingTurns: 0,
  coveredTurns: 0,
};

/** What the ledger says of the turns as they were sorted. */
export function coverageRanges(
  ledger: Ledger,
  session: string,
  { states, parts }: Pick<SortedTurns, 'states' | 'parts'>,
): Done['coverage'] {
  const rowsOf = Map.groupBy(coverageWhere(ledger, { session }), (row) => row.turn);
  const ranges: Done['coverage'] = [];
  let isOpen = false;
  for (const turn of states.keys()) {
    const places = (parts.get(turn) ?? []).map(({ from }) => from);
    const rows = (rowsOf.get(turn) ?? []).toSorted((a, b) => places.indexOf(a.from) - places.indexOf(b.from));
    for (const { disposition: became } of rows) {
      const last = ranges.at(-1);
      if (isOpen && last?.became === became) last.to = turn;
      else ranges.push({ from: turn, to: turn, became });
      isOpen = true;
    }
    if (rows.length === 0) isOpen = false;
  }
  return ranges;
}

export function reportedEntry(
  entry: EntryRow,
  { cited, userMemory }: { cited: CitedMessages; userMemory?: string },
): ReportedEntry {
  const { id, type, text, session, turn } = entry;
  const evidence = entry.evidence.map(({ message, quote }) => {
    const source = cited.get(message);
    return { message, quote, speaker: source?.speaker ?? entry.by, at: source?.at ?? null };
  });
  const place = entry.state === 'sent' && userMemory ? { memory: userMemory } : {};
  return { id, type, text, evidence, session, turn, ...place };
}

/** Throws on what is not an AppError. */
export function failedBy(error: unknown): Extract<ExtractEnd, { error: Failure }> {
  if (!isAppError(error)) throw error;
  const { code } = error;
  const isGone = code === 'transcript-gone' || code === 'unknown-format';
  const outcome = isGone ? code : ERRORS[code].class === 'ceiling' ? 'ceiling' : 'failed';
  return { outcome, error: failureOf(error) };
}
