// Whether work may ask a model now: not while the breaker is open, and not on a day whose ceiling is reached. What is
// held back waits in its inbox, with the reason and the time; how often that happened is counted in the home.
// And the nightly dream: when it is due, and what keeps it shut. That a night is due is told by the home, not by the queue:
// once a night, by whichever worker comes first, and after a downtime over many nights once for all of them. What a person
// asks for passes every gate but one: no dream runs beside extractions of its directory.

import { Cron } from 'croner';
import { programOf } from '../../agent/programs/programs.ts';
import { needsKey, OFFLINE_MODEL } from '../../agent/types.ts';
import { type Config, refreshSettings } from '../../base/config/config.ts';
import { AppError, backoffMs, describeError, ERRORS, type Failure, onAppError, ruleOf } from '../../base/errors.ts';
import { isNewIn, keySource, whereAccessIsNew, whereNew } from '../../base/key.ts';
import { dayOf, nextDayAt } from '../../base/time.ts';
import { CEILINGS } from '../../memory/home/day-spend.ts';
import type { Home } from '../../memory/home/home.ts';
import type { FailureRow, InboxItem } from '../../memory/ledger/inbox.ts';
import { lastDreamAt, lastDreamJob } from '../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../memory/ledger/ledger.ts';
import { missingIn } from '../../memory/ledger/version-rows.ts';
import { formatMissing, IF_MISSING } from '../../memory/store/missing-files.ts';
import type { Store } from '../../memory/store/store.ts';
import type { App } from '../compose.ts';
import { loginSign } from '../model-programs.ts';

interface Hold {
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

const HELD_FOR_KEY = /^No model is asked after .* \((?:no-model|auth|plan-limit)\)\.$/;

/** Passes with another key, login or model. */
function passesWithAccess(code: string | null): boolean {
  return code === 'plan-limit' || ruleOf(code).class === 'auth';
}

/**
 * What waits for want of a key or a login, with one that was refused, or for a plan that is used up, is due now where the
 * key, its model or its address, or the login of the program that is the model, is another than before: who sets it wants
 * it. In a database it waits on: whose key it waits for is not known there.
 */
export async function endWaitsForKey(app: App, onError: (message: string) => void): Promise<void> {
  const { config, home, keeping } = app;
  if (keeping) return;
  const program = programOf(config.model);
  const endWaits = async () => {
    const { state, code } = await home.breaker.read();
    if (state !== 'closed' && passesWithAccess(code)) await home.breaker.close();
    await endWaitsOf(app, {
      isMeant: ({ failure }, last) => (last && passesWithAccess(last.code)) || HELD_FOR_KEY.test(failure ?? ''),
      onError,
    });
  };
  await whereAccessIsNew(config, endWaits, program && loginSign(program.name, config));
}

/**
 * What waits for the day's ceilings is due now where one of these, or the model, is another than before: who changes it
 * wants it. Where several machines share the home, the limits that it keeps for all count.
 */
export async function endWaitsForCeiling(app: App, onError: (message: string) => void): Promise<void> {
  const { config, home, keeping } = app;
  if (keeping) return;
  const told = (error: AppError) => onError(describeError(error));
  await refreshSettings(config, CEILINGS).catch(onAppError(told));
  await whereNew(config, ceilingsOf(config), async () => {
    await home.days.release(dayOf(config.clock.now(), config.zone));
    await endWaitsOf(app, { isMeant: isHeldByCeiling, onError });
  });
}

function ceilingsOf(config: Config) {
  return { name: 'ceilings', said: [config.model, ...CEILINGS.map((name) => config[name] ?? null)] };
}

/** Since when today has no room for another request, by the ceilings as they are; null: it may have. */
export async function fullSince({ config, home }: Pick<App, 'config' | 'home'>): Promise<string | null> {
  if (isNewIn(config.home, ceilingsOf(config))) return null;
  return home.days.fullFrom(dayOf(config.clock.now(), config.zone));
}

/** Whether an item waits for a ceiling of the day; `last`: what it failed with, where it waits for that. */
export function isHeldByCeiling({ failure }: Pick<InboxItem, 'failure'>, last: Pick<FailureRow, 'code'> | undefined) {
  return last?.code === 'ceiling' || /^The ceiling of \S+ is reached since /.test(failure ?? '');
}

async function endWaitsOf(
  app: App,
  of: { isMeant(item: InboxItem, last: FailureRow | undefined): boolean | undefined; onError(message: string): void },
): Promise<void> {
  const now = app.config.clock.now().toISOString();
  for (const { work } of await app.desk.busy(of.onError)) {
    for (const item of await work.items()) {
      const { id, kind, key, attempts, failure, notBefore } = item;
      const last = await work.failure(kind, key);
      if (notBefore <= now || !of.isMeant(item, last?.message === failure ? last : undefined)) continue;
      await work.postpone(id, { notBefore: now, attempts, failure });
    }
  }
}

/** What holds all work back at the moment, without asking for admission; null: nothing. */
export async function admissionNow({ config, home }: Pick<App, 'config' | 'home'>): Promise<string | null> {
  const fullFrom = await fullSince({ config, home });
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
  /** Where it is not to dream again. */
  remedy?: string;
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
  if (needsKey(config.model) && keySource(config) === 'none') {
    holds.push({ why: 'there is no key for the model', needsPerson: false, remedy: 'nocturne setup asks for one.' });
  }
  const admission = await admissionNow({ config, home });
  if (admission) holds.push({ why: admission, needsPerson: false });
  return holds;
}

const HOUR_MS = 3_600_000;

/**
 * The instant of the nightly round that follows `lastAt`, in the past where it is overdue. A time that a change of the clocks leaves
 * out or repeats comes once. Errors: `bad-input` for a pattern that never comes.
 */
export function nextNightly({ dreamCron, zone }: Config, lastAt: Date): Date {
  const unusable = (cause?: unknown) =>
    new AppError('bad-input', `No nightly dream can be planned from "${dreamCron}" in "${zone}".`, {
      remedy: 'Set dreamCron in config.json of the nocturne home to a cron pattern such as "30 3 * * *".',
      cause,
    });
  let next: Date | null;
  try {
    next = new Cron(dreamCron, { timezone: zone, paused: true }).nextRun(lastAt);
  } catch (cause) {
    throw unusable(cause);
  }
  if (!next) throw unusable();
  return next;
}

/** Puts the nightly dream into the inboxes if it is due; answers whether it was. */
export async function roundIfDue(app: App, onError: (message: string) => void): Promise<boolean> {
  const dueAt = nextNightly(app.config, await app.home.nightlyAt());
  if (dueAt > app.config.clock.now()) return false;
  await app.desk.beginNight(dueAt, onError);
  return true;
}

/**
 * What keeps a dream from running, as a sentence, or null. Without any news it runs: that asks no model, and brings
 * the index up to what people wrote.
 */
export async function shutGate(
  app: App,
  { store, payload }: { store: Store; payload: { isNightly?: boolean } },
): Promise<string | null> {
  if (!payload.isNightly) return null;
  const { config, dreamNews } = app;
  // Two clones would both distil what stands in a log there, and what is shared was distilled already.
  if (store.isCheckedIn && app.memoryDirOf() !== store.dir) {
    return "a team's memory: only its index is kept up to date";
  }
  const now = config.clock.now();
  const lastAt = lastDreamAt(store.ledger, now);
  if (lastAt && now.getTime() - Date.parse(lastAt) < config.dreamMinHours * HOUR_MS) {
    return `too soon: dreamed less than ${config.dreamMinHours} hours before`;
  }
  const news = await dreamNews(store);
  if (news.size === 0 || news.size >= config.dreamMinEntries) return null;
  return `too few entries: fewer than ${config.dreamMinEntries} are new or changed`;
}
