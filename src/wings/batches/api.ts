// The Message Batches API: requests that are sent together, answered within a day, at half the price.
// Promises: a batch is sent once, never again by itself, since a second one would be paid for too; whether one arrived
// that nobody heard of again is found out by the ids of its requests; every failure comes out as an AppError.
// It counts no spend: the caller reserves before it sends. What a reply proposes is not judged here, only its shape.
// Never redirects: results are fetched from the endpoint that was asked, wherever it says they are.

import { AnthropicError } from '@anthropic-ai/sdk/core/error';
import type { Middleware } from '@anthropic-ai/sdk/core/middleware';
import type { BetaMessage } from '@anthropic-ai/sdk/resources/beta/messages';
import type { MessageBatch, MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages';
import { explainFailure, neverReachedServer, openClient, readEnding, usageOf } from '../../agent/model.ts';
import type { AgentRequest, ToolDefinition } from '../../agent/types.ts';
import type { Usage } from '../../base/config/prices.ts';
import { AppError, isAppError } from '../../base/errors.ts';
import { isObject } from '../../base/text/json.ts';

export interface BatchedRequest {
  /** Letters, digits, `_` and `-`, at most 64: the result carries it. */
  id: string;
  system: string;
  input: string;
  /** What one call of it says is the answer. */
  tool: Extract<ToolDefinition, { kind: 'custom' }>;
}

/** What became of a request. Those the API could not answer cost nothing; `usage` null: nobody knows what it cost. */
export type BatchedResult = { id: string; usage: Usage | null } & (
  | { disposition: 'proposed'; input: unknown }
  | { disposition: 'unusable' | 'errored' | 'canceled' | 'expired'; reason: string }
);

/** `gone`: the API does not know it, or keeps its results no more. */
type BatchState = 'waiting' | 'ended' | 'gone';

export interface Batches {
  /** Answers the API's id of the batch, or null where nobody knows whether it arrived. Throws where it did not. */
  send(requests: BatchedRequest[]): Promise<string | null>;
  look(id: string): Promise<BatchState>;
  /** What became of each of these requests; one that the results do not name is `unusable`. */
  results(id: string, requests: string[]): Promise<BatchedResult[]>;
  /**
   * Looks for the batch of these requests among those that the API began about `sentAt`. `perhaps`: one of as many
   * requests is not answered yet, and only answers carry their ids.
   */
  find(requests: string[], sentAt: Date): Promise<{ id: string } | 'perhaps' | 'none'>;
  /** Asks for what is not answered yet to be left. */
  cancel(id: string): Promise<void>;
}

type Asking = Pick<AgentRequest, 'model' | 'access' | 'requestMs' | 'maxOutputTokens'>;

/** So far two clocks may be apart. */
const CLOCKS_APART_MS = 60 * 60_000;
/** Of the newest batches, so many are looked through. */
const MOST_LISTED = 1_000;

/** Throws `no-model` where there is neither key nor token. */
export function openBatches(asking: Asking, signal?: AbortSignal): Batches {
  const client = openClient(asking, [toOneServer(asking.access.baseURL)]);
  const { batches } = client.messages;

  async function call<T>(work: (within: { signal: AbortSignal }) => Promise<T>): Promise<T> {
    const late = AbortSignal.timeout(asking.requestMs);
    try {
      return await work({ signal: signal ? AbortSignal.any([signal, late]) : late });
    } catch (error) {
      signal?.throwIfAborted();
      if (late.aborted) {
        throw new AppError('timeout', `The batches of model ${asking.model} did not answer in time.`, { cause: error });
      }
      const explained = explainFailure(error, asking);
      if (explained instanceof SyntaxError || explained instanceof AnthropicError) {
        throw new AppError('bad-reply', `A batch of model ${asking.model} cannot be read: ${explained.message}`, {
          cause: error,
        });
      }
      throw explained;
    }
  }

  async function isOurs({ id }: MessageBatch, requests: Set<string>): Promise<boolean> {
    return call(async (within) => {
      for await (const result of await batches.results(id, {}, within)) return requests.has(idOf(result));
      return false;
    });
  }

  return {
    async send(requests) {
      const body = {
        requests: requests.map(({ id, ...request }) => ({
          custom_id: id,
          params: paramsOf(request, asking, requests.length),
        })),
      };
      try {
        // The SDK would send it again after a broken connection.
        const batch = await call((within) => batches.create(body, { ...within, maxRetries: 0 }));
        return typeof batch?.id === 'string' ? batch.id : null;
      } catch (error) {
        if (isAppError(error) && mayHaveArrived(error)) return null;
        throw error;
      }
    },

    async look(id) {
      try {
        const batch = await call((within) => batches.retrieve(id, {}, within));
        if (batch.processing_status !== 'ended') return 'waiting';
        return batch.results_url ? 'ended' : 'gone';
      } catch (error) {
        if (isAppError(error, 'no-model')) return 'gone';
        throw error;
      }
    },

    async results(id, requests) {
      const found = new Map<string, BatchedResult>();
      await call(async (within) => {
        for await (const result of await batches.results(id, {}, within)) {
          const of = idOf(result);
          if (requests.includes(of) && !found.has(of)) found.set(of, readResult(of, result, asking));
          if (found.size === requests.length) break;
        }
      });
      const unnamed = (of: string): BatchedResult => ({
        id: of,
        disposition: 'unusable',
        reason: 'The results do not name it.',
        usage: null,
      });
      return requests.map((of) => found.get(of) ?? unnamed(of));
    },

    async find(requests, sentAt) {
      const ids = new Set(requests);
      let isPerhaps = false;
      let listed = 0;
      const candidates: MessageBatch[] = [];
      await call(async (within) => {
        // The newest come first.
        for await (const batch of batches.list({ limit: 100 }, within)) {
          const apartMs = Date.parse(batch.created_at) - sentAt.getTime();
          listed += 1;
          if (apartMs < -CLOCKS_APART_MS || listed > MOST_LISTED) break;
          if (apartMs <= CLOCKS_APART_MS && sizeOf(batch) === requests.length) candidates.push(batch);
        }
      });
      for (const batch of candidates) {
        if (batch.processing_status !== 'ended') isPerhaps = true;
        else if (batch.results_url && (await isOurs(batch, ids))) return { id: batch.id };
      }
      return isPerhaps ? 'perhaps' : 'none';
    },

    async cancel(id) {
      await call((within) => batches.cancel(id, {}, within));
    },
  };
}

/**
 * No tool is forced: the current models refuse a request that does (`tool_choice`), and the others call it as well. The
 * words that all requests share are cached where there are several.
 */
function paramsOf(
  { system, input, tool }: Omit<BatchedRequest, 'id'>,
  { model, maxOutputTokens }: Asking,
  requests: number,
): MessageCreateParamsNonStreaming {
  return {
    model,
    max_tokens: maxOutputTokens,
    system: [{ type: 'text', text: system, ...(requests > 1 && { cache_control: { type: 'ephemeral' } }) }],
    messages: [{ role: 'user', content: [{ type: 'text', text: input }] }],
    tools: [{ name: tool.name, description: tool.description, input_schema: { ...tool.inputSchema, type: 'object' } }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  };
}

/** Whether a failure leaves it open if the request was taken. */
function mayHaveArrived(error: AppError): boolean {
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    if (neverReachedServer(cause)) return false;
  }
  return ['network', 'timeout', 'server-error'].includes(error.code);
}

/** Where an endpoint names another server for the results, as a proxy may, the key stays with the endpoint. */
function toOneServer(baseURL: string | undefined): Middleware {
  return (request, next) => {
    if (baseURL === undefined) return next(request);
    const [asked, base] = [new URL(request.url), new URL(baseURL)];
    if (asked.origin === base.origin) return next(request);
    const path = base.pathname.replace(/\/$/, '') + asked.pathname;
    return next({ ...request, url: base.origin + path + asked.search });
  };
}

function sizeOf({ request_counts }: MessageBatch): number {
  const counts: unknown = request_counts;
  return isObject(counts) ? Object.values(counts).reduce((sum: number, count) => sum + Number(count), 0) : 0;
}

function idOf(result: unknown): string {
  return isObject(result) ? String(result.custom_id) : '';
}

/** Checks what the SDK takes on trust. */
function readResult(id: string, { result }: { result?: unknown }, asking: Asking): BatchedResult {
  const unusable = (reason: string, usage: Usage | null = null): BatchedResult => {
    return { id, disposition: 'unusable', reason, usage };
  };
  const free = { calls: 1, inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
  if (!isObject(result)) return unusable('Its result has no shape.');
  if (result.type === 'errored') return { id, disposition: 'errored', reason: reasonOf(result), usage: free };
  if (result.type === 'canceled') return { id, disposition: 'canceled', reason: 'It was canceled.', usage: free };
  if (result.type === 'expired')
    return { id, disposition: 'expired', reason: 'It was not answered in a day.', usage: free };
  const message = result.type === 'succeeded' ? result.message : undefined;
  if (!isObject(message) || !Array.isArray(message.content) || !message.content.every(isObject)) {
    return unusable('Its result holds no message.');
  }
  const usage = isObject(message.usage) ? usageOf(message.usage) : null;
  try {
    readEnding(message as unknown as BetaMessage, asking);
  } catch (error) {
    if (!isAppError(error)) throw error;
    return unusable(error.message, usage);
  }
  const called = message.content.filter((block) => block.type === 'tool_use');
  const [first] = called;
  if (!first || called.length > 1) return unusable('The model did not answer by one proposal.', usage);
  return { id, disposition: 'proposed', input: first.input, usage };
}

function reasonOf({ error }: Record<string, unknown>): string {
  const inner = isObject(error) && isObject(error.error) ? error.error : error;
  return isObject(inner) && typeof inner.message === 'string' ? inner.message.slice(0, 300) : 'It failed.';
}
