// Works one item of an inbox: whether it may be worked now, what is known of earlier tries, the job itself; and what then
// becomes of the item: done, to be tried again and when, or given up and listed, by the rules of the table in errors.ts.

import { z } from 'zod';
import { programOf } from '../../agent/programs/programs.ts';
import {
  AppError,
  backoffMs,
  ERRORS,
  type Failure,
  failureOf,
  isAppError,
  isGivenUp,
  onAppError,
} from '../../base/errors.ts';
import { isDay } from '../../base/time.ts';
import type { Enablement } from '../../memory/home/paths.ts';
import { hasCovered } from '../../memory/ledger/coverage.ts';
import type { FailureRow, InboxItem } from '../../memory/ledger/inbox.ts';
import type { JobKind } from '../../memory/ledger/job-rows.ts';
import type { Store } from '../../memory/store/store.ts';
import { termsOf, type WorkTerms } from '../clients/client-work.ts';
import type { App } from '../compose.ts';
import { dropSnapshots, snapshotPath } from '../transcripts.ts';
import { dueItems } from './desk.ts';
import { admit, shutGate, tellBreaker } from './hold.ts';

const payloadSchemas = {
  extract: z.strictObject({
    transcript: z.string(),
    /** The name of its snapshot. */
    snapshot: z.string().optional(),
    session: z.string().optional(),
    ended: z.boolean(),
    instructions: z.string().optional(),
    /** A person asked for it by name. */
    takeDeclined: z.boolean().optional(),
    /** A person asks to try again what was given up. */
    reopenGivenUp: z.boolean().optional(),
  }),
  dream: z.strictObject({
    instructions: z.string().optional(),
    acceptMissing: z.union([z.boolean(), z.array(z.string().refine(isDay))]).optional(),
    /** Nobody asked for it: the gates of the nightly dream apply. */
    isNightly: z.boolean().optional(),
  }),
  reprocess: z.strictObject({
    session: z.string().optional(),
    day: z.string().optional(),
    all: z.boolean().optional(),
    ended: z.boolean(),
    instructions: z.string().optional(),
  }),
} satisfies Record<JobKind, z.ZodType>;

export interface WorkResult {
  kind: JobKind;
  key: string;
  /** The outcome of the job, of several sessions the first that is not fine; `breaker` where none was begun. */
  outcome: string;
  /** The instant before which it is not tried again; null: it is done, or given up. */
  delayedUntil: string | null;
  reason: string | null;
  /** What it failed with. */
  code?: Failure['code'];
  /** It is tried no more: it is listed as failed until a person retries or dismisses it. */
  isGivenUp?: boolean;
}

interface Ending {
  outcome: string;
  error?: Failure;
  session?: string;
  unsettledTurns?: number;
  pendingTurns?: number;
  coveredTurns?: number;
  operations?: unknown[];
  spend?: { calls: number };
  /** Why nothing was done. */
  off?: Enablement;
}

/** What is known of earlier tries of an item, as far as they were on the same input. */
interface Tried {
  /** What the work is about, as a short word that changes when there is more of it. */
  input: string | null;
  last: FailureRow | undefined;
  attempts: number;
  failures: number;
  /** There is more of it than when it was given up. */
  hasNews: boolean;
}

interface Attempt {
  store: Store;
  item: InboxItem;
  tried: Tried;
  isProbe: boolean;
}

/** How often the one that tries for all says that it lives. */
const SEEN_MS = 30_000;
const MINUTE_MS = 60_000;
const PAUSE_LOOK_MS = 1_000;

/** Works the item under a key if it is due; null where there is none. */
export async function workKey(
  app: App,
  at: { store: Store; kind: JobKind; key: string; signal?: AbortSignal },
): Promise<WorkResult | null> {
  const { store, kind, key } = at;
  const item = await store.work.item(kind, key);
  const now = app.config.clock.now();
  if (!item || item.notBefore > now.toISOString()) return null;
  if (kind === 'dream' && !(await dueItems(app, store)).some(({ id }) => id === item.id)) return null;
  const skipped: WorkResult = { kind, key, outcome: 'skipped', delayedUntil: null, reason: null };
  const terms = await termsOf(at, app);
  if (terms?.dropped !== undefined) {
    await store.work.finish(item.id);
    return { ...skipped, reason: terms.dropped };
  }
  if (terms?.held) return postpone({ ...skipped, outcome: 'ceiling' }, { store, item, ...terms.held });
  const shut =
    kind === 'dream' ? await shutGate(app, { store, payload: payloadSchemas.dream.parse(item.payload) }) : null;
  if (shut) {
    await store.work.noteSkip({ kind, reason: shut, now });
    await store.work.finish(item.id);
    return { ...skipped, reason: shut };
  }
  const admission = await admit(app, item);
  // What may not ask a model now waits, with the reason.
  if ('until' in admission) {
    return postpone({ ...skipped, outcome: admission.outcome }, { store, item, ...admission });
  }
  const { isProbe } = admission;
  await store.work.noteWork({ kind, key, now });
  const tried = await triesOf(app, store, item);
  let ending: Ending;
  const end = terms?.begun?.();
  // On other machines the try is this process's for as long as it is seen, as a worker that drains is by nobody else.
  const seen = isProbe ? setInterval(() => app.home.workers.see().catch(() => {}), SEEN_MS) : undefined;
  try {
    ending = await untilPaused(app, store, (paused) => runItem(app, { ...at, item, tried, isProbe, terms, paused }));
  } catch (error) {
    await app.home.breaker.pass();
    throw error;
  } finally {
    clearInterval(seen);
    end?.();
  }
  const calls = ending.spend?.calls ?? 0;
  const hasProgress = (ending.coveredTurns ?? 0) + (ending.operations?.length ?? 0) > 0 && calls > 0;
  await tellBreaker(app, { error: ending.error, calls, hasProgress });
  const result = await settleItem(app, { store, item, tried, isProbe, ending, hasProgress });
  await app.log(result.isGivenUp ? 'error' : 'info', {
    event: result.isGivenUp ? 'gave-up' : result.delayedUntil ? 'waits' : 'done',
    kind,
    key,
    session: ending.session,
    store: store.id,
    outcome: result.outcome,
    code: result.code,
    until: result.delayedUntil,
  });
  await terms?.worked(result);
  return result;
}

async function triesOf(app: App, { ledger, work }: Store, item: InboxItem): Promise<Tried> {
  let input: string | null = null;
  if (item.kind === 'extract') {
    const { transcript } = payloadSchemas.extract.parse(item.payload);
    input = String((await app.transcripts.sizeOf(transcript)) ?? 'gone');
  } else if (item.kind === 'dream') {
    input = String(ledger.get('select count(*) as entries from entry')?.entries);
  }
  const last = await work.failure(item.kind, item.key);
  const isSame = last?.input === input;
  const { attempts, failures } = isSame && last ? last : { attempts: 0, failures: 0 };
  return { input, last, attempts, failures, hasNews: last?.state === 'failed' && !isSame };
}

async function runItem(
  app: App,
  {
    store,
    item,
    tried,
    isProbe,
    signal: closing,
    terms,
    paused,
  }: Attempt & { signal?: AbortSignal; terms: WorkTerms | null; paused?: AbortSignal },
): Promise<Ending> {
  const ends = [closing, terms?.options?.signal, paused].flatMap((each) => each ?? []);
  const options = { ...terms?.options, signal: AbortSignal.any(ends) };
  try {
    if (item.kind === 'extract') {
      const { snapshot: name, ...payload } = payloadSchemas.extract.parse(item.payload);
      const request = { ...payload, snapshot: name && snapshotPath(store, name) };
      const { transcript, session: id, ended, snapshot } = request;
      // Once for the job; or why it could not be, which the job names.
      const opening = () => app.transcripts.open(transcript, { id, isLive: !ended, snapshot });
      const opened = terms?.session ?? (await opening().catch(onAppError((error) => error)));
      const standing = await app.standing(isAppError(opened) ? {} : opened);
      if (!standing.enabled) {
        if (!isAppError(opened)) opened.discard?.();
        return { outcome: 'off', off: standing };
      }
      // The one that tries for all, after the breaker was open, is not to be given up for that.
      const attempts = isProbe ? undefined : tried.attempts;
      const reopenGivenUp = payload.reopenGivenUp || tried.hasNews;
      return await app.extract({ ...request, opened, reopenGivenUp, attempts }, { ...options, store });
    }
    const standing = await app.standingOf(store);
    if (!standing.enabled) return { outcome: 'off', off: standing };
    if (item.kind === 'dream') {
      const { isNightly: _, ...request } = payloadSchemas.dream.parse(item.payload);
      return await app.dream(store, { ...request, review: terms?.review, session: terms?.named }, options);
    }
    const reports = await app.reprocess(store, payloadSchemas.reprocess.parse(item.payload), options);
    return reports.find((report) => report.error) ?? reports[0] ?? { outcome: 'nothing-new' };
  } catch (error) {
    closing?.throwIfAborted();
    return { outcome: 'failed', error: failureOf(error) };
  }
}

/**
 * Does `work`, and ends it where what it works on is paused meanwhile, if its model is a program: that uses up a person's
 * plan, and who pauses does not wait until it is done.
 */
async function untilPaused(app: App, store: Store, work: (paused?: AbortSignal) => Promise<Ending>): Promise<Ending> {
  if (programOf(app.config.model) === null) return work();
  const controller = new AbortController();
  let off: Enablement | undefined;
  const look = async () => {
    const standing = await app.standingOf(store);
    if (standing.pausedUntil === undefined) return;
    off ??= standing;
    controller.abort(new AppError('conflict', `It was ended: ${standing.reason}.`));
  };
  const looking = setInterval(() => void look().catch(onAppError(() => {})), PAUSE_LOOK_MS);
  const ending = await work(controller.signal).finally(() => clearInterval(looking));
  return off && ending.error ? { outcome: 'off', off } : ending;
}

async function settleItem(
  app: App,
  { store, item, tried, isProbe, ending, hasProgress }: Attempt & { ending: Ending; hasProgress: boolean },
): Promise<WorkResult> {
  const { kind, key } = item;
  const now = app.config.clock.now();
  const done: WorkResult = { kind, key, outcome: ending.outcome, delayedUntil: null, reason: null };
  if (ending.outcome === 'busy')
    return { ...done, delayedUntil: now.toISOString(), reason: 'another process works on it' };
  const { error, off } = ending;
  if (off) return settlePaused(app, { done, store, item, standing: off });
  if (!error) {
    await keepWhatWasGivenUp(store, { item, session: ending.session, last: tried.last });
    if (!ending.unsettledTurns) {
      await finish(store, { item, now });
      return done;
    }
    const ms = Math.max(app.config.quietMs, MINUTE_MS);
    return postpone(done, { store, item, until: new Date(now.getTime() + ms), reason: 'the session goes on' });
  }
  const { tries } = ERRORS[error.code];
  const before = hasProgress ? { attempts: 0, failures: 0 } : tried;
  const attempts = before.attempts + (tries === null || isProbe ? 0 : 1);
  const failures = before.failures + 1;
  const hasGivenUpAll = kind === 'extract' && ending.pendingTurns === 0 && tried.attempts + 1 >= (tries ?? Infinity);
  const isOver = hasGivenUpAll || isGivenUp(error.code, attempts);
  const { input } = tried;
  const { payload } = item;
  const { code, message } = error;
  const row = { kind, key, code, message, attempts, failures, input, at: now.toISOString(), payload };
  await store.work.writeFailure({ ...row, state: isOver ? 'failed' : 'retrying' });
  if (isOver) {
    await finish(store, { item, now });
    return { ...done, code, reason: message, isGivenUp: true };
  }
  const waitMs = backoffMs(error, { failures, seed: `${now.toISOString()} ${item.id} ${failures}` });
  const until = new Date(now.getTime() + waitMs);
  return { ...(await postpone(done, { store, item, until, reason: message, attempts })), code };
}

/** Work that succeeded is no failure any more; but turns of it that were given up before stay named. */
async function keepWhatWasGivenUp(
  { ledger, work }: Store,
  { item, session, last }: { item: InboxItem; session: string | undefined; last: FailureRow | undefined },
): Promise<void> {
  if (!last) return;
  const hasGivenUp = session !== undefined && hasCovered(ledger, 'gave-up', session);
  if (!hasGivenUp) await work.dropFailure(item);
  else await work.writeFailure({ ...last, state: 'failed' });
}

async function postpone(
  done: WorkResult,
  wait: { store: Store; item: InboxItem; until: Date; reason: string; attempts?: number },
): Promise<WorkResult> {
  const { store, item, until, reason, attempts = item.attempts } = wait;
  const notBefore = until.toISOString();
  await store.work.postpone(item.id, { notBefore, attempts, failure: reason });
  return { ...done, delayedUntil: notBefore, reason };
}

async function finish(store: Store, { item, now }: { item: InboxItem; now: Date }): Promise<void> {
  await store.work.finish(item.id);
  if (item.kind === 'extract') await dropSnapshots(store, now);
}

/**
 * What is paused waits, and is looked at again every hour; where settings that cannot be read keep from telling, every
 * five minutes. What is turned off is over.
 */
async function settlePaused(
  app: App,
  { done, store, item, standing }: { done: WorkResult; store: Store; item: InboxItem; standing: Enablement },
): Promise<WorkResult> {
  const now = app.config.clock.now();
  const { pausedUntil, reason, isUnknown } = standing;
  if (isUnknown) {
    return postpone(done, { store, item, until: new Date(now.getTime() + ERRORS.settings.firstMs), reason });
  }
  if (pausedUntil === undefined) {
    await finish(store, { item, now });
    return { ...done, reason };
  }
  const leftMs = pausedUntil === null ? Infinity : Date.parse(pausedUntil) - now.getTime();
  const until = new Date(now.getTime() + Math.min(Math.max(leftMs, 0), 60 * MINUTE_MS));
  return postpone(done, { store, item, until, reason });
}
