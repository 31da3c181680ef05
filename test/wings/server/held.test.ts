// A store that another process works in, or whose thread fails: who asks for it is told, and nobody else waits.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import Anthropic from '@anthropic-ai/sdk';
import Database from 'better-sqlite3';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { sized } from '../../support/depth.ts';
import { ON_POSTGRES } from '../../support/temp.ts';
import { HOUSE, refusal, type Served, served } from './served.ts';

const HELD_MS = sized({ quick: 0, deep: 10_000 });
/** So many of others are answered while who asked the held store still waits: none of them waited for it. */
const MEANWHILE = 5;

const inOld = test.skipIf(HOUSE === 'next');

inOld(
  'a held store answers 503, to be asked again, within two seconds, while others and healthz answer at once',
  async () => {
    const at = await served({ storeThreads: 2 });
    const { sdk } = await at.client({}, { maxRetries: 0 });
    const { memoryStores } = sdk.beta;
    const [held, free] = [await memoryStores.create({ name: 'held' }), await memoryStores.create({ name: 'free' })];
    const one = await memoryStores.memories.create(held.id, { path: '/a.md', content: 'a' });
    const two = await memoryStores.memories.create(free.id, { path: '/a.md', content: 'a' });
    const dir = (await at.server.deps.stores.find(held.id))?.dir as string;
    const other = new Database(join(dir, '.nocturne', 'lock.db'));
    other.exec('begin exclusive');

    const began = performance.now();
    let isHeld = true;
    const asks = [
      memoryStores.memories.create(held.id, { path: '/b.md', content: 'b' }),
      memoryStores.memories.update(one.id, { memory_store_id: held.id, content: 'b' }),
      memoryStores.memories.list(held.id),
    ].map((asked) =>
      Promise.resolve(asked).then(
        () => null,
        (error) => ({ error, ms: performance.now() - began }),
      ),
    );
    const all = Promise.all(asks).finally(() => {
      isHeld = false;
    });
    const waits: number[] = [];
    const timed = async (asked: PromiseLike<unknown>) => {
      const from = performance.now();
      await asked;
      waits.push(performance.now() - from);
    };
    const askOthers = async () => {
      await timed(memoryStores.memories.retrieve(two.id, { memory_store_id: free.id }));
      await timed(memoryStores.memories.list(free.id));
      await timed(fetch(`${at.url}/healthz`));
    };
    for (let time = 0; time < MEANWHILE; time += 1) await askOthers();
    expect(isHeld).toBe(true);
    while (performance.now() - began < HELD_MS) await askOthers();
    for (const found of await all) {
      expect(found?.error).toBeInstanceOf(Anthropic.InternalServerError);
      expect([found?.error.status, found?.error.headers.get('x-should-retry')]).toEqual([503, 'true']);
      expect(Number(found?.error.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(found?.ms).toBeLessThan(2_000);
    }
    // Of few requests the slowest say nothing.
    const p99Ms = waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)];
    if (HELD_MS > 0) expect(p99Ms).toBeLessThan(100);
    // What stands as it was last seen needs no lock.
    expect((await memoryStores.memories.retrieve(one.id, { memory_store_id: held.id })).content).toBe('a');
    other.close();
    expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe('a');
    expect((await memoryStores.memories.list(held.id)).data).toHaveLength(1);
    expect((await memoryStores.memories.create(held.id, { path: '/b.md', content: 'b' })).path).toBe('/b.md');
  },
);

inOld(
  'where the thread of a store fails in the middle of a request the caller is told, others go on, and the store works again',
  async () => {
    const threads: Worker[] = [];
    const note = (thread: Worker) => threads.push(thread);
    process.on('worker', note);
    onTestFinished(() => {
      process.off('worker', note);
    });
    const at = await served({ storeThreads: 2 });
    const { sdk, sent } = await at.client();
    const { memoryStores } = sdk.beta;
    const [one, two] = [await memoryStores.create({ name: 'one' }), await memoryStores.create({ name: 'two' })];
    const made = await memoryStores.memories.create(one.id, { path: '/a.md', content: 'a' });
    const other = await memoryStores.memories.create(two.id, { path: '/a.md', content: 'a' });
    expect(threads).toHaveLength(2);
    const [thread] = threads as [Worker];
    const post = thread.postMessage;
    thread.postMessage = (asked) => {
      // Nothing that it can read: it ends before it comes to what is asked next.
      post.call(thread, null);
      post.call(thread, asked);
    };
    sent.length = 0;
    const failing = memoryStores.memories.update(made.id, { memory_store_id: one.id, content: 'b' });
    const [error, found] = await Promise.all([
      refusal(failing),
      memoryStores.memories.update(other.id, { memory_store_id: two.id, content: 'b', view: 'full' }),
    ]);
    expect(error).toBeInstanceOf(Anthropic.InternalServerError);
    expect([error.status, error.headers?.get('x-should-retry')]).toEqual([500, 'false']);
    expect(error.message).toContain('read what stands');
    expect(sent.map(({ status }) => status).toSorted()).toEqual([200, 500]);
    expect(found.content).toBe('b');
    expect((await memoryStores.memories.retrieve(made.id, { memory_store_id: one.id })).content).toBe('a');
    const again = { memory_store_id: one.id, content: 'c', view: 'full' as const };
    expect((await memoryStores.memories.update(made.id, again)).content).toBe('c');
    const log = readFileSync(join(at.home, 'logs', 'nocturne.log'), 'utf8');
    expect(log).toContain('The thread of the store failed');
  },
);

/** Another process writes to a memory and does not come to its end; of SQLite to all that there is. */
async function holdElsewhere({ home, environment }: Pick<Served, 'home' | 'environment'>, memory: string) {
  const url = environment.NOCTURNE_DATABASE_URL;
  if (url === undefined) {
    const other = new Database(join(home, 'nocturne.db'));
    other.exec('begin immediate');
    return () => void other.close();
  }
  const other = new pg.Client(url);
  await other.connect();
  await other.query('begin');
  await other.query('select 1 from memory where id = $1 for update', [memory]);
  return () => other.end();
}

test.skipIf(HOUSE === 'old')(
  'while another writes to a store what is read is answered at once, and what is written once it is free',
  async () => {
    const at = await served();
    const { memoryStores } = (await at.client({}, { maxRetries: 0 })).sdk.beta;
    const [held, free] = [await memoryStores.create({ name: 'held' }), await memoryStores.create({ name: 'free' })];
    const one = await memoryStores.memories.create(held.id, { path: '/a.md', content: 'a' });
    const letGo = await holdElsewhere(at, held.id);
    let isDone = false;
    const update = { memory_store_id: held.id, content: 'b', view: 'full' as const };
    const changed = memoryStores.memories.update(one.id, update).finally(() => {
      isDone = true;
    });
    for (let time = 0; time < MEANWHILE; time += 1) {
      expect((await memoryStores.memories.retrieve(one.id, { memory_store_id: held.id })).content).toBe('a');
      expect((await memoryStores.memories.list(held.id)).data).toHaveLength(1);
      expect((await fetch(`${at.url}/healthz`)).status).toBe(200);
      // PostgreSQL lets others write meanwhile.
      if (ON_POSTGRES) await memoryStores.memories.create(free.id, { path: `/${time}.md`, content: 'free' });
    }
    expect(isDone).toBe(false);
    await letGo();
    expect((await changed).content).toBe('b');
  },
);

test.skipIf(HOUSE === 'old' || HELD_MS === 0)(
  'what waited too long for a store is 503, to be asked again, and was not done',
  async () => {
    const at = await served();
    const { memoryStores } = (await at.client({}, { maxRetries: 0 })).sdk.beta;
    const { id: store } = await memoryStores.create({ name: 'held' });
    const letGo = await holdElsewhere(at, store);
    const { status, headers } = await refusal(memoryStores.memories.create(store, { path: '/a.md', content: 'a' }));
    expect([status, headers?.get('x-should-retry'), headers?.get('retry-after')]).toEqual([503, 'true', '1']);
    await letGo();
    expect((await memoryStores.memories.list(store)).data).toEqual([]);
  },
);
