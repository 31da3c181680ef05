// The only place that calls out: Anthropic's own SDK client, or the same client over the offline model.
// Promises: no HTTP request leaves before its upper bound is reserved (the SDK may make three of one call), and every
// answered one is settled by its usage. A request whose fate is unknown stays counted whole. One that is answered late is
// waited for until `requestMs`, whatever Node's own limits are, and never sent again by then.
// Every failure of the model or the network comes out as an AppError. Never reads the environment, never logs.

import { BaseAnthropic } from '@anthropic-ai/sdk/client';
import { APIConnectionError, APIConnectionTimeoutError, APIError } from '@anthropic-ai/sdk/core/error';
import type { Middleware } from '@anthropic-ai/sdk/core/middleware';
import { type BetaMessage, Messages as BetaMessages } from '@anthropic-ai/sdk/resources/beta/messages';
import { Messages } from '@anthropic-ai/sdk/resources/messages';
import type { Usage } from '../base/config/prices.ts';
import { AppError, type ErrorCode, isAppError } from '../base/errors.ts';
import { isObject, parseJson } from '../base/text/json.ts';
import {
  type AgentEnding,
  type AgentPorts,
  type AgentRequest,
  NO_USAGE,
  needsKey,
  OFFLINE_MODEL,
  type Refusal,
  requireAccess,
} from './agent-types.ts';
import { offlineFetch } from './offline-model.ts';
import { askProgram } from './programs/ask-program.ts';
import { ProgramFailure, programNamed, programOf } from './programs/programs.ts';

/** A longer pause is not slept through: the run's wall clock would end it as a crash, and a crash costs an attempt. */
const LONGEST_RETRY_WAIT_MS = 30_000;
/** A server that asks for more is asked again all the same: a person may have raised its limit. */
const LONGEST_PAUSE_MS = 24 * 3_600_000;
/** How servers of this protocol say that a prompt does not fit. */
const TOO_LONG =
  /prompt is too long|too many (input |total )?tokens|context (window|length)|maximum context|exceeds? .*context/i;
/** How Anthropic says, by a 400, that no key of the account is good. */
const CLOSED_ACCOUNT = /(organization|account|workspace) has been disabled/i;
/** By which status the API would have told an error that an endpoint of its protocol tells with 200. */
const STATUS_OF: Record<string, number> = {
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};
/** Error codes of a connection that was never made: no route, no listener, no trusted certificate. */
const NOT_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$|CERT|UNABLE_TO_VERIFY/;

type Dispatcher = NonNullable<RequestInit['dispatcher']>;
/** Where Node's `fetch` keeps what it sends by, proxies of the environment included; it is there before the first request. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');
/** The same without its limits, 300 s until the headers and 300 s between two pieces of the body. */
const withoutLimits = {
  dispatch(options, handler) {
    const { [GLOBAL_DISPATCHER]: usual } = globalThis as unknown as Record<symbol, Dispatcher>;
    return (usual as Dispatcher).dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
  },
} satisfies Pick<Dispatcher, 'dispatch'> as Dispatcher;

/** The SDK's client with what is asked of it here; the whole one is more than twice as much to load in each child. */
class Client extends BaseAnthropic {
  readonly messages = new Messages(this);
  readonly beta = { messages: new BetaMessages(this) };
}

/**
 * The SDK client for one run, with every HTTP request reserved and settled through `ports`.
 * Throws `no-model` where there is neither key nor token, unless the model is offline.
 */
export function openModel(request: AgentRequest, ports: Pick<AgentPorts, 'reserve' | 'settle' | 'runProgram'>): Client {
  const { access } = request;
  const named = programOf(request.model);
  const { runProgram } = ports;
  // Middleware, not `fetch`: it too runs once per HTTP request, but the SDK passes on what it throws instead of
  // trying again, so that a ceiling stops the run.
  const middleware = [countSpend(request, ports)];
  if (named) {
    if (!runProgram) throw new AppError('no-model', `No program can be run here, and the model is ${request.model}.`);
    middleware.push(askProgram(named, request.requestMs, runProgram));
  }
  const isOffline = request.model === OFFLINE_MODEL;
  requireAccess(request);
  const credential = !needsKey(request.model)
    ? { apiKey: 'none' }
    : access.apiKey
      ? { apiKey: access.apiKey }
      : { authToken: access.authToken };
  return new Client({
    ...credential,
    // `null` and `false` keep the SDK from looking into the environment.
    baseURL: access.baseURL ?? null,
    defaultHeaders: access.headers,
    openTelemetry: false,
    logLevel: 'off',
    // Given, because the SDK otherwise refuses an unstreamed request that may write long. The limit that counts is in
    // `countSpend`: the SDK's own does not see a reply that stops in the middle, and it would ask twice more.
    timeout: request.requestMs + 60_000,
    fetch: isOffline ? offlineFetch : undefined,
    // The key and what was said go to the address that was set, and to no other.
    fetchOptions: { dispatcher: withoutLimits, redirect: 'manual' },
    middleware,
  });
}

function countSpend(agent: AgentRequest, ports: Pick<AgentPorts, 'reserve' | 'settle'>): Middleware {
  const isFree = agent.model === OFFLINE_MODEL;
  const named = programOf(agent.model);
  const ownTokens = named ? programNamed(named.name).ownTokens : 0;
  return async (request, next) => {
    const outputTokens = isFree ? 0 : agent.maxOutputTokens;
    const bound = isFree ? 0 : Buffer.byteLength(String(request.body)) + ownTokens + outputTokens;
    const reservation = await ports.reserve(bound, outputTokens);
    let response: Response;
    let body: string;
    try {
      [response, body] = await within(agent, async (late) => {
        const signals = request.signal ? [request.signal, late] : [late];
        const answer = await next({ ...request, signal: AbortSignal.any(signals) });
        return [answer, answer.ok ? await readBody(answer, agent.model) : ''] as const;
      });
    } catch (error) {
      const unanswered = error instanceof ProgramFailure ? usedUnanswered(error) : undefined;
      if (unanswered || neverReachedServer(error)) await ports.settle(reservation, unanswered ?? NO_USAGE);
      throw error;
    }
    if (!response.ok) {
      await ports.settle(reservation, { ...NO_USAGE, calls: 1 }, refusalOf(response));
      return withoutLongWait(response);
    }
    const said = parseJson(body);
    const status = isObject(said) && isObject(said.error) ? STATUS_OF[String(said.error.type)] : undefined;
    if (status !== undefined) {
      const refused = new Response(body, { status, headers: asJson(response.headers) });
      await ports.settle(reservation, { ...NO_USAGE, calls: 1 }, refusalOf(refused));
      return withoutLongWait(refused);
    }
    checkReply(said, body, agent.model);
    const used = isObject(said.usage) ? usageOf(said.usage) : undefined;
    // A reply that does not say what it cost stays counted whole.
    if (used) await ports.settle(reservation, { ...used, ...(named && { answeredBy: String(said.model) }) });
    return new Response(body, { status: response.status, headers: asJson(response.headers) });
  };
}

/** By which errors a service says, through its program, that it did not do what was asked. */
const REFUSED_BY_SERVICE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'auth',
  'no-model',
  'quota',
  'plan-limit',
  'overloaded',
  'oversize',
]);

/** What a program used that did not answer: by its own word, else nothing where it was refused; undefined: it is not known. */
function usedUnanswered({ failure, usage }: ProgramFailure): Usage | undefined {
  if (failure.code === 'network') return NO_USAGE;
  if (usage) return usageOf(usage);
  return REFUSED_BY_SERVICE.has(failure.code) ? { ...NO_USAGE, calls: 1 } : undefined;
}

function refusalOf({ status, headers }: Response): Refusal {
  return { status, waitMs: retryAfterMs(headers) };
}

/** What `ask` answers, or `timeout` where that takes too long: the time of one request, to the end of its reply. */
async function within<T>(
  { model, requestMs }: Pick<AgentRequest, 'model' | 'requestMs'>,
  ask: (late: AbortSignal) => Promise<T>,
): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const controller = new AbortController();
  const timer = setTimeout(() => {
    // Told first, so that the abort that follows is not taken for a broken connection and tried again.
    reject(new AppError('timeout', `Model ${model} did not answer within ${requestMs / 1000} s.`));
    controller.abort();
  }, requestMs);
  try {
    return await Promise.race([ask(controller.signal), overdue]);
  } finally {
    clearTimeout(timer);
  }
}

async function readBody(response: Response, model: string): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw new AppError('network', `The connection to model ${model} broke within its reply.`, { cause: error });
  }
}

/** A message; the SDK takes that on trust, and a body that is none would come out of it as a raw TypeError. */
function checkReply(reply: unknown, body: string, model: string): asserts reply is Record<string, unknown> {
  if (isObject(reply) && Array.isArray(reply.content) && reply.content.every(isObject)) return;
  const what = reply === undefined ? 'not JSON' : 'not a message';
  throw new AppError('bad-reply', `Model ${model} sent a reply that is ${what}: ${quote(body)}`);
}

/** What a reply says that it used; undefined where a count is missing or is none: then all that was reserved stays counted. */
function usageOf(usage: Record<string, unknown>): Usage | undefined {
  const { input_tokens: input, output_tokens: outputTokens } = usage;
  const cacheWriteTokens = usage.cache_creation_input_tokens ?? 0;
  const cachedInputTokens = usage.cache_read_input_tokens ?? 0;
  if (!isCount(input) || !isCount(outputTokens) || !isCount(cacheWriteTokens)) return undefined;
  if (!isCount(cachedInputTokens)) return undefined;
  return {
    calls: 1,
    inputTokens: input + cacheWriteTokens,
    cachedInputTokens,
    cacheWriteTokens,
    outputTokens,
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether the connection could not even be made, so that nothing can have been spent. */
function neverReachedServer(error: unknown): boolean {
  return error instanceof Error && isObject(error.cause) && NOT_CONNECTED.test(String(error.cause.code));
}

/** The SDK sleeps as long as it is told to, for hours if need be; this tells it not to wait at all instead. */
function withoutLongWait(response: Response): Response {
  const waitMs = retryAfterMs(response.headers);
  if (waitMs === null || waitMs <= LONGEST_RETRY_WAIT_MS) return response;
  const headers = new Headers(response.headers);
  headers.set('x-should-retry', 'false');
  return new Response(response.body, { status: response.status, headers });
}

/** The pause the server asks for, in milliseconds, or null; endless where it is no number: how long it is cannot be known. */
function retryAfterMs(headers: Headers): number | null {
  const asked = headers.get('retry-after-ms') ?? headers.get('retry-after');
  if (asked === null) return null;
  const number = Number(asked) * (headers.has('retry-after-ms') ? 1 : 1000);
  return Number.isNaN(number) ? Number.POSITIVE_INFINITY : Math.max(0, number);
}

/**
 * What the SDK threw, as the AppError it means to a job; anything that is not the SDK's is returned as it is.
 * A request the server refuses as invalid is `bad-reply`, not `bad-input`: the next try shows another excerpt, perhaps
 * to another model, so it may well pass; and three refusals end it.
 */
export async function explainFailure(
  error: unknown,
  request: Pick<AgentRequest, 'model' | 'access'>,
): Promise<unknown> {
  const failure = meantBy(error, request);
  if (!(failure instanceof AppError) || failure === error) return failure;
  // A server, or a program, may say again what it was sent. Loaded here, as a worker that waits has no use for its rules.
  const { redact } = await import('../base/secrets/redact-text.ts');
  failure.message = (await redact(failure.message)).text;
  return failure;
}

function meantBy(error: unknown, request: Pick<AgentRequest, 'model' | 'access'>): unknown {
  if (error instanceof ProgramFailure) return error.failure;
  if (isAppError(error) || !(error instanceof APIError)) return error;
  const pauseMs = error.headers ? retryAfterMs(error.headers) : null;
  const fail = (code: ErrorCode, what: string, remedy?: string) => {
    const isAskedToWait = pauseMs !== null && (code === 'overloaded' || code === 'server-error');
    return new AppError(code, `Model ${request.model}${at(request.access.baseURL)} ${what}`, {
      remedy,
      retryAfterMs: isAskedToWait && Number.isFinite(pauseMs) ? Math.min(pauseMs, LONGEST_PAUSE_MS) : undefined,
      cause: error,
    });
  };
  if (error instanceof APIConnectionTimeoutError) return fail('timeout', 'did not answer in time.');
  if (error instanceof APIConnectionError || error.status === undefined)
    return fail('network', `could not be reached: ${reasonOf(error)}.`, 'Check the network and ANTHROPIC_BASE_URL.');
  if (error.status < 400) {
    const to = quote(error.headers?.get('location') ?? 'another address');
    return fail('no-model', `redirects to ${to}, which is not followed.`, 'Set `baseUrl` to it, if you trust it.');
  }
  const said = `${error.status} ${error.apiMessage ?? error.message}`;
  const code = refusedBy({ status: error.status, type: error.type, said });
  const [what, remedy] = REFUSALS[code];
  return fail(code, `${what}: ${remedy ? said.replace(/\.?$/, '.') : said + wordsOf(pauseMs)}`, remedy);
}

/** What each refusal means, and what a person can do about it. */
const REFUSALS = {
  quota: ['has no budget left', 'Add credit or raise the limit; the work waits.'],
  auth: ['refused the key', 'nocturne doctor says where the key comes from; nocturne setup keeps another.'],
  'no-model': ['is not known there', 'Check the model id and ANTHROPIC_BASE_URL.'],
  oversize: ['does not take requests of this length', 'Choose a model with a longer context: nocturne config model.'],
  overloaded: ['is busy', undefined],
  'server-error': ['cannot answer now', undefined],
  'bad-reply': ['did not take the request', undefined],
} satisfies Partial<Record<ErrorCode, [what: string, remedy: string | undefined]>>;

const REFUSED_WITH: Record<number, keyof typeof REFUSALS> = {
  ...{ 401: 'auth', 402: 'quota', 403: 'auth', 404: 'no-model', 408: 'server-error', 409: 'server-error' },
  ...{ 413: 'oversize', 429: 'overloaded', 529: 'overloaded' },
};

/** Anthropic answers an empty balance and a reached spend limit with 400, and so what is said of a closed account. */
function refusedBy({ status, type, said }: { status: number; type: unknown; said: string }): keyof typeof REFUSALS {
  if (type === 'billing_error' || (status < 500 && /credit balance|billing|usage limit|spend limit/i.test(said)))
    return 'quota';
  if (CLOSED_ACCOUNT.test(said)) return 'auth';
  const known = REFUSED_WITH[status] ?? (status >= 500 ? 'server-error' : undefined);
  return known ?? (TOO_LONG.test(said) ? 'oversize' : 'bad-reply');
}

/**
 * What a reply means for a run, before its tools run: `turn-limit` stands as long as the model wants to go on. One that is
 * unfinished (cut, refused, too long) is an AppError, and its tools are not run.
 */
export function readEnding(reply: BetaMessage, request: { model: string; maxOutputTokens: number }): AgentEnding {
  const fail = (what: string, remedy?: string) =>
    new AppError('bad-reply', `The reply of model ${request.model} ${what}`, { remedy });
  const wantsTools = reply.content.some((block) => block.type === 'tool_use');
  switch (reply.stop_reason) {
    case 'tool_use':
      if (!wantsTools) throw fail('stopped for tools but calls none.');
      return 'turn-limit';
    case 'pause_turn':
      return 'turn-limit';
    case 'end_turn':
    case 'stop_sequence':
      // The SDK would not run them, and what they record would be lost without a word.
      if (wantsTools) throw fail('calls tools but says it has ended.');
      return 'done';
    case 'max_tokens':
      throw fail(`was cut at ${request.maxOutputTokens} output tokens.`, 'Another model may say it in fewer words.');
    case 'model_context_window_exceeded':
      throw new AppError('oversize', `The conversation with model ${request.model} is longer than its context window.`);
    case 'refusal':
      throw new AppError(
        'refusal',
        `Model ${request.model} refused: ${reply.stop_details?.explanation ?? reply.stop_details?.category ?? 'no reason given'}.`,
      );
    default:
      throw fail(`ended for an unknown reason: ${reply.stop_reason}.`);
  }
}

function wordsOf(pauseMs: number | null): string {
  if (pauseMs === null || !Number.isFinite(pauseMs)) return '';
  const [ms, unit] = pauseMs < 120_000 ? [1_000, 's'] : pauseMs < 7_200_000 ? [60_000, 'min'] : [3_600_000, 'h'];
  return ` (in ${Math.ceil(pauseMs / ms)} ${unit})`;
}

/** The innermost reason: fetch wraps `connect ECONNREFUSED …` twice into words that say nothing. */
function reasonOf(error: Error): string {
  let reason = error;
  while (reason.cause instanceof Error) reason = reason.cause;
  return reason.message || String((reason as { code?: unknown }).code ?? reason.name);
}

function at(baseURL: string | undefined): string {
  return baseURL && URL.canParse(baseURL) ? ` at ${new URL(baseURL).host}` : '';
}

function asJson(headers: Headers): Headers {
  const copy = new Headers(headers);
  copy.set('content-type', 'application/json');
  copy.delete('content-length');
  return copy;
}

function quote(body: string): string {
  return JSON.stringify(body.length > 200 ? `${body.slice(0, 200)}…` : body);
}
