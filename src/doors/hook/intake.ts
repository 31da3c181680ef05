// What a worker takes in before it looks into its inboxes: the spool, and what a sweep finds when a session began or an
// hour has passed. And how long a worker that a hook has started stays: until all that hooks named was worked, at its pace.
// Promises that a hook which saw a worker awake is heard by it, and that what a hook named is worked if no other follows.

import { refreshAgentSettings } from '../../base/config/config.ts';
import { DAY_MS } from '../../base/time.ts';
import { awakeIn, isSpoolEmpty, spoolFiles } from '../../queue/spool.ts';
import type { App } from '../compose.ts';
import { runWorker, type TakenIn, type WorkerOptions } from '../worker/worker.ts';

const SWEEP_EVERY_MS = 3_600_000;

interface IntakeOptions {
  signal: AbortSignal;
  /** Sweeps beside its work, at once and every hour, and is awake until `end`. */
  isResident: boolean;
  /** Sweeps at once. */
  isNight?: boolean;
  onError(message: string): void;
}

export function openIntake(app: App, { signal, isResident, isNight, onError }: IntakeOptions) {
  const { clock, home, sweepDays } = app.config;
  let announcedMs = clock.now().getTime();
  let sweepAtMs = isResident || isNight ? 0 : Infinity;
  let sweeping: Promise<void> | undefined;
  let isWanted = false;
  let hasSwept = false;
  const awake = awakeIn(home, clock);
  if (isResident) awake.enter();
  const sweep = async () => {
    const since = new Date(clock.now().getTime() - sweepDays * DAY_MS);
    const { sweepSessions } = await import('./sweep.ts');
    const report = await sweepSessions(app, { since, signal });
    for (const problem of report.problems) onError(problem);
  };
  const takeSpool = async () => {
    // What is not needed to wait is loaded when it is.
    if (isSpoolEmpty(home)) return { announced: 0, lagging: 0, sessionBegan: false };
    const { ingestSpool } = await import('./ingest.ts');
    return ingestSpool(app, { onProblem: onError });
  };
  return {
    /** By when all that hooks have told of so far is due, by its pace. */
    dueBy: () => new Date(announcedMs + Math.max(app.config.debounceMs, app.config.throttleMs)),
    async takeIn(): Promise<TakenIn> {
      if (app.config.agentMemory.settings.problem) await refreshAgentSettings(app.config);
      const came = await takeSpool();
      const nowMs = clock.now().getTime();
      if (came.announced + came.lagging > 0) announcedMs = nowMs;
      // What asks for a sweep while one is under way gets another: that one may have passed by already.
      isWanted ||= came.sessionBegan;
      const taken = { hasCome: came.announced > 0 || hasSwept, mayCome: came.lagging > 0, isSweeping: !!sweeping };
      hasSwept = false;
      if (sweeping || !(isWanted || nowMs >= sweepAtMs)) return taken;
      isWanted = false;
      sweepAtMs = isResident ? nowMs + SWEEP_EVERY_MS : Infinity;
      const ended = () => {
        sweeping = undefined;
        hasSwept = true;
      };
      sweeping = sweep()
        .catch((error: unknown) => onError(`The sweep ended early: ${error instanceof Error ? error.message : error}`))
        .finally(ended);
      if (isResident) return { ...taken, isSweeping: true };
      await sweeping;
      return { ...taken, hasCome: true };
    },
    /** Waits for a sweep under way, which ends soon when the signal has aborted. */
    async end(): Promise<void> {
      awake.leave();
      await sweeping;
    },
  };
}

/** Works what is due, and what comes due of what hooks told of, unless an older worker does. */
export async function workAfterHook(
  app: App,
  options: Omit<WorkerOptions, 'until'> & { intake: ReturnType<typeof openIntake> },
): Promise<void> {
  const { signal, intake } = options;
  const { clock, home } = app.config;
  const awake = awakeIn(home, clock);
  try {
    while (awake.enterIfNeeded()) {
      await runWorker(app, { ...options, until: intake.dueBy });
      const left = new Set(spoolFiles(home));
      awake.leave();
      // A hook that came before the leaving has relied on this worker.
      if (signal.aborted || spoolFiles(home).every((file) => left.has(file))) return;
    }
  } finally {
    awake.leave();
  }
}
