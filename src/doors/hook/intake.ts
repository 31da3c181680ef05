// What a worker takes in before it looks into its inboxes: the spool, and what a sweep finds when a session began or an
// hour has passed. And how a worker that a hook has started goes on: until nothing that hooks named is due any more.
// Promises that a hook which saw a worker awake is heard by it.

import { refreshAgentSettings } from '../../base/config/config.ts';
import { DAY_MS } from '../../base/time.ts';
import { awakeIn, spoolFiles } from '../../queue/spool.ts';
import type { App } from '../compose.ts';
import { drainInboxes, pause, type WorkerOptions } from '../worker/worker.ts';
import { type Ingested, ingestSpool } from './ingest.ts';
import { sweepSessions } from './sweep.ts';

const SWEEP_EVERY_MS = 3_600_000;
const LOOK_MS = 250;
const REST_MS = 1_000;

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
  let last: Ingested = { announced: 0, lagging: 0, sessionBegan: false };
  let sweepAtMs = isResident || isNight ? 0 : Infinity;
  let sweeping: Promise<void> | undefined;
  let isWanted = false;
  let hasSwept = false;
  const awake = awakeIn(home, clock);
  if (isResident) awake.enter();
  const sweep = async () => {
    const since = new Date(clock.now().getTime() - sweepDays * DAY_MS);
    const report = await sweepSessions(app, { since, signal });
    for (const problem of report.problems) onError(problem);
  };
  return {
    /** What the last call of `takeIn` found. */
    last: () => last,
    /** Answers whether something came into an inbox. */
    async takeIn(): Promise<boolean> {
      if (app.config.agentMemory.settings.problem) await refreshAgentSettings(app.config);
      last = await ingestSpool(app, { onProblem: onError });
      const nowMs = clock.now().getTime();
      // What asks for a sweep while one is under way gets another: that one may have passed by already.
      isWanted ||= last.sessionBegan;
      const hasCome = last.announced > 0 || hasSwept;
      hasSwept = false;
      if (sweeping || !(isWanted || nowMs >= sweepAtMs)) return hasCome;
      isWanted = false;
      sweepAtMs = isResident ? nowMs + SWEEP_EVERY_MS : Infinity;
      const ended = () => {
        sweeping = undefined;
        hasSwept = true;
      };
      sweeping = sweep()
        .catch((error: unknown) => onError(`The sweep ended early: ${error instanceof Error ? error.message : error}`))
        .finally(ended);
      if (isResident) return hasCome;
      await sweeping;
      return true;
    },
    /** Waits for a sweep under way, which ends soon when the signal has aborted. */
    async end(): Promise<void> {
      awake.leave();
      await sweeping;
    },
  };
}

/** Works what is due and waits for what will be due when its debounce is over, unless an older worker does. */
export async function workAfterHook(
  app: App,
  options: WorkerOptions & { intake: ReturnType<typeof openIntake> },
): Promise<void> {
  const { signal, intake } = options;
  const { clock, home } = app.config;
  const awake = awakeIn(home, clock);
  try {
    while (awake.enterIfNeeded()) {
      await drainInboxes(app, options);
      while (!signal.aborted && (intake.last().lagging > 0 || (await isSomethingDueSoon(app)))) {
        // A transcript may come at any time; what waits out its debounce is due when it is.
        await pause(intake.last().lagging > 0 ? LOOK_MS : REST_MS, signal);
        await drainInboxes(app, options);
      }
      const left = new Set(spoolFiles(home));
      awake.leave();
      // A hook that came before the leaving has relied on this worker.
      if (signal.aborted || spoolFiles(home).every((file) => left.has(file))) return;
    }
  } finally {
    awake.leave();
  }
}

async function isSomethingDueSoon({ config, desk }: App): Promise<boolean> {
  const now = config.clock.now();
  const nextAt = await desk.nextDueAt(now.toISOString());
  return nextAt !== undefined && nextAt <= new Date(now.getTime() + config.debounceMs).toISOString();
}
