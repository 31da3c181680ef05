// Extract: a session's pending turns become entries in the daily logs.
//
// 1. Open the transcript, once for all that follows; where it is gone, what was kept of it in pieces.
// 2. Sort its turns by what is known of them in its memory: covered, private, written down by the agent, pending.
// 3. Cover without a model what needs none: private turns, what the agent wrote down, what was declined or is assumed.
// 4. Show the pending turns, redacted, within the token budget: one excerpt, or several for a long session.
// 5. For each excerpt let the forked extractor propose entries, each checked by code, and
// 6. commit its entries and its coverage together, under the claim of the work.
// 7. What fails leaves nothing behind and stays pending; but what is too long is split smaller, and what failed too often is given up,
//    so that the rest is not held up: again from 2.
// 8. End the job: its report is its row's output.

import { NO_USAGE } from '../src/agent/agent-types.ts';
import type { Spend } from '../src/agent/tools.ts';
import { AppError, ERRORS, type Failure, failureOf, isAppError, isGivenUp } from '../src/base/errors.ts';
import type { Day } from '../src/base/time.ts';
import type { Sql } from '../src/db/sql.ts';
import type { Claim } from '../src/memory/commit.ts';
import { coverageWhere } from '../src/memory/entries.ts';
import { beginJob, endJob, type JobUsage, type StartedBy, usageOf } from '../src/memory/job-rows.ts';
import type { MemoryRow } from '../src/memory/memories.ts';
import { enterSession, openTranscript, type SessionRow, sessionNamed, sessionRow } from '../src/memory/session-rows.ts';
import { wholeId } from '../src/memory/short-ids.ts';
import type { Session } from '../src/transcript/session.ts';
import { type Asked, askExtractor, type ExtractedDeps, type Extraction } from './extract/ask-extractor.ts';
import { commitExtracted, coverRanges, type ReportedEntry } from './extract/extracted.ts';
import { offerPending, type SortedTurns, sortTurns, type TakenUp, type TurnRange } from './extract/pending-turns.ts';

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
  /** Tries that failed before this one. What fails for the last time is covered as `gave_up`; without it nothing is. */
  attempts?: number;
}

export interface ExtractDeps extends ExtractedDeps {
  /** What counts a job's requests. */
  spendOf(job: string): Spend;
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
  /** What was said before this instant was declined; ISO-8601. */
  declinedBefore?: string;
  /** The inbox item that is worked. */
  claim?: Claim;
  startedBy: StartedBy;
}

/** What an extraction did of a session, as far as it came. */
interface OpenReport {
  /** As its agent calls it. */
  session: string;
  transcript: string;
  /** Id of the memory that it belongs to; null where the session could not be read. */
  memory: string | null;
  /** Null where there was nothing to do. */
  job: string | null;
  entries: ReportedEntry[];
  /** Why others that the model proposed were refused by code, and not mended. */
  refused: string[];
  /** Turns that may still go on: they wait until the session ends or is quiet. */
  openTurns: number;
  unreadableLines: number;
  /** Turns that a failure left to be extracted. */
  pendingTurns: number;
  /** Turns that a model read in this run. */
  readTurns: number;
  /** Turns that failed too often. */
  gaveUpTurns: number;
}

interface ExtractEnd {
  /** `busy`: another process is at work on it. */
  outcome:
    | ('recorded' | 'nothing-new' | 'nothing-worth-keeping' | 'turn-limit' | 'busy')
    | ('ceiling' | 'transcript-gone' | 'unknown-format' | 'failed');
  /** Why it failed, or what was given up, and which class of failure it is. */
  error?: Failure;
}

/** Without `job`, `memory` and `spend` it is the output of the job's row. `spend`: what its requests used. */
export type ExtractReport = ExtractEnd & OpenReport & { spend: JobUsage };

const nothingDone = (of: Pick<OpenReport, 'session' | 'transcript' | 'memory'>): OpenReport => ({
  ...{ ...of, job: null, entries: [], refused: [] },
  ...{ openTurns: 0, unreadableLines: 0, pendingTurns: 0, readTurns: 0, gaveUpTurns: 0 },
});

/** The report where another process is at work on it. */
export function busyExtract(of: Parameters<typeof nothingDone>[0], error: AppError): ExtractReport {
  return { ...nothingDone(of), spend: { ...NO_USAGE, microUsd: 0 }, outcome: 'busy', error: failureOf(error) };
}

/** An excerpt that a model finds too long is split down to this. */
const SMALLEST_EXCERPT_TOKENS = 500;

/** Contract: throws only what is not an AppError; every planned ending is the report's `outcome`. */
export async function extract(request: ExtractRequest, deps: ExtractDeps): Promise<ExtractReport> {
  const { db, clock } = deps.memories;
  const { name: session = '', transcript = '' } = request;
  const report = nothingDone({ session, transcript, memory: null });
  let end: ExtractEnd | undefined;
  let failure: unknown;
  try {
    // 1.
    const session = await openFor(request, deps);
    Object.assign(report, { session: session.id, transcript: session.path });
    const memory = await deps.memoryFor(session);
    report.memory = memory.id;
    const userMemory = (await deps.userMemoryFor?.(memory)) ?? null;
    const row = await sessionNamed(db, memory.id, session.id);
    const { attempts } = request;
    const begun = { excerptTokens: deps.excerptTokens, attempts, read: new Set<string>() };
    end = await extractPending({ session, memory, userMemory, report, request, deps, row, ...begun });
  } catch (error) {
    failure = error;
    if (isAppError(error)) end = failedBy(error);
  }
  // 8.
  if (report.job) {
    const { memory: _, job, ...output } = { ...report, ...end };
    const at = clock.now().toISOString();
    await endJob(db, report.job, { ...(end ?? faultOf(failure, deps)), output, progress: report.readTurns, at });
  }
  if (!end) throw failure;
  return { ...report, ...end, spend: await usageOf(db, report.job ?? '') };
}

async function openFor({ opened, ended, ...where }: ExtractRequest, { memories }: ExtractDeps): Promise<Session> {
  if (isAppError(opened)) throw opened;
  return opened ?? openTranscript(memories.db, { ...where, isLive: !ended, machine: memories.machine });
}

function failedBy(error: AppError): ExtractEnd {
  const { code } = error;
  const isGone = code === 'transcript-gone' || code === 'unknown-format';
  const outcome = isGone ? code : ERRORS[code].class === 'ceiling' ? 'ceiling' : 'failed';
  return { outcome, error: failureOf(error) };
}

/** How a job ended that nobody planned for: one that was stopped did not fail. */
function faultOf(failure: unknown, { signal }: ExtractDeps) {
  if (signal?.aborted) return { outcome: 'interrupted', status: 'canceled' } as const;
  return { outcome: 'failed', error: failureOf(failure) };
}

/** What one extraction is made with, how it goes on, and the report that it fills in. */
interface Run extends Pick<Extraction, 'session' | 'memory' | 'userMemory'> {
  report: OpenReport;
  request: ExtractRequest;
  deps: ExtractDeps;
  /** The session's, once it has one. */
  row: SessionRow | undefined;
  /** So much is shown at a time. */
  excerptTokens: number;
  /** Tries that failed before. */
  attempts: number | undefined;
  /** What failed too often. */
  givenUp?: AppError;
  /** Some run of the agent was not at its end. */
  isCutShort?: boolean;
  /** Turns that a model read. */
  read: Set<string>;
}

/** Pass after pass, until nothing is pending. Throws what it failed with, or was given up for. */
async function extractPending(run: Run): Promise<ExtractEnd> {
  const { report, request, deps, session, memory, userMemory } = run;
  const { memories, quietMs, heldCharacters, declinedBefore } = deps;
  const writable = (await deps.writableFor?.(session, memory)) ?? [memory.id, ...(userMemory ? [userMemory.id] : [])];
  const reopened = new Set(request.reopen);
  const { ended, takeUp = [], instructions } = request;
  const asked = { ended, takeUp, reopened, quietMs, heldCharacters, declinedBefore, writable };
  let outcome: ExtractEnd['outcome'] = 'nothing-new';
  for (;;) {
    // 2.
    const at = { memories, memory: memory.id, row: run.row, job: report.job };
    const sorted = await sortTurns(session, { ...at, ...asked });
    report.openTurns = sorted.unsettled;
    report.unreadableLines = session.unreadableLines;
    const { byCode, pending, later } = sorted;
    if (byCode.length + pending.size === 0) break;
    const { row, job } = await begin(run);
    const by = { job, actor: { kind: 'job', id: job }, claim: deps.claim } as const;
    const of = { session, sessionId: row.id, memory, userMemory };
    const extraction: Extraction = { ...of, by, spend: deps.spendOf(job), reopened, instructions };
    // 3.
    if (byCode.length > 0) {
      const ranges = byCode.map(({ range, reason }) => ({ range, state: 'skipped', reason }) as const);
      await coverRanges(ranges, extraction, deps);
      for (const { range } of byCode) {
        // Of a turn whose other part is pending, what it gave before is replaced with that.
        if (!pending.has(range.turn.id)) reopened.delete(range.turn.id);
      }
    }
    if (pending.size === 0) break;
    if (outcome === 'nothing-new') outcome = 'nothing-worth-keeping';
    // 4. to 7.
    if ((await extractExcerpts(sorted, extraction, run)) && later === 0) break;
  }
  if (run.givenUp) throw run.givenUp;
  if (run.isCutShort) return { outcome: 'turn-limit' };
  return { outcome: report.entries.length > 0 ? 'recorded' : outcome };
}

/** Enters the job, and the session as it was opened, before the first commit. */
async function begin(run: Run) {
  const { report, request, deps, session, memory } = run;
  const { memories, startedBy } = deps;
  const at = memories.clock.now().toISOString();
  const machine = session.isKept ? null : memories.machine;
  const kind = request.reopen ? 'reprocess' : 'extract';
  const asked = { transcript: session.path, instructions: request.instructions };
  if (report.job === null) {
    await memories.db.write(async (sql) => {
      run.row = await enterSession(sql, { memory: memory.id, machine, at }, session);
      const of = { kind, memory: memory.id, session: run.row.id } as const;
      report.job = await beginJob(sql, { ...of, id: request.job, startedBy, request: asked, at });
    });
  }
  return { row: run.row as SessionRow, job: report.job as unknown as string };
}

/** Excerpt after excerpt. Answers false where one failed and it is to be tried again; what was committed before stays. */
async function extractExcerpts(sorted: SortedTurns, extraction: Extraction, run: Run): Promise<boolean> {
  const { report, deps } = run;
  let before: Pick<Asked, 'waiting' | 'cited'> = { waiting: [], cited: new Map() };
  // 4.
  for await (const offered of offerPending(sorted, { zone: deps.zone, excerptTokens: run.excerptTokens })) {
    try {
      // 5.
      const asked = await askExtractor(offered, extraction, { written: sorted.written, before }, deps);
      // 6.
      report.entries.push(...(await commitExtracted(offered, asked, extraction, deps)));
      report.refused.push(...asked.refused);
      before = asked;
      run.isCutShort ||= asked.ending === 'turn-limit';
      for (const { turn } of offered.ranges) run.read.add(turn.id);
      report.readTurns = run.read.size;
    } catch (error) {
      // 7.
      report.pendingTurns = offered.left;
      await goOnAfter(error, offered.touched, extraction, run);
      report.pendingTurns = 0;
      return false;
    }
  }
  return true;
}

/** Throws the error where it is not tried again at once. */
async function goOnAfter(error: unknown, touched: TurnRange[], extraction: Extraction, run: Run): Promise<void> {
  if (!isAppError(error)) throw error;
  const { attempts, excerptTokens, report, deps } = run;
  if (error.code === 'oversize' && excerptTokens >= 2 * SMALLEST_EXCERPT_TOKENS) {
    run.excerptTokens = Math.floor(excerptTokens / 2);
    return;
  }
  const isLastTry = attempts !== undefined && isGivenUp(error.code, attempts + 1);
  if (!isLastTry || touched.length === 0) throw error;
  const ranges = touched.map((range) => ({ range, state: 'gave_up', reason: null }) as const);
  await coverRanges(ranges, extraction, deps);
  for (const { turn } of touched) extraction.reopened.delete(turn.id);
  report.gaveUpTurns += touched.length;
  Object.assign(run, { attempts: 0, givenUp: error });
}

// Learn again: what was covered before is extracted again, of a session, of a day, or all. The old entries stay until the new commit
// replaces them; what a person edited stays as it is. A transcript that is gone changes nothing and is named.

export interface LearnAgainRequest {
  /** Exactly one of `session`, `day` and `all`. `session`: as its agent calls it, or how that begins. */
  session?: string;
  day?: Day;
  all?: boolean;
  instructions?: string;
  /** Take the sessions as ended. */
  ended: boolean;
}

interface LearnAgainDeps {
  sql: Sql;
  memory: MemoryRow;
  /** Extracts one session into this memory. */
  extract(request: ExtractRequest): Promise<ExtractReport>;
  /** Told of each session as it is done. */
  onReport?(report: ExtractReport): void;
}

/** Errors: `bad-input` where nothing was ever extracted from what is asked for, or several sessions begin so. */
export async function learnAgain(request: LearnAgainRequest, deps: LearnAgainDeps): Promise<ExtractReport[]> {
  const { sql, memory } = deps;
  const { session, day, ended, instructions } = request;
  const asked = session && (await sessionNamed(sql, memory.id, await wholeId(sql, 'session', session)));
  const where = { ...(session && { session: asked ? asked.id : '' }), ...(day && { day }) };
  const covered = (await coverageWhere(sql, { memory: memory.id, ...where })).filter(
    ({ reason }) => reason !== 'declined',
  );
  if (covered.length === 0) {
    const what = session ? `session ${session}` : day ? `sessions of ${day}` : 'any session';
    throw new AppError('bad-input', `Nothing was learned yet from ${what} in ${memory.dir ?? memory.name}.`, {
      remedy: 'Use nocturne learn TRANSCRIPT for a session that is new.',
    });
  }
  const reports: ExtractReport[] = [];
  for (const [id, rows] of Map.groupBy(covered, (row) => row.session)) {
    const name = (await sessionRow(sql, id))?.name;
    const reopen = new Set(rows.map((row) => row.id));
    const report = await deps.extract({ session: id, name, ended, instructions, reopen });
    deps.onReport?.(report);
    reports.push(report);
  }
  return reports;
}
