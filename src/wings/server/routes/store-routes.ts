// Memory stores: made, listed, read, changed, archived, deleted. What a store holds is the business of memory-routes.ts.

import { z } from '@hono/zod-openapi';
import type { StoreRow } from '../../../doors/clients/stores.ts';
import { ApiError } from '../api-errors.ts';
import { type Endpoint, endpointsWith, seenBy, storeOf } from '../endpoint.ts';
import {
  createdQuery,
  deletedSchema,
  optional,
  pageOf,
  pageQuery,
  pageSchema,
  storeSchema,
  storeShape,
  switchSchema,
} from '../shapes.ts';

const PATH = '/v1/memory_stores';
const MOST_METADATA = 16;

const endpoint = endpointsWith({ tag: 'Memory stores' });

const name = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => !/\p{Cc}/u.test(text), 'it holds a control character');
const description = z.string().max(1_024);
const key = z.string().min(1).max(64);
const value = z.string().max(512);
const metadata = z
  .record(key, value)
  .refine((all) => Object.keys(all).length <= MOST_METADATA, `at most ${MOST_METADATA} pairs`);

export function storeRoutes(): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: PATH,
      about: 'Make a memory store',
      right: 'create',
      body: z.strictObject({ name, description: optional(description), metadata: optional(metadata) }),
      answer: storeSchema,
      handle: async ({ deps, caller, body }) => storeShape(await deps.stores.create({ ...body, owner: caller.id })),
    }),
    endpoint({
      method: 'get',
      path: PATH,
      about: 'List memory stores, newest first',
      right: 'read',
      query: z.strictObject({ ...pageQuery, ...createdQuery, include_archived: switchSchema.default(false) }),
      answer: pageSchema(storeSchema),
      async handle(call) {
        const { deps, caller, query } = call;
        const { limit: _, page, ...filters } = query;
        // Projects that were begun since.
        if (deps.withProjects && page === undefined) await deps.stores.adoptProjects();
        return pageOf(deps.cursors, {
          query,
          of: ['stores', caller.id, filters],
          list: (from) =>
            deps.stores.list({
              seenBy: seenBy(call),
              withArchived: filters.include_archived,
              since: filters['created_at[gte]'],
              until: filters['created_at[lte]'],
              ...from,
            }),
          shape: storeShape,
        });
      },
    }),
    endpoint({
      method: 'get',
      path: `${PATH}/{store}`,
      about: 'Read a memory store',
      right: 'read',
      answer: storeSchema,
      handle: async (call) => storeShape(await storeOf(call)),
    }),
    endpoint({
      method: 'post',
      path: `${PATH}/{store}`,
      about: 'Change a memory store; `null` takes a key out of its metadata',
      right: 'write',
      body: z.strictObject({
        name: optional(name),
        description: optional(description),
        metadata: optional(z.record(key, value.nullable())),
      }),
      answer: storeSchema,
      async handle(call) {
        const row = await storeOf(call);
        refuseArchived(row);
        const { metadata: patch, ...rest } = call.body;
        const merged = Object.entries({ ...row.metadata, ...patch }).filter((pair) => pair[1] !== null);
        const to = metadata.safeParse(Object.fromEntries(merged));
        if (!to.success) throw new ApiError('invalid_request_error', `metadata: ${to.error.issues[0]?.message}.`);
        const changed = Object.fromEntries(Object.entries(rest).filter((pair) => pair[1] !== undefined));
        return storeShape(await call.deps.stores.update(row.id, { ...changed, metadata: to.data }));
      },
    }),
    endpoint({
      method: 'post',
      path: `${PATH}/{store}/archive`,
      about: 'Archive a memory store; there is no way back',
      right: 'write',
      answer: storeSchema,
      async handle(call) {
        const row = await storeOf(call);
        refuseForeign(row, 'archived');
        return storeShape(await call.deps.stores.archive(row.id));
      },
    }),
    endpoint({
      method: 'delete',
      path: `${PATH}/{store}`,
      about: 'Delete a memory store',
      right: 'write',
      answer: deletedSchema,
      async handle(call) {
        const row = await storeOf(call);
        refuseForeign(row, 'deleted');
        const { stores, threads } = call.deps;
        await stores.remove(row.id, () => threads.closeStore(row.dir));
        return { id: row.id, type: 'memory_store_deleted' };
      },
    }),
  ];
}

export function refuseArchived({ archivedAt }: StoreRow): void {
  if (archivedAt === null) return;
  throw new ApiError('invalid_request_error', `This memory store was archived at ${archivedAt}: it is only read.`);
}

function refuseForeign({ kind }: StoreRow, what: string): void {
  if (kind === 'own') return;
  throw new ApiError(
    'permission_error',
    `A ${kind}'s memory is not ${what} over HTTP. On its machine, nocturne stores list names its directory, and nocturne pause keeps nocturne from it.`,
  );
}
