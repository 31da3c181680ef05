// The objects of the API as they go over the wire, and the rules of what clients send that several endpoints share: the pages
// of lists among them, whose cursors are sealed, so that they tell nobody a path and hold only for the list they are of.

import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { isInstant } from '../../base/time.ts';
import type { StoreRow } from '../../doors/clients/stores.ts';
import { ApiError } from './api-errors.ts';
import type { Listed, Memory } from './store/stored-memories.ts';
import type { MemoryVersion } from './store/stored-versions.ts';

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

export function storeShape(row: StoreRow): z.infer<typeof storeSchema> {
  const { id, name, description, metadata } = row;
  const [created_at, updated_at, archived_at] = [row.createdAt, row.updatedAt, row.archivedAt];
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

export interface MemoryView {
  store: string;
  withContent: boolean;
}

export function memoryShape(memory: Memory, { store, withContent }: MemoryView): z.infer<typeof memorySchema> {
  return {
    id: memory.id,
    type: 'memory',
    memory_store_id: store,
    memory_version_id: memory.version,
    path: memory.path,
    content: withContent ? memory.content : null,
    content_sha256: memory.sha,
    content_size_bytes: memory.sizeBytes,
    created_at: memory.createdAt,
    updated_at: memory.updatedAt,
  };
}

export function listedShape(item: Listed, view: MemoryView) {
  return 'prefix' in item ? { type: 'memory_prefix', path: item.prefix } : memoryShape(item, view);
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

export function versionShape(version: MemoryVersion, view: MemoryView): z.infer<typeof versionSchema> {
  return {
    id: version.id,
    type: 'memory_version',
    memory_id: version.memory,
    memory_store_id: view.store,
    operation: version.operation,
    path: version.path,
    content: view.withContent ? version.content : null,
    content_sha256: version.sha,
    content_size_bytes: version.sizeBytes,
    created_at: version.createdAt,
    created_by: version.createdBy,
    redacted_at: version.redactedAt,
    redacted_by: version.redactedBy,
  };
}

export const deletedSchema = z.object({ id: z.string(), type: z.string() });

const [IV_BYTES, TAG_BYTES] = [12, 16];

export class Cursors {
  readonly #secret: Buffer;

  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  /** `of`: the list with its filters, and who asks. */
  seal(place: readonly string[], of: unknown): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#secret, iv).setAAD(bound(of));
    const sealed = Buffer.concat([cipher.update(JSON.stringify(place)), cipher.final()]);
    return `page_${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  }

  /** Throws 400 for a cursor of another list. */
  open(page: string, of: unknown): string[] {
    try {
      const bytes = Buffer.from(page.replace(/^page_/, ''), 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', this.#secret, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      }).setAAD(bound(of));
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const place = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      return JSON.parse(place.toString());
    } catch {
      throw new ApiError(
        'invalid_request_error',
        'page: it is no cursor of this list. Use next_page of the page before, with the same filters and the same key.',
      );
    }
  }
}

interface Place {
  createdAt: string;
  id: string;
}

interface Paged<Row extends Place> {
  /** As it was asked for. */
  query: { limit: number; page?: string };
  /** The list with its filters, and who asks. */
  of: unknown;
  /** At most `limit` rows, newest first, those before `after` left out. */
  list(from: { limit: number; after?: Place }): Promise<Row[]>;
  shape(row: Row): object;
}

/** A page of a list that is in the order of when things were made. Throws 400 for a cursor of another list. */
export async function pageOf<Row extends Place>(cursors: Cursors, { query, of, list, shape }: Paged<Row>) {
  const { limit, page } = query;
  const [createdAt, id] = page === undefined ? [] : cursors.open(page, of);
  const isLater = createdAt !== undefined && id !== undefined;
  const rows = await list({ limit: limit + 1, ...(isLater && { after: { createdAt, id } }) });
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    data: rows.slice(0, limit).map(shape),
    next_page: last ? cursors.seal([last.createdAt, last.id], of) : null,
  };
}

function bound(of: unknown): Buffer {
  return hash('sha256', JSON.stringify(of), 'buffer');
}
