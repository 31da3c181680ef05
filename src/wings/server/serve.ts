// The server as a process has it: made of its parts, listening, and ended so that nothing that was begun is lost.

import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { cors } from 'hono/cors';
import type { Config } from '../../base/config/config.ts';
import { AppError, describeError } from '../../base/errors.ts';
import { kindOf } from '../../base/files/directories.ts';
import { makePrivate, removeFile } from '../../base/files/files.ts';
import type { Caller } from '../../doors/clients/keys.ts';
import { identityOf, rowsOf } from '../../doors/clients/rows.ts';
import type { App } from '../../doors/compose.ts';
import { newId } from '../../memory/ledger/ledger.ts';
import { ApiError, toldOf } from './api-errors.ts';
import {
  type Endpoint,
  type Env,
  headerOf,
  mount,
  RateLimit,
  type ServerDeps,
  type StreamBounds,
  Streams,
} from './endpoint.ts';
import { dreamRoutes } from './routes/dream-routes.ts';
import { mountMcp } from './routes/mcp-routes.ts';
import { sessionRoutes } from './routes/session-routes.ts';
import { storeRoutes } from './routes/store-routes.ts';
import { Cursors } from './shapes.ts';
import { RecentMemories, StoreThreads } from './store/threads.ts';

export interface ServeOptions {
  host?: string;
  /** 0: a free one. */
  port?: number;
  /** A socket of the file system in place of a port. */
  socket?: string;
  withProjects?: boolean;
  createsPerMinute?: number;
  readsPerMinute?: number;
  tls?: { cert: string; key: string };
  /** How long a request may take to arrive whole; default: a minute. */
  requestMs?: number;
  reached?: Partial<Reached>;
  streams?: StreamBounds;
  /** How many threads have stores open; default: as many as the machine has cores, 2 to 8. */
  storeThreads?: number;
  /** Their program; default: the one that is beside this. */
  threadEntry?: URL;
  /** Of nocturne, as clients are told. */
  version?: string;
  /** Answers what no endpoint does; `url`: where it listens, `urls`: what it is called elsewhere. Default: nothing is. */
  openPages?(at: { config: Config; url: string; urls: readonly string[] }): Promise<Pages>;
}

/** What a person sees in a browser beside the stores. */
export interface Pages {
  /** Null where there is nothing of it at this address. */
  answer(request: Request): Promise<Response | null>;
  /** Ends what is still being sent. */
  close(): Promise<void>;
}

export interface Running {
  deps: ServerDeps;
  /** `http://127.0.0.1:4114`, or the path of the socket. */
  url: string;
  /** Takes nothing new, lets what is under way come to its end for at most `withinMs`, and closes everything. */
  close(withinMs?: number): Promise<void>;
}

const REQUEST_MS = 60_000;
const HEADERS_MS = 10_000;
const END_MS = 10_000;

export async function startServer(app: App, options: ServeOptions = {}): Promise<Running> {
  const { config, home, log } = app;
  const { user, secret } = await identityOf(home.database);
  const closing = new AbortController();
  const rows = rowsOf(app);
  const threads = new StoreThreads({
    environment: config.environment,
    user,
    shared: app.shared?.threadModule ?? null,
    count: options.storeThreads,
    entry: options.threadEntry,
    onTrouble: ({ dir, message }) => void log('error', { event: 'trouble', store: dir, error: message }),
  });
  const deps: ServerDeps = {
    config,
    home,
    log,
    ...rows,
    threads,
    memories: new RecentMemories(threads),
    cursors: new Cursors(secret),
    user,
    withProjects: options.withProjects ?? false,
    creates: new RateLimit(options.createsPerMinute ?? 300, config.clock),
    reads: new RateLimit(options.readsPerMinute ?? 1_200, config.clock),
    streams: new Streams({ keys: rows.keys, closing: closing.signal, ...options.streams }),
    version: options.version ?? 'unknown',
    closing: closing.signal,
  };
  await deps.stores.dropRemoved(config.versionDays);
  await deps.sessions.dropOld(config.sessionDays);
  await deps.sessions.dropLost(config.sessionDays);
  await deps.stores.findLost();
  if (deps.withProjects) await deps.stores.adoptProjects();
  let pages: Pages | undefined;
  const otherwise = async (request: Request) => (await pages?.answer(request)) ?? null;
  const reached = { urls: [], origins: [], ...options.reached };
  const { fetch } = createApp(deps, { ...reached, otherwise });
  const { requestMs = REQUEST_MS } = options;
  const timeouts = {
    requestTimeout: requestMs,
    headersTimeout: Math.min(HEADERS_MS, requestMs),
    connectionsCheckingInterval: Math.min(5_000, requestMs),
  };
  const server = createAdaptorServer(
    options.tls
      ? { fetch, createServer: createTlsServer, serverOptions: { ...timeouts, ...options.tls } }
      : { fetch, serverOptions: timeouts },
  );
  const close = async (withinMs: number) => {
    closing.abort();
    const pagesClosed = pages?.close();
    const ended = new Promise<void>((resolve) => server.close(() => resolve()));
    const patience = setTimeout(() => 'closeAllConnections' in server && server.closeAllConnections(), withinMs);
    await ended;
    clearTimeout(patience);
    await Promise.all([pagesClosed, threads.close()]);
  };
  let url: string;
  try {
    url = await listen(server, options);
    // Of a socket there is no address that a browser could open.
    if (options.socket === undefined) pages = await options.openPages?.({ config, url, urls: reached.urls });
  } catch (error) {
    // What listens, or works on a thread, would keep the process alive.
    await close(0);
    throw error;
  }
  let closed: Promise<void> | undefined;
  return {
    deps,
    url,
    close(withinMs = END_MS) {
      closed ??= close(withinMs);
      return closed;
    },
  };
}

async function listen(server: ReturnType<typeof createAdaptorServer>, options: ServeOptions): Promise<string> {
  const { host = '127.0.0.1', port = 4114, socket, tls } = options;
  const listening = Promise.withResolvers<void>();
  server.once('listening', listening.resolve).once('error', listening.reject);
  // Nobody else may connect, not even before its mode is set.
  const mask = socket === undefined ? null : process.umask(0o177);
  try {
    // One that a server left behind which was killed.
    if (socket !== undefined && kindOf(socket) === 'other') removeFile(socket);
    if (socket === undefined) server.listen(port, host);
    else server.listen(socket);
    await listening.promise;
  } catch (error) {
    const where = socket ?? `${host}:${port}`;
    throw new AppError('bad-input', `Cannot listen on ${where}: ${(error as Error).message}.`, {
      remedy: socket === undefined ? 'Choose another with --port.' : 'Choose another path with --socket.',
    });
  } finally {
    if (mask !== null) process.umask(mask);
  }
  if (socket !== undefined) {
    makePrivate(socket);
    return socket;
  }
  const { port: found } = server.address() as AddressInfo;
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${found}`;
}

/** Who is answered besides those who ask this machine by its own name. */
export interface Reached {
  /** Addresses under which clients reach the server, `https://memory.example.com`. */
  urls: readonly string[];
  /** Origins whose pages may ask. */
  origins: readonly string[];
  /** Answers what no endpoint does; null where it does not either. */
  otherwise?(request: Request): Promise<Response | null>;
}

/** Every endpoint that needs a key. */
export function endpoints(): Endpoint[] {
  return [...storeRoutes(), ...dreamRoutes(), ...sessionRoutes()];
}

const REQUEST_ID = 'request-id';
const LOCAL = ['127.0.0.1', 'localhost', '[::1]'];

export function createApp(deps: ServerDeps, reached: Reached = { urls: [], origins: [] }): OpenAPIHono<Env> {
  const app = new OpenAPIHono<Env>();
  const telemetry = deps.config.telemetry ? import('@opentelemetry/api') : null;
  app.use(async (context, next) => {
    const began = performance.now();
    const requestId = newId('req');
    context.set('requestId', requestId);
    // Before there is an answer: one whose headers are changed afterwards is made twice.
    context.header(REQUEST_ID, requestId);
    const api = await telemetry;
    if (api) await withSpan(context, api, next);
    else await next();
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
    const told = toldOf(error);
    if (!(error instanceof ApiError) && told.type === 'api_error') {
      void deps.log('error', { event: 'trouble', request: context.get('requestId'), error: describeError(error) });
    }
    return refusal(context, error instanceof ApiError ? error : new ApiError(told.type, told.message, told));
  });
  app.notFound(async (context) => {
    const answer = await reached.otherwise?.(context.req.raw);
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
    refuseForeign(context, reached);
    await next();
  });
  if (reached.origins.length > 0) {
    app.use(cors({ origin: [...reached.origins], exposeHeaders: [REQUEST_ID, 'retry-after', 'x-should-retry'] }));
  }
  app.get('/openapi.json', (context) =>
    context.json(
      app.getOpenAPI31Document({
        openapi: '3.1.0',
        info: { title: 'nocturne', version: '1', description: 'Memory stores over HTTP.' },
        security: [{ bearer: [] }, { key: [] }],
      }),
    ),
  );
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', { type: 'apiKey', in: 'header', name: 'x-api-key' });
  app.use('/v1/*', letIn(deps));
  app.use('/nocturne/*', letIn(deps));
  app.use('/mcp/*', letIn(deps));
  mount(app, endpoints(), deps);
  mountMcp(app, deps);
  return app;
}

/** A span around a request, with its route and its id, and no word of what it carries. */
async function withSpan(
  context: Context<Env>,
  { trace }: typeof import('@opentelemetry/api'),
  next: () => Promise<void>,
) {
  await trace.getTracer('nocturne').startActiveSpan('nocturne request', async (span) => {
    try {
      await next();
    } finally {
      span.setAttributes({
        'http.request.method': context.req.method,
        'http.route': context.get('route') ?? 'none',
        'http.response.status_code': context.res.status,
        'nocturne.request': context.get('requestId'),
      });
      span.end();
    }
  });
}

function letIn(deps: ServerDeps) {
  return async (context: Context<Env>, next: () => Promise<void>) => {
    context.set('caller', await callerOf(context, deps));
    await next();
  };
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
function refuseForeign(context: Context<Env>, { urls, origins }: Reached): void {
  const incoming = context.env?.incoming;
  if ((incoming?.rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name)).length ?? 1) > 1) {
    throw new ApiError('invalid_request_error', 'There is more than one Host.');
  }
  const host = headerOf(context, 'host')?.toLowerCase() ?? '';
  // A socket of the file system has no port.
  const port = incoming?.socket.localPort;
  const isOurs = (name: string) => {
    const [, bare = '', given] = /^(.*?)(?::(\d+))?$/.exec(name) ?? [];
    const isOwnPort = port === undefined || (given ? Number(given) === port : port === 80 || port === 443);
    return (LOCAL.includes(bare) && isOwnPort) || urls.some((url) => isHostOf(new URL(url), name));
  };
  if (!isOurs(host)) throw new ApiError('permission_error', 'This server does not answer under that name.');
  const origin = headerOf(context, 'origin');
  if (origin === undefined || origins.includes(origin)) return;
  const ofOrigin = URL.canParse(origin) ? new URL(origin) : null;
  if (ofOrigin?.host === host && isOurs(ofOrigin.host)) return;
  throw new ApiError('permission_error', 'This server does not answer pages of that origin.');
}

/** With its port, which may be left out where it is the usual one. */
function isHostOf({ host, port, protocol }: URL, name: string): boolean {
  return name === host || (port === '' && name === `${host}:${protocol === 'https:' ? 443 : 80}`);
}

function refusal(context: Context<Env>, error: ApiError): Response {
  const { type, message, more, retryAfterSeconds } = error.told;
  context.header('x-should-retry', String(error.isPassing));
  if (retryAfterSeconds !== undefined) context.header('retry-after', String(retryAfterSeconds));
  const body = { type: 'error', error: { type, message, ...more }, request_id: context.get('requestId') };
  return context.json(body, error.status as 400);
}
