// Works one item of an inbox: whether it may be worked now, what is known of earlier tries, the job itself. What then
// becomes of the item is settle.ts's.

import { z } from 'zod';
import { failureOf, isAppError, onAppError } from '../../base/errors.ts';
import { isDay } from '../../base/time.ts';
import type { InboxItem, JobKind } from '../../memory/ledger/inbox.ts';
import type { Store } from '../../memory/store/store.ts';
import type { App } from '../compose.ts';
import { snapshotPath } from '../transcripts.ts';
import { type WorkTerms, wings } from '../wing.ts';
import { dueItems } from './desk.ts';
import { admit, shutGate, tellBreaker } from './hold.ts';
import { type Attempt, type Ending, holdItem, settleItem, type Tried, type WorkResult } from './settle.ts';

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
    /** It is sent as a Message Batch, whatever the setting. */
    viaBatch: z.boolean().optional(),
  }),
  reprocess: z.strictObject({
    session: z.string().optional(),
    day: z.string().optional(),
    all: z.boolean().optional(),
    ended: z.boolean(),
    instructions: z.string().optional(),
  }),
} satisfies Record<JobKind, z.ZodType>;

/** How often the one that tries for all says that it lives. */
const SEEN_MS = 30_000;

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
  const terms = await termsOf(app, at);
  if (terms?.dropped !== undefined) {
    await store.work.finish(item.id);
    return { kind, key, outcome: 'skipped', delayedUntil: null, reason: terms.dropped };
  }
  if (terms?.held) return holdItem({ store, item }, { outcome: 'ceiling', ...terms.held });
  const shut =
    kind === 'dream' ? await shutGate(app, { store, payload: payloadSchemas.dream.parse(item.payload) }) : null;
  if (shut) {
    await store.work.noteSkip({ kind, reason: shut, now });
    await store.work.finish(item.id);
    return { kind, key, outcome: 'skipped', delayedUntil: null, reason: shut };
  }
  const admission = await admit(app, item);
  if ('until' in admission) return holdItem({ store, item }, admission);
  const { isProbe } = admission;
  await store.work.noteWork({ kind, key, now });
  const tried = await triesOf(app, store, item);
  let ending: Ending;
  const end = terms?.begun?.();
  // On other machines the try is this process's for as long as it is seen, as a worker that drains is by nobody else.
  const seen = isProbe ? setInterval(() => app.home.seeWorker().catch(() => {}), SEEN_MS) : undefined;
  try {
    ending = await runItem(app, { ...at, item, tried, isProbe, terms });
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
    kind: item.kind,
    key: item.key,
    session: ending.session,
    store: store.id,
    outcome: result.outcome,
    code: result.code,
    until: result.delayedUntil,
  });
  await terms?.worked(result);
  return result;
}

async function termsOf(app: App, item: { store: Store; kind: JobKind; key: string }): Promise<WorkTerms | null> {
  for (const { worker } of wings()) {
    const terms = await worker?.termsOf(item, app);
    if (terms) return terms;
  }
  return null;
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
  { store, item, tried, isProbe, signal: closing, terms }: Attempt & { signal?: AbortSignal; terms: WorkTerms | null },
): Promise<Ending> {
  const ends = [closing, terms?.options?.signal].flatMap((each) => each ?? []);
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
      const { isNightly, viaBatch, ...request } = payloadSchemas.dream.parse(item.payload);
      const isSent = viaBatch || (isNightly && app.config.dreamBatch);
      const isAsking = item.key === (await app.dreamRequests())?.key;
      const batch = isAsking ? 'collect' : isSent ? 'send' : undefined;
      return await app.dream(store, { ...request, batch, review: terms?.review, session: terms?.named }, options);
    }
    const reports = await app.reprocess(store, payloadSchemas.reprocess.parse(item.payload), options);
    return reports.find((report) => report.error) ?? reports[0] ?? { outcome: 'nothing-new' };
  } catch (error) {
    closing?.throwIfAborted();
    return { outcome: 'failed', error: failureOf(error) };
  }
}
