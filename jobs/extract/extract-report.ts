// What an extraction is asked for, what it needs, and what it reports: how it ended, and what it did of a session.

import { type AppError, ERRORS, type Failure, failureOf, isAppError } from '../../src/base/errors.ts';
import type { Claim } from '../../src/memory/commit.ts';
import type { SkipReason, TurnState } from '../../src/memory/entries.ts';
import type { JobUsage, StartedBy } from '../../src/memory/job-rows.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import type { Session } from '../../src/transcript/session.ts';
import type { ExtractedDeps, SpendPorts } from './ask-extractor.ts';
import type { ReportedEntry } from './extracted.ts';
import type { TakenUp } from './pending-turns.ts';
import type { Fork, ShownBy } from './shown-turns.ts';

export interface ExtractRequest {
  /** Id of its job, as its spend is counted; default: a new one. */
  job?: string;
  /** The path of the transcript; default: where the session's row says that it is. */
  transcript?: string;
  /** The id of the session's row, where it has one: where the transcript is gone, what is kept of it in pieces is read. */
  session?: string;
  /** As its agent calls the session, for formats whose files do not say it. */
  name?: string;
  /** The transcript, where the caller opened it already, or why it could not. */
  opened?: Session | AppError;
  /** Take the session as ended, so that its last turn is settled too. */
  ended: boolean;
  /** Steers what to keep; never overrides the rules. */
  instructions?: string;
  /** Turns to be extracted again; what they gave before is replaced. */
  reopen?: ReadonlySet<string>;
  /** Asked for by a person, or there is new input: what is taken up although it was covered so. Default: nothing. */
  takeUp?: readonly TakenUp[];
  /** Default: `fork` of the deps. */
  fork?: Fork;
  /** Tries that failed before this one. What fails for the last time is covered as `gave_up`; without it nothing is. */
  attempts?: number;
}

export interface ExtractDeps extends ExtractedDeps {
  /** What counts a job's requests; `continued`: the model of a request that is another program's, which is continued. */
  spendOf(job: string, of?: { continued?: string }): SpendPorts;
  /** The memory that a session belongs to. */
  memoryFor(session: { cwd?: string }): Promise<MemoryRow>;
  /** The memory in which entries about the user are kept; null, and by default: the session's. */
  userMemoryFor?(memory: MemoryRow): Promise<MemoryRow | null>;
  /** Ids of the memories that a session's agent may write to. Default: those two. */
  writableFor?(session: { cwd?: string }, memory: MemoryRow): Promise<readonly string[]>;
  /** How long a transcript must not have changed for its last turn to be settled. */
  quietMs: number;
  excerptTokens: number;
  /** How much text of pending turns is held at a time. Default: 64 MB. */
  heldCharacters?: number;
  /** What the extractor continues: an excerpt of the transcript, or the request that it holds. Default: `excerpt`. */
  fork?: Fork;
  /** What was said before this instant was declined; ISO-8601. */
  declinedBefore?: string;
  /** The inbox item that is worked. */
  claim?: Claim;
  startedBy: StartedBy;
}

export type ExtractEnd =
  | { outcome: 'recorded' | 'nothing-new' | 'nothing-worth-keeping' | 'turn-limit'; error?: undefined }
  /** Why it failed, or what was given up, and which class of failure it is. */
  | { outcome: 'ceiling' | 'transcript-gone' | 'unknown-format' | 'failed'; error: Failure }
  /** Another process is at work on it. */
  | { outcome: 'busy'; error: Failure };

/** What became of consecutive turns. `recorded` and `nothing` were extracted. */
export interface CoveredTurns {
  from: string;
  to: string;
  became: 'recorded' | 'nothing' | SkipReason | Exclude<TurnState, 'done' | 'skipped'>;
}

/** What an extraction did of a session, as far as it came. */
interface Done {
  entries: ReportedEntry[];
  /** Why others that the model proposed were refused by code, and not mended. */
  refused: string[];
  /** What is known of the session's turns as they were read; consecutive ones of one kind in one row. */
  coverage: CoveredTurns[];
  /** Turns that may still go on: they wait until the session ends or is quiet. */
  openTurns: number;
  unreadableLines: number;
  /** Turns that a failure left to be extracted. */
  pendingTurns: number;
  /** Turns that this run covered, those that it gave up apart, and of these those that a model read. */
  coveredTurns: number;
  readTurns: number;
  /** Turns that failed too often. */
  gaveUpTurns: number;
  /** How the model was shown the session, where it was asked. */
  fork?: ShownBy;
}

/** Without `job`, `memory` and `spend` it is the output of the job's row. `spend`: what its requests used. */
export type ExtractReport = ExtractEnd &
  Done & {
    /** As its agent calls it. */
    session: string;
    transcript: string;
    /** Id of the memory that it belongs to; null where the session could not be read. */
    memory: string | null;
    /** Null where there was nothing to do. */
    job: string | null;
    spend: JobUsage;
  };

/** The report as it is filled in while it works. */
export type OpenReport = Omit<ExtractReport, 'outcome' | 'error' | 'spend'>;

export const nothingDone = (): Done => ({
  entries: [],
  refused: [],
  coverage: [],
  openTurns: 0,
  unreadableLines: 0,
  pendingTurns: 0,
  coveredTurns: 0,
  readTurns: 0,
  gaveUpTurns: 0,
});

/** Throws on what is not an AppError. */
export function failedBy(error: unknown): Exclude<Extract<ExtractEnd, { error: Failure }>, { outcome: 'busy' }> {
  if (!isAppError(error)) throw error;
  const { code } = error;
  const isGone = code === 'transcript-gone' || code === 'unknown-format';
  const outcome = isGone ? code : ERRORS[code].class === 'ceiling' ? 'ceiling' : 'failed';
  return { outcome, error: failureOf(error) };
}
