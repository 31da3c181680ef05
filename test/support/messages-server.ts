// A loopback server that speaks the Messages API, so that tests go through the real SDK over a real socket.
// A test gives it a script: what to answer to the first request, the second, … as a list or a function of the request.
//
//   const server = await startMessagesServer([calls('record_entries', { entries: [] }), says('Done.')]);
//   …run something with server.access…
//   server.requests[1].messages; await server.close();

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** The body of one request, as far as tests look into it. */
export interface MessagesRequest {
  model: string;
  max_tokens: number;
  system: { type: string; text: string; cache_control?: unknown }[];
  tools: { name: string; type?: string; input_schema?: unknown }[];
  messages: { role: 'user' | 'assistant'; content: string | ContentBlock[] }[];
  [key: string]: unknown;
}

export type ContentBlock = { type: string; [key: string]: unknown };

/** A reply of the model. Its stop reason is `tool_use` if it calls tools, else `end_turn`, unless given. */
export interface ModelReply {
  text?: string;
  tools?: { name: string; input: unknown }[];
  stop?: string;
  /** What the server did to the context. */
  contextManagement?: object;
  /** Default: 100 in, 10 out, nothing cached. */
  usage?: Record<string, number | Record<string, number>>;
}

/**
 * What one request gets: a reply of the model, a raw HTTP answer (a string body goes out as it is), or an accident:
 * `hang` never answers, `stall` goes silent in the middle of a reply, `reset` breaks the connection, `cut` breaks it
 * in the middle of a reply.
 */
export type Answer = ModelReply | HttpAnswer | 'hang' | 'stall' | 'reset' | 'cut';

export interface HttpAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: string | object;
}

/** A request beyond the end of a list is answered 400, which nobody tries again. `call` counts from 1. */
export type Script = Answer[] | ((request: MessagesRequest, call: number) => Answer | Promise<Answer>);

export type MessagesServer = Awaited<ReturnType<typeof startMessagesServer>>;

/** Starts the server on a free port of 127.0.0.1. */
export async function startMessagesServer(script: Script) {
  const requests: MessagesRequest[] = [];
  const bodies: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const ports: (number | undefined)[] = [];
  const betas: string[][] = [];
  const requestBytes: number[] = [];
  const watchers: { count: number; resolve: () => void }[] = [];
  const nextAnswer = (request: MessagesRequest, call: number) =>
    typeof script === 'function' ? script(request, call) : (script[call - 1] ?? error(400, 'the script ends here'));

  const http = createServer(async (incoming, outgoing) => {
    const body = await text(incoming);
    if (incoming.method !== 'POST' || incoming.url?.split('?')[0] !== '/v1/messages')
      return write(outgoing, error(404, `${incoming.method} ${incoming.url}`));
    const request: MessagesRequest = JSON.parse(body);
    const call = requests.push(request);
    bodies.push(body);
    headers.push(incoming.headers);
    ports.push(incoming.socket.remotePort);
    betas.push(String(incoming.headers['anthropic-beta'] ?? '').split(/,\s*/));
    requestBytes.push(Buffer.byteLength(body));
    for (const watcher of watchers) if (call >= watcher.count) watcher.resolve();
    answer(await nextAnswer(request, call), { incoming, outgoing, call });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve).unref());
  const { port } = http.address() as AddressInfo;

  return {
    /** For `AgentRequest.access`, or `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL`. */
    access: { apiKey: 'test-key', baseURL: `http://127.0.0.1:${port}` },
    /** The bodies of all requests so far, and the same as they came, with their bytes. */
    ...{ requests, bodies, requestBytes },
    /** Of each request, with the port of the client that it came from and the betas that it asks for. */
    ...{ headers, ports, betas },
    /** Resolves when `count` requests have come. */
    received: (count: number) =>
      requests.length >= count
        ? Promise.resolve()
        : new Promise<void>((resolve) => {
            watchers.push({ count, resolve });
          }),
    /** Ends the server and everything that hangs. */
    close: () =>
      new Promise<void>((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

/** The model ends with these words. */
export function says(words: string): ModelReply {
  return { text: words };
}

/** The model calls one tool. */
export function calls(name: string, input: unknown): ModelReply {
  return { tools: [{ name, input }] };
}

/** An error as the API words it. The SDK's pause before it tries again is cut to a millisecond. */
export function error(status: number, message: string, headers: Record<string, string> = {}): HttpAnswer {
  const type = status === 429 ? 'rate_limit_error' : status >= 500 ? 'api_error' : 'invalid_request_error';
  return { status, headers: { 'retry-after-ms': '1', ...headers }, body: { type: 'error', error: { type, message } } };
}

/** The tool results of the last message of a request. */
export function toolResults(request: MessagesRequest | undefined): ContentBlock[] {
  const content = request?.messages.at(-1)?.content;
  return Array.isArray(content) ? content.filter((block) => block.type === 'tool_result') : [];
}

interface Exchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  call: number;
}

function answer(how: Answer, { incoming, outgoing, call }: Exchange): void {
  if (how === 'hang') return;
  if (how === 'reset') incoming.socket.resetAndDestroy();
  else if (how === 'cut' || how === 'stall') cut(outgoing, { call, isSilent: how === 'stall' });
  else if ('status' in how) write(outgoing, how);
  else write(outgoing, { status: 200, body: message(how, call) });
}

function write(outgoing: ServerResponse, { status, headers, body }: HttpAnswer): void {
  outgoing.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_test', ...headers });
  outgoing.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
}

function cut(outgoing: ServerResponse, { call, isSilent }: { call: number; isSilent: boolean }): void {
  const whole = JSON.stringify(message(says('A reply that breaks off.'), call));
  outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length });
  outgoing.write(whole.slice(0, whole.length / 2), () => isSilent || outgoing.socket?.destroy());
}

function message(reply: ModelReply, call: number): object {
  const tools = (reply.tools ?? []).map((tool, at) => ({ type: 'tool_use', id: `toolu_${call}_${at}`, ...tool }));
  return {
    id: `msg_${call}`,
    type: 'message',
    role: 'assistant',
    model: 'test-model',
    content: [...(reply.text === undefined ? [] : [{ type: 'text', text: reply.text }]), ...tools],
    stop_reason: reply.stop ?? (tools.length > 0 ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    ...(reply.contextManagement && { context_management: reply.contextManagement }),
    usage: { input_tokens: 100, output_tokens: 10, ...reply.usage },
  };
}
