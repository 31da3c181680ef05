// A server in this process on a home of its own, and the official SDK that speaks to it over a real socket.

import Anthropic, { type APIError, type ClientOptions } from '@anthropic-ai/sdk';
import { afterAll, expect, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/time.ts';
import { openHome } from '../../../src/memory/home/home.ts';
import { type Caller, Keys, RIGHTS } from '../../../src/wings/server/rows/keys.ts';
import { openRows } from '../../../src/wings/server/rows/schema.ts';
import { type Running, type ServeOptions, startServer } from '../../../src/wings/server/serve.ts';
import { type TestApp, type TestAppOptions, testApp } from '../../support/app.ts';

/** A request as the SDK sent it. */
export interface Sent {
  method: string;
  /** With its query. */
  path: string;
  status: number;
}

export interface Client {
  sdk: Anthropic;
  key: string;
  id: string;
  /** Every request that its SDK sent, tries apart. */
  sent: Sent[];
}

export interface Served extends TestApp {
  server: Running;
  url: string;
  /** A client with a key of its own; default: every right, and the stores that it makes. */
  client(of?: Partial<Caller>, options?: ClientOptions): Promise<Client>;
}

export interface ServedOptions extends ServeOptions {
  app?: TestAppOptions;
}

/** One server for the tests of a file that know each other's clients and stores by no list: a key sees its own alone. */
export function servedForAll(): () => Promise<Served> {
  const ends: (() => unknown)[] = [];
  let one: Promise<Served> | undefined;
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return () => {
    one ??= served({ app: { whenDone: (close) => ends.push(close) } });
    return one;
  };
}

/**
 * A server of the test's own. Unless these are given, without limits on requests, and with one thread for stores: the start
 * of one is most of what a test costs.
 */
export async function served(options: ServedOptions = {}): Promise<Served> {
  const app = await testApp(options.app);
  const cheap = { port: 0, createsPerMinute: 0, readsPerMinute: 0, storeThreads: 1 };
  const server = await startServer(app.app, { ...cheap, ...options });
  (options.app?.whenDone ?? onTestFinished)(() => server.close(0));
  return {
    ...app,
    server,
    url: server.url,
    client: async (of = {}, more = {}) => {
      const { key, row } = await server.deps.keys.create({
        ...{ name: 'test', rights: RIGHTS, stores: [], dayMicroUsd: null },
        ...of,
      });
      return clientOf({ url: server.url, key, id: row.id }, more);
    },
  };
}

/** A key with every right of a home that no server has open, made as `nocturne keys create` makes it. */
export async function keyIn(home: string, of: Partial<Caller> = {}): Promise<{ id: string; key: string }> {
  const opened = openHome(home, systemClock);
  try {
    const all = { name: 'test', rights: RIGHTS, stores: [], dayMicroUsd: null };
    const { key, row } = await new Keys(openRows(opened), systemClock).create({ ...all, ...of });
    return { id: row.id, key };
  } finally {
    await opened.close();
  }
}

export function clientOf({ url, key, id }: { url: string; key: string; id: string }, more: ClientOptions = {}): Client {
  const sent: Sent[] = [];
  const counted: typeof fetch = async (given, init) => {
    const answer = await fetch(given, init);
    const { pathname, search } = new URL(given instanceof Request ? given.url : given);
    sent.push({ method: init?.method ?? 'GET', path: `${pathname}${search}`, status: answer.status });
    return answer;
  };
  const sdk = new Anthropic({ apiKey: key, authToken: null, baseURL: url, fetch: counted, ...more });
  return { sdk, key, id, sent };
}

/** The pages of a list, item by item. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  return Array.fromAsync(items);
}

/** What a request was refused with. */
export async function refusal(asked: Promise<unknown>): Promise<APIError> {
  return asked.then(
    () => expect.fail('it was not refused'),
    (error) => error,
  );
}

/** A request as it is, without the SDK. */
export async function ask(
  { url }: Served,
  key: string,
  path: string,
  init: RequestInit & { body?: string | Uint8Array } = {},
  // biome-ignore lint/suspicious/noExplicitAny: the body of whatever was asked for
): Promise<{ status: number; headers: Headers; body: any }> {
  const headers = { authorization: `Bearer ${key}`, ...init.headers };
  const answer = await fetch(`${url}${path}`, { ...init, headers });
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
}
