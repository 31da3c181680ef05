// Whether a model may be asked now: not on a day whose ceiling is reached, and not while the breaker is open; what is held back waits
// in the inbox as it is. The breaker: after some jobs in a row without progress no model is asked for a while; then one job tries, and
// its end closes the breaker or opens it for longer. It is derived from the jobs that ended last, so all who share the database share it.
// Promises: a pause that a server asks for is everyone's; jobs that were under way when it opened open it no further.

import { OFFLINE_MODEL } from '../agent/agent-types.ts';
import type { Config } from '../base/config/config.ts';
import { ERRORS, isErrorCode } from '../base/errors.ts';
import { isNewIn } from '../base/key.ts';
import { type Clock, dayOf } from '../base/time.ts';
import { type Db, keepSetting, marks, type Sql, settingOf } from '../db/sql.ts';
import { fullSince } from './spend.ts';

/** A pause that a server asks for and that a job does not wait out itself. */
const LONG_PAUSE_MS = 30_000;
const FIRST_PAUSE_MS = 5 * 60_000;
const LONGEST_PAUSE_MS = 60 * 60_000;
/** No pause is longer: it was set by a clock that was ahead. */
const IMPOSSIBLE_PAUSE_MS = 8 * 24 * 60 * 60_000;
/** Enough to tell how far the pauses have grown. */
const JOBS = 60;

/** The jobs that ask a model, and so tell whether one answers. */
export const MODEL_KINDS = ['extract', 'dream', 'reprocess'] as const;

export interface BreakerState {
  /** `half-open`: the pause is over, and one job tries. */
  state: 'closed' | 'open' | 'half-open';
  /** Jobs in a row without progress. */
  failures: number;
  /** When it tries again; null where it is closed. */
  until: string | null;
  /** What the last of those jobs failed with. */
  code: string | null;
  reason: string | null;
}

interface Ended {
  endedAt: string;
  code: string | null;
  error: string | null;
  progress: number;
  retryAt: string | null;
  calls: number;
}

/** As the jobs have it that ended since a person, or another key, closed it last. `after`: failures in a row. */
export async function breakerOf(sql: Sql, { after, now }: { after: number; now: Date }): Promise<BreakerState> {
  const [closed = '', ...before] = (await settingOf(sql, 'breaker'))?.split(' ') ?? [];
  // What ended later ended by a clock that was wrong.
  const jobs = await sql.all<Ended & { id: string }>(
    `select id, ended_at as "endedAt", code, error, progress, retry_at as "retryAt",
       (select count(*) from call where call.job = job.id) as calls
     from job where ended_at >= ? and ended_at <= ? and status in ('completed', 'failed') and outcome <> 'interrupted'
       and kind in (${marks(MODEL_KINDS)}) order by ended_at desc limit ${JOBS}`,
    ...[closed, now.toISOString(), ...MODEL_KINDS],
  );
  return readJobs(jobs.filter(({ id }) => !before.includes(id)).reverse(), { after, now });
}

function readJobs(jobs: readonly Ended[], { after, now }: { after: number; now: Date }): BreakerState {
  const closed: Omit<BreakerState, 'state'> = { failures: 0, until: null, code: null, reason: null };
  let at = closed;
  let openings = 0;
  for (const { endedAt, code, error, progress, retryAt, calls } of jobs) {
    const pauseMs = retryAt === null ? 0 : Date.parse(retryAt) - Date.parse(endedAt);
    const isAskedToWait = pauseMs > LONG_PAUSE_MS;
    const isFailure =
      code !== null && isErrorCode(code) && ERRORS[code].countsForBreaker && (progress === 0 || isAskedToWait);
    if (!isFailure) {
      // A job that asked no model says nothing of the next.
      if ((code === null || progress > 0) && calls > 0) [at, openings] = [closed, 0];
      continue;
    }
    const failures = at.failures + 1;
    const isOpen = at.until !== null && at.until > endedAt;
    let { until } = at;
    if (!isOpen && (until !== null || failures >= after || isAskedToWait)) {
      openings += 1;
      const growingMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (openings - 1));
      const ms = isAskedToWait ? Math.min(pauseMs, IMPOSSIBLE_PAUSE_MS) : growingMs;
      until = new Date(Date.parse(endedAt) + ms).toISOString();
    }
    at = { failures, until, code, reason: error };
  }
  const isOver = at.until !== null && at.until <= now.toISOString();
  return { ...at, state: at.until === null ? 'closed' : isOver ? 'half-open' : 'open' };
}

/** A person, or another key, says to try again. */
export async function closeBreaker(sql: Sql, now: Date): Promise<void> {
  const at = now.toISOString();
  const jobs = await sql.all<{ id: string }>('select id from job where ended_at = ?', at);
  await keepSetting(sql, 'breaker', [at, ...jobs.map(({ id }) => id)].join(' '));
}

/** How long the others wait for the one that tries before another may. */
const PROBE_MS = 60_000;

/**
 * Asks to be the one that tries, where it is half open; of all processes one is, and a minute later another where that one works
 * on nothing: its claim says whether it does.
 */
export async function mayTry(sql: Sql, { until, now }: { until: string; now: Date }): Promise<boolean> {
  const working = await sql.get(
    `select 1 from inbox where owner is not null and until >= ? and kind in (${marks(MODEL_KINDS)})`,
    ...[now.toISOString(), ...MODEL_KINDS],
  );
  if (working) return false;
  const minute = Math.floor((now.getTime() - Date.parse(until)) / PROBE_MS);
  const only = 'on conflict (key) do update set value = excluded.value where setting.value <> excluded.value';
  return (await sql.run(`insert into setting (key, value) values ('probe', ?) ${only}`, `${until} ${minute}`)) === 1;
}

/** Whose ceilings and model they are. */
type Asking = { db: Db; clock: Clock; config: Config };

const CEILINGS = ['dayTokens', 'dayMoneyUsd', 'planRequests'] as const;

/** What the settings say of ceilings, as it is kept beside the home: who changes it wants what waits for them. */
export const ceilingsSaid = (config: Config) => ({
  name: 'ceilings',
  said: [config.model, ...CEILINGS.map((name) => config[name] ?? null)],
});

/** Since when today has no room for another request, by the ceilings as they are; null: it may have. */
export async function fullFromOf({ db, clock, config }: Asking): Promise<string | null> {
  if (isNewIn(config.home, ceilingsSaid(config))) return null;
  return fullSince(db, dayOf(clock.now(), config.zone));
}

/** What holds all work back, as a sentence without its stop; null: nothing, or this one tries for all. */
export async function gateOf(
  { db, clock, config }: Asking,
  { isLooking = false } = {},
): Promise<{ why: string | null; isProbe: boolean }> {
  const open = { why: null, isProbe: false };
  // The offline model costs nothing and is always there.
  if (config.model === OFFLINE_MODEL) return open;
  const now = clock.now();
  const day = dayOf(now, config.zone);
  const fullFrom = await (isLooking ? fullFromOf({ db, clock, config }) : fullSince(db, day));
  if (fullFrom !== null) return { why: `the daily limit of ${day} was reached at ${fullFrom}`, isProbe: false };
  const { state, until, failures } = await breakerOf(db, { after: config.breakerAfter, now });
  if (state === 'closed' || until === null) return open;
  const why = `no model is asked before ${until}: it failed ${failures} times in a row`;
  if (state === 'open') return { why, isProbe: false };
  if (isLooking) return { why: 'the model failed several times in a row, and one job tries first', isProbe: false };
  return (await mayTry(db, { until, now })) ? { why: null, isProbe: true } : { why, isProbe: false };
}
