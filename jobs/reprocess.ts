// Reprocess: what was covered before is extracted again.
//
// 1. Find the covered turns: of a session, of a day, or all.
// 2. For each session, extract those turns again from its transcript. The old entries stay until the new commit
//    replaces them; what a person edited stays as it is. A transcript that is gone changes nothing and is named.

import { AppError } from '../src/base/errors.ts';
import type { Day } from '../src/base/time.ts';
import { coverageWhere, sessionRow } from '../src/memory/ledger/coverage.ts';
import { wholeId } from '../src/memory/ledger/short-ids.ts';
import type { Store } from '../src/memory/store/store.ts';
import type { ExtractReport, ExtractRequest } from './extract.ts';

export interface ReprocessRequest {
  /** Exactly one of `session`, `day` and `all`. */
  session?: string;
  day?: Day;
  all?: boolean;
  instructions?: string;
  /** Take the sessions as ended. */
  ended: boolean;
}

interface ReprocessDeps {
  store: Store;
  /** Extracts one session into this memory directory. */
  extract(request: ExtractRequest): Promise<ExtractReport>;
  /** Told of each session as it is done. */
  onReport?(report: ExtractReport): void;
}

/** Throws `bad-input` where nothing was ever extracted from what is asked for. */
export async function reprocess(request: ReprocessRequest, deps: ReprocessDeps): Promise<ExtractReport[]> {
  // 1.
  const { ledger } = deps.store;
  const asked = request.session === undefined ? undefined : wholeId(ledger, 'session', request.session);
  const where = request.all ? {} : { session: asked, day: request.day };
  const covered = coverageWhere(ledger, where).filter(({ disposition }) => disposition !== 'declined');
  if (covered.length === 0) {
    const { session, day } = request;
    const what = session ? `session ${session}` : day ? `sessions of ${day}` : 'any session';
    throw new AppError('bad-input', `Nothing was extracted before from ${what} in ${deps.store.id}.`, {
      remedy: 'Use nocturne extract TRANSCRIPT for a session that is new.',
    });
  }
  const turnsOf = Map.groupBy(covered, (row) => row.session);
  // 2.
  const reports: ExtractReport[] = [];
  for (const [session, rows] of turnsOf) {
    const turns = new Set(rows.map((row) => row.turn));
    const report = await deps.extract({
      transcript: sessionRow(ledger, session)?.path ?? '',
      session,
      ended: request.ended,
      instructions: request.instructions,
      reopen: turns,
    });
    deps.onReport?.(report);
    reports.push(report);
  }
  return reports;
}
