// What a job is held by: its wall time, its key, and how many runs of the agent a worker has under way at once.

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

/** The same runs with the key, `concurrency` at once; `onRequest` is told of their requests. */
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
  return withPrograms(config, atMost(config.concurrency, keyed), log);
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

/** The same runs, so many at once: sessions that wait for their turn are made ready meanwhile. */
export function atMost(most: number, run: RunAgent): RunAgent {
  const running = new Set<Promise<unknown>>();
  return async (request, ports, signal) => {
    while (running.size >= most && !signal?.aborted) {
      const aborted = Promise.withResolvers<void>();
      signal?.addEventListener('abort', () => aborted.resolve(), { once: true });
      await Promise.race([aborted.promise, ...running]);
    }
    signal?.throwIfAborted();
    const own = run(request, ports, signal);
    const ended: Promise<unknown> = Promise.allSettled([own]).then(() => running.delete(ended));
    running.add(ended);
    return own;
  };
}
