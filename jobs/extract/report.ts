// What an extraction answers: how it ended, what it recorded, what the ledger says of the session's turns, what it cost.

import type { FoundEntry } from '../../src/agent/entry-checks.ts';
import { type AppError, ERRORS, type Failure } from '../../src/base/errors.ts';
import type { SpentTotal } from '../../src/memory/home/spend.ts';
import { coverageWhere } from '../../src/memory/ledger/coverage.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import type { Store } from '../../src/memory/store/store.ts';
import type { Disposition } from '../../src/memory/types.ts';
import type { Excerpt, SourceMessage } from '../../src/transcript/excerpt/excerpt.ts';
import type { Fork } from './fork-prefix.ts';
import type { SortedTurns } from './pending-turns.ts';

export type ExtractOutcome =
  | 'recorded'
  | 'nothing-new'
  | 'nothing-worth-keeping'
  | 'turn-limit'
  | 'busy'
  | 'ceiling'
  | 'transcript-gone'
  | 'unknown-format'
  | 'failed';

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

export interface ExtractReport {
  session: string;
  transcript: string;
  /** The memory directory that it belongs to; null where the session could not be read. */
  memory: string | null;
  outcome: ExtractOutcome;
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
  spend: SpentTotal;
  /** How the model was shown the session, where it was asked; `why`: not by the prefix, though that was wanted. */
  fork?: { by: Fork; why?: string };
  /** Why it failed, or what was given up, and which class of failure it is. */
  error?: Failure;
}

/** Of a session of which nothing is known yet. */
export function emptyReport(of: { session?: string; transcript: string }, spend: SpentTotal): ExtractReport {
  return {
    session: of.session ?? '',
    transcript: of.transcript,
    memory: null,
    outcome: 'nothing-new',
    entries: [],
    coverage: [],
    unsettledTurns: 0,
    unreadableLines: 0,
    job: null,
    pendingTurns: 0,
    coveredTurns: 0,
    spend,
  };
}

/** `order`: the turns of the session; `parts`: how those were divided that are not of one fate. */
export function coverageRanges(
  store: Store,
  session: string,
  { order, parts }: { order: Iterable<string>; parts: SortedTurns['parts'] },
): ExtractReport['coverage'] {
  const rowsOf = Map.groupBy(coverageWhere(store.ledger, { session }), (row) => row.turn);
  const ranges: ExtractReport['coverage'] = [];
  let isOpen = false;
  for (const turn of order) {
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

/** What is known of the messages that entries rest on, by id. */
export type CitedMessages = Map<string, Pick<SourceMessage, 'speaker' | 'at'>>;

/** Keeps that much of an excerpt, which is let go of. */
export function addCited(cited: CitedMessages, { found, excerpt }: { found: FoundEntry[]; excerpt: Excerpt }): void {
  for (const { message } of found.flatMap(({ evidence }) => evidence)) {
    const source = excerpt.sources.get(message);
    if (source) cited.set(message, { speaker: source.speaker, at: source.at });
  }
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

export function outcomeOf(error: AppError): ExtractOutcome {
  const { code } = error;
  if (code === 'transcript-gone' || code === 'unknown-format') return code;
  return ERRORS[code].class === 'ceiling' ? 'ceiling' : 'failed';
}
