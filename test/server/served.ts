// A server in this process on a home of its own, on SQLite, or on PostgreSQL where NOCTURNE_TEST_ENGINE says so; and the
// official SDK that speaks to it over a real socket.

import Anthropic, { type APIError, type ClientOptions } from '@anthropic-ai/sdk';
import type { DreamCreateParams } from '@anthropic-ai/sdk/resources/beta/dreams';
import { afterAll, expect, onTestFinished } from 'vitest';
import { markCanceled } from '../../jobs/client-dream.ts';
import type { ExtractRequest } from '../../jobs/extract.ts';
import type { Environment } from '../../src/base/config/config.ts';
import { insert, newId } from '../../src/db/sql.ts';
import { addMemory, removedMemories, restoreMemory } from '../../src/memory/memories.ts';
import { isCheckedIn } from '../../src/memory/paths.ts';
import { enterSession } from '../../src/memory/session-rows.ts';
import { dropOld } from '../../src/memory/versions.ts';
import { pagesOf } from '../../src/page/page.ts';
import { put } from '../../src/queue/inbox.ts';
import { type NewKey, RIGHTS } from '../../src/server/api-keys.ts';
import { type ServeOptions, startServer } from '../../src/server/serve.ts';
import { openSession } from '../../src/transcript/session.ts';
import { runWorker } from '../../src/worker/worker.ts';
import { type TestAppOptions, testApp } from '../support/app.ts';
import { ownDatabase } from '../support/own-database.ts';
import { jsonHere } from '../support/run-here.ts';
import { ON_POSTGRES, tempDir } from '../support/temp.ts';

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

export type Served = Awaited<ReturnType<typeof served>>;

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

/** A server of the test's own. */
export async function served({ app: of = {}, ...options }: ServedOptions = {}) {
  const testing = await testApp(of);
  const { app, dir } = testing;
  const { config, log, memories, db, clock } = app;
  // As whoever worked there did.
  const memory = await app.memoryFor();
  const pages = { openPages: pagesOf(app), port: 0 };
  const server = await startServer({ config, log, memories }, { ...pages, ...options });
  (of.whenDone ?? onTestFinished)(() => server.close(0));
  const now = () => clock.now().toISOString();
  const stores: StoresAtHand = {
    async create({ name, allowsSecrets }) {
      const flags = JSON.stringify({ allowsSecrets });
      return { id: await addMemory(db, { scope: 'store', name, flags }, now()) };
    },
    async adopt(at) {
      const kind = isCheckedIn(at) ? 'team' : 'project';
      const row = at === dir ? memory : await memories.ofDirectory(at, { scope: kind, name: 'adopted' });
      return { ...row, kind };
    },
    restore: (id) => restoreMemory(db, id),
    async dropRemoved(days) {
      const later = new Date(clock.now().getTime() + 1);
      await dropOld(db, { now: later, versionDays: days, versionsKept: 10 });
    },
    removed: () => removedMemories(db),
    putByHand: async (id, path, text) =>
      app
        .files(await memories.of(id))
        .changeAll({ job: 'job_hand', actor: { kind: 'user', id: null } }, [{ path, make: () => text }]),
    async dump(id) {
      const tables = ['memory', 'file', 'version', 'turn', 'entry', 'rests', 'line'];
      const column = (table: string) => (table === 'memory' ? 'id' : 'memory');
      return Promise.all(tables.map((table) => db.all(`select * from ${table} where ${column(table)} = ?`, id)));
    },
    async sentTexts() {
      const pieces = await db.all<{ body: Buffer }>('select body from piece order by session, n');
      return pieces.map(({ body }) => body.toString());
    },
    beginCancel: (id) => markCanceled(id, memories),
    tenantOf: async (id) => (await memories.of(id)).tenant || null,
    openBreaker: () =>
      insert(db, 'job', [
        {
          ...{ id: newId('job'), kind: 'extract', status: 'failed', outcome: 'failed', started_by: 'worker' },
          ...{ code: 'network', error: 'Nobody answers.', created_at: now(), started_at: now(), ended_at: now() },
        },
      ]),
    async putSession({ id: name, path }) {
      const session = await openSession(path, { id: name });
      const memory = await app.memoryFor();
      await db.write(async (sql) => {
        const of = { memory: memory.id, machine: memories.machine, at: now() };
        const { id: key } = await enterSession(sql, of, session);
        const item = { kind: 'extract', key, memory: memory.id, payload: { ended: true } } as const;
        await put(sql, { ...item, notBefore: new Date('2026-12-01T00:00:00.000Z') }, clock.now());
      });
    },
  };
  return {
    ...testing,
    app: { ...app, extract: (request: ExtractRequest, more = {}) => app.extract(request, { memory, ...more }) },
    server,
    url: server.url,
    stores,
    async client(key: { stores?: 'all' | string[] } & Partial<NewKey> = {}, more = {}) {
      const { stores: memories = [], ...rest } = key;
      const made = { name: 'test', rights: RIGHTS, memories, dayMicroUsd: null, ...rest };
      const created = await server.deps.keys.create(made);
      return clientOf({ url: server.url, key: created.key, id: created.row.id }, more);
    },
  };
}

/** The environment of a home of its own for processes of nocturne; memory in PostgreSQL where a test asks that. */
export async function machine(more: Environment = {}): Promise<Environment & { NOCTURNE_HOME: string }> {
  const home = tempDir();
  const database = ON_POSTGRES ? await ownDatabase() : undefined;
  onTestFinished(() => database?.drop());
  return {
    ...{ PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, NOCTURNE_MODEL: 'offline' },
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
  const waits: string[] = [];
  await runWorker(app, {
    ends: 'idle',
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
