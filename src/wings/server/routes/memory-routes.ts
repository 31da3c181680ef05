// The memories of a store: made, listed, read, changed, deleted; and their versions: listed, read, redacted.

import { z } from '@hono/zod-openapi';
import { ApiError } from '../api-errors.ts';
import { type Endpoint, endpointsWith, storeOf, writableStoreOf } from '../endpoint.ts';
import {
  createdQuery,
  deletedSchema,
  listedShape,
  memorySchema,
  memoryShape,
  optional,
  pageQuery,
  pageSchema,
  prefixSchema,
  versionSchema,
  versionShape,
  viewSchema,
} from '../shapes.ts';
import type { Listed } from '../store/stored-memories.ts';
import { refuseArchived } from './store-routes.ts';

const PATH = '/v1/memory_stores/{store}/memories';
/** A page with contents has no more. */
const MOST_WITH_CONTENT = 20;

const endpoint = endpointsWith({ tag: 'Memories' });

const path = z.string().min(1);
const sha = z.string().regex(/^[0-9a-f]{64}$/, 'it is no SHA-256 in lower-case hex');
const byContent = z.strictObject({ type: z.literal('content_sha256'), content_sha256: sha });
const viewQuery = z.strictObject({ view: viewSchema.default('basic') });

export function memoryRoutes(): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: PATH,
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
    endpoint({
      method: 'get',
      path: PATH,
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
    endpoint({
      method: 'get',
      path: `${PATH}/{memory}`,
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
    endpoint({
      method: 'post',
      path: `${PATH}/{memory}`,
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
    endpoint({
      method: 'delete',
      path: `${PATH}/{memory}`,
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
  ];
}

function placeOf(item: Listed): string {
  return 'prefix' in item ? item.prefix : item.path;
}

const VERSIONS_PATH = '/v1/memory_stores/{store}/memory_versions';
const versionEndpoint = endpointsWith({ tag: 'Memory versions' });

export function versionRoutes(): Endpoint[] {
  return [
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
