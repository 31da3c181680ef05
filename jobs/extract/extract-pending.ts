// Extracts the pending turns of a session, excerpt by excerpt, until one fails; or, where that is asked for, by
// continuing the request that the transcript holds.

import type { FoundEntry } from '../../src/agent/entry-checks.ts';
import { ERRORS, isAppError } from '../../src/base/errors.ts';
import { dayOf } from '../../src/base/time.ts';
import { logPath } from '../../src/memory/text/daily-log.ts';
import type { Excerpt } from '../../src/transcript/excerpt/excerpt.ts';
import type { Session } from '../../src/transcript/session.ts';
import { commitExcerpt } from './commit-excerpt.ts';
import { continuationOf } from './fork-prefix.ts';
import type { PendingTurn, SortedTurns } from './pending-turns.ts';
import { addCited, type CitedMessages, type ExtractReport, reportedEntry } from './report.ts';
import type { Deps, Run } from './run.ts';
import { runExtractor } from './run-extractor.ts';
import type { SessionRows } from './session-rows.ts';
import { excerptsOf } from './shown-turns.ts';

export interface PendingRun extends Run {
  sorted: SortedTurns;
  reopened: Set<string>;
  /** The turns that this job covered, wholly or in part. */
  covered: Set<string>;
  rows: SessionRows;
  job: string;
}

/** What failed, over which turns, and how many are left to be extracted, these included. */
export interface Broken {
  error: unknown;
  turns: PendingTurn[];
  pendingTurns: number;
}

/** Answers what failed, or null where all is covered. What was committed before a failure stays. */
export async function extractPending(run: PendingRun, deps: Deps): Promise<Broken | null> {
  // 4.
  const wanted = run.request.fork ?? deps.fork ?? 'excerpt';
  const fork = wanted === 'prefix' ? await continuationOf(run, deps) : null;
  if (fork?.request) {
    run.report.fork = { by: 'prefix' };
    const broken = await extractShown({ ...run, excerpts: [fork.pending], continues: fork.request }, deps);
    // What failed as a continuation may well pass as an excerpt.
    if (!broken || !isAppError(broken.error) || ERRORS[broken.error.code].tries === null) return broken;
    run.report.fork = { by: 'excerpt', why: broken.error.message };
  } else {
    run.report.fork = fork ? { by: 'excerpt', why: fork.why } : { by: 'excerpt' };
  }
  return extractShown({ ...run, excerpts: excerptsOf(run, deps) }, deps);
}

interface ShownRun extends PendingRun {
  excerpts: AsyncIterable<Excerpt> | Iterable<Excerpt>;
  /** The request that the excerpts point into. */
  continues?: Session['request'];
}

async function extractShown(run: ShownRun, deps: Deps): Promise<Broken | null> {
  const { sorted, report, excerpts, continues } = run;
  if (report.outcome === 'nothing-new') report.outcome = 'nothing-worth-keeping';
  const cited: CitedMessages = new Map();
  const left = new Set(sorted.pending.keys());
  // Of a turn that is split over several excerpts, which lists it where it ends, the entries wait until then.
  let waiting: FoundEntry[] = [];
  for await (const excerpt of excerpts) {
    const turns = excerpt.turns.map((id) => sorted.pending.get(id) as PendingTurn);
    const row = left.size === turns.length ? run.rows.atEnd : run.rows.meanwhile;
    try {
      await rehearse(run, { turns: turnsIn(excerpt, sorted), deps });
      // 5.
      const { found, ending, prompt } = await runExtractor(run, { excerpt, waiting, continues }, deps);
      waiting.push(...found);
      addCited(cited, { found, excerpt });
      // 6.
      const ended = new Set(excerpt.turns);
      const complete = waiting.filter((entry) => ended.has(entry.turn));
      waiting = waiting.filter((entry) => !ended.has(entry.turn));
      const entries = await commitExcerpt({ ...run, row, turns, prompt, found: complete }, deps);
      for (const { turn } of turns) {
        left.delete(turn.id);
        run.reopened.delete(turn.id);
      }
      countCovered({ turns, covered: run.covered, report });
      report.entries.push(...entries.map((entry) => reportedEntry(entry, { cited, userMemory: deps.userMemory })));
      if (ending === 'turn-limit') report.outcome = 'turn-limit';
      else if (entries.length > 0 && report.outcome !== 'turn-limit') report.outcome = 'recorded';
    } catch (error) {
      return { error, turns: turnsIn(excerpt, sorted), pendingTurns: left.size };
    }
  }
  return null;
}

/** What their logs cannot be written for is found before a model is paid for what goes there. */
async function rehearse(
  { job, lease }: PendingRun,
  { turns, deps }: { turns: PendingTurn[]; deps: Deps },
): Promise<void> {
  const { store, clock, zone } = deps;
  const days = new Set(turns.map(({ turn }) => dayOf(turn.at ?? clock.now(), zone)));
  await store.rehearse({ actor: `job:${job}`, lease }, [...days].map(logPath));
}

/** Counts a turn once, also where it is covered range by range. */
export function countCovered(done: { turns: PendingTurn[]; covered: Set<string>; report: ExtractReport }): void {
  for (const { turn } of done.turns) done.covered.add(turn.id);
  done.report.coveredTurns = done.covered.size;
}

/** The pending turns of which an excerpt offers anything, also those that end in a later one. */
function turnsIn(excerpt: Excerpt, { pending }: SortedTurns): PendingTurn[] {
  const offered = [...excerpt.sources.values()].filter(({ offered }) => offered).map(({ turn }) => turn);
  return [...new Set([...offered, ...excerpt.turns])].flatMap((id) => pending.get(id) ?? []);
}
