// What becomes of an item of an inbox that was worked or held back: done, to be tried again and when, or given up and
// listed. The rules are those of the table in errors.ts.

import type { Requests } from '../../../jobs/dream/seams.ts';
import { backoffMs, ERRORS, type Failure, isGivenUp } from '../../base/errors.ts';
import type { Enablement } from '../../memory/home/paths.ts';
import { givenUpTurns } from '../../memory/ledger/coverage.ts';
import type { FailureRow, InboxItem, JobKind } from '../../memory/ledger/inbox.ts';
import type { Store } from '../../memory/store/store.ts';
import { sayWaits } from '../cli/terminal/output.ts';
import type { App } from '../compose.ts';
import { dropSnapshots } from '../transcripts.ts';
import type { Hold } from './hold.ts';

const MINUTE_MS = 60_000;

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

export interface Ending {
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
export interface Tried {
  /** What the work is about, as a short word that changes when there is more of it. */
  input: string | null;
  last: FailureRow | undefined;
  attempts: number;
  failures: number;
  /** There is more of it than when it was given up. */
  hasNews: boolean;
}

export interface Attempt {
  store: Store;
  item: InboxItem;
  tried: Tried;
  isProbe: boolean;
}

/** Work that may not ask a model now waits, with the reason. */
export async function holdItem({ store, item }: { store: Store; item: InboxItem }, hold: Hold): Promise<WorkResult> {
  const { kind, key, id, attempts } = item;
  const notBefore = hold.until.toISOString();
  await store.work.postpone(id, { notBefore, attempts, failure: hold.reason });
  return { kind, key, outcome: hold.outcome, delayedUntil: notBefore, reason: hold.reason };
}

export async function settleItem(
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
    const requests = kind === 'dream' ? await app.dreamRequests() : undefined;
    if (requests && key === requests.key) return settleAsking(done, { store, item, now, requests });
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

/** What was sent is asked after until nothing is open. Another process may send one just now, which puts in another item. */
async function settleAsking(
  done: WorkResult,
  { store, item, now, requests }: { store: Store; item: InboxItem; now: Date; requests: Requests },
): Promise<WorkResult> {
  const until = requests.askAgainAt(store.ledger, now);
  if (until) return postpone(done, { store, item, until, reason: sayWaits(requests.open(store.ledger).waits) });
  await finish(store, { item, now });
  return done;
}

/** Work that succeeded is no failure any more; but turns of it that were given up before stay named. */
async function keepWhatWasGivenUp(
  { ledger, work }: Store,
  { item, session, last }: { item: InboxItem; session: string | undefined; last: FailureRow | undefined },
): Promise<void> {
  if (!last) return;
  const hasGivenUp = session !== undefined && givenUpTurns(ledger, session).length > 0;
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
