// The server as a program that answers requests: what is the same for all endpoints. Each request has an id, is let in by
// its key, and is a line in the log, which never has a word of a memory; each failure has the same form.

import { type Context, Hono } from 'hono';
import { describeError } from '../base/errors.ts';
import { newId } from '../db/sql.ts';
import type { Caller } from './api-keys.ts';
import { ApiError, apiErrorOf, forbidden, invalid } from './api-shapes.ts';
import { dreamRoutes } from './dreams-route.ts';
import { type Endpoint, type Env, headerOf, mount, type ServerDeps } from './endpoint.ts';
import { mountMcp } from './mcp-route.ts';
import { memoryRoutes } from './memories-route.ts';
import { sessionRoutes } from './sessions-route.ts';
import { storeRoutes } from './stores-route.ts';

/** Who is answered besides those who ask this machine by its own name. */
interface Reached {
  /** Addresses under which clients reach the server, `https://memory.example.com`. */
  urls: readonly string[];
  /** Answers what no endpoint does; null where it does not either. */
  otherwise(request: Request): Promise<Response | null>;
}

/** Every endpoint that needs a key. */
export function endpoints(): Endpoint[] {
  return [...storeRoutes(), ...memoryRoutes(), ...dreamRoutes(), ...sessionRoutes()];
}

const REQUEST_ID = 'request-id';
const LOCAL = ['127.0.0.1', 'localhost', '[::1]'];

export function createApp(deps: ServerDeps, { urls, otherwise }: Reached): Hono<Env> {
  const app = new Hono<Env>();
  app.use(async (context, next) => {
    const began = performance.now();
    const requestId = newId('req');
    context.set('requestId', requestId);
    // Before there is an answer: one whose headers are changed afterwards is made twice.
    context.header(REQUEST_ID, requestId);
    await next();
    if (!context.res.headers.has(REQUEST_ID)) context.header(REQUEST_ID, requestId);
    const route = context.get('route') ?? 'none';
    const caller = context.get('caller')?.id;
    void deps.log('info', {
      event: 'request',
      request: requestId,
      method: context.req.method,
      route,
      status: context.res.status,
      ms: Math.round((performance.now() - began) * 10) / 10,
      ...(caller && { caller }),
    });
  });
  app.onError((error, context) => {
    const told = apiErrorOf(error);
    if (told !== error && told.type === 'api_error')
      void deps.log('error', { event: 'trouble', request: context.get('requestId'), error: describeError(error) });
    return refusal(context, told);
  });
  app.notFound(async (context) => {
    const answer = await otherwise(context.req.raw);
    return answer ?? refusal(context, new ApiError('not_found_error', 'There is nothing at this address.'));
  });
  app.get('/healthz', (context) => context.json({ status: 'ok' }));
  app.get('/readyz', (context) => {
    if (!deps.closing.aborted) return context.json({ status: 'ready' });
    return context.json({ status: 'closing' }, 503);
  });
  app.use(async (context, next) => {
    if (deps.closing.aborted) {
      context.header('connection', 'close');
      throw new ApiError('overloaded_error', 'The server is ending.', { retryAfterSeconds: 1 });
    }
    refuseForeign(context, urls);
    await next();
  });
  for (const part of ['/v1/*', '/nocturne/*', '/mcp/*'])
    app.use(part, async (context, next) => {
      context.set('caller', await callerOf(context, deps));
      await next();
    });
  mount(app, endpoints(), deps);
  mountMcp(app, deps);
  return app;
}

async function callerOf(context: Context<Env>, { keys }: ServerDeps): Promise<Caller> {
  const bearer = /^Bearer +(\S+) *$/i.exec(headerOf(context, 'authorization') ?? '')?.[1];
  const key = headerOf(context, 'x-api-key');
  if (bearer !== undefined && key !== undefined && bearer !== key) {
    throw new ApiError('authentication_error', 'authorization and x-api-key are two different keys.');
  }
  const given = bearer ?? key;
  const caller = given === undefined ? null : await keys.find(given);
  if (caller) return caller;
  throw new ApiError(
    'authentication_error',
    given === undefined ? 'A key is needed: authorization: Bearer, or x-api-key.' : 'This key is not known here.',
  );
}

/** Pages of elsewhere, and names of elsewhere that lead here, are not answered. */
function refuseForeign(context: Context<Env>, urls: readonly string[]): void {
  const incoming = context.env?.incoming;
  if ((incoming?.rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name)).length ?? 1) > 1) {
    throw invalid('There is more than one Host.');
  }
  const host = headerOf(context, 'host')?.toLowerCase() ?? '';
  // What came over no socket has no port.
  const port = incoming?.socket.localPort;
  const isOurs = (name: string) => {
    const [, bare = '', given] = /^(.*?)(?::(\d+))?$/.exec(name) ?? [];
    const isOwnPort = port === undefined || (given ? Number(given) === port : port === 80 || port === 443);
    return (LOCAL.includes(bare) && isOwnPort) || urls.some((url) => isHostOf(new URL(url), name));
  };
  if (!isOurs(host)) throw forbidden('This server does not answer under that name.');
  const origin = headerOf(context, 'origin');
  if (origin === undefined) return;
  const ofOrigin = URL.canParse(origin) ? new URL(origin) : null;
  if (ofOrigin?.host === host && isOurs(ofOrigin.host)) return;
  throw forbidden('This server does not answer pages of that origin.');
}

/** With its port, which may be left out where it is the usual one. */
function isHostOf({ host, port, protocol }: URL, name: string): boolean {
  return name === host || (port === '' && name === `${host}:${protocol === 'https:' ? 443 : 80}`);
}

function refusal(context: Context<Env>, error: ApiError): Response {
  const { type, message } = error;
  const { more, retryAfterSeconds } = error.told;
  context.header('x-should-retry', String(error.isPassing));
  if (retryAfterSeconds !== undefined) context.header('retry-after', String(retryAfterSeconds));
  const body = { type: 'error', error: { type, message, ...more }, request_id: context.get('requestId') };
  return context.json(body, error.status as 400);
}
