// Whether work may ask a model now: not while the breaker is open, and not on a day whose ceiling is reached. What is
// held back waits in its inbox, with the reason and the time; how often that happened is counted in the home.

import { OFFLINE_MODEL } from '../../agent/types.ts';
import type { Config } from '../../base/config/config.ts';
import { backoffMs, ERRORS, type Failure, ruleOf } from '../../base/errors.ts';
import { keySource } from '../../base/key.ts';
import { dayOf, nextDayAt } from '../../base/time.ts';
import type { Home } from '../../memory/home/home.ts';
import type { InboxItem } from '../../memory/ledger/inbox.ts';
import { lastDreamJob } from '../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../memory/ledger/ledger.ts';
import { missingIn } from '../../memory/ledger/version-rows.ts';
import { formatMissing, IF_MISSING } from '../../memory/store/external-edits.ts';
import type { App } from '../compose.ts';

export interface Hold {
  outcome: 'ceiling' | 'breaker';
  until: Date;
  reason: string;
}

/** Why the item has to wait; or that it may go on, perhaps as the one that tries for all. */
export async function admit(app: App, item: Pick<InboxItem, 'id'>): Promise<Hold | { isProbe: boolean }> {
  const { config, home } = app;
  // The offline model costs nothing and is always there.
  if (config.model === OFFLINE_MODEL) return { isProbe: false };
  const now = config.clock.now();
  const spread = backoffMs({ code: 'ceiling' }, { failures: 1, seed: `${now.toISOString()} ${item.id}` });
  const day = dayOf(now, config.zone);
  const fullFrom = await home.days.fullFrom(day);
  if (fullFrom !== null) {
    await home.days.countSkip(day);
    const until = new Date(nextDayAt(now, config.zone).getTime() + spread);
    return { outcome: 'ceiling', until, reason: `The ceiling of ${day} is reached since ${fullFrom}.` };
  }
  const admission = await home.breaker.admit();
  if (admission.isAdmitted) return { isProbe: admission.isProbe };
  const { failures, code } = await home.breaker.read();
  const until = new Date(Date.parse(admission.until) + spread);
  return { outcome: 'breaker', until, reason: `No model is asked after ${failures} failures in a row (${code}).` };
}

/** What holds all work back at the moment, without asking for admission; null: nothing. */
export async function admissionNow({ config, home }: Pick<App, 'config' | 'home'>): Promise<string | null> {
  const now = config.clock.now();
  const fullFrom = await home.days.fullFrom(dayOf(now, config.zone));
  if (fullFrom !== null) return `the day's ceiling is reached since ${fullFrom}`;
  const { state, until, code } = await home.breaker.read();
  if (state === 'closed') return null;
  return state === 'open' ? `no model is asked before ${until} (${code})` : `one job tries first (${code})`;
}

/** Tells the breaker how a job ended. */
export async function tellBreaker(
  { config, home }: App,
  { error, calls, hasProgress }: { error?: Failure; calls: number; hasProgress: boolean },
): Promise<void> {
  if (config.model === OFFLINE_MODEL) return;
  const isAskedToWait = error?.retryAfterMs !== undefined;
  if (hasProgress && !isAskedToWait) await home.breaker.close();
  else if (error && ERRORS[error.code].countsForBreaker) await home.breaker.fail(error, { after: config.breakerAfter });
  else if (!error && calls > 0) await home.breaker.close();
  else await home.breaker.pass();
}

export interface DreamHold {
  /** A sentence, which says what to do where a person can do something. */
  why: string;
  needsPerson: boolean;
}

const PASSING = new Set(['transient', 'rate-limit', 'ceiling']);

export async function dreamHolds(
  { config, home }: { config: Config; home: Home },
  ledger: Ledger,
): Promise<DreamHold[]> {
  const holds = formatMissing(missingIn(ledger)).flatMap(({ what, keepsDreams }): DreamHold[] =>
    keepsDreams ? [{ why: `${what}; ${IF_MISSING}`, needsPerson: true }] : [],
  );
  const last = lastDreamJob(ledger);
  if (last?.error) {
    const why = `the last dream, at ${last.endedAt}, ${last.outcome === 'refused' ? 'was refused' : 'failed'}: ${last.error}`;
    // What is missing and not taken as meant is said already.
    const isSaid = last.outcome === 'refused' && holds.length > 0;
    if (!isSaid) holds.push({ why, needsPerson: !PASSING.has(ruleOf(last.code).class) });
  }
  if (config.model === OFFLINE_MODEL) return holds;
  if (keySource(config) === 'none') holds.push({ why: 'there is no key for the model', needsPerson: false });
  const admission = await admissionNow({ config, home });
  if (admission) holds.push({ why: admission, needsPerson: false });
  return holds;
}
