// The breaker: after some jobs in a row without progress no model is asked for a while; then one job tries, and its
// ending closes the breaker or opens it for longer. Kept in the home, so that all workers of a user share it.
// Promises: between processes one tries at a time; a try whose process died, or on another machine was not seen for long,
// is given to another; a server that asks for a pause gets it from everyone.

import type { Failure } from '../../base/errors.ts';
import { thisProcess } from '../../base/process.ts';
import { HomePart, row, run, type Steps } from './home-database.ts';

/** A pause that a server asks for and that a job does not wait out itself. */
const LONG_PAUSE_MS = 30_000;
const FIRST_PAUSE_MS = 5 * 60_000;
const LONGEST_PAUSE_MS = 60 * 60_000;
/** No pause is longer, and a plan's lasts a week: it was set by a clock that was ahead. */
const IMPOSSIBLE_PAUSE_MS = 8 * 24 * 60 * 60_000;
/** How long the others wait for the one that tries before they look again. */
const PROBE_LOOK_MS = 60_000;
/** Longer than a job may take; a worker that is stopped for longer has lost its try. */
const PROBE_MS = 60 * 60_000;

export interface BreakerState {
  /** `half-open`: the pause is over, and the next job tries, or one does. */
  state: 'closed' | 'open' | 'half-open';
  /** Jobs in a row without progress. */
  failures: number;
  /** When it tries again; null where it is closed. */
  until: string | null;
  /** What the last of those jobs failed with. */
  code: string | null;
  reason: string | null;
  /** How often work was turned away since it opened. */
  skips: number;
}

/** `probe`: this job is the one that tries. Otherwise the instant before which nothing is worked. */
export type Admission = { isAdmitted: true; isProbe: boolean } | { isAdmitted: false; until: string };

interface Row extends Omit<BreakerState, 'state'> {
  openings: number;
  prober: string | null;
  probe_until: string | null;
  prober_seen_at: string | null;
}

export class Breaker extends HomePart {
  /** Asks whether a job may begin. Who is admitted as the probe must tell how it ended, by any of the three below. */
  admit(): Promise<Admission> {
    const { database, clock } = this;
    const now = clock.now();
    return database.transaction(function* (): Steps<Admission> {
      const { until, prober, probe_until: probeUntil, prober_seen_at: seenAt } = yield* rowAt(now);
      if (until === null) return { isAdmitted: true, isProbe: false };
      if (until > now.toISOString()) return yield* skip(until);
      const seenNow = yield* database.now(clock);
      const isTried = prober && probeUntil && probeUntil > now.toISOString();
      if (isTried && !database.isGone({ process: prober, seenAt }, seenNow))
        return yield* skip(later(now, PROBE_LOOK_MS));
      const sql = 'update breaker set prober = ?, probe_until = ?, prober_seen_at = ?';
      yield* run(sql, thisProcess(), later(now, PROBE_MS), seenNow);
      return { isAdmitted: true, isProbe: true };
    });
  }

  /** A model was asked and the job came further; or a person says to try again. */
  async close(): Promise<void> {
    await this.database.run(`update breaker set failures = 0, openings = 0, until = null, code = null, reason = null, prober = null,
         probe_until = null, skips = 0 where failures > 0 or until is not null`);
  }

  /** A job that asked no model ended: it says nothing about the next. The try is another's. */
  async pass(): Promise<void> {
    await this.database.run('update breaker set prober = null, probe_until = null where prober = ?', thisProcess());
  }

  /**
   * A job ended without progress. It opens after `after` of them in a row, at the end of a failed try, and at once
   * where a server asked for a pause that is longer than what a job waits out itself.
   */
  fail(failure: Failure, { after }: { after: number }): Promise<void> {
    const now = this.clock.now();
    return this.database.transaction(function* (): Steps<void> {
      const before = yield* rowAt(now);
      const failures = before.failures + 1;
      // Jobs that were under way when it opened open it no further.
      const isOpen = before.until !== null && before.until > now.toISOString();
      const isAskedToWait = (failure.retryAfterMs ?? 0) > LONG_PAUSE_MS;
      const opens = !isOpen && (before.until !== null || failures >= after || isAskedToWait);
      const openings = before.openings + (opens ? 1 : 0);
      const growingMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, openings - 1));
      const pauseMs = isAskedToWait ? (failure.retryAfterMs as number) : growingMs;
      yield* run(
        `update breaker set failures = ?, openings = ?, until = ?, code = ?, reason = ?, prober = null,
             probe_until = null`,
        failures,
        openings,
        opens ? later(now, pauseMs) : before.until,
        failure.code,
        failure.message,
      );
    });
  }

  async read(): Promise<BreakerState> {
    const now = this.clock.now();
    const { failures, until, code, reason, skips } = await this.database.do(rowAt(now));
    const state = until === null ? 'closed' : until > now.toISOString() ? 'open' : 'half-open';
    return { state, failures, until, code, reason, skips };
  }
}

function* rowAt(now: Date): Steps<Row> {
  const found = (yield* row<Row>('select * from breaker where id = 1')) as Row;
  const isImpossible = found.until !== null && found.until > later(now, IMPOSSIBLE_PAUSE_MS);
  return isImpossible ? { ...found, until: now.toISOString() } : found;
}

function* skip(until: string): Steps<Admission> {
  yield* run('update breaker set skips = skips + 1');
  return { isAdmitted: false, until };
}

function later(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}
