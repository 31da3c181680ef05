// Sessions that clients send, to be learned from: kept redacted in the home, extended, extracted.
// Promises: the body is read as it comes and bounded after decompression; what is read of it is kept without what is
// private; who may not read the store of a session does not learn that it is there.

import { join } from 'node:path';
import { z } from '@hono/zod-openapi';
import { writePieces } from '../../../base/files/file-pieces.ts';
import { removeFile } from '../../../base/files/files.ts';
import type { SessionPart, SessionRow } from '../../../doors/clients/sessions.ts';
import type { StoreRow } from '../../../doors/clients/stores.ts';
import type { SessionName } from '../../../doors/shared.ts';
import { newId } from '../../../memory/ledger/ledger.ts';
import { ApiError } from '../api-errors.ts';
import { type Asker, type Call, type Endpoint, endpointsWith, storeNamed, visibleStore } from '../endpoint.ts';
import { refuseArchived } from './store-routes.ts';

const PATH = '/nocturne/v1/sessions';

const id = z.string().regex(/^sesn_[A-Za-z0-9_-]{1,64}$/, 'it must be sesn_ and up to 64 letters, digits, _ or -');

const sessionSchema = z
  .object({
    id: z.string(),
    type: z.literal('session'),
    memory_store_id: z.string(),
    messages: z.int(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .openapi('Session');

const endpoint = endpointsWith({ tag: 'Sessions', right: 'sessions', answer: sessionSchema });

export function sessionRoutes(): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: PATH,
      about: 'Send a session: an array of Messages, or a transcript as an agent wrote it',
      isRaw: true,
      query: z.strictObject({ memory_store_id: z.string().min(1), id: id.optional() }),
      async handle(call) {
        const { deps, caller, query } = call;
        const store = await storeNamed(query.memory_store_id, call);
        refuseArchived(store);
        const name = { store: store.id, id: query.id ?? newId('sesn') };
        // One that was sent before is only answered.
        if (!(await deps.sessions.find(name))) await refuseWhereManyWait(store, call);
        return withBody(call, store, async (body) => {
          const there = await deps.sessions.find(name);
          if (!there) {
            const part = await keep({ name, after: 0, store, body }, call);
            if (await deps.sessions.create({ ...name, owner: caller.id }, part)) return shapeOf(name, call);
            await deps.sessions.kept.remove(name, part.file);
          }
          if ((await deps.sessions.parts(name))[0]?.sha === body.sha) return shapeOf(name, call);
          throw new ApiError('conflict_error', 'This memory store has another session of that id.');
        });
      },
    }),
    endpoint({
      method: 'get',
      path: `${PATH}/{session}`,
      about: 'Read how many messages of a session there are',
      query: z.strictObject({ memory_store_id: z.string().optional() }),
      handle: async (call) => shapeOf(await sessionOf(call), call),
    }),
    endpoint({
      method: 'patch',
      path: `${PATH}/{session}`,
      about: 'Send further messages of a session, behind the first `after`',
      isRaw: true,
      query: z.strictObject({ after: z.coerce.number().int().min(0), memory_store_id: z.string().optional() }),
      async handle(call) {
        const { deps, query } = call;
        const row = await sessionOf(call);
        const store = (await visibleStore(row.store, call)) as StoreRow;
        refuseArchived(store);
        return withBody(call, store, async (body) => {
          const { after } = query;
          const isSame = async () =>
            (await deps.sessions.parts(row)).some((part) => part.after === after && part.sha === body.sha);
          if (await isSame()) return shapeOf(row, call);
          if (after === (await deps.sessions.find(row))?.messages) {
            const part = await keep({ name: row, after, store, body }, call);
            if (await deps.sessions.append(row, part)) return shapeOf(row, call);
            await deps.sessions.kept.remove(row, part.file);
            if (await isSame()) return shapeOf(row, call);
          }
          const has = (await deps.sessions.find(row))?.messages;
          throw new ApiError('conflict_error', `after: the session has ${has} messages by now.`);
        });
      },
    }),
    endpoint({
      method: 'post',
      path: `${PATH}/{session}/extract`,
      about: 'Learn from a session now',
      query: z.strictObject({ memory_store_id: z.string().optional() }),
      async handle(call) {
        const row = await sessionOf(call);
        const store = (await visibleStore(row.store, call)) as StoreRow;
        refuseArchived(store);
        if (store.kind === 'team') {
          throw new ApiError('permission_error', "A team's memory is changed in its repository alone: nocturne share.");
        }
        await call.deps.sessions.askToExtract(row);
        return shapeOf(row, call);
      },
    }),
  ];
}

/** The session of an id that belongs to a store which the caller may read; the newest of several. */
export async function seenSession(
  id: string,
  by: Asker,
  isMeant: (row: SessionRow) => boolean = () => true,
): Promise<SessionRow | undefined> {
  for (const row of await by.deps.sessions.withId(id)) {
    if (isMeant(row) && (await visibleStore(row.store, by)) !== null) return row;
  }
  return undefined;
}

async function sessionOf(call: Call<unknown, { memory_store_id?: string }>): Promise<SessionRow> {
  const { params, query } = call;
  const isMeant = (row: SessionRow) => query.memory_store_id === undefined || row.store === query.memory_store_id;
  const row = await seenSession(params.session as string, call, isMeant);
  if (row) return row;
  throw new ApiError('not_found_error', 'There is no such session.');
}

async function shapeOf(name: SessionName, { deps }: Asker): Promise<z.infer<typeof sessionSchema>> {
  const row = await deps.sessions.find(name);
  if (!row) throw new ApiError('not_found_error', 'There is no such session.');
  const { messages, createdAt: created_at, updatedAt: updated_at } = row;
  return { id: row.id, type: 'session', memory_store_id: row.store, messages, created_at, updated_at };
}

const ASK_AGAIN_SECONDS = 10;

/** Before the body is read: what cannot be learned from in time is better kept by who sends it. */
async function refuseWhereManyWait({ tenant }: StoreRow, { deps, caller }: Asker): Promise<void> {
  const { all, each } = deps.config.maxWaitingSessions;
  const again = { retryAfterSeconds: ASK_AGAIN_SECONDS };
  if ((await deps.sessions.waiting('all')) >= all) {
    throw new ApiError('overloaded_error', `${all} sessions wait to be learned from; send this one later.`, again);
  }
  if ((await deps.sessions.waiting(tenant === null ? { owner: caller.id } : { tenant })) < each) return;
  const whose = tenant === null ? 'this key' : 'this tenant';
  throw new ApiError(
    'rate_limit_error',
    `${each} sessions of ${whose} wait to be learned from; send this one later.`,
    again,
  );
}

/** What was sent, in a file that goes when the request is over. */
interface Body {
  path: string;
  /** SHA-256 of it, decompressed. */
  sha: string;
}

async function withBody<T>(call: Call, store: StoreRow, work: (body: Body) => Promise<T>): Promise<T> {
  const { deps, context } = call;
  const path = join(deps.sessions.incoming, newId('body'));
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
    return await work({ path, sha: await deps.threads.run(store.dir, 'hashSession', { from: path, most }) });
  } finally {
    removeFile(path);
  }
}

async function keep(
  { name, after, store, body }: { name: SessionName; after: number; store: StoreRow; body: Body },
  { deps }: Asker,
): Promise<SessionPart> {
  const file = `${newId('part')}.jsonl`;
  const to = join(deps.sessions.incoming, file);
  try {
    const { messages } = await deps.threads.run(store.dir, 'keepSession', { from: body.path, to });
    await deps.sessions.kept.put(name, file, to);
    return { after, count: messages, sha: body.sha, file };
  } finally {
    removeFile(to);
  }
}
