// Whether a model may be asked now: not on a day whose ceiling is reached, and not while the breaker is open; what is held back
// waits in the inbox as it is.

import { OFFLINE_MODEL } from '../agent/agent-types.ts';
import type { Config } from '../base/config/config.ts';
import { isNewIn } from '../base/key.ts';
import { dayOf } from '../base/time.ts';
import { breakerOf, mayTry } from '../queue/breaker.ts';
import { fullSince } from '../queue/spend.ts';
import type { App } from './compose.ts';

export const CEILINGS = ['dayTokens', 'dayMoneyUsd', 'planRequests'] as const;

/** What the settings say of ceilings, as it is kept beside the home: who changes it wants what waits for them. */
export const ceilingsSaid = (config: Config) => ({
  name: 'ceilings',
  said: [config.model, ...CEILINGS.map((name) => config[name] ?? null)],
});

/** Since when today has no room for another request, by the ceilings as they are; null: it may have. */
export async function fullFromOf({ db, clock, config }: Pick<App, 'db' | 'clock' | 'config'>): Promise<string | null> {
  if (isNewIn(config.home, ceilingsSaid(config))) return null;
  return fullSince(db, dayOf(clock.now(), config.zone));
}

/** What holds all work back, as a sentence without its stop; null: nothing, or this one tries for all. */
export async function gateOf(
  { db, clock, config }: Pick<App, 'db' | 'clock' | 'config'>,
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
