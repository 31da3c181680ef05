// What a job is held by: the lease of what it works on, renewed while it works, its wall time, and the slots in which a worker
// asks its model.

import type { ExtractReport } from '../../jobs/extract.ts';
import { needsKey, type Refusal, type RunAgent, requireAccess } from '../agent/types.ts';
import type { Config } from '../base/config/config.ts';
import { AppError, onAppError } from '../base/errors.ts';
import { readAccess } from '../base/key.ts';
import type { Log } from '../base/logger.ts';
import { thisProcess } from '../base/process.ts';
import type { SpentTokens } from '../memory/home/spend.ts';
import type { Lease } from '../memory/ledger/job-rows.ts';
import { newId, type StartedBy } from '../memory/ledger/ledger.ts';
import type { Store } from '../memory/store/store.ts';
import { withPrograms } from './model-programs.ts';

export type RequestNews = Refusal | null | undefined;

/** What a caller may put in the place of the usual parts. */
export interface Parts {
  /** Runs the agent; default: in a process of its own. */
  runAgent?: RunAgent;
  /** Told of each request to the model: it is asked (undefined), it answered (null), or it refused. */
  onRequest?(news: RequestNews): void;
  /** Whether a person at this machine begins what is done; default: a program. */
  startedBy?: StartedBy;
}

/** What may be asked for with a job. */
export interface JobOptions {
  /** Ends the job; what it did not commit is lost. */
  signal?: AbortSignal;
  /** The directory to work in, where it is known already. */
  store?: Store;
  onReport?(report: ExtractReport): void;
  /** Default: the configured one. */
  model?: string;
  /** The id of the inbox item that it works, where it commits nothing once that is gone or was replaced. */
  item?: number;
  /** Asked inside each commit of the job: throws where it is wanted no more. */
  mayCommit?(): void;
  /** Told what each request used as soon as that is known. */
  onUsage?(usage: SpentTokens): void | Promise<void>;
  /** What is learned of the user stays in the store, whatever the settings. */
  keepsUserMemory?: boolean;
  /** A dream shares what it changed with the team whose working tree holds this directory. */
  shareFrom?: string;
}

/** Runs `work` while no other process works on the key in the store; null where one does. */
export async function withLease<T>(
  store: Store,
  { key, config, work }: { key: string; config: Config; work: (lease: Lease) => Promise<T> },
): Promise<T | null> {
  const owner = `${thisProcess()}/${newId('run')}`;
  const lease = await store.work.takeLease({ key, owner, now: config.clock.now(), ttlMs: config.leaseMs });
  if (!lease) return null;
  const renew = () => store.work.renewLease(lease, { now: config.clock.now(), ttlMs: config.leaseMs });
  // A full disk or a busy ledger: thrown from here it would end the process with all its jobs. The next renewal may get
  // through, and a lease that is lost keeps the work from being committed.
  const renewal = setInterval(() => void renew().catch(onAppError(() => {})), config.leaseMs / 3);
  try {
    return await work(lease);
  } finally {
    clearInterval(renewal);
    await store.work.releaseLease(lease);
  }
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
export function withUsage(run: RunAgent, onUsage: JobOptions['onUsage']): RunAgent {
  return onUsage ? around(run, { settled: onUsage }) : run;
}

/** Calls these when a request of a run is about to be sent, and before what it used is counted. */
function around(
  run: RunAgent,
  told: { reserved?(): void; settled(usage: SpentTokens, refused?: Refusal): void | Promise<void> },
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
