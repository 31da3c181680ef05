// What a client is told of a failure: the error types of the Messages API, with what an SDK needs to know whether to ask
// again. Promises: 409 only for an occupied path, a failed precondition and a dream's held target, never to be asked
// again; a store that someone else works in is 503, to be asked again, and so is a database that is away, unless it was lost in
// the middle of a change. Nothing here names a path of this machine.

import { isAppError } from '../../base/errors.ts';

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'timeout_error'
  | 'api_error'
  | 'overloaded_error'
  | 'conflict_error'
  | 'memory_path_conflict_error'
  | 'memory_precondition_failed_error';

const STATUS: Record<ErrorType, number> = {
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

/** A failure in a form that goes from one thread to another. */
export interface Told {
  type: ErrorType;
  message: string;
  /** Further keys of the error. */
  more?: Record<string, string>;
  retryAfterSeconds?: number;
  status?: number;
}

export class ApiError extends Error {
  readonly told: Told;

  constructor(type: ErrorType, message: string, rest: Omit<Told, 'type' | 'message'> = {}) {
    super(message);
    this.told = { type, message, ...rest };
  }

  get status(): number {
    return this.told.status ?? STATUS[this.told.type];
  }

  /** Whether the same request may be answered otherwise a moment later. */
  get isPassing(): boolean {
    return ['rate_limit_error', 'overloaded_error', 'timeout_error'].includes(this.told.type);
  }
}

/** Whether it failed because another process works in the store: nothing was changed. */
export function isHeld(error: unknown): boolean {
  const { code } = Object(isAppError(error, 'conflict') && error.cause) as { code?: string };
  return isAppError(error, 'fenced') || /^(?:SQLITE_BUSY|STORE_HELD)/.test(code ?? '');
}

/** Whether nobody knows if what was asked was done: the database was lost while it was, and had answered that it is away. */
function isUnsettled(error: unknown): boolean {
  return isAppError(error, 'database-unavailable') && isAppError(error.cause);
}

export function held(): ApiError {
  return new ApiError(
    'overloaded_error',
    'Another process works in this memory store. Nothing was changed; ask again.',
    {
      retryAfterSeconds: 1,
    },
  );
}

/** What was asked may have been done, or not. */
export function inTheMiddle(): Told {
  return { type: 'api_error', message: 'The server failed in the middle of this; read what stands.' };
}

/** Anything thrown, as a client is told of it. What nobody planned for is not described. */
export function toldOf(error: unknown): Told {
  if (error instanceof ApiError) return error.told;
  if (isHeld(error)) return held().told;
  if (isUnsettled(error)) return inTheMiddle();
  if (isAppError(error, 'database-unavailable')) {
    const message = 'The database does not answer. Nothing was changed; ask again.';
    return { type: 'overloaded_error', message, retryAfterSeconds: 1 };
  }
  if (isAppError(error, 'bad-input') || isAppError(error, 'refused')) {
    return { type: 'invalid_request_error', message: error.message };
  }
  if (isAppError(error, 'conflict')) return { type: 'memory_path_conflict_error', message: error.message };
  if (isAppError(error, 'storage')) {
    return {
      type: 'api_error',
      message: 'The directory of the memory store cannot be used; the log of the server says why.',
    };
  }
  return { type: 'api_error', message: 'The server failed; its log has the request id.' };
}
