// The versions of a store's memories: listed, read, redacted.

import { z } from '@hono/zod-openapi';
import { type Endpoint, endpointsWith, storeOf, writableStoreOf } from '../endpoint.ts';
import { createdQuery, pageQuery, pageSchema, versionSchema, versionShape, viewSchema } from '../shapes.ts';

const PATH = '/v1/memory_stores/{store}/memory_versions';
/** A page with contents has no more. */
const MOST_WITH_CONTENT = 20;

const endpoint = endpointsWith({ tag: 'Memory versions' });

export function versionRoutes(): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: PATH,
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
    endpoint({
      method: 'get',
      path: `${PATH}/{version}`,
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
    endpoint({
      method: 'post',
      path: `${PATH}/{version}/redact`,
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
