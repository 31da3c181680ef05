// The objects of the API as they go over the wire, and the rules of what clients send that several endpoints share.

import { z } from '@hono/zod-openapi';
import { isInstant } from '../base/time.ts';
import type { Actor } from '../memory/file-rows.ts';
import type { MemoryRow } from '../memory/memories.ts';
import type { FileInfo, FileText, PrefixInfo } from '../memory/memory-files.ts';
import type { Version } from '../memory/versions.ts';

export const errorSchema = z
  .object({
    type: z.literal('error'),
    error: z.looseObject({ type: z.string(), message: z.string() }),
    request_id: z.string(),
  })
  .openapi('Error');

/** What need not be given; `null` counts as that. */
export function optional<T extends z.ZodType>(schema: T) {
  return schema.nullish().transform((value) => value ?? undefined);
}

export const instantSchema = z
  .string()
  .refine(isInstant, 'it is no RFC 3339 instant')
  .transform((at) => new Date(at).toISOString());

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(100).default(20),
  page: z.string().min(1).optional(),
};

export const createdQuery = {
  'created_at[gte]': instantSchema.optional(),
  'created_at[lte]': instantSchema.optional(),
};

export const viewSchema = z.enum(['basic', 'full']);
export const switchSchema = z.enum(['true', 'false']).transform((value) => value === 'true');

export function pageSchema<T extends z.ZodType>(item: T) {
  return z.object({ data: z.array(item), next_page: z.string().nullable() });
}

export const storeSchema = z
  .object({
    id: z.string(),
    type: z.literal('memory_store'),
    name: z.string(),
    description: z.string(),
    metadata: z.record(z.string(), z.string()),
    created_at: z.string(),
    updated_at: z.string(),
    archived_at: z.string().nullable(),
  })
  .openapi('MemoryStore');

export function storeShape(row: MemoryRow): z.infer<typeof storeSchema> {
  const { id, name, description, created_at, updated_at, archived_at } = row;
  const metadata = JSON.parse(row.metadata);
  return { id, type: 'memory_store', name, description, metadata, created_at, updated_at, archived_at };
}

export const memorySchema = z
  .object({
    id: z.string(),
    type: z.literal('memory'),
    memory_store_id: z.string(),
    memory_version_id: z.string(),
    path: z.string(),
    content: z.string().nullable(),
    content_sha256: z.string(),
    content_size_bytes: z.int(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .openapi('Memory');

export const prefixSchema = z.object({ type: z.literal('memory_prefix'), path: z.string() }).openapi('MemoryPrefix');

export function memoryShape(store: string, file: FileInfo & Partial<FileText>): z.infer<typeof memorySchema> {
  return {
    id: file.id,
    type: 'memory',
    memory_store_id: store,
    memory_version_id: file.version,
    path: `/${file.path}`,
    content: file.text ?? null,
    content_sha256: file.sha,
    content_size_bytes: file.size,
    created_at: file.createdAt,
    updated_at: file.updatedAt,
  };
}

export function listedShape(store: string, item: FileInfo | FileText | PrefixInfo) {
  return 'prefix' in item ? { type: 'memory_prefix', path: `/${item.prefix}` } : memoryShape(store, item);
}

const actorSchema = z
  .looseObject({ type: z.enum(['session_actor', 'api_actor', 'user_actor', 'service_account_actor']) })
  .nullable();

export const versionSchema = z
  .object({
    id: z.string(),
    type: z.literal('memory_version'),
    memory_id: z.string(),
    memory_store_id: z.string(),
    operation: z.enum(['created', 'modified', 'deleted']),
    path: z.string().nullable(),
    content: z.string().nullable(),
    content_sha256: z.string().nullable(),
    content_size_bytes: z.int().nullable(),
    created_at: z.string(),
    created_by: actorSchema,
    redacted_at: z.string().nullable(),
    redacted_by: actorSchema,
  })
  .openapi('MemoryVersion');

/** `user`: who a person of this machine is to clients. */
export function versionShape(
  version: Version,
  { store, user }: { store: string; user: string },
): z.infer<typeof versionSchema> {
  const { op, path } = version;
  return {
    id: version.id,
    type: 'memory_version',
    memory_id: version.file,
    memory_store_id: store,
    operation: op,
    path: path === null ? null : `/${path}`,
    content: version.text ?? null,
    content_sha256: version.sha,
    content_size_bytes: op === 'deleted' ? null : version.size,
    created_at: version.at,
    created_by: actorShape(version.actor, { user, session: version.session }),
    redacted_at: version.redactedAt,
    redacted_by: version.redactedBy && actorShape(version.redactedBy, { user, session: null }),
  };
}

function actorShape(
  { kind, id }: Actor,
  { user, session }: { user: string; session: string | null },
): z.infer<typeof actorSchema> {
  if (kind === 'api') return { type: 'api_actor', api_key_id: id };
  if (kind === 'user' || kind === 'external') return { type: 'user_actor', user_id: user };
  const named = (kind === 'job' && session) || id || '';
  return { type: 'session_actor', session_id: `sesn_${named.replace(/^(?:sesn|job|drm)_/, '')}` };
}

export const deletedSchema = z.object({ id: z.string(), type: z.string() });
