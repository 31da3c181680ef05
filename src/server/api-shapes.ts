// What goes over the wire: the objects of the API, the rules of what clients send that several endpoints share, and failures: the
// error types of the Messages API, with what an SDK needs to know whether to ask again.
// Promises: 409 only for an occupied path, a failed precondition and a dream's held target, never to be asked again; a memory that
// another process works on is 503, to be asked again, and so is a database that is away, unless it was lost in the middle of a
// change. No failure names a path of this machine.

import { z } from 'zod';
import { isAppError } from '../base/errors.ts';
import { isInstant } from '../base/time.ts';
import { type Actor, PathTaken, PreconditionFailed } from '../memory/file-rows.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { type FileInfo, type FileText, NotThere, type PrefixInfo } from '../memory/memory-files.ts';
import type { Version } from '../memory/versions.ts';

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

export function storeShape(row: MemoryRow) {
  const { id, name, description, created_at, updated_at, archived_at } = row;
  const metadata = JSON.parse(row.metadata);
  return { id, type: 'memory_store', name, description, metadata, created_at, updated_at, archived_at };
}

export function memoryShape(store: string, file: FileInfo & { text?: string }, view: 'basic' | 'full' = 'full') {
  return {
    id: file.id,
    type: 'memory',
    memory_store_id: store,
    memory_version_id: file.version,
    path: `/${file.path}`,
    content: view === 'full' ? (file.text ?? null) : null,
    content_sha256: file.sha,
    content_size_bytes: file.size,
    created_at: file.createdAt,
    updated_at: file.updatedAt,
  };
}

export function listedShape(store: string, item: FileInfo | FileText | PrefixInfo) {
  return 'prefix' in item ? { type: 'memory_prefix', path: `/${item.prefix}` } : memoryShape(store, item);
}

/** `user`: who a person of this machine is to clients. */
export function versionShape(version: Version, { store, user }: { store: string; user: string }) {
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

function actorShape({ kind, id }: Actor, { user, session }: { user: string; session: string | null }) {
  if (kind === 'api') return { type: 'api_actor', api_key_id: id };
  if (kind === 'user' || kind === 'external') return { type: 'user_actor', user_id: user };
  const named = (kind === 'job' && session) || id || '';
  return { type: 'session_actor', session_id: `sesn_${named.replace(/^(?:sesn|job|drm)_/, '')}` };
}

// Failures.

const STATUS = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  api_error: 500,
  overloaded_error: 503,
  conflict_error: 409,
  memory_path_conflict_error: 409,
  memory_precondition_failed_error: 409,
};

type ErrorType = keyof typeof STATUS;

interface Told {
  /** Further keys of the error. */
  more?: Record<string, string>;
  retryAfterSeconds?: number;
  status?: number;
}

export class ApiError extends Error {
  readonly type: ErrorType;
  readonly told: Told;

  constructor(type: ErrorType, message: string, told: Told = {}) {
    super(message);
    this.type = type;
    this.told = told;
  }

  get status(): number {
    return this.told.status ?? STATUS[this.type];
  }

  /** Whether the same request may be answered otherwise a moment later. */
  get isPassing(): boolean {
    return this.type === 'overloaded_error';
  }
}

/** The failures that endpoints find themselves. */
export const invalid = (message: string) => new ApiError('invalid_request_error', message);
export const forbidden = (message: string) => new ApiError('permission_error', message);
export const missing = (what: string) => new ApiError('not_found_error', `There is no such ${what}.`);

const busy = (why: string) =>
  new ApiError('overloaded_error', `${why} Nothing was changed; ask again.`, { retryAfterSeconds: 1 });
const FAILED = new ApiError('api_error', 'The server failed; its log has the request id.');

/** Anything thrown, as a client is told of it. What nobody planned for is not described. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (!isAppError(error)) return FAILED;
  const { code, message, cause } = error;
  if (cause instanceof PathTaken) {
    const more = { conflicting_memory_id: cause.file, conflicting_path: `/${cause.path}` };
    return new ApiError('memory_path_conflict_error', `The path is taken by /${cause.path}.`, { more });
  }
  if (cause instanceof PreconditionFailed) {
    const found = cause.head?.sha ? `its SHA-256 is ${cause.head.sha}` : 'it is gone';
    return new ApiError('memory_precondition_failed_error', `The content of the memory is another by now: ${found}.`);
  }
  if (cause instanceof NotThere) return missing('memory in this memory store');
  if (code === 'bad-input' || code === 'refused') return invalid(message);
  if (code === 'conflict' || code === 'fenced') return busy('Another process works on this memory store.');
  if (code === 'database-unavailable') {
    // Whether it was done is known to nobody where the answer to its end was lost.
    if (cause instanceof Error && /^the answer to COMMIT/.test(cause.message))
      return new ApiError('api_error', 'The server failed in the middle of this; read what stands.');
    return busy('The database does not answer.');
  }
  return FAILED;
}
