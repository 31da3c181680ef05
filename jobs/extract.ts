// Extract: a session's pending turns become entries in the daily logs.
//
// 1. Open the transcript and take the session's lease.
// 2. Sort its turns: covered, private, written by the main agent, pending.
// 3. Cover the private turns, those in which the main agent wrote memory, and those that a rebuilt ledger assumes,
//    without extracting.
// 4. Show the pending turns, redacted, within the token budget: one excerpt, or several for a long session; or, where
//    that is asked for, continue the request that the transcript holds.
// 5. For each excerpt let the forked extractor record entries, each checked by code, and
// 6. commit its entries and its coverage together (4 to 6: extract/extract-pending.ts). What fails leaves nothing behind
//    and stays pending,
// 7. but what is too long is split smaller, and what failed too often is given up, so that the rest is not held up.

import { failureOf, isAppError, isGivenUp } from '../src/base/errors.ts';
import { type Coverage, givenUpTurns, hasMainAgent, hasUndone, sessionRow } from '../src/memory/ledger/coverage.ts';
import { beginJob, endJob } from '../src/memory/ledger/job-rows.ts';
import { openSession, type ReadPoint } from '../src/transcript/session.ts';
import { coverTurns } from './extract/cover-turns.ts';
import { countCovered, extractPending } from './extract/extract-pending.ts';
import { type SortedTurns, sortTurns } from './extract/pending-turns.ts';
import { coverageRanges, type ExtractOutcome, type ExtractReport, emptyReport, outcomeOf } from './extract/report.ts';
import type { Deps, ExtractDeps, ExtractRequest, Run } from './extract/run.ts';
import { sessionRows } from './extract/session-rows.ts';

/** An excerpt that a model finds too long is split down to this. */
const SMALLEST_EXCERPT_TOKENS = 500;

export type { ExtractOutcome, ExtractReport } from './extract/report.ts';
export type { ExtractDeps, ExtractRequest } from './extract/run.ts';

/** Contract: throws only what is not an AppError; every planned ending is the report's `outcome`. */
export async function extract(request: ExtractRequest, deps: ExtractDeps): Promise<ExtractReport> {
  const report = emptyReport(request, deps.spend.total());
  try {
    // 1.
    const { transcript, session: id, ended, snapshot } = request;
    const session = await openSession(transcript, { id, isLive: !ended, snapshot });
    report.session = session.id;
    const store = await deps.storeFor(session);
    report.memory = store.dir;
    const done = await deps.withLease(store, `session:${session.id}`, (lease) =>
      extractSession({ session, request, report, lease }, { ...deps, store }),
    );
    if (done === null) report.outcome = 'busy';
  } catch (error) {
    if (!isAppError(error)) throw error;
    report.outcome = outcomeOf(error);
    report.error = failureOf(error);
  }
  report.spend = deps.spend.total();
  return report;
}

async function extractSession(run: Run, deps: Deps): Promise<true> {
  const { session, request, report } = run;
  const { ledger } = deps.store;
  const reopened = new Set(request.reopen);
  const retakesUndone = request.reopenUndone === true && hasUndone(ledger);
  const retakesGivenUp = request.reopenGivenUp === true && givenUpTurns(ledger, session.id).length > 0;
  const isRetaken = (row: Coverage) =>
    (retakesUndone && row.disposition === 'undone') ||
    // What this run itself gives up stays so.
    (retakesGivenUp && row.disposition === 'gave-up' && row.session === session.id && row.job !== report.job);
  const sort = (from?: ReadPoint) =>
    sortTurns(session, {
      ledger,
      memories: deps.memoriesOf?.(session, deps.store.dir) ?? { dirs: [deps.store.dir] },
      ended: request.ended,
      quietMs: deps.clock.now().getTime() - Date.parse(session.modifiedAt),
      settleMs: deps.settleMs,
      reopened,
      isRetaken,
      from,
    });
  let job: string | undefined;
  let order: Iterable<string> = [];
  const ensureJob = () => {
    job ??= beginJob(deps.store.ledger, {
      kind: request.reopen ? 'reprocess' : 'extract',
      session: session.id,
      instructions: request.instructions,
      now: deps.clock.now(),
    });
    report.job = job;
    return job;
  };
  let failure: unknown;
  let { attempts } = request;
  let budgetTokens = deps.excerptTokens;
  let givenUp: unknown;
  const covered = new Set<string>();
  let parts: SortedTurns['parts'] = new Map();
  try {
    for (;;) {
      // 2.
      const isContinued = reopened.size === 0 && !retakesUndone && !retakesGivenUp;
      const from = isContinued ? sessionRow(ledger, session.id)?.readPoint : undefined;
      let sorted = await sort(from);
      // What the agent wrote down before is read again, so that it is known.
      if (from && sorted.pending.size > 0 && hasMainAgent(ledger, session.id)) sorted = await sort();
      order = sorted.states.keys();
      parts = sorted.parts;
      report.unsettledTurns = sorted.unsettled;
      report.unreadableLines = session.unreadableLines;
      // 3.
      const rows = await sessionRows(session, { store: deps.store, lastTurnByte: sorted.lastTurnByte });
      const withoutModel = {
        private: sorted.private,
        'main-agent': sorted.mainAgent,
        assumed: sorted.assumed,
      } as const;
      const isAllCovered = sorted.pending.size === 0;
      const turns = Object.values(withoutModel).flat();
      if (turns.length > 0) {
        await coverTurns(
          withoutModel,
          { ...run, row: isAllCovered ? rows.atEnd : rows.meanwhile, job: ensureJob() },
          deps,
        );
        // Of a turn whose other part is pending, what it gave before is replaced with that.
        for (const { turn } of turns) if (!sorted.pending.has(turn.id)) reopened.delete(turn.id);
        countCovered({ turns, covered, report });
      }
      if (isAllCovered) break;
      const pending = { ...run, sorted, reopened, covered, rows, job: ensureJob() };
      const broken = await extractPending(pending, { ...deps, excerptTokens: budgetTokens });
      if (broken === null) break;
      // 7.
      const { error } = broken;
      if (isAppError(error, 'oversize') && budgetTokens >= 2 * SMALLEST_EXCERPT_TOKENS) {
        budgetTokens = Math.floor(budgetTokens / 2);
        continue;
      }
      report.pendingTurns = broken.pendingTurns;
      const isLastTry = isAppError(error) && attempts !== undefined && isGivenUp(error.code, attempts + 1);
      if (!isLastTry || broken.turns.length === 0) throw error;
      await coverTurns({ 'gave-up': broken.turns }, { ...pending, row: rows.meanwhile }, deps);
      for (const { turn } of broken.turns) reopened.delete(turn.id);
      report.pendingTurns = 0;
      attempts = 0;
      givenUp = error;
    }
    if (givenUp) throw givenUp;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    report.coverage = coverageRanges(deps.store, session.id, { order, parts });
    if (job) {
      endJob(deps.store.ledger, job, {
        ...endOf(failure, { outcome: report.outcome, isStopped: deps.signal?.aborted ?? false }),
        usage: deps.spend.total(),
        now: deps.clock.now(),
      });
    }
  }
  return true;
}

/** How a job ended, for its row: one that was stopped did not fail. */
function endOf(failure: unknown, { outcome, isStopped }: { outcome: ExtractOutcome; isStopped: boolean }) {
  if (failure === undefined) return { outcome };
  if (isAppError(failure)) return { outcome: outcomeOf(failure), error: failureOf(failure) };
  return isStopped ? { outcome: 'interrupted' } : { outcome: 'failed', error: failureOf(failure) };
}
