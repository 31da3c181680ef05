// The breaker: after some jobs in a row without progress no model is asked for a while; then one job tries, and its
// ending closes the breaker or opens it for longer. Kept in the home, so that all workers of a user share it.
// Promises: between processes one tries at a time; a try whose process died is given to another; a server that asks
// for a pause gets it from everyone.

import type { Failure } from '../../base/errors.ts';
import { isDead, thisProcess } from '../../base/process.ts';
import type { Clock } from '../../base/time.ts';
import type { Sql } from '../ledger/database.ts';

/** A pause that a server asks for and that a job does not wait out itself. */
const LONG_PAUSE_MS = 30_000;
const FIRST_PAUSE_MS = 5 * 60_000;
const LONGEST_PAUSE_MS = 60 * 60_000;
/** No pause is longer: it was set by a clock that was ahead. */
const IMPOSSIBLE_PAUSE_MS = 25 * 60 * 60_000;
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
}

export class Breaker {
  readonly #sql: Sql;
  readonly #clock: Clock;

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /** Asks whether a job may begin. Who is admitted as the probe must tell how it ended, by any of the three below. */
  admit(): Admission {
    return this.#sql.transaction((): Admission => {
      const row = this.#row();
      const now = this.#clock.now();
      if (row.until === null) return { isAdmitted: true, isProbe: false };
      if (row.until > now.toISOString()) return this.#skip(row.until);
      const isTried = row.prober && row.probe_until && row.probe_until > now.toISOString() && !isDead(row.prober);
      if (isTried) return this.#skip(later(now, PROBE_LOOK_MS));
      this.#sql.run('update breaker set prober = ?, probe_until = ?', thisProcess(), later(now, PROBE_MS));
      return { isAdmitted: true, isProbe: true };
    });
  }

  #skip(until: string): Admission {
    this.#sql.run('update breaker set skips = skips + 1');
    return { isAdmitted: false, until };
  }

  /** A model was asked and the job came further; or a person says to try again. */
  close(): void {
    this.#sql.run(`update breaker set failures = 0, openings = 0, until = null, code = null, reason = null, prober = null,
         probe_until = null, skips = 0 where failures > 0 or until is not null`);
  }

  /** A job that asked no model ended: it says nothing about the next. The try is another's. */
  pass(): void {
    this.#sql.run('update breaker set prober = null, probe_until = null where prober = ?', thisProcess());
  }

  /**
   * A job ended without progress. It opens after `after` of them in a row, at the end of a failed try, and at once
   * where a server asked for a pause that is longer than what a job waits out itself.
   */
  fail(failure: Failure, { after }: { after: number }): void {
    this.#sql.transaction(() => {
      const row = this.#row();
      const now = this.#clock.now();
      const failures = row.failures + 1;
      // Jobs that were under way when it opened open it no further.
      const isOpen = row.until !== null && row.until > now.toISOString();
      const isAskedToWait = (failure.retryAfterMs ?? 0) > LONG_PAUSE_MS;
      const opens = !isOpen && (row.until !== null || failures >= after || isAskedToWait);
      const openings = row.openings + (opens ? 1 : 0);
      const growingMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.max(0, openings - 1));
      const pauseMs = isAskedToWait ? (failure.retryAfterMs as number) : growingMs;
      const until = opens ? later(now, pauseMs) : row.until;
      this.#sql.run(
        `update breaker set failures = ?, openings = ?, until = ?, code = ?, reason = ?, prober = null,
             probe_until = null`,
        failures,
        openings,
        until,
        failure.code,
        failure.message,
      );
    });
  }

  read(): BreakerState {
    const { failures, until, code, reason, skips } = this.#row();
    const state = until === null ? 'closed' : until > this.#clock.now().toISOString() ? 'open' : 'half-open';
    return { state, failures, until, code, reason, skips };
  }

  #row(): Row {
    const row = this.#sql.get<Row>('select * from breaker where id = 1') as Row;
    const now = this.#clock.now();
    const isImpossible = row.until !== null && row.until > later(now, IMPOSSIBLE_PAUSE_MS);
    return isImpossible ? { ...row, until: now.toISOString() } : row;
  }
}

function later(now: Date, ms: number): string {
  return new Date(now.getTime() + ms).toISOString();
}
