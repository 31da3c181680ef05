// Memory stores: made, listed, read, changed, archived, deleted. Their memories: made, listed, read, changed, deleted. And
// the versions of these: listed, read, redacted.

import { z } from '@hono/zod-openapi';
import type { StoreRow } from '../../../doors/clients/stores.ts';
import { ApiError } from '../api-errors.ts';
import { type Endpoint, endpointsWith, seenBy, storeOf, writableStoreOf } from '../endpoint.ts';
import {
  createdQuery,
  deletedSchema,
  listedShape,
  memorySchema,
  memoryShape,
  optional,
  pageOf,
  pageQuery,
  pageSchema,
  prefixSchema,
  storeSchema,
  storeShape,
  switchSchema,
  versionSchema,
  versionShape,
  viewSchema,
} from '../shapes.ts';
import type { Listed } from '../store/stored-memories.ts';

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

const MEMORIES_PATH = '/v1/memory_stores/{store}/memories';
/** A page with contents has no more. */
const MOST_WITH_CONTENT = 20;

const memoryEndpoint = endpointsWith({ tag: 'Memories' });

const path = z.string().min(1);
const sha = z.string().regex(/^[0-9a-f]{64}$/, 'it is no SHA-256 in lower-case hex');
const byContent = z.strictObject({ type: z.literal('content_sha256'), content_sha256: sha });
const viewQuery = z.strictObject({ view: viewSchema.default('basic') });

const VERSIONS_PATH = '/v1/memory_stores/{store}/memory_versions';
const versionEndpoint = endpointsWith({ tag: 'Memory versions' });

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
    memoryEndpoint({
      method: 'post',
      path: MEMORIES_PATH,
      about: 'Make a memory at a path that is free',
      right: 'write',
      body: z.strictObject({ path, content: z.string() }),
      query: viewQuery,
      answer: memorySchema,
      async handle(call) {
        const { deps, caller, body, query } = call;
        const store = await writableStoreOf(call);
        refuseArchived(store);
        const memory = await deps.threads.run(store.dir, 'createMemory', {
          by: caller.id,
          allowsSecrets: store.allowsSecrets,
          path: body.path,
          content: body.content,
        });
        return memoryShape(memory, { store: store.id, withContent: query.view === 'full' });
      },
    }),
    memoryEndpoint({
      method: 'get',
      path: MEMORIES_PATH,
      about: 'List memories in the order of their paths',
      right: 'read',
      query: z.strictObject({
        ...pageQuery,
        path_prefix: z
          .string()
          .regex(/^\/(?:.*\/)?$/s, 'it must begin and end with "/"')
          .optional(),
        depth: z.enum(['0', '1']).transform(Number).optional(),
        view: viewSchema.default('basic'),
      }),
      answer: pageSchema(z.union([memorySchema, prefixSchema])),
      async handle(call) {
        const { deps, caller, query } = call;
        const store = await storeOf(call);
        const { path_prefix: prefix, depth, view, page } = query;
        const of = ['memories', store.id, caller.id, prefix ?? '/', depth ?? 0];
        const [after] = page === undefined ? [] : deps.cursors.open(page, of);
        const withContent = view === 'full';
        const limit = withContent ? Math.min(query.limit, MOST_WITH_CONTENT) : query.limit;
        const { items, hasMore } = await deps.threads.run(store.dir, 'listMemories', {
          prefix,
          depth,
          limit,
          withContent,
          after,
        });
        const last = hasMore ? items.at(-1) : undefined;
        return {
          data: items.map((item) => listedShape(item, { store: store.id, withContent })),
          next_page: last ? deps.cursors.seal([placeOf(last)], of) : null,
        };
      },
    }),
    memoryEndpoint({
      method: 'get',
      path: `${MEMORIES_PATH}/{memory}`,
      about: 'Read a memory',
      right: 'read',
      query: z.strictObject({ view: viewSchema.default('full') }),
      answer: memorySchema,
      async handle(call) {
        const { deps, params, query } = call;
        const store = await storeOf(call);
        const memory = await deps.memories.retrieve(store, params.memory as string);
        return memoryShape(memory, { store: store.id, withContent: query.view === 'full' });
      },
    }),
    memoryEndpoint({
      method: 'post',
      path: `${MEMORIES_PATH}/{memory}`,
      about: 'Change the content or the path of a memory',
      right: 'write',
      body: z.strictObject({
        path: optional(path),
        content: optional(z.string()),
        precondition: optional(byContent),
      }),
      query: viewQuery,
      answer: memorySchema,
      async handle(call) {
        const { deps, caller, params, body, query } = call;
        const store = await writableStoreOf(call);
        refuseArchived(store);
        if (body.content === undefined && body.path === undefined) {
          throw new ApiError('invalid_request_error', 'Give a content, a path, or both.');
        }
        const memory = await deps.threads.run(store.dir, 'updateMemory', {
          by: caller.id,
          allowsSecrets: store.allowsSecrets,
          id: params.memory as string,
          path: body.path,
          content: body.content,
          sha: body.precondition?.content_sha256,
        });
        return memoryShape(memory, { store: store.id, withContent: query.view === 'full' });
      },
    }),
    memoryEndpoint({
      method: 'delete',
      path: `${MEMORIES_PATH}/{memory}`,
      about: 'Delete a memory; its versions stay',
      right: 'write',
      query: z.strictObject({ expected_content_sha256: sha.optional() }),
      answer: deletedSchema,
      async handle(call) {
        const { deps, caller, params, query } = call;
        const store = await writableStoreOf(call);
        const { id } = await deps.threads.run(store.dir, 'deleteMemory', {
          by: caller.id,
          allowsSecrets: store.allowsSecrets,
          id: params.memory as string,
          sha: query.expected_content_sha256,
        });
        return { id, type: 'memory_deleted' };
      },
    }),
    versionEndpoint({
      method: 'get',
      path: VERSIONS_PATH,
      about: 'List versions, newest first',
      right: 'read',
      query: z.strictObject({
        ...pageQuery,
        ...createdQuery,
        memory_id: z.string().optional(),
        operation: z.enum(['created', 'modified', 'deleted']).optional(),
        session_id: z.string().optional(),
        api_key_id: z.string().optional(),
        service_account_id: z.string().optional(),
        view: viewSchema.default('basic'),
      }),
      answer: pageSchema(versionSchema),
      async handle(call) {
        const { deps, caller, query } = call;
        const store = await storeOf(call);
        const { limit, page, view, ...filters } = query;
        const of = ['versions', store.id, caller.id, filters];
        const [at, id] = page === undefined ? [] : deps.cursors.open(page, of);
        // Nobody here is a service account.
        if (filters.service_account_id !== undefined) return { data: [], next_page: null };
        const withContent = view === 'full';
        const { items, hasMore } = await deps.threads.run(store.dir, 'listVersions', {
          memory: filters.memory_id,
          operation: filters.operation,
          session: filters.session_id,
          key: filters.api_key_id,
          since: filters['created_at[gte]'],
          until: filters['created_at[lte]'],
          limit: withContent ? Math.min(limit, MOST_WITH_CONTENT) : limit,
          withContent,
          ...(at !== undefined && id !== undefined && { after: { at, id } }),
        });
        const last = hasMore ? items.at(-1) : undefined;
        return {
          data: items.map((item) => versionShape(item, { store: store.id, withContent })),
          next_page: last ? deps.cursors.seal([last.createdAt, last.id], of) : null,
        };
      },
    }),
    versionEndpoint({
      method: 'get',
      path: `${VERSIONS_PATH}/{version}`,
      about: 'Read a version',
      right: 'read',
      query: z.strictObject({ view: viewSchema.default('full') }),
      answer: versionSchema,
      async handle(call) {
        const store = await storeOf(call);
        const version = await call.deps.threads.run(store.dir, 'retrieveVersion', {
          id: call.params.version as string,
        });
        return versionShape(version, { store: store.id, withContent: call.query.view === 'full' });
      },
    }),
    versionEndpoint({
      method: 'post',
      path: `${VERSIONS_PATH}/{version}/redact`,
      about: 'Take the content of a version away for good, everywhere it is kept',
      right: 'write',
      answer: versionSchema,
      async handle(call) {
        const store = await writableStoreOf(call);
        const id = call.params.version as string;
        const version = await call.deps.threads.run(store.dir, 'redactVersion', { id, by: call.caller.id });
        return versionShape(version, { store: store.id, withContent: false });
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

function placeOf(item: Listed): string {
  return 'prefix' in item ? item.prefix : item.path;
}
