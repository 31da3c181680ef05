// What a job is held by: its claim, renewed until the work is over (who has lost it ends); its wall time and its key. And what a
// person asks for by a command, done at once under the claim that a worker would take, so that the two never do it twice; and
// what a person does that no dream may run beside.

import { needsKey, OFFLINE_MODEL, type RunAgent, requireAccess } from '../agent/agent-types.ts';
import type { Config } from '../base/config/config.ts';
import { AppError, type Failure, onAppError } from '../base/errors.ts';
import { readAccess } from '../base/key.ts';
import { thisProcess } from '../base/process.ts';
import type { Clock } from '../base/time.ts';
import type { Db } from '../db/sql.ts';
import type { Claim } from '../memory/commit.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { giveBack, inboxRow, type NewItem, renew, restore, settle, take } from '../queue/inbox.ts';
import { withPrograms } from './model-programs.ts';

/** What a caller may put in the place of the usual parts. */
export interface Parts {
  /** Runs the agent; default: in a process of its own. */
  runAgent?: RunAgent;
  /** Whether a person at this machine begins what is done; default: a program. */
  startedBy?: 'person' | 'program';
}

/** Aborts when a job's wall time is over. */
export function wallOf(jobWallMs: number): AbortSignal {
  const wall = new AbortController();
  const reason = new AppError('job-ceiling', `The job took longer than ${jobWallMs / 60_000} minutes.`, {
    remedy: 'What it finished stays, and the rest waits. Raise requestMs in config.json of the nocturne home.',
  });
  setTimeout(() => wall.abort(reason), jobWallMs).unref();
  return wall.signal;
}

/** The same runs with the key. */
export function boundRun(config: Config, run: RunAgent): RunAgent {
  const keyed: RunAgent = async (request, ports, signal) => {
    const access = needsKey(request.model) ? { ...request.access, ...(await readAccess(config)) } : {};
    const keyedRequest = { ...request, access };
    // Before an agent is started for it.
    requireAccess(keyedRequest);
    return run(keyedRequest, ports, signal);
  };
  const bound = withPrograms(config, keyed);
  return async (request, ...more) => {
    // It may have been meant to keep something from a model, or to name another one.
    if (config.unknown && request.model !== OFFLINE_MODEL)
      throw new AppError('settings', `No model is asked while config.json has what is no setting: ${config.unknown}`);
    return bound(request, ...more);
  };
}

type HeldBy = { db: Db; clock: Clock; config: Pick<Config, 'leaseMs'> };

/** Does `work` while the claim is renewed; its signal aborts where `signal` does, or the claim is lost. */
export async function holding<T>(
  { db, clock, config: { leaseMs: forMs } }: HeldBy,
  item: Claim,
  { signal, work }: { signal?: AbortSignal; work(signal: AbortSignal): Promise<T> },
): Promise<T> {
  const lost = new AbortController();
  const beat = async () => {
    if (await renew(db, item, { now: clock.now(), forMs })) return;
    lost.abort(new AppError('fenced', 'This work was taken over by another worker, so nothing of it is written.'));
  };
  // A full disk or a busy database: the next renewal may get through, and a claim that is lost keeps the work from being committed.
  const beating = setInterval(() => void beat().catch(onAppError(() => undefined)), forMs / 3);
  try {
    return await work(AbortSignal.any([lost.signal, ...(signal ? [signal] : [])]));
  } finally {
    clearInterval(beating);
  }
}

/**
 * What fails is left to a worker where it waited before, else to the person. Errors: `conflict` where another process is at work
 * on it.
 */
export async function byHand<Report extends { error?: Failure; outcome: string }>(
  by: HeldBy,
  item: Omit<NewItem, 'notBefore'>,
  { signal, work }: { signal?: AbortSignal; work(claim: Claim, signal: AbortSignal): Promise<Report> },
): Promise<Report> {
  const { db, clock, config } = by;
  const before = await inboxRow(db, item);
  const taken = await take(db, { owner: thisProcess(), item, now: clock.now(), forMs: config.leaseMs });
  let report: Report | undefined;
  try {
    report = await holding(by, taken, { signal, work: (held) => work(taken, held) });
    return report;
  } finally {
    const isAsItWas = before?.state === 'failed' && report?.outcome === 'nothing-new';
    const ending = report?.error && before ? report : { outcome: 'done' };
    if (isAsItWas) await restore(db, before);
    else await settle(db, taken, ending, { now: clock.now() });
  }
}

/** What no dream may run beside, under the claim of the memory's dream, which a worker takes, too. Errors: `conflict`, which says who dreams there. A dream that waits goes on waiting. */
export async function withoutDreams<Done>(
  { db, clock, config }: HeldBy,
  memory: MemoryRow,
  work: (claim: Claim) => Promise<Done>,
): Promise<Done> {
  const item = { kind: 'dream', key: memory.id, memory: memory.id, payload: {} } as const;
  const claim = await take(db, { owner: thisProcess(), item, now: clock.now(), forMs: config.leaseMs });
  try {
    return await work(claim);
  } finally {
    if (claim.news === 1) await settle(db, claim, { outcome: 'done' }, { now: clock.now() });
    else await giveBack(db, claim);
  }
}
