// The one error type, and the closed table of what can go wrong and what a worker does about it.
// A planned ending of a job is an outcome, not an error; everything else is an AppError that says what failed,
// on which thing, what was found and what to do. Each door maps it once: the worker to a retry rule, the command
// line to an exit code.

import { hash } from 'node:crypto';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface Retry {
  /** Failed tries after which the work is given up and listed as failed; null: it waits for as long as it takes. */
  tries: number | null;
  /** Bound of the first wait, in milliseconds; each further failure in a row makes it four times as long. */
  firstMs: number;
  /** The bound grows no further. */
  longestMs: number;
  /** It does not pass by itself: `status` asks for a person. */
  needsPerson: boolean;
  /** The next session would meet it too: it counts towards the breaker. */
  countsForBreaker: boolean;
}

const PASSES = { tries: null, firstMs: MINUTE_MS, longestMs: HOUR_MS, needsPerson: false, countsForBreaker: true };
const PERSON = { tries: null, firstMs: 5 * MINUTE_MS, longestMs: 5 * MINUTE_MS, needsPerson: true };
const THRICE = { tries: 3, firstMs: MINUTE_MS, longestMs: HOUR_MS, needsPerson: false, countsForBreaker: true };
const ONCE = { tries: 1, firstMs: MINUTE_MS, longestMs: HOUR_MS, needsPerson: false, countsForBreaker: false };
const LOCAL = { ...PASSES, class: 'local', firstMs: 5 * MINUTE_MS, countsForBreaker: false } as const;

/** What each code means to a worker. */
export const ERRORS = {
  'bad-input': { ...ONCE, class: 'unreadable' },
  /** Settings of nocturne or of an agent that cannot be used: what depends on them waits until they are mended. */
  settings: { ...LOCAL, needsPerson: true },
  'unknown-format': { ...ONCE, class: 'unreadable' },
  'transcript-gone': { ...ONCE, class: 'gone' },
  'no-model': { ...PERSON, class: 'auth', countsForBreaker: true },
  auth: { ...PERSON, class: 'auth', countsForBreaker: true },
  quota: { ...PERSON, class: 'quota', countsForBreaker: true },
  /** The plan of a program's login is used up. */
  'plan-limit': { ...PASSES, class: 'rate-limit' },
  /** The server asks to come later: too many requests, or too much load. */
  overloaded: { ...PASSES, class: 'rate-limit' },
  network: { ...PASSES, class: 'transient' },
  /** Silent for too long. What was sent stays counted whole, so a request that always times out is given up. */
  timeout: { ...PASSES, class: 'transient', tries: 8 },
  'server-error': { ...PASSES, class: 'transient', tries: 8 },
  /** The day's tokens or money. */
  ceiling: { ...PASSES, class: 'ceiling', countsForBreaker: false },
  /** A job's own tokens or wall time. */
  'job-ceiling': { ...THRICE, class: 'ceiling' },
  refusal: { ...THRICE, class: 'refusal' },
  'bad-reply': { ...THRICE, class: 'bad-reply' },
  /** More than the model takes, however small it was split. */
  oversize: { ...ONCE, class: 'oversize' },
  /** Code refused what a job would have done to the memory directory. */
  refused: { ...THRICE, class: 'refused', countsForBreaker: false },
  'child-crash': { ...THRICE, class: 'crash' },
  /** Something nobody planned for: a fault of nocturne's own. */
  unexpected: { ...THRICE, class: 'fault' },
  fenced: LOCAL,
  conflict: LOCAL,
  storage: { ...LOCAL, needsPerson: true },
  'queue-unavailable': LOCAL,
  /** The database of memory that several machines share: down, silent, or too busy. */
  'database-unavailable': LOCAL,
} as const satisfies Record<string, Retry & { class: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** What a person is told of a failure; several codes may be of one class. */
export type FailureClass = (typeof ERRORS)[ErrorCode]['class'];

export type RetryRule = Retry & { class: FailureClass };

interface AppErrorOptions {
  /** What the reader can do about it, as a sentence. */
  remedy?: string;
  /** Nobody should try again before so many milliseconds are over. */
  retryAfterMs?: number;
  cause?: unknown;
}

export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly remedy: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.remedy = options.remedy;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A failure as reports and rows carry it. */
export interface Failure {
  code: ErrorCode;
  message: string;
  retryAfterMs?: number;
}

/** Anything thrown, as a failure; what is no AppError is a fault of nocturne's own. */
export function failureOf(error: unknown): Failure {
  if (!isAppError(error)) return { code: 'unexpected', message: describeError(error) };
  const { code, retryAfterMs } = error;
  return { code, message: describeError(error), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** The rule of a code that may come from a database an older version wrote. */
export function ruleOf(code: string | null): RetryRule {
  return code !== null && isErrorCode(code) ? ERRORS[code] : ERRORS.unexpected;
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

/** Whether so many failed tries are all that the rule of `code` allows. */
export function isGivenUp(code: ErrorCode, attempts: number): boolean {
  const { tries } = ERRORS[code];
  return tries !== null && attempts >= tries;
}

/**
 * How long to wait after the nth failure in a row (`failures` ≥ 1), in milliseconds: anything between nothing and a
 * bound that grows (full jitter), after the pause the server asked for. The same `seed` gives the same wait.
 */
export function backoffMs(failure: Omit<Failure, 'message'>, { failures, seed }: { failures: number; seed: string }) {
  const { firstMs, longestMs } = ERRORS[failure.code];
  const pauseMs = failure.retryAfterMs;
  const boundMs = pauseMs === undefined ? Math.min(longestMs, firstMs * 4 ** (failures - 1)) : firstMs;
  const draw = hash('sha256', seed, 'buffer').readUInt32BE(0) / 2 ** 32;
  return (pauseMs ?? 0) + Math.max(1, Math.ceil(draw * boundMs));
}

/** Whether `error` is an AppError, of `code` if one is given. */
export function isAppError(error: unknown, code?: ErrorCode): error is AppError {
  return error instanceof AppError && (code === undefined || error.code === code);
}

/** For `catch`: `answer` is told of an AppError, of `code` if one is given; all else goes on. */
export function onAppError<T>(answer: (error: AppError) => T, code?: ErrorCode): (error: unknown) => T {
  return (error) => {
    if (isAppError(error, code)) return answer(error);
    throw error;
  };
}

/** What `work` answers, or where it throws an AppError, of `code` if one is given, what `instead` does. */
export function attempt<T, U>(work: () => T, instead: (error: AppError) => U, code?: ErrorCode): T | U {
  try {
    return work();
  } catch (error) {
    return onAppError(instead, code)(error);
  }
}

/** The message of anything thrown, for a log line or an outcome; with the remedy where there is one. */
export function describeError(error: unknown): string {
  if (isAppError(error)) return error.remedy ? `${error.message} ${error.remedy}` : error.message;
  if (error instanceof AggregateError && error.message === '') return error.errors.map(describeError).join(', ');
  if (error instanceof Error) return error.message || error.name;
  if (typeof error !== 'object' || error === null) return String(error);
  // Drivers throw objects that are no errors.
  return 'message' in error && error.message !== '' ? describeError(error.message) : JSON.stringify(error);
}

/** What is wrong with a file, with its path once. */
export const sayOfFile = (path: string, said: string) => (said.includes(path) ? said : `${path}: ${said}`);

/** Why a text is no JSON, without what the parser quotes of it: that may be a part of a key. */
export function jsonProblem(error: unknown): string {
  const said = (error as Error).message
    .replace(/(?:, ?)?(?:\.{3})?".*$/s, '')
    .replace(/token '[\r\n]'/, 'end of a line');
  return said || 'it is not a JSON value';
}
