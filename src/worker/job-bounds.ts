// What a job is held by: its wall time, its key, and the slots in which a worker asks its model.

import { needsKey, type Refusal, type RequestNews, type RunAgent, requireAccess } from '../agent/agent-types.ts';
import type { Config } from '../base/config/config.ts';
import type { Settled, Usage } from '../base/config/prices.ts';
import { AppError } from '../base/errors.ts';
import { readAccess } from '../base/key.ts';
import type { Log } from '../base/logger.ts';
import { withPrograms } from './model-programs.ts';

/** What a caller may put in the place of the usual parts. */
export interface Parts {
  /** Runs the agent; default: in a process of its own. */
  runAgent?: RunAgent;
  /** Told of each request to the model. */
  onRequest?(news: RequestNews): void;
  /** Whether a person at this machine begins what is done; default: a program. */
  startedBy?: 'person' | 'program';
}

/** Aborts when a job's wall time is over. */
export function wallOf(jobWallMs: number): AbortSignal {
  const wall = new AbortController();
  const reason = new AppError('job-ceiling', `The job's wall time of ${jobWallMs} ms is over.`, {
    remedy: 'What it committed stays and the rest waits. Raise jobWallMs in config.json of the nocturne home.',
  });
  setTimeout(() => wall.abort(reason), jobWallMs).unref();
  return wall.signal;
}

/** The same runs with the key, each request in a slot; `onRequest` is told of them. */
export function boundRun(config: Config, run: RunAgent, onRequest: Parts['onRequest'], log?: Log): RunAgent {
  const told = around(run, {
    reserved: () => onRequest?.(undefined),
    settled: (_, refused) => onRequest?.(refused ?? null),
  });
  const keyed: RunAgent = async (request, ports, signal) => {
    const access = needsKey(request.model) ? { ...request.access, ...(await readAccess(config)) } : {};
    const keyedRequest = { ...request, access };
    // Before an agent is started for it.
    requireAccess(keyedRequest);
    return told(keyedRequest, ports, signal);
  };
  return withPrograms(config, withinSlots(keyed, new ModelSlots(config.concurrency)), log);
}

/** Tells what each request of a run used. */
export function withUsage(run: RunAgent, onUsage?: (usage: Usage) => void | Promise<void>): RunAgent {
  return onUsage ? around(run, { settled: onUsage }) : run;
}

/** Calls these when a request of a run is about to be sent, and before what it used is counted. */
function around(
  run: RunAgent,
  told: { reserved?(): void; settled(usage: Settled, refused?: Refusal): void | Promise<void> },
): RunAgent {
  return (request, ports, signal) => {
    const reserve: typeof ports.reserve = async (...bound) => {
      const reservation = await ports.reserve(...bound);
      told.reserved?.();
      return reservation;
    };
    const settle: typeof ports.settle = async (reservation, usage, refused) => {
      await told.settled(usage, refused);
      return ports.settle(reservation, usage, refused);
    };
    return run(request, { ...ports, reserve, settle }, signal);
  };
}

/**
 * Bounds the model requests that one worker has under way, over all its runs: so sessions can be read, checked and committed
 * while others wait for the model, and the slots that are paid for by waiting stay busy. A slot is held from a request's
 * reservation to its settlement, so not while tools run or answers are checked.
 */
export class ModelSlots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(slots: number) {
    this.#free = slots;
  }

  /** A slot, in the order of asking; give it back once. */
  async take(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return () => {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    };
  }
}

/**
 * The same runs, with every request in a slot. A run sends one request after the other, so it holds one slot at most:
 * one whose request was never settled (its fate is unknown) serves the next try, and is given back with the run's end.
 */
export function withinSlots(run: RunAgent, slots: ModelSlots): RunAgent {
  return async (request, ports, signal) => {
    let isOver = false;
    let slot: (() => void) | undefined;
    const giveBack = () => {
      slot?.();
      slot = undefined;
    };
    const reserve: typeof ports.reserve = async (...bound) => {
      slot ??= await slots.take();
      // The run may have been ended while it waited.
      if (isOver) giveBack();
      return ports.reserve(...bound);
    };
    const settle: typeof ports.settle = (reservation, ...answered) => {
      giveBack();
      return ports.settle(reservation, ...answered);
    };
    try {
      return await run(request, { ...ports, reserve, settle }, signal);
    } finally {
      isOver = true;
      giveBack();
    }
  };
}

/** How many sessions are worked side by side so that `slots` model requests can be: half as many wait their turn. */
export function lanesFor(slots: number): number {
  return slots + Math.floor(slots / 2);
}
