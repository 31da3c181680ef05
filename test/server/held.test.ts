// A store that another process works in, or whose thread fails: who asks for it is told, and nobody else waits.

import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import { expect, test } from 'vitest';
import { sized } from '../support/depth.ts';
import { ON_POSTGRES } from '../support/temp.ts';
import { refusal, type Served, served } from './served.ts';

const HELD_MS = sized({ quick: 0, deep: 10_000 });
/** So many of others are answered while who asked the held store still waits: none of them waited for it. */
const MEANWHILE = 5;

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

test('while another writes to a store what is read is answered at once, and what is written once it is free', async () => {
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
});

test.skipIf(HELD_MS === 0)('what waited too long for a store is 503, to be asked again, and was not done', async () => {
  const at = await served();
  const { memoryStores } = (await at.client({}, { maxRetries: 0 })).sdk.beta;
  const { id: store } = await memoryStores.create({ name: 'held' });
  const letGo = await holdElsewhere(at, store);
  const { status, headers } = await refusal(memoryStores.memories.create(store, { path: '/a.md', content: 'a' }));
  expect([status, headers?.get('x-should-retry'), headers?.get('retry-after')]).toEqual([503, 'true', '1']);
  await letGo();
  expect((await memoryStores.memories.list(store)).data).toEqual([]);
});
