// What a client is told of a failure: the error types of the Messages API, with what an SDK needs to know whether to ask again.
// Promises: 409 only for an occupied path, a failed precondition and a dream's held target, never to be asked again; a memory that
// another process works on is 503, to be asked again, and so is a database that is away, unless it was lost in the middle of a
// change. Nothing here names a path of this machine.

import { isAppError } from '../base/errors.ts';
import { PathTaken, PreconditionFailed } from '../memory/file-rows.ts';
import { NotThere } from '../memory/memory-files.ts';

const STATUS = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 504,
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
    return ['rate_limit_error', 'overloaded_error', 'timeout_error'].includes(this.type);
  }
}

/** The failures that endpoints find themselves. */
export const invalid = (message: string) => new ApiError('invalid_request_error', message);
export const forbidden = (message: string) => new ApiError('permission_error', message);
export const missing = (what: string) => new ApiError('not_found_error', `There is no such ${what}.`);

const SOON = { retryAfterSeconds: 1 };

/** Anything thrown, as a client is told of it. What nobody planned for is not described. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (!isAppError(error)) return new ApiError('api_error', 'The server failed; its log has the request id.');
  const { code, message, cause } = error;
  if (cause instanceof PathTaken) {
    const more = { conflicting_memory_id: cause.file, conflicting_path: `/${cause.path}` };
    return new ApiError('memory_path_conflict_error', `The path is taken by /${cause.path}.`, { more });
  }
  if (cause instanceof PreconditionFailed) return preconditionFailed(cause);
  if (cause instanceof NotThere) return missing('memory in this memory store');
  if (code === 'bad-input' || code === 'refused') return invalid(message);
  if (code === 'conflict' || code === 'fenced')
    return new ApiError(
      'overloaded_error',
      'Another process works on this memory store. Nothing was changed; ask again.',
      SOON,
    );
  if (code === 'database-unavailable') {
    // Whether it was done is known to nobody where the answer to its end was lost.
    if (cause instanceof Error && /^the answer to COMMIT/.test(cause.message))
      return new ApiError('api_error', 'The server failed in the middle of this; read what stands.');
    return new ApiError('overloaded_error', 'The database does not answer. Nothing was changed; ask again.', SOON);
  }
  if (code === 'storage')
    return new ApiError(
      'api_error',
      'What the memory store is kept in cannot be used; the log of the server says why.',
    );
  return new ApiError('api_error', 'The server failed; its log has the request id.');
}

function preconditionFailed({ head }: PreconditionFailed): ApiError {
  const found = head?.sha ? `its SHA-256 is ${head.sha}` : 'it is gone';
  return new ApiError('memory_precondition_failed_error', `The content of the memory is another by now: ${found}.`);
}
