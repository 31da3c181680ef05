// Extract: a session's pending turns become entries in the daily logs.
//
// 1. Open the transcript, once for all that follows; where it is gone, what was kept of it in pieces.
// 2. Sort its turns by what is known of them in its memory: covered, private, written down by the agent, pending.
// 3. Cover without a model what needs none: private turns, what the agent wrote down, what was declined or is assumed.
// 4. Show the pending turns, redacted, within the token budget: one excerpt, or several for a long session; or, where that is
//    asked for, continue the request that the transcript holds.
// 5. For each excerpt let the forked extractor propose entries, each checked by code, and
// 6. commit its entries and its coverage together, under the claim of the work.
// 7. What fails leaves nothing behind and stays pending; but what cannot be continued is shown as an excerpt, what is too long is
//    split smaller, and what failed too often is given up, so that the rest is not held up: again from 2.
// 8. End the job: its report is its row's output.

import { AppError, ERRORS, failureOf, isAppError, isGivenUp } from '../src/base/errors.ts';
import type { Day } from '../src/base/time.ts';
import type { Sql } from '../src/db/sql.ts';
import { coverageWhere, entriesAmong, intervalOf } from '../src/memory/entries.ts';
import { beginJob, endJob, usageOf } from '../src/memory/job-rows.ts';
import type { MemoryRow } from '../src/memory/memories.ts';
import { enterSession, openTranscript, type SessionRow, sessionNamed, sessionRow } from '../src/memory/session-rows.ts';
import { type ReadPoint, readPointAt } from '../src/transcript/session.ts';
import { type Asked, askExtractor, type Extraction, type SpendPorts } from './extract/ask-extractor.ts';
import {
  type CoveredTurns,
  type ExtractDeps,
  type ExtractEnd,
  type ExtractReport,
  type ExtractRequest,
  failedBy,
  nothingDone,
  type OpenReport,
} from './extract/extract-report.ts';
import { commitExtracted, coverRanges, rehearse } from './extract/extracted.ts';
import { type KnownTurn, type SortedTurns, sortTurns, type TurnRange } from './extract/pending-turns.ts';
import { offerPending, type ShownBy } from './extract/shown-turns.ts';

/** An excerpt that a model finds too long is split down to this. */
const SMALLEST_EXCERPT_TOKENS = 500;

/** Contract: throws only what is not an AppError; every planned ending is the report's `outcome`. */
export async function extract(request: ExtractRequest, deps: ExtractDeps): Promise<ExtractReport> {
  const report: OpenReport = {
    session: request.name ?? '',
    transcript: request.transcript ?? '',
    memory: null,
    job: null,
    ...nothingDone(),
  };
  let end: ExtractEnd;
  try {
    // 1.
    const session = await openFor(request, deps);
    Object.assign(report, { session: session.id, transcript: session.path });
    const memory = await deps.memoryFor(session);
    report.memory = memory.id;
    const userMemory = (await deps.userMemoryFor?.(memory)) ?? null;
    end = await extractOpened({ session, memory, userMemory }, { report, request, deps });
  } catch (error) {
    end = failedBy(error);
  }
  return { ...report, ...end, spend: await usageOf(deps.memories.db, report.job ?? '') };
}

type Opened = Pick<Extraction, 'session' | 'memory' | 'userMemory'>;

async function openFor({ opened, ended, ...where }: ExtractRequest, { memories }: ExtractDeps) {
  if (isAppError(opened)) throw opened;
  if (opened) return opened;
  const { db, machine } = memories;
  return openTranscript(db, { ...where, isLive: !ended, machine });
}

/** What one extraction is made with, and the report that it fills in. */
type Run = { report: OpenReport; request: ExtractRequest; deps: ExtractDeps };

async function extractOpened(opened: Opened, run: Run): Promise<ExtractEnd> {
  const { report, deps } = run;
  const { db } = deps.memories;
  const known: Known = { row: await sessionNamed(db, opened.memory.id, opened.session.id), turns: [] };
  let end: ExtractEnd = { outcome: 'nothing-new' };
  let failure: unknown;
  try {
    end = await extractPending(opened, known, run);
  } catch (error) {
    failure = error;
    if (isAppError(error)) end = failedBy(error);
  }
  // 8.
  const memories = [opened.memory, opened.userMemory].flatMap((memory) => memory?.id ?? []);
  if (known.row) report.coverage = await coveredTurns(db, { session: known.row.id, memories, turns: known.turns });
  if (report.job) {
    const { memory: _, job, ...output } = { ...report, ...end };
    const how = failure === undefined || isAppError(failure) ? end : faultOf(failure, deps);
    await endJob(db, job as string, {
      ...how,
      output,
      progress: report.readTurns,
      at: deps.memories.clock.now().toISOString(),
    });
  }
  if (failure !== undefined && !isAppError(failure)) throw failure;
  return end;
}

/** How a job ended that nobody planned for: one that was stopped did not fail. */
function faultOf(failure: unknown, { signal }: ExtractDeps) {
  if (signal?.aborted) return { outcome: 'interrupted', status: 'canceled' } as const;
  return { outcome: 'failed', error: failureOf(failure) };
}

/** What is known of the session, as far as it was read. */
type Known = { row: SessionRow | undefined; turns: SortedTurns['turns'] };

/** Pass after pass, until nothing is pending. Throws what it failed with, or was given up for. */
async function extractPending(opened: Opened, known: Known, run: Run): Promise<ExtractEnd> {
  const { report, request, deps } = run;
  const { memories, quietMs, heldCharacters, declinedBefore } = deps;
  const { session, memory, userMemory } = opened;
  const writable = (await deps.writableFor?.(session, memory)) ?? [memory.id, ...(userMemory ? [userMemory.id] : [])];
  const reopened = new Set(request.reopen);
  const asked = {
    ended: request.ended,
    takeUp: request.takeUp ?? [],
    reopened,
    quietMs,
    heldCharacters,
    declinedBefore,
  };
  const wanted: ShownBy = { by: request.fork ?? deps.fork ?? 'excerpt' };
  let plan: Plan = { wanted, excerptTokens: deps.excerptTokens, attempts: request.attempts };
  let outcome: ExtractEnd['outcome'] = 'nothing-new';
  const covered = { all: new Set<string>(), read: new Set<string>() };
  const counted = new Map<string | undefined, SpendPorts>();
  for (;;) {
    // 2.
    const at = { memories, memory: memory.id, row: known.row, job: report.job };
    const sorted = await sortTurns(session, { ...at, ...asked, writable });
    known.turns = sorted.turns;
    report.openTurns = sorted.unsettled;
    report.unreadableLines = session.unreadableLines;
    const { byCode, pending, later, lastTurnByte } = sorted;
    if (byCode.length + pending.size === 0) break;
    const { row, job } = await begin(opened, known, run);
    const by = { job, actor: { kind: 'job', id: job }, claim: deps.claim } as const;
    const spend = (continued?: string) => {
      const ports = counted.get(continued) ?? deps.spendOf(job, { continued });
      counted.set(continued, ports);
      return ports;
    };
    const { instructions } = request;
    const extraction: Extraction = { ...opened, sessionId: row.id, by, spend, reopened, instructions };
    // Where the next reading goes on once all of this one is covered; null: at the beginning.
    const readTo = lastTurnByte === null ? null : readPointAt(session.path, lastTurnByte);
    // 3.
    if (byCode.length > 0) {
      const ranges = byCode.map(({ range, reason }) => ({ range, state: 'skipped', reason }) as const);
      await coverRanges(ranges, { extraction, readTo: pending.size === 0 ? readTo : undefined }, deps);
      for (const { range } of byCode) {
        covered.all.add(range.turn.id);
        // Of a turn whose other part is pending, what it gave before is replaced with that.
        if (!pending.has(range.turn.id)) reopened.delete(range.turn.id);
      }
      report.coveredTurns = covered.all.size;
    }
    if (pending.size === 0) break;
    if (outcome === 'nothing-new') outcome = 'nothing-worth-keeping';
    // 4. to 6.
    const failed = await extractExcerpts(extraction, { sorted, plan, readTo, covered }, run);
    if (!failed && later === 0) break;
    if (!failed) continue;
    // 7.
    report.pendingTurns = failed.left;
    plan = await planAgain(failed, { plan, extraction }, run);
    report.pendingTurns = 0;
  }
  if (plan.error) throw plan.error;
  if (plan.isCutShort) return { outcome: 'turn-limit' };
  return { outcome: report.entries.length > 0 ? 'recorded' : outcome };
}

/** Enters the job, and the session as it was opened, before the first commit. */
async function begin({ session, memory }: Opened, known: Known, { report, request, deps }: Run) {
  const { memories, startedBy } = deps;
  const at = memories.clock.now().toISOString();
  const machine = session.isKept ? null : memories.machine;
  const kind = request.reopen ? 'reprocess' : 'extract';
  const asked = { transcript: session.path, instructions: request.instructions };
  if (report.job === null || !known.row) {
    await memories.db.write(async (sql) => {
      known.row = await enterSession(sql, { memory: memory.id, machine, at }, session);
      const of = { kind, memory: memory.id, session: known.row.id } as const;
      report.job = await beginJob(sql, { ...of, id: request.job, startedBy, request: asked, at });
    });
  }
  return { row: known.row as SessionRow, job: report.job as string };
}

/** How the pending turns are shown this time. */
interface Plan {
  wanted: ShownBy;
  excerptTokens: number;
  /** Tries that failed before. */
  attempts: number | undefined;
  /** What failed too often, and was given up. */
  error?: AppError;
  /** Some run of the agent was not at its end. */
  isCutShort?: boolean;
}

type Failed = { error: unknown; isContinued: boolean; touched: TurnRange[]; left: number };

interface PendingTurns {
  sorted: SortedTurns;
  plan: Plan;
  readTo: ReadPoint | null;
  /** Turns that this run covered, and of these those that a model read. */
  covered: { all: Set<string>; read: Set<string> };
}

/** Excerpt after excerpt, until one fails. What was committed before stays. */
async function extractExcerpts(
  extraction: Extraction,
  { sorted, plan, readTo, covered }: PendingTurns,
  { report, deps }: Run,
): Promise<Failed | null> {
  const { written } = sorted;
  let before: Pick<Asked, 'waiting' | 'cited'> = { waiting: [], cited: new Map() };
  // 4.
  for await (const offered of offerPending(extraction.session.request, sorted, { ...deps, ...plan })) {
    const { ranges, touched, left, shown } = offered;
    try {
      await rehearse(touched, extraction, deps);
      // 5.
      const asked = await askExtractor(offered, extraction, { written, before }, deps);
      // 6.
      const isLast = left === ranges.length;
      report.entries.push(
        ...(await commitExtracted(offered, asked, { extraction, readTo: isLast ? readTo : undefined }, deps)),
      );
      report.refused.push(...asked.refused);
      before = asked;
      report.fork = shown;
      plan.isCutShort ||= asked.ending === 'turn-limit';
      for (const { turn } of ranges) for (const each of [covered.all, covered.read]) each.add(turn.id);
      Object.assign(report, { coveredTurns: covered.all.size, readTurns: covered.read.size });
    } catch (error) {
      report.fork = shown;
      return { error, isContinued: offered.continues !== undefined, touched, left };
    }
  }
  return null;
}

/** How it is tried again at once; throws the error where it is not. */
async function planAgain(
  { error, isContinued, touched }: Failed,
  { plan, extraction }: { plan: Plan; extraction: Extraction },
  { report, deps }: Run,
): Promise<Plan> {
  if (!isAppError(error)) throw error;
  const { attempts, excerptTokens } = plan;
  // What failed as a continuation may well pass as an excerpt.
  if (isContinued && ERRORS[error.code].tries !== null)
    return { ...plan, wanted: { by: 'excerpt', why: error.message } };
  if (error.code === 'oversize' && excerptTokens >= 2 * SMALLEST_EXCERPT_TOKENS)
    return { ...plan, excerptTokens: Math.floor(excerptTokens / 2) };
  const isLastTry = attempts !== undefined && isGivenUp(error.code, attempts + 1);
  if (!isLastTry || touched.length === 0) throw error;
  const ranges = touched.map((range) => ({ range, state: 'gave_up', reason: null }) as const);
  await coverRanges(ranges, { extraction, readTo: undefined }, deps);
  for (const { turn } of touched) extraction.reopened.delete(turn.id);
  report.gaveUpTurns += touched.length;
  return { ...plan, attempts: 0, error };
}

/** Of these turns, in their order. `session`: id of its row; `memories`: where its entries went. */
async function coveredTurns(
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
  const asked = session === undefined ? undefined : await sessionBeginning(sql, memory, session);
  const where = { ...(asked !== undefined && { session: asked }), ...(day !== undefined && { day }) };
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

/** The id of the row of the one session of a memory that is called so, or whose name begins so. */
async function sessionBeginning(sql: Sql, memory: MemoryRow, name: string): Promise<string> {
  const found = await sql.all<{ id: string; name: string }>(
    'select id, name from session where memory = ? and substr(name, 1, ?) = ? order by name',
    ...[memory.id, name.length, name],
  );
  const [first] = found;
  if (!first || first.name === name || found.length === 1) return first?.id ?? '';
  const what = `Several sessions begin with ${name}: ${found.map((each) => each.name).join(', ')}.`;
  throw new AppError('bad-input', what, { remedy: 'Give more of it.' });
}
