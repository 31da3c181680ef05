// A server in this process on a home of its own, and the official SDK that speaks to it over a real socket.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Anthropic, { type APIError, type ClientOptions } from '@anthropic-ai/sdk';
import type { DreamCreateParams } from '@anthropic-ai/sdk/resources/beta/dreams';
import { afterAll, expect, onTestFinished, type RunnerTestCase, TestRunner } from 'vitest';
import type { Environment } from '../../../src/base/config/config.ts';
import { type Caller, RIGHTS } from '../../../src/doors/clients/keys.ts';
import { runWorker, untilIdle } from '../../../src/doors/worker/worker.ts';
import { putInInbox } from '../../../src/memory/ledger/inbox.ts';
import { findLedger } from '../../../src/memory/ledger/ledger.ts';
import { openPages } from '../../../src/wings/page/page.ts';
import { type Running, type ServeOptions, startServer } from '../../../src/wings/server/serve.ts';
import { type TestApp, type TestAppOptions, testApp } from '../../support/app.ts';
import { noPostgres, type OwnDatabase, ownDatabase } from '../../support/own-database.ts';
import { jsonHere } from '../../support/run-here.ts';
import { ASKED, HOUSE, ON_POSTGRES, tempDir } from '../../support/temp.ts';

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

/** What a test does with stores beside the API: as a person at the machine does. */
export interface StoresAtHand {
  create(of: { name: string; allowsSecrets?: boolean }): Promise<{ id: string }>;
  /** Of a directory that is there; answers whose memory it is. */
  adopt(dir: string): Promise<{ id: string; kind: string }>;
  restore(id: string): Promise<unknown>;
  /** For good, what was deleted so many days ago. */
  dropRemoved(days: number): Promise<void>;
  removed(): Promise<unknown[]>;
  /** A file of a store, as a person writes it past the server. */
  putByHand(store: string, path: string, text: string): Promise<unknown>;
  /** All that is kept of a store, sessions that were sent apart, as it can be compared. */
  dump(store: string): Promise<unknown>;
  /** What is kept of the sessions that were sent, as texts, each part by itself. */
  sentTexts(): Promise<string[]>;
  /** As far as a server comes that is killed in the middle of a cancel. */
  beginCancel(dream: string): Promise<unknown>;
  /** Whose it is; null where it is nobody's of several. */
  tenantOf(id: string): Promise<string | null>;
  /** So many jobs failed that no model is asked for a while. */
  openBreaker(): Promise<unknown>;
  /** Enters a session of this machine that waits to be learned from, later. */
  putSession(of: { id: string; path: string }): Promise<unknown>;
}

export interface Served extends TestApp {
  server: Pick<Running, 'url' | 'close'> & { deps: Running['deps'] };
  url: string;
  stores: StoresAtHand;
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

/** Which house a test asks; what it asks of `next` is a part of what is here. */
export { HOUSE } from '../../support/temp.ts';

/** How many servers answer, request by request in turn: two have homes of their own, and share one database. */
const SERVERS = Number(process.env.NOCTURNE_TEST_SERVERS ?? 1);
export const isOne = SERVERS === 1;

/** The database by the home of the first server, which a test may start anew. */
const databases = new Map<string, OwnDatabase>();

async function databaseOf(home: string, whenDone: (end: () => Promise<void>) => unknown): Promise<OwnDatabase> {
  if (noPostgres) TestRunner.getCurrentTest<RunnerTestCase | undefined>()?.context.skip(noPostgres);
  const before = databases.get(home);
  if (before) return before;
  const made = await ownDatabase();
  databases.set(home, made);
  whenDone(() => made.drop());
  return made;
}

/** As it was built: its start costs half of what its source does. */
const THREAD = pathToFileURL(join(import.meta.dirname, '../../../dist/lib/server-thread.js'));

/**
 * A server of the test's own, or two. Unless these are given, without limits on requests, and with one thread for stores: the
 * start of one is most of what a test costs.
 */
export async function served(options: ServedOptions = {}): Promise<Served> {
  if (HOUSE === 'next') {
    const { servedNext } = await import('../../next/server/served-next.ts');
    return (await servedNext(options)) as unknown as Served;
  }
  const whenDone = options.app?.whenDone ?? onTestFinished;
  const cheap = { port: 0, createsPerMinute: 0, readsPerMinute: 0, storeThreads: 1 };
  const start = async (of: TestAppOptions | undefined) => {
    const app = await testApp(of);
    // What machines share is loaded from where this process has it.
    const threadEntry = app.app.shared ? undefined : THREAD;
    const server = await startServer(app.app, { ...cheap, threadEntry, openPages, ...options });
    whenDone(() => server.close(0));
    return { app, server };
  };
  const home = options.app?.home ?? tempDir();
  const database = isOne ? null : await databaseOf(home, whenDone);
  const settings = { ...options.app?.settings, ...(database && { databaseUrl: database.url }) };
  const first = await start({ ...options.app, home, settings });
  const others = [];
  for (let nth = 1; nth < SERVERS; nth += 1) others.push(await start({ ...options.app, home: tempDir(), settings }));
  const urls = [first, ...others].map(({ server }) => server.url);
  return {
    ...first.app,
    server: first.server,
    stores: storesOf(first.app, first.server.deps),
    get url() {
      urls.push(urls.shift() as string);
      return urls[0] as string;
    },
    client: async (of = {}, more = {}) => {
      const { key, row } = await first.server.deps.keys.create({
        ...{ name: 'test', rights: RIGHTS, stores: [], dayMicroUsd: null },
        ...of,
      });
      return clientOf({ url: urls, key, id: row.id }, more);
    },
  };
}

/** How a file looked is noted by whoever reads it first after the disk's clock moved on. */
const withoutLooks = (row: object) => ({ ...row, seen_modified: null, seen_changed: null });

function storesOf({ app, home, store }: TestApp, { stores, dreams }: Running['deps']): StoresAtHand {
  const dirOf = async (id: string) => (await stores.find(id))?.dir as string;
  return {
    create: (of) => stores.create(of),
    adopt: (dir) => stores.adopt(dir),
    restore: (id) => stores.restore(id),
    dropRemoved: (days) => stores.dropRemoved(days),
    removed: () => stores.removed(),
    async putByHand(id, path, text) {
      const file = join(await dirOf(id), path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    },
    async dump(id) {
      const ledger = findLedger(await dirOf(id));
      const tables = "select name from sqlite_schema where type = 'table' order by name";
      const rows = ledger
        ?.all<{ name: string }>(tables)
        .map(({ name }) => [name, ledger.all<object>(`select * from "${name}"`).map(withoutLooks)]);
      ledger?.close();
      return rows;
    },
    sentTexts: async () =>
      readdirSync(join(home, 'sessions'), { recursive: true, withFileTypes: true }).flatMap((item) =>
        item.isFile() ? [readFileSync(join(item.parentPath, item.name), 'utf8')] : [],
      ),
    beginCancel: (id) => dreams.cancel(id),
    tenantOf: async (id) => (await stores.find(id))?.tenant ?? null,
    openBreaker: async () => app.home.breaker.fail({ code: 'network', message: 'Nobody answers.' }, { after: 1 }),
    async putSession({ id, path }) {
      putInInbox(store.ledger, {
        ...{ kind: 'extract', key: id, notBefore: '2026-12-01T00:00:00.000Z' },
        payload: { transcript: path, session: id, ended: true },
      });
    },
  };
}

/** The environment of a home of its own for processes of nocturne; memory in PostgreSQL where a test asks that. */
export async function machine(more: Environment = {}): Promise<Environment & { NOCTURNE_HOME: string }> {
  const home = tempDir();
  const database = ON_POSTGRES ? await ownDatabase() : undefined;
  onTestFinished(() => database?.drop());
  return {
    ...{ ...ASKED, PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, NOCTURNE_MODEL: 'offline' },
    ...{ NOCTURNE_QUEUE_URL: '', ...(database && { NOCTURNE_DATABASE_URL: database.url }), ...more },
  };
}

/** A key with every right, of a home that no server need have open. */
export function keyIn(environment: Environment): Promise<{ id: string; key: string }> {
  return jsonHere(['keys', 'create', '--name', 'test'], environment);
}

/** With several URLs each request goes to the next of them. */
export function clientOf(
  { url, key, id }: { url: string | string[]; key: string; id: string },
  more: ClientOptions = {},
): Client {
  const sent: Sent[] = [];
  const urls = [url].flat();
  const counted: typeof fetch = async (given, init) => {
    const { pathname, search } = new URL(given instanceof Request ? given.url : given);
    urls.push(urls.shift() as string);
    const answer = await (urls.length > 1 ? fetch(`${urls[0]}${pathname}${search}`, init) : fetch(given, init));
    sent.push({ method: init?.method ?? 'GET', path: `${pathname}${search}`, status: answer.status });
    return answer;
  };
  const sdk = new Anthropic({ apiKey: key, authToken: null, baseURL: urls[0], fetch: counted, ...more });
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

/** Works what waits, as a worker does. Answers what was put off, and why. */
export async function work({ app }: Pick<Served, 'app'>): Promise<string[]> {
  if (HOUSE === 'next') return (await import('../../next/server/served-next.ts')).workNext(app as never);
  const waits: string[] = [];
  await runWorker(app, {
    until: untilIdle,
    signal: new AbortController().signal,
    onResult: ({ delayedUntil, reason }) => delayedUntil && waits.push(`${reason}`),
    onError: (message) => expect.fail(message),
  });
  return waits;
}

/** Sends a session, as messages or as the bytes of one. */
export async function send(
  { url }: { url: string },
  { key }: Pick<Client, 'key'>,
  store: string,
  said: object[] | string | Uint8Array<ArrayBuffer>,
  more = '',
): Promise<{ status: number; body: { id: string; messages: number } }> {
  const answer = await fetch(`${url}/nocturne/v1/sessions?memory_store_id=${store}${more}`, {
    ...{ method: 'POST', headers: { 'x-api-key': key } },
    body: Array.isArray(said) ? JSON.stringify(said) : said,
  });
  return { status: answer.status, body: (await answer.json()) as { id: string; messages: number } };
}

/** What a dream over sessions of a store is asked for with. */
export function asking(store: string, sessions: string[], more: object = {}): DreamCreateParams {
  const inputs: DreamCreateParams['inputs'] = [
    { type: 'memory_store', memory_store_id: store },
    { type: 'sessions', session_ids: sessions },
  ];
  return { inputs, model: 'test-model', ...more };
}

/** What stands in a store, by path. */
export async function texts({ sdk }: Pick<Client, 'sdk'>, store: string): Promise<Map<string, string>> {
  const memories = await all(sdk.beta.memoryStores.memories.list(store, { view: 'full' }));
  return new Map(memories.flatMap((each) => (each.type === 'memory' ? [[each.path, each.content ?? '']] : [])));
}
