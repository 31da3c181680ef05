// Dreams and sessions over HTTP: the official SDK asks, a worker works, in this process.

import { BadRequestError } from '@anthropic-ai/sdk';
import type { DreamCreateParams, DreamListParams } from '@anthropic-ai/sdk/resources/beta/dreams';
import { expect, test } from 'vitest';
import { drainInboxes } from '../../../src/doors/worker/worker.ts';
import { findLedger } from '../../../src/memory/ledger/ledger.ts';
import type { StoreRow } from '../../../src/wings/server/rows/stores.ts';
import { all, type Client, type Served, served } from './served.ts';

const TALK = [
  { role: 'user', content: 'Please remember: we deploy the shop with `make ship` on Fridays only.' },
  { role: 'assistant', content: 'Noted.' },
];

async function send(
  { url }: Served,
  { key }: Client,
  store: string,
  body: string | Uint8Array<ArrayBuffer>,
  more = '',
) {
  const answer = await fetch(`${url}/nocturne/v1/sessions?memory_store_id=${store}${more}`, {
    ...{ method: 'POST', headers: { 'x-api-key': key }, body },
  });
  return { status: answer.status, body: (await answer.json()) as { id: string; messages: number } };
}

function work({ app }: Served): Promise<void> {
  return drainInboxes(app, {
    signal: new AbortController().signal,
    onResult: () => {},
    onError: (message) => {
      throw new Error(message);
    },
  });
}

function asking(store: string, sessions: string[], more: object = {}): DreamCreateParams {
  const inputs: DreamCreateParams['inputs'] = [
    { type: 'memory_store', memory_store_id: store },
    { type: 'sessions', session_ids: sessions },
  ];
  return { inputs, model: 'offline', ...more };
}

async function texts({ sdk }: Client, store: string): Promise<Map<string, string>> {
  const memories = await all(sdk.beta.memoryStores.memories.list(store, { view: 'full' }));
  return new Map(memories.flatMap((each) => (each.type === 'memory' ? [[each.path, each.content ?? '']] : [])));
}

test('a dream that updates its store is worked by a worker: what the sessions say stands there, and every method answers the SDK', async () => {
  const at = await served();
  const client = at.client();
  const { memoryStores, dreams } = client.sdk.beta;
  const store = await memoryStores.create({ name: 'notes' });
  const session = await send(at, client, store.id, JSON.stringify(TALK));
  expect(session).toMatchObject({ status: 200, body: { type: 'session', messages: 2 } });
  const output_behavior = { type: 'update_existing', memory_store_id: store.id };
  const asked = await dreams.create(
    asking(store.id, [session.body.id], { output_behavior, instructions: 'Be brief.' }),
  );
  expect(asked).toEqual({
    ...{ id: expect.stringMatching(/^drm_/), type: 'dream', status: 'pending', outputs: [], output_behavior },
    ...{ inputs: asking(store.id, [session.body.id]).inputs, model: { id: 'offline' }, instructions: 'Be brief.' },
    ...{ session_id: null, created_at: '2026-11-21T02:00:00.000Z', ended_at: null, archived_at: null, error: null },
    usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  });
  await expect(dreams.archive(asked.id)).rejects.toBeInstanceOf(BadRequestError);
  await work(at);
  const done = await dreams.retrieve(asked.id);
  expect(done).toMatchObject({ status: 'completed', error: null, outputs: [{ memory_store_id: store.id }] });
  expect((await texts(client, store.id)).get('/project-facts.md')).toContain('- We deploy the shop with `make ship`');

  await expect(dreams.cancel(asked.id)).rejects.toBeInstanceOf(BadRequestError);
  const canceled = await dreams.create(asking(store.id, [session.body.id]));
  expect((await dreams.cancel(canceled.id)).status).toBe('canceled');
  expect(await dreams.cancel(canceled.id)).toMatchObject({ status: 'canceled', outputs: [] });
  const ids = async (of: DreamListParams) =>
    (await all(dreams.list({ limit: 1, ...of }))).map(({ id }) => id).toSorted();
  expect(await ids({})).toEqual([asked.id, canceled.id].toSorted());
  expect(await ids({ statuses: ['canceled', 'running'] })).toEqual([canceled.id]);
  expect(await ids({ 'created_at[gt]': done.created_at })).toEqual([]);
  const archived = await dreams.archive(asked.id);
  expect([archived.archived_at !== null, await dreams.archive(asked.id)]).toEqual([true, archived]);
  expect([await ids({}), (await ids({ include_archived: true })).length]).toEqual([[canceled.id], 2]);
});

test('a dream that makes a new store leaves the one it read as it was, ledger included, and takes over what is known of it', async () => {
  const at = await served();
  const client = at.client();
  const { memoryStores, dreams } = client.sdk.beta;
  const store = await memoryStores.create({ name: 'notes' });
  const own = await memoryStores.memories.create(store.id, {
    path: '/preferences/formatting.md',
    content: 'Two spaces.\n',
  });
  const session = await send(at, client, store.id, JSON.stringify(TALK));
  const { dir } = at.server.deps.stores.find(store.id) as StoreRow;
  const dump = () => {
    const ledger = findLedger(dir);
    const tables =
      ledger?.all<{ name: string }>("select name from sqlite_schema where type = 'table' order by name") ?? [];
    const rows = tables.map(({ name }) => [name, ledger?.all(`select * from "${name}"`)]);
    ledger?.close();
    return rows;
  };
  const before = dump();
  const { id } = await dreams.create(asking(store.id, [session.body.id]));
  await work(at);
  const { status, outputs } = await dreams.retrieve(id);
  expect([status, outputs.length]).toEqual(['completed', 1]);
  const output = outputs[0]?.memory_store_id as string;
  expect(dump()).toEqual(before);
  expect([...(await texts(client, store.id)).keys()]).toEqual(['/preferences/formatting.md']);
  expect((await texts(client, output)).get('/project-facts.md')).toContain('make ship');
  expect(await memoryStores.memories.retrieve(own.id, { memory_store_id: output })).toMatchObject({
    ...{ id: own.id, path: own.path, content: 'Two spaces.\n' },
  });
});
