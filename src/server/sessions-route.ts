// Sessions that clients send, to be learned from: kept redacted, extended, extracted.
// Promises: the body is read as it comes and bounded after decompression; who may not read the store of a session does not learn
// that it is there.

import { join } from 'node:path';
import { z } from 'zod';
import { isAppError } from '../base/errors.ts';
import { listNames } from '../base/files/directories.ts';
import { removeFile, writePieces } from '../base/files/files.ts';
import { isDead, thisProcess } from '../base/process.ts';
import { newId } from '../db/sql.ts';
import type { MemoryRow } from '../memory/memories.ts';
import {
  addPart,
  hasPart,
  isSent,
  messagesIn,
  readBody,
  type SentRow,
  sentNamed,
  sumOfBody,
} from '../memory/session-rows.ts';
import { put } from '../queue/inbox.ts';
import { ApiError, forbidden, invalid, missing } from './api-shapes.ts';
import { type Call, type Endpoint, endpoint } from './endpoint.ts';
import { isTeams, refuseArchived, sessionsSeen, storeNamed } from './visible.ts';

const PATH = '/nocturne/v1/sessions';

const id = z.string().regex(/^sesn_[A-Za-z0-9_-]{1,64}$/, 'it must be sesn_ and up to 64 letters, digits, _ or -');

const whichQuery = { memory_store_id: z.string().optional() };

export function sessionRoutes(): Endpoint[] {
  return [
    endpoint.post(PATH, 'sessions', {
      isRaw: true,
      query: z.strictObject({ memory_store_id: z.string().min(1), id: id.optional() }),
      async handle(call) {
        const { query } = call;
        const store = await storeNamed(query.memory_store_id, call);
        refuseArchived(store);
        const name = query.id ?? newId('sesn');
        return addTo({ store, name, after: 0 }, call, 'This memory store has another session of that id.');
      },
    }),
    endpoint.get(`${PATH}/{session}`, 'sessions', {
      query: z.strictObject(whichQuery),
      handle: async (call) => shapeOf((await sessionOf(call)).row),
    }),
    endpoint.patch(`${PATH}/{session}`, 'sessions', {
      isRaw: true,
      query: z.strictObject({ after: z.coerce.number().int().min(0), ...whichQuery }),
      async handle(call) {
        const { row, store } = await sessionOf(call);
        refuseArchived(store);
        return addTo({ store, name: row.name, after: call.query.after }, call);
      },
    }),
    endpoint.post(`${PATH}/{session}/extract`, 'sessions', {
      query: z.strictObject(whichQuery),
      async handle(call) {
        const { row, store } = await sessionOf(call);
        refuseArchived(store);
        if (isTeams(store)) throw forbidden("A team's memory is changed in its repository alone: nocturne share.");
        const { db, clock } = call.deps.memories;
        const payload = { ended: true, takeUp: ['declined', 'gave_up'] };
        const item = { kind: 'extract', key: row.id, memory: store.id, payload, tenant: store.tenant } as const;
        await db.write((sql) => put(sql, { ...item, notBefore: clock.now() }, clock.now()));
        return shapeOf(row);
      },
    }),
  ];
}

/** The session that a request names, of a store that its caller may read; the newest of several. */
async function sessionOf(
  call: Call<unknown, { memory_store_id?: string }>,
): Promise<{ row: SentRow; store: MemoryRow }> {
  const { params, query } = call;
  const id = query.memory_store_id;
  for (const { row, store } of await sessionsSeen(params.session as string, call))
    if (isSent(row) && (id === undefined || row.memory === id)) return { row, store };
  throw missing('session');
}

function shapeOf(row: SentRow) {
  const { name, memory: memory_store_id, created_at, sent_at: updated_at } = row;
  return { id: name, type: 'session', memory_store_id, messages: messagesIn(row), created_at, updated_at };
}

interface Place {
  store: MemoryRow;
  name: string;
  after: number;
}

/** Adds what a request holds; what is there already is only answered. `taken`: what is said where something else is there. */
async function addTo({ store, name, after }: Place, call: Call, taken?: string) {
  const { memories } = call.deps;
  const { db, clock } = memories;
  const there = () => sentNamed(db, store.id, name);
  return withBody(call, async ({ path, sha }) => {
    const before = await there();
    if (before && hasPart(before, { after, sha })) return shapeOf(before);
    if (after === (before ? messagesIn(before) : 0)) {
      const part = await readable(() => readBody(path, { after, sha }));
      await addPart(db, { memory: store.id, name, by: call.caller.id, now: clock.now() }, part);
    }
    const now = await there();
    if (now && hasPart(now, { after, sha })) return shapeOf(now);
    throw new ApiError(
      'conflict_error',
      taken ?? `after: the session has ${now ? messagesIn(now) : 0} messages by now.`,
    );
  });
}

/** What was sent, in a file that goes when the request is over; `sha`: SHA-256 of it, decompressed. */
async function withBody<T>(call: Call, work: (body: { path: string; sha: string }) => Promise<T>): Promise<T> {
  const { deps, context } = call;
  const dir = join(deps.config.home, 'copies');
  // Those of processes that died.
  for (const name of listNames(dir))
    if (isDead(decodeURIComponent(name).split(' ')[0] as string)) removeFile(join(dir, name));
  const path = join(dir, encodeURIComponent(`${thisProcess()} ${newId('body')}`));
  const most = deps.config.sessionBytes;
  const tooLarge = new ApiError('request_too_large', `The session is too large: at most ${most} bytes are allowed.`);
  async function* bounded() {
    let size = 0;
    for await (const piece of context.req.raw.body ?? []) {
      size += piece.length;
      if (size > most) throw tooLarge;
      yield piece;
    }
  }
  try {
    await writePieces(path, bounded()).catch((error: unknown) => {
      throw (error as Error).cause === tooLarge ? tooLarge : error;
    });
    const sha = await readable(() => sumOfBody(path, most));
    if (sha === null) throw tooLarge;
    return await work({ path, sha });
  } finally {
    removeFile(path);
  }
}

/** What cannot be read is told without the name of the file that it was for a moment. */
async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isAppError(error, 'unknown-format') && !isAppError(error, 'bad-input')) throw error;
    const what = error.code === 'bad-input' ? 'cannot be read' : 'is a session in no format that is known here';
    throw invalid(`The body ${what}.`);
  }
}
