// The server as a process has it: made of its parts, listening, and ended so that nothing that was begun is lost.

import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { Config } from '../../base/config/config.ts';
import { AppError } from '../../base/errors.ts';
import { kindOf } from '../../base/files/directories.ts';
import { makePrivate, removeFile } from '../../base/files/files.ts';
import { identityOf, rowsOf } from '../../doors/clients/rows.ts';
import type { App } from '../../doors/compose.ts';
import { createApp, type Reached } from './app.ts';
import { Cursors } from './cursor.ts';
import { RateLimit, type ServerDeps, type StreamBounds, Streams } from './endpoint.ts';
import { RecentMemories } from './store/recent.ts';
import { StoreThreads } from './store/threads.ts';

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
