// The memories of a store, and their versions: made, listed, read, changed, deleted, redacted.

import { z } from 'zod';
import { redactVersion } from '../../jobs/redact.ts';
import type { Version } from '../memory/versions.ts';
import {
  createdQuery,
  invalid,
  listedShape,
  memoryShape,
  missing,
  optional,
  pageQuery,
  versionShape,
  viewSchema,
} from './api-shapes.ts';
import { type Call, type Endpoint, endpoint } from './endpoint.ts';
import { byOf, cursorOf, filesOf, placeOf, writableFilesOf } from './visible.ts';

const PATH = '/v1/memory_stores/{store}/memories';
const VERSIONS = '/v1/memory_stores/{store}/memory_versions';
/** A page with contents has no more. */
const MOST_WITH_CONTENT = 20;

const path = z.string().min(1);
const sha = z.string().regex(/^[0-9a-f]{64}$/, 'it is no SHA-256 in lower-case hex');
const byContent = z.strictObject({ type: z.literal('content_sha256'), content_sha256: sha });
const viewQuery = z.strictObject({ view: viewSchema.default('basic') });

export function memoryRoutes(): Endpoint[] {
  return [
    endpoint.post(PATH, 'write', {
      body: z.strictObject({ path, content: z.string() }),
      query: viewQuery,
      async handle(call) {
        const { body, query } = call;
        const files = await writableFilesOf(call);
        const made = await files.create(byOf(call), { path: inStore(body.path), text: body.content });
        return memoryShape(files.memory.id, { ...made, text: body.content }, query.view);
      },
    }),
    endpoint.get(PATH, 'read', {
      query: z.strictObject({
        ...pageQuery,
        path_prefix: z
          .string()
          .regex(/^\/(?:.*\/)?$/s, 'it must begin and end with "/"')
          .optional(),
        depth: z.enum(['0', '1']).transform(Number).optional(),
        view: viewSchema.default('basic'),
      }),
      async handle(call) {
        const files = await filesOf(call);
        const { path_prefix: prefix = '/', depth = 0, view, page } = call.query;
        const of = ['memories', files.memory.id, call.caller.id, prefix, depth];
        const content = view === 'full';
        const { items, next } = await files.list({
          prefix: prefix.slice(1),
          depth,
          content,
          limit: content ? Math.min(call.query.limit, MOST_WITH_CONTENT) : call.query.limit,
          after: placeOf(page, of)?.[0],
        });
        const data = items.map((item) => listedShape(files.memory.id, item));
        return { data, next_page: next === null ? null : cursorOf([next], of) };
      },
    }),
    endpoint.get(`${PATH}/{memory}`, 'read', {
      query: z.strictObject({ view: viewSchema.default('full') }),
      async handle(call) {
        const files = await filesOf(call);
        const file = (await files.read({ id: call.params.memory as string })) ?? notFound('memory');
        return memoryShape(files.memory.id, file, call.query.view);
      },
    }),
    endpoint.post(`${PATH}/{memory}`, 'write', {
      body: z.strictObject({ path: optional(path), content: optional(z.string()), precondition: optional(byContent) }),
      query: viewQuery,
      async handle(call) {
        const { params, body, query } = call;
        const files = await writableFilesOf(call);
        if (body.content === undefined && body.path === undefined) throw invalid('Give a content, a path, or both.');
        const id = params.memory as string;
        const done = await files.update(byOf(call), {
          id,
          text: body.content,
          ...(body.path !== undefined && { path: inStore(body.path) }),
          ...(body.precondition && { if: { sha: body.precondition.content_sha256 } }),
        });
        const text = query.view === 'full' ? (body.content ?? (await files.read({ id }))?.text) : undefined;
        return memoryShape(files.memory.id, { ...done, text }, query.view);
      },
    }),
    endpoint.delete(`${PATH}/{memory}`, 'write', {
      query: z.strictObject({ expected_content_sha256: sha.optional() }),
      async handle(call) {
        const files = await writableFilesOf(call, { isArchivedFine: true });
        const expected = call.query.expected_content_sha256;
        const id = call.params.memory as string;
        await files.delete(byOf(call), { id, ...(expected && { if: { sha: expected } }) });
        return { id, type: 'memory_deleted' };
      },
    }),
    ...versionRoutes(),
  ];
}

function versionRoutes(): Endpoint[] {
  return [
    endpoint.get(VERSIONS, 'read', {
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
      async handle(call) {
        const { limit, page, view, ...filters } = call.query;
        const files = await filesOf(call);
        const of = ['versions', files.memory.id, call.caller.id, filters];
        const after = placeOf(page, of)?.[0];
        // Nobody here is a service account.
        if (filters.service_account_id !== undefined) return { data: [], next_page: null };
        const content = view === 'full';
        const key = filters.api_key_id;
        const { items, next } = await files.versions({
          file: filters.memory_id,
          op: filters.operation,
          actor: key === undefined ? undefined : { kind: 'api', id: key },
          session: filters.session_id,
          since: filters['created_at[gte]'],
          until: filters['created_at[lte]'],
          limit: content ? Math.min(limit, MOST_WITH_CONTENT) : limit,
          content,
          after,
        });
        return {
          data: items.map((item) => shape(call, files.memory.id, item)),
          next_page: next === null ? null : cursorOf([next], of),
        };
      },
    }),
    endpoint.get(`${VERSIONS}/{version}`, 'read', {
      query: z.strictObject({ view: viewSchema.default('full') }),
      async handle(call) {
        const files = await filesOf(call);
        const version = (await files.version(call.params.version as string)) ?? notFound('memory version');
        const text = call.query.view === 'full' ? version.text : undefined;
        return shape(call, files.memory.id, { ...version, text });
      },
    }),
    endpoint.post(`${VERSIONS}/{version}/redact`, 'write', {
      async handle(call) {
        const files = await writableFilesOf(call, { isArchivedFine: true });
        const [id, memory] = [call.params.version as string, files.memory.id];
        const there = async () => (await files.version(id)) ?? notFound('memory version');
        await there();
        await redactVersion({ memory, version: id }, { memories: call.deps.memories, actor: byOf(call).actor });
        return shape(call, memory, await there());
      },
    }),
  ];
}

function shape({ deps }: Pick<Call, 'deps'>, store: string, version: Version) {
  return versionShape(version, { store, user: deps.user });
}

function notFound(what: string): never {
  throw missing(`${what} in this memory store`);
}

/** A path as the store has it, of one as clients write it. */
function inStore(path: string): string {
  if (!path.startsWith('/')) throw invalid('path: it must begin with "/".');
  if (path === path.normalize('NFC')) return path.slice(1);
  throw invalid('path: it is not in Unicode form NFC.');
}
