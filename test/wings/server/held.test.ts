// A store that another process works in, or whose thread fails: who asks for it is told, and nobody else waits.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import Anthropic from '@anthropic-ai/sdk';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { sized } from '../../support/depth.ts';
import { refusal, served } from './served.ts';

const HELD_MS = sized({ quick: 0, deep: 10_000 });
/** So many of others are answered while who asked the held store still waits: none of them waited for it. */
const MEANWHILE = 5;

test('a held store answers 503, to be asked again, within two seconds, while others and healthz answer at once', async () => {
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
});

test('where the thread of a store fails in the middle of a request the caller is told, others go on, and the store works again', async () => {
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
});
