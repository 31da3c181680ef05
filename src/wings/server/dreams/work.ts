// What a worker does for the server: dreams and extractions that clients asked for are rows of the home; here they become
// items in the inbox of the store that they write to, and what became of those is written into the rows.
// Promises: what is to be done next is told by the rows and that store's ledger alone, so that it goes on after any end of
// this process; nothing is committed for a dream that is over; an input store is read and never changed, unless it is the
// target.

import { costMicroUsd, priceOf } from '../../../base/config/prices.ts';
import { AppError, isAppError } from '../../../base/errors.ts';
import { dayOf, nextDayAt } from '../../../base/time.ts';
import type { WingApp, WorkTerms } from '../../../doors/wing.ts';
import {
  dropFailure,
  failureRow,
  type InboxItem,
  inboxItem,
  type JobKind,
  putInInbox,
  wasWorked,
} from '../../../memory/ledger/inbox.ts';
import { isLeased } from '../../../memory/ledger/job-rows.ts';
import type { Store } from '../../../memory/store/store.ts';
import type { Session } from '../../../transcript/types.ts';
import { type DreamRow, type DreamSession, Dreams, sessionOfDream } from '../rows/dreams.ts';
import { Keys } from '../rows/keys.ts';
import { openRows } from '../rows/schema.ts';
import { type SessionRow, Sessions } from '../rows/sessions.ts';
import { Stores } from '../rows/stores.ts';
import { cloneStore } from './clone.ts';
import { openKept } from './kept.ts';
import { localSession, openLocal } from './local.ts';
import { itemStays, stopWork } from './stop.ts';
import { takeBackDream } from './take-back.ts';

/** A cancel is seen within this. */
const LOOK_MS = 1_000;
const HOUR_MS = 3_600_000;

interface Rows {
  dreams: Dreams;
  keys: Keys;
  sessions: Sessions;
  stores: Stores;
}

function rowsOf({ home, config: { clock } }: WingApp): Rows {
  const rows = openRows(home);
  return {
    dreams: new Dreams(rows, clock),
    keys: new Keys(rows, clock),
    sessions: new Sessions(rows, { home, clock }),
    stores: new Stores(rows, { home, clock }),
  };
}

/** Puts into the inboxes what clients asked for meanwhile; answers whether it did. */
export async function takeIn(app: WingApp): Promise<boolean> {
  const rows = rowsOf(app);
  await rows.dreams.endLate(app.config.dreamHours);
  await rows.sessions.dropOld(app.config.sessionDays);
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
export async function termsOf(
  item: { store: Store; kind: JobKind; key: string },
  app: WingApp,
): Promise<WorkTerms | null> {
  const [id = '', ...rest] = item.key.split('/');
  const session = rest.length > 0 ? rest.join('/') : undefined;
  if (id.startsWith('drm_')) return termsOfDream({ id, session, item }, { app, rows: rowsOf(app) });
  if (item.kind !== 'extract' || !id.startsWith('sesn_') || session === undefined) return null;
  const opened = await openOr(() => openKept(rowsOf(app).sessions, { id, store: session }));
  if (typeof opened === 'string') return { dropped: opened, worked: async () => {} };
  return { session: opened, options: { keepsUserMemory: true }, worked: async () => {} };
}

interface At {
  app: WingApp;
  rows: Rows;
}

async function putExtraction(session: SessionRow, { app, rows }: At): Promise<void> {
  const store = await rows.stores.find(session.store);
  if (store) {
    const { ledger } = await app.store(store.dir);
    const payload = payloadOf(session.id, undefined);
    const notBefore = app.config.clock.now().toISOString();
    putInInbox(ledger, { kind: 'extract', key: `${session.id}/${session.store}`, payload, notBefore });
  }
  await rows.sessions.noteWaiting(session);
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
    await rows.dreams.fail(id, { type: 'internal_error', message });
    await rows.dreams.close(id);
    return false;
  }
  const store = await app.store(output.dir);
  const { ledger } = store;
  if (row.status !== 'running') {
    await closeIfStopped(row, store, at);
    return false;
  }
  const notBefore = app.config.clock.now().toISOString();
  let hasPut = false;
  const isDone = async (item: Pick<InboxItem, 'kind' | 'key' | 'payload'>): Promise<boolean> => {
    const { kind, key } = item;
    if (inboxItem(ledger, kind, key)) return false;
    const failed = failureRow(ledger, kind, key);
    if (failed?.state === 'failed') {
      const type = failed.code === 'transcript-gone' ? 'input_session_unavailable' : 'internal_error';
      await rows.dreams.fail(id, { type, message: failed.message });
      return false;
    }
    if (wasWorked(ledger, { kind, key })) return true;
    putInInbox(ledger, { ...item, notBefore });
    hasPut = true;
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
        ? project && localSession((await app.store(project.dir)).ledger, name.local)
        : await sessions.find(name);
    if (!isThere) gone ??= name;
  }
  if (!input || input.archivedAt !== null) {
    const message = `The memory store ${row.input} is not there, or was archived.`;
    return endBefore(row, { type: 'input_memory_store_unavailable', message }, dreams);
  }
  if (gone) {
    const message = `The session ${gone.id} is not there, or not any more.`;
    return endBefore(row, { type: 'input_session_unavailable', message }, dreams);
  }
  if (!row.updates) {
    await cloneStore(await app.store(input.dir), stores.placesFor(output));
    await stores.enterCopy(output, { of: input, owner: row.owner });
  }
  return dreams.begin(row.id, output);
}

async function endBefore(row: DreamRow, error: Parameters<Dreams['fail']>[1], dreams: Dreams): Promise<false> {
  await dreams.fail(row.id, error);
  await dreams.close(row.id);
  return false;
}

/** Takes what is left of a dream that is over out of the inbox; where nobody works on it, nothing is left to do. */
async function closeIfStopped({ id, sessions }: DreamRow, store: Store, { app, rows }: At): Promise<void> {
  const { ledger } = store;
  stopWork(ledger, id);
  for (const session of sessions) dropFailure(ledger, { kind: 'extract', key: `${id}/${session.id}` });
  dropFailure(ledger, { kind: 'dream', key: id });
  const now = app.config.clock.now();
  const isWorked = ['dream', ...sessions.map(({ id: sent, local = sent }) => `session:${local}`)].some((prefix) =>
    isLeased(ledger, { prefix, now }),
  );
  if (isWorked) return;
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
  const stays = itemStays(store.ledger, kind, key);
  const row = await dreams.find(id);
  const worked = async () => {};
  if (row?.status !== 'running') return { dropped: `the dream ${id} is over`, worked };
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
      mayCommit(ledger) {
        if (!stays(ledger) || config.clock.now().getTime() >= endsAt) throw over();
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
  return openLocal(await app.store(project.dir), name.local);
}

async function openOr(open: () => Promise<Session>): Promise<Session | string> {
  try {
    return await open();
  } catch (error) {
    if (!isAppError(error, 'transcript-gone')) throw error;
    return error.message;
  }
}
