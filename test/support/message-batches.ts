// The Message Batches API of the loopback server: it takes batches, names them, and answers when the test says so.
//
//   …send something…  await server.batches.answer();  // by the server's own script, as if each were asked by itself
//   server.batches.sent[0].requests

import type { HttpAnswer, MessagesRequest } from './messages-server.ts';

export interface SentBatch {
  id: string;
  requests: { custom_id: string; params: MessagesRequest }[];
  isCanceled: boolean;
  /** The lines of its results, once it has ended. */
  results: string[] | null;
}

/** A result as it stands in the API's file: an object, or a whole line as it is. */
export type ScriptedResult = object | string;

export class MessageBatches {
  readonly sent: SentBatch[] = [];
  /** The methods and paths that were asked for, in order. */
  readonly asked: string[] = [];
  /** What the next batch that is sent gets: `lost`: it is taken, and the connection breaks. */
  next: 'lost' | HttpAnswer | null = null;
  /** What the next batch that is sent waits for before it is taken: its sender stalls meanwhile. */
  nextAfter: Promise<void> | null = null;
  /** When batches begin, on the server's clock. */
  createdAt = '2026-11-21T02:00:00.000Z';
  /** Where results are said to be; default: here. */
  resultsAt: string | null = null;
  /** Whether batches are known there still. */
  isForgetful = false;
  readonly #origin: () => string;
  readonly #reply: (request: MessagesRequest) => Promise<object>;

  constructor(origin: () => string, reply: (request: MessagesRequest) => Promise<object>) {
    this.#origin = origin;
    this.#reply = reply;
  }

  /** Ends a batch, the last by default. `resultOf` may play any result; one that it leaves out is left out. */
  async answer(
    resultOf: (request: SentBatch['requests'][number], at: number) => ScriptedResult | null | undefined = () =>
      undefined,
    batch = this.sent.at(-1),
  ): Promise<void> {
    if (!batch) throw new Error('No batch was sent.');
    const lines: string[] = [];
    for (const [at, request] of batch.requests.entries()) {
      const played = resultOf(request, at);
      if (played === null) continue;
      const result = played ?? { type: 'succeeded', message: await this.#reply(request.params) };
      lines.push(typeof result === 'string' ? result : JSON.stringify({ custom_id: request.custom_id, result }));
    }
    // In no order that anybody may rely on.
    batch.results = lines.reverse();
  }

  /** What a request to the API gets; `break`: the connection. Null: it is not about batches. */
  async handle(method: string, url: string, body: string): Promise<HttpAnswer | 'break' | null> {
    const { pathname } = new URL(url, this.#origin());
    const [, id, what] = /^\/v1\/messages\/batches(?:\/(\w+))?(?:\/(results|cancel))?$/.exec(pathname) ?? ['none'];
    if (!pathname.startsWith('/v1/messages/batches')) return null;
    this.asked.push(`${method} ${pathname}`);
    if (method === 'POST' && !id) {
      const { nextAfter } = this;
      this.nextAfter = null;
      await nextAfter;
      return this.#take(body);
    }
    if (!id)
      return { status: 200, body: { data: this.sent.toReversed().map((each) => this.#shape(each)), has_more: false } };
    const batch = this.sent.find((each) => each.id === id);
    if (!batch || this.isForgetful)
      return { status: 404, body: { type: 'error', error: { type: 'not_found_error', message: id } } };
    if (what === 'results') return { status: 200, body: (batch.results ?? []).map((line) => `${line}\n`).join('') };
    if (what === 'cancel') batch.isCanceled = true;
    return { status: 200, body: this.#shape(batch) };
  }

  #take(body: string): HttpAnswer | 'break' {
    const { next } = this;
    this.next = null;
    if (next && next !== 'lost') return next;
    const id = `msgbatch_${this.sent.length + 1}`;
    const batch: SentBatch = { id, requests: JSON.parse(body).requests, isCanceled: false, results: null };
    this.sent.push(batch);
    return next === 'lost' ? 'break' : { status: 200, body: this.#shape(batch) };
  }

  #shape({ id, requests, isCanceled, results }: SentBatch): object {
    const left = results ? 0 : requests.length;
    return {
      id,
      type: 'message_batch',
      processing_status: results ? 'ended' : isCanceled ? 'canceling' : 'in_progress',
      request_counts: { processing: left, succeeded: requests.length - left, errored: 0, canceled: 0, expired: 0 },
      created_at: this.createdAt,
      expires_at: this.createdAt,
      ended_at: results ? this.createdAt : null,
      archived_at: null,
      cancel_initiated_at: null,
      results_url: results ? `${this.resultsAt ?? this.#origin()}/v1/messages/batches/${id}/results` : null,
    };
  }
}
