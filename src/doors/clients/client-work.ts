// What a worker does for the server: dreams and extractions that clients asked for are rows of the home; here they become
// items in the inbox of the store that they write to, and what became of those is written into the rows.
// Promises: what is to be done next is told by the rows and that store's ledger alone, so that it goes on after any end of
// this process; nothing is committed for a dream that is over; an input store is read and never changed, unless it is the
// target.

import type { Config } from '../../base/config/config.ts';
import { costMicroUsd, priceOf } from '../../base/config/prices.ts';
import { AppError, isAppError } from '../../base/errors.ts';
import { dayOf, nextDayAt } from '../../base/time.ts';
import type { InboxItem, WorkRows } from '../../memory/ledger/inbox.ts';
import type { JobKind } from '../../memory/ledger/job-rows.ts';
import type { Store } from '../../memory/store/store.ts';
import type { Session } from '../../transcript/types.ts';
import type { App, JobOptions } from '../compose.ts';
import { withLease } from '../keeping.ts';
import type { SessionName } from '../shared.ts';
import { localSession, openKept, openLocal } from './dream-sessions.ts';
import { type DreamRow, type DreamSession, sessionOfDream } from './dreams.ts';
import { type Rows, rowsOf } from './rows.ts';
import type { SessionRow } from './sessions.ts';

/** A cancel is seen within this. */
const LOOK_MS = 1_000;
const HOUR_MS = 3_600_000;
/** When it was looked last for sessions that wait for nothing. */
const lookedAt = new WeakMap<App['home'], number>();
/** Longer than from one look to the next. */
const TAKER_KEPT_MS = 15_000;

/** Puts into the inboxes what clients asked for meanwhile; answers whether it did. Of several machines one does it. */
export async function takeIn(app: App): Promise<boolean> {
  if (!app.shared) return takeInNow(app);
  return (await app.shared.alone('take in', () => takeInNow(app), { keepMs: TAKER_KEPT_MS })) ?? false;
}

async function takeInNow(app: App): Promise<boolean> {
  const rows = rowsOf(app);
  await rows.dreams.endLate(app.config.dreamHours);
  await rows.sessions.dropOld(app.config.sessionDays);
  const nowMs = app.config.clock.now().getTime();
  if (nowMs - (lookedAt.get(app.home) ?? 0) >= HOUR_MS) {
    lookedAt.set(app.home, nowMs);
    await noteForgotten({ app, rows });
  }
  let hasCome = false;
  for (const session of await rows.sessions.toExtract()) {
    await putExtraction(session, { app, rows });
    hasCome = true;
  }
  for (const row of await rows.dreams.open()) {
    if (await advance(row, { app, rows })) hasCome = true;
  }
  return hasCome;
}

/** How an item is worked that was put in here. */
export interface WorkTerms {
  /** Why it is not worked any more; it is taken out. */
  dropped?: string;
  /** Until when it waits, and why. */
  held?: { until: Date; reason: string };
  options?: JobOptions;
  /** Of an extraction: the session, where no file of an agent has it. */
  session?: Session;
  /** Of a dream: whether what would change waits for a person, whatever the setting. */
  review?: boolean;
  /** Of a dream: as which session its job is told. */
  named?: string;
  /** Told that it is worked now, which what waits is not; what it answers is called when the try is over, however it ends. */
  begun?(): () => void;
  /** Told what became of this try: it is done, given up, or waits. */
  worked(result: { outcome: string; reason: string | null; delayedUntil: string | null }): Promise<void>;
}

/** Null for an item that no client asked for. */
export async function termsOf(item: { store: Store; kind: JobKind; key: string }, app: App): Promise<WorkTerms | null> {
  const [id = '', ...rest] = item.key.split('/');
  const session = rest.length > 0 ? rest.join('/') : undefined;
  if (id.startsWith('drm_')) return termsOfDream({ id, session, item }, { app, rows: rowsOf(app) });
  if (item.kind !== 'extract' || !id.startsWith('sesn_') || session === undefined) return null;
  const { sessions } = rowsOf(app);
  const name = { id, store: session };
  const opened = await openOr(() => openKept(sessions, name));
  if (typeof opened === 'string') {
    await sessions.noteWorked(name);
    return { dropped: opened, worked: async () => {} };
  }
  return {
    session: opened,
    options: { keepsUserMemory: true },
    async worked({ delayedUntil }) {
      if (delayedUntil === null) await sessions.noteWorked(name);
    },
  };
}

interface At {
  app: App;
  rows: Rows;
}

async function putExtraction(session: SessionRow, { app, rows }: At): Promise<void> {
  const store = await rows.stores.find(session.store);
  if (store) {
    const { work } = await app.store(store.dir);
    const payload = payloadOf(session.id, undefined);
    const notBefore = app.config.clock.now().toISOString();
    await work.put({ kind: 'extract', key: keyOf(session), payload, notBefore });
  }
  await rows.sessions.noteWaiting(session);
  if (!store) await rows.sessions.noteWorked(session);
}

function keyOf({ id, store }: SessionName): string {
  return `${id}/${store}`;
}

/** A worker that died between its last row in the inbox and the session's leaves one that waits for nothing. */
async function noteForgotten({ app, rows }: At): Promise<void> {
  const before = new Date(app.config.clock.now().getTime() - HOUR_MS);
  for (const name of await rows.sessions.waitingSince(before)) {
    const store = await rows.stores.find(name.store);
    const item = store && (await (await app.store(store.dir)).work.item('extract', keyOf(name)));
    if (!item) await rows.sessions.noteWorked(name);
  }
}

/** Takes a dream as far as it goes without a model; answers whether work was put into an inbox. */
async function advance({ id }: DreamRow, at: At): Promise<boolean> {
  const { app, rows } = at;
  const row = await rows.dreams.find(id);
  if (!row) return false;
  if (row.status === 'pending') return (await begin(row, at)) && advance(row, at);
  const output = row.output === null ? null : await rows.stores.find(row.output);
  if (!output) {
    const message = 'The memory store that it writes to was deleted.';
    await rows.dreams.failAtOnce(id, { type: 'internal_error', message });
    return false;
  }
  const store = await app.store(output.dir);
  const { work } = store;
  if (row.status !== 'running') {
    await closeIfStopped(row, store, at);
    return false;
  }
  const notBefore = app.config.clock.now().toISOString();
  let hasPut = false;
  const isDone = async (item: Pick<InboxItem, 'kind' | 'key' | 'payload'>): Promise<boolean> => {
    const { kind, key } = item;
    if (await work.item(kind, key)) return false;
    const failed = await work.failure(kind, key);
    if (failed?.state === 'failed') {
      const type = failed.code === 'transcript-gone' ? 'input_session_unavailable' : 'internal_error';
      await rows.dreams.fail(id, { type, message: failed.message });
      return false;
    }
    if (await work.wasWorked({ kind, key })) return true;
    if (await work.putIfNone({ ...item, notBefore })) hasPut = true;
    return false;
  };
  const instructions = row.instructions ?? undefined;
  let isRead = true;
  for (const session of row.sessions) {
    const payload = payloadOf(session.id, instructions);
    if (!(await isDone({ kind: 'extract', key: `${id}/${session.id}`, payload }))) isRead = false;
  }
  const dream = { kind: 'dream' as const, key: id, payload: { ...(instructions && { instructions }) } };
  if (isRead && (await isDone(dream))) await rows.dreams.complete(id);
  if ((await rows.dreams.find(id))?.status !== 'running') await closeIfStopped(row, store, at);
  return hasPut;
}

/** What stands in an inbox for a session: its messages are opened by whoever works it. */
function payloadOf(session: string, instructions: string | undefined) {
  return {
    ...{ transcript: '', session, ended: true, takeDeclined: true, reopenGivenUp: true },
    ...(instructions !== undefined && { instructions }),
  };
}

/** Finds what a pending dream reads, and makes what it writes to; false where it goes no further for now. */
async function begin(row: DreamRow, { app, rows }: At): Promise<boolean> {
  const { dreams, stores, sessions } = rows;
  // One process copies the store.
  const output = await dreams.claim(row.id);
  if (output === null) return false;
  const input = await stores.find(row.input);
  let gone: DreamSession | undefined;
  for (const name of row.sessions) {
    const project = name.local !== undefined ? await stores.find(name.store) : null;
    const isThere =
      name.local !== undefined
        ? project && (await localSession(await app.store(project.dir), name.local))
        : await sessions.find(name);
    if (!isThere) gone ??= name;
  }
  if (!input || input.archivedAt !== null) {
    const message = `The memory store ${row.input} is not there, or was archived.`;
    await dreams.failAtOnce(row.id, { type: 'input_memory_store_unavailable', message });
    return false;
  }
  if (gone) {
    const message = `The session ${gone.id} is not there, or not any more.`;
    await dreams.failAtOnce(row.id, { type: 'input_session_unavailable', message });
    return false;
  }
  if (!row.updates) {
    await stores.copy(await app.store(input.dir), output, { of: input, owner: row.owner });
  }
  return dreams.begin(row.id, output);
}

/** Takes what is left of a dream that is over out of the inbox; where nobody works on it, nothing is left to do. */
async function closeIfStopped({ id, sessions }: DreamRow, store: Store, { app, rows }: At): Promise<void> {
  const { work } = store;
  await stopWork(work, id);
  for (const session of sessions) await work.dropFailure({ kind: 'extract', key: `${id}/${session.id}` });
  await work.dropFailure({ kind: 'dream', key: id });
  const now = app.config.clock.now();
  for (const prefix of ['dream', ...sessions.map(({ id: sent, local = sent }) => `session:${local}`)]) {
    if (await work.isLeased({ prefix, now })) return;
  }
  // Who canceled it does that too, where nobody worked on it any more.
  const isCanceled = (await rows.dreams.find(id))?.status === 'canceled';
  if (!isCanceled || (await takeBackDream(store, { id, config: app.config }))) await rows.dreams.close(id);
}

async function termsOfDream(
  { id, session, item }: { id: string; session: string | undefined; item: Parameters<typeof termsOf>[0] },
  at: At,
): Promise<WorkTerms> {
  const { dreams, stores } = at.rows;
  const { store, kind, key } = item;
  // Before the row is read: what ends the dream after that takes the item out.
  const waiting = await store.work.item(kind, key);
  const row = await dreams.find(id);
  const worked = async () => {};
  if (row?.status !== 'running' || !waiting) return { dropped: `the dream ${id} is over`, worked };
  const ended = new AbortController();
  const over = () => new AppError('fenced', `The dream ${id} is over; nothing of this run was kept.`);
  const name = row.sessions.find((each) => each.id === session);
  const opened = name && (await openOr(() => openNamed(name, at)));
  if (typeof opened === 'string') {
    await dreams.fail(id, { type: 'input_session_unavailable', message: opened });
    await closeIfStopped(row, store, at);
    return { dropped: opened, worked };
  }
  const { model, owner } = row;
  const { config } = at.app;
  const today = () => dayOf(config.clock.now(), config.zone);
  if (await at.rows.keys.isSpent(owner, today())) {
    const until = nextDayAt(config.clock.now(), config.zone);
    opened?.discard?.();
    return { held: { until, reason: `What the key ${owner} may cost in a day is used up.` }, worked };
  }
  const price = priceOf(model, config.prices);
  const output = row.output === null ? null : await stores.find(row.output);
  const endsAt = Date.parse(row.createdAt) + config.dreamHours * HOUR_MS;
  return {
    session: opened,
    named: sessionOfDream(id),
    // A store of the home has nobody who would look at what waits.
    ...(output?.kind === 'own' && { review: false }),
    options: {
      model,
      keepsUserMemory: true,
      signal: ended.signal,
      item: waiting.id,
      mayCommit() {
        if (config.clock.now().getTime() >= endsAt) throw over();
      },
      async onUsage(usage) {
        await dreams.addUsage(id, usage);
        if (price) await at.rows.keys.addSpend(owner, today(), costMicroUsd(usage, price));
      },
    },
    begun() {
      const look = async () => {
        if ((await dreams.find(id))?.status !== 'running') ended.abort(over());
      };
      // Where it cannot be told, it is looked again; what is committed is looked at in any case.
      const looking = setInterval(() => void look().catch(() => {}), LOOK_MS);
      return () => clearInterval(looking);
    },
    async worked({ outcome, reason, delayedUntil }) {
      const isOff = outcome === 'off' && delayedUntil === null;
      if (isOff) await dreams.fail(id, { type: 'internal_error', message: reason ?? 'nocturne is turned off.' });
      await advance(row, at);
    },
  };
}

async function openNamed(name: DreamSession, { app, rows: { sessions, stores } }: At): Promise<Session> {
  if (name.local === undefined) return openKept(sessions, name);
  const project = await stores.find(name.store);
  if (!project) throw new AppError('transcript-gone', `Session ${name.id} cannot be read any more.`);
  return openLocal(await app.store(project.dir), { named: name.local, transcripts: app.transcripts });
}

async function openOr(open: () => Promise<Session>): Promise<Session | string> {
  try {
    return await open();
  } catch (error) {
    if (!isAppError(error, 'transcript-gone')) throw error;
    return error.message;
  }
}

/** False where someone still works on it, who commits nothing more. */
export async function takeBackDream(store: Store, { id, config }: { id: string; config: Config }): Promise<boolean> {
  await stopWork(store.work, id);
  // What is being committed just now is waited for, here and on other machines.
  await store.missing();
  await store.enterRows(() => {});
  const jobs = store.ledger.all<{ id: string }>(
    `select id from job where session = ? and kind = 'dream'
       and exists (select 1 from version where actor = 'job:' || job.id)
       and not exists (select 1 from job as other where other.undoes = job.id) order by rowid desc`,
    sessionOfDream(id),
  );
  // Loaded with the first: a worker that waits needs none of it.
  const { undo } = await import('../../../jobs/undo.ts');
  for (const { id: job } of jobs) {
    const { outcome } = await undo(
      { job, partial: true },
      {
        store,
        clock: config.clock,
        environment: config.environment,
        actor: `job:${job}`,
        withLease: (at, key, work) => withLease(at, { key, config, work }),
      },
    );
    if (outcome === 'busy') return false;
  }
  return true;
}

/** Takes what is left of a dream out of an inbox. */
export async function stopWork(work: WorkRows, dream: string): Promise<void> {
  for (const { id, key } of await work.items()) {
    if (key === dream || key.startsWith(`${dream}/`)) await work.finish(id);
  }
}
