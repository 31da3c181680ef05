// A model on this machine as the agents' programs ask theirs: the Messages API as a stream (Claude Code, opencode), the
// Responses API (Codex), Gemini's `streamGenerateContent`. A test says what each request is answered; all that came is
// kept, headers too. A request whose output schema the service would refuse is refused (strict-schema.ts). It is no part of a
// service beyond that: what else a program asks for on the way is answered 404, which all of them survive.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { zstdDecompressSync } from 'node:zlib';
import { eventsOf, type Protocol, protocolOf } from './protocols.ts';
import { refusedSchema } from './strict-schema.ts';

export interface Asked {
  protocol: Protocol;
  headers: IncomingHttpHeaders;
  /** As it came. */
  body: string;
}

/** What the model says: words, and what the run's output schema asked for. */
export interface Said {
  text?: string;
  output?: unknown;
  /** A call of a tool in place of words. */
  call?: { name: string; input: object };
  /** Default: what fits. */
  stop?: 'refusal' | 'max_tokens';
}

export interface Refused {
  status: number;
  headers?: Record<string, string>;
  body?: object | string;
}

/** `hang` says nothing for ever. `call` counts from 1. */
export type Play = (asked: Asked, call: number) => Said | Refused | 'hang' | Promise<Said | Refused | 'hang'>;

export type Loopback = Awaited<ReturnType<typeof startLoopback>>;

export async function startLoopback(play: Play) {
  const asked: Asked[] = [];
  const http = createServer(async (incoming, outgoing) => {
    const bytes = await buffer(incoming);
    const protocol = incoming.method === 'POST' ? protocolOf(incoming.url ?? '') : null;
    if (!protocol) return write(outgoing, { status: incoming.method === 'HEAD' ? 200 : 404 });
    const isPacked = incoming.headers['content-encoding'] === 'zstd';
    const body = (isPacked ? zstdDecompressSync(bytes) : bytes).toString();
    const call = asked.push({ protocol, headers: incoming.headers, body });
    const refused = refusedSchema(protocol, JSON.parse(body));
    const answer = refused ?? (await play({ protocol, headers: incoming.headers, body }, call));
    if (answer === 'hang') return;
    if ('status' in answer) return write(outgoing, answer);
    outgoing.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': `req_${call}` });
    for (const event of eventsOf(protocol, { said: answer, body: JSON.parse(body), call })) outgoing.write(event);
    outgoing.end();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    /** The requests for an answer so far. */
    asked,
    /** Those of a session: what a program asks besides, of a small model or to warm up, is left out. */
    of: (words: string) => asked.filter(({ body }) => body.includes(words)),
    close: () =>
      new Promise<void>((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

function write(outgoing: ServerResponse, { status, headers, body = {} }: Refused): void {
  outgoing.writeHead(status, { 'content-type': 'application/json', ...headers });
  outgoing.end(typeof body === 'string' ? body : JSON.stringify(body));
}
