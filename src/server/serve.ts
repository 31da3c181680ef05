// The server as a process has it: made of its parts, listening, and ended so that nothing that was begun is lost.

import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { Config } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { insert, newId } from '../db/sql.ts';
import type { Memories } from '../memory/memories.ts';
import { dropOldSent } from '../memory/session-rows.ts';
import { ApiKeys } from './api-keys.ts';
import type { ServerDeps } from './endpoint.ts';
import { createApp } from './http-app.ts';

export interface ServeOptions {
  host?: string;
  /** 0: a free one. */
  port?: number;
  withProjects?: boolean;
  /** How long a request may take to arrive whole; default: a minute. */
  requestMs?: number;
  /** Addresses under which clients reach it, `https://memory.example.com`. */
  urls?: readonly string[];
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
  /** `http://127.0.0.1:4114` */
  url: string;
  /** Takes nothing new, lets what is under way come to its end for at most `withinMs`, and closes everything. */
  close(withinMs?: number): Promise<void>;
}

const REQUEST_MS = 60_000;
const HEADERS_MS = 10_000;
const END_MS = 10_000;

export async function startServer(
  parts: Pick<ServerDeps, 'config' | 'log' | 'memories'>,
  options: ServeOptions = {},
): Promise<Running> {
  const { config, memories } = parts;
  const closing = new AbortController();
  await dropOldSent(memories.db, { now: memories.clock.now(), days: config.sessionDays });
  const keys = new ApiKeys(memories.db, memories.clock);
  const deps: ServerDeps = {
    ...parts,
    keys,
    user: await userOf(memories),
    withProjects: options.withProjects ?? false,
    version: options.version ?? 'unknown',
    closing: closing.signal,
  };
  let pages: Pages | undefined;
  const otherwise = async (request: Request) => (await pages?.answer(request)) ?? null;
  const { requestMs = REQUEST_MS, urls = [] } = options;
  const { fetch } = createApp(deps, { urls, otherwise });
  const timeouts = {
    requestTimeout: requestMs,
    headersTimeout: Math.min(HEADERS_MS, requestMs),
    connectionsCheckingInterval: Math.min(5_000, requestMs),
  };
  const server = createAdaptorServer({ fetch, serverOptions: timeouts });
  const close = async (withinMs: number) => {
    closing.abort();
    const pagesClosed = pages?.close();
    const ended = new Promise<void>((resolve) => server.close(() => resolve()));
    const patience = setTimeout(() => 'closeAllConnections' in server && server.closeAllConnections(), withinMs);
    await ended;
    clearTimeout(patience);
    await pagesClosed;
  };
  let url: string;
  try {
    url = await listen(server, options);
    pages = await options.openPages?.({ config, url, urls });
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

/** Who a person of this machine is to clients: the same as long as the database is. */
async function userOf({ db }: Memories): Promise<string> {
  return db.write(async (sql) => {
    await insert(sql, 'setting', [{ key: 'user', value: newId('user') }], 'on conflict do nothing');
    return (await sql.get<{ value: string }>("select value from setting where key = 'user'"))?.value as string;
  });
}

async function listen(server: ReturnType<typeof createAdaptorServer>, options: ServeOptions): Promise<string> {
  const { host = '127.0.0.1', port = 4114 } = options;
  const listening = Promise.withResolvers<void>();
  server.once('listening', listening.resolve).once('error', listening.reject).listen(port, host);
  await listening.promise.catch((error: Error) => {
    throw new AppError('bad-input', `Cannot listen on ${host}:${port}: ${error.message}.`, {
      remedy: 'Choose another with --port.',
    });
  });
  const { port: found } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${found}`;
}
