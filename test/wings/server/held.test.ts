// A store that another process works in: who asks for it is told within two seconds, and nobody else waits.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { sized } from '../../support/depth.ts';
import { served } from './served.ts';

const HELD_MS = sized({ quick: 0, deep: 10_000 });
/** So many of others are answered while who asked the held store still waits: none of them waited for it. */
const MEANWHILE = 5;

test('a held store answers 503, to be asked again, within two seconds, while others and healthz answer at once', async () => {
  const at = await served();
  const { sdk } = at.client({}, { maxRetries: 0 });
  const { memoryStores } = sdk.beta;
  const [held, free] = [await memoryStores.create({ name: 'held' }), await memoryStores.create({ name: 'free' })];
  const one = await memoryStores.memories.create(held.id, { path: '/a.md', content: 'a' });
  const two = await memoryStores.memories.create(free.id, { path: '/a.md', content: 'a' });
  const dir = at.server.deps.stores.find(held.id)?.dir as string;
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
