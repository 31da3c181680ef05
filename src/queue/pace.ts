// When news of a session is worked: once it was quiet for a while, but not more often than its pace allows, and however much
// news keeps coming no later than that either.

export interface Pace {
  /** What the clock says. */
  now: Date;
  /** When the news came; default: now. */
  at?: Date;
  /** From the last news to the work. */
  debounceMs: number;
  /** From the beginning of one work to that of the next; 0: as often as there is news. */
  throttleMs: number;
  /** The session is over, or a person asks in it: `throttleMs` does not hold it back, only bounds how long news may. */
  isLast?: boolean;
}

/** The instant from which news is due. `since`: since when something waits; `workedAt`: when it was worked last. */
export function dueAt(
  { now, at = now, debounceMs, throttleMs, isLast }: Pace,
  had: { since?: string | null; workedAt?: string | null },
): Date {
  const nowMs = now.getTime();
  const msOf = (instant: string | null | undefined) => (instant ? Date.parse(instant) : Number.NEGATIVE_INFINITY);
  // What began later began by a clock that was wrong, and holds nothing back.
  const past = (ms: number) => (ms > nowMs ? Number.NEGATIVE_INFINITY : ms);
  const cameMs = Math.min(at.getTime(), nowMs);
  const workedMs = past(msOf(had.workedAt));
  const sinceMs = past(msOf(had.since));
  const patientMs = Math.max(Number.isFinite(sinceMs) ? sinceMs : cameMs, workedMs) + Math.max(debounceMs, throttleMs);
  const quietMs = Math.min(cameMs + debounceMs, patientMs);
  const restedMs = isLast ? cameMs : workedMs + throttleMs;
  return new Date(Math.max(cameMs, quietMs, restedMs));
}
