// Dreams and sessions over HTTP: the official SDK asks, a worker works, in this process.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { BadRequestError, PermissionDeniedError } from '@anthropic-ai/sdk';
import type { DreamCreateParams, DreamListParams } from '@anthropic-ai/sdk/resources/beta/dreams';
import { expect, test } from 'vitest';
import { tempDir } from '../support/temp.ts';
import { all, asking, clientOf, send, served, servedForAll, texts, work } from './served.ts';

const shared = servedForAll();

const TALK = [
  { role: 'user', content: 'Please remember: we deploy the shop with `make ship` on Fridays only.' },
  { role: 'assistant', content: 'Noted.' },
];

test('a dream that updates its store is worked by a worker: what the sessions say stands there, and every method answers the SDK', async () => {
  const at = await shared();
  const client = await at.client();
  const { memoryStores, dreams } = client.sdk.beta;
  const store = await memoryStores.create({ name: 'notes' });
  const session = await send(at, client, store.id, TALK);
  expect(session).toMatchObject({ status: 200, body: { type: 'session', messages: 2 } });
  const output_behavior = { type: 'update_existing', memory_store_id: store.id };
  const asked = await dreams.create(
    asking(store.id, [session.body.id], { output_behavior, instructions: 'Be brief.' }),
  );
  expect(asked).toEqual({
    ...{ id: expect.stringMatching(/^drm_/), type: 'dream', status: 'pending', outputs: [], output_behavior },
    ...{ inputs: asking(store.id, [session.body.id]).inputs, model: { id: 'test-model' }, instructions: 'Be brief.' },
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
  const at = await shared();
  const client = await at.client();
  const { memoryStores, dreams } = client.sdk.beta;
  const store = await memoryStores.create({ name: 'notes' });
  const own = await memoryStores.memories.create(store.id, {
    path: '/preferences/formatting.md',
    content: 'Two spaces.\n',
  });
  const session = await send(at, client, store.id, TALK);
  const before = await at.stores.dump(store.id);
  const { id } = await dreams.create(asking(store.id, [session.body.id]));
  await work(at);
  const { status, outputs } = await dreams.retrieve(id);
  expect([status, outputs.length]).toEqual(['completed', 1]);
  const output = outputs[0]?.memory_store_id as string;
  expect(await at.stores.dump(store.id)).toEqual(before);
  expect([...(await texts(client, store.id)).keys()]).toEqual(['/preferences/formatting.md']);
  expect((await texts(client, output)).get('/project-facts.md')).toContain('make ship');
  expect(await memoryStores.memories.retrieve(own.id, { memory_store_id: output })).toMatchObject({
    ...{ id: own.id, path: own.path, content: 'Two spaces.\n' },
  });
});

const DREAM = 'drm_000000000000';

test('a key of one store finds no word of another: not by its ids, not by ids of sessions of this disk, in no answer and no dream', async () => {
  const at = await shared();
  // A project of its own shows a key no other project's sessions.
  const { id: project } = await at.stores.adopt(tempDir());
  const { id: foreign } = await at.stores.adopt(at.dir);
  const [mine, theirs] = [await at.client({ name: 'mine', stores: [project] }), await at.client({ name: 'theirs' })];
  const secretTalk = TALK.map((each) => ({ ...each, content: each.content.replace('make ship', 'make zanzibar') }));
  const own = await mine.sdk.beta.memoryStores.create({ name: 'notes' });
  const other = await theirs.sdk.beta.memoryStores.create({ name: 'notes' });
  const ofOwn = await send(at, mine, own.id, TALK);
  const ofOther = await send(at, theirs, other.id, JSON.stringify(secretTalk));
  const theirDream = await theirs.sdk.beta.dreams.create(asking(other.id, [ofOther.body.id]));
  // A session of this disk, which nocturne learned for the user of this machine.
  const transcript = join(at.home, 'local.json');
  writeFileSync(transcript, JSON.stringify(secretTalk));
  const local = await at.app.extract({ transcript, ended: true }, { store: at.store });
  await work(at);
  const memories = await all(theirs.sdk.beta.memoryStores.memories.list(other.id));
  const versions = await all(theirs.sdk.beta.memoryStores.memoryVersions.list(other.id));
  const { outputs } = await theirs.sdk.beta.dreams.retrieve(theirDream.id);
  const output = outputs[0]?.memory_store_id as string;
  expect([...(await texts(theirs, output)).values()].join()).toContain('zanzibar');

  const answers: string[] = [];
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${at.url}${path}`, {
      ...{ method, headers: { 'x-api-key': mine.key }, ...(body && { body: JSON.stringify(body) }) },
    });
    answers.push(await answer.text());
    return answer.status;
  };
  for (const store of [other.id, output, foreign]) {
    const path = `/v1/memory_stores/${store}`;
    expect(await ask('GET', path)).toBe(404);
    for (const part of ['memories', 'memory_versions']) expect(await ask('GET', `${path}/${part}`)).toBe(404);
    for (const { id } of memories.filter((each) => 'id' in each))
      expect(await ask('GET', `${path}/memories/${id}`)).toBe(404);
    for (const { id } of versions) expect(await ask('GET', `${path}/memory_versions/${id}`)).toBe(404);
    expect((await send(at, mine, store, TALK)).status).toBe(404);
  }
  for (const id of [theirDream.id, DREAM]) {
    expect(await ask('GET', `/v1/dreams/${id}`)).toBe(404);
    for (const verb of ['cancel', 'archive']) expect(await ask('POST', `/v1/dreams/${id}/${verb}`)).toBe(404);
  }
  const sessions = [ofOther.body.id, local.session, `sesn_${local.session}`, 'sesn_none'];
  for (const id of sessions) {
    expect(await ask('GET', `/nocturne/v1/sessions/${id}`)).toBe(404);
    expect(await ask('PATCH', `/nocturne/v1/sessions/${id}?after=2`, TALK)).toBe(404);
    expect(await ask('POST', `/nocturne/v1/sessions/${id}/extract`)).toBe(404);
  }
  const asked = await Promise.all([
    ...sessions.map((id) => mine.sdk.beta.dreams.create(asking(own.id, [ofOwn.body.id, id]))),
    ...[other.id, output, foreign, 'memstore_none'].map((id) =>
      mine.sdk.beta.dreams.create(asking(id, [ofOwn.body.id])),
    ),
  ]);
  await work(at);
  const ended = await Promise.all(asked.map(({ id }) => mine.sdk.beta.dreams.retrieve(id)));
  expect(ended.map(({ status, error, outputs: made }) => [status, error?.type, made])).toEqual([
    ...sessions.map(() => ['failed', 'input_session_unavailable', []]),
    ...[1, 2, 3, 4].map(() => ['failed', 'input_memory_store_unavailable', []]),
  ]);
  // What is said of another's is what is said of what is nowhere.
  const said = ended.map(({ error }) => error?.message.replace(/(?:sesn|memstore|memory)_\w+|\b[0-9a-f]{16}\b/g, 'ID'));
  expect(new Set(said).size).toBe(2);
  expect((await all(mine.sdk.beta.dreams.list())).map(({ id }) => id).toSorted()).toEqual(
    asked.map(({ id }) => id).toSorted(),
  );
  expect((await all(mine.sdk.beta.memoryStores.list())).map(({ id }) => id).toSorted()).toEqual(
    [own.id, project].toSorted(),
  );
  const seen = [...answers, JSON.stringify(ended), ...(await texts(mine, own.id)).values()].join('\n');
  expect(seen).not.toContain('zanzibar');
});

test('what a dream is asked for is checked before it is one: inputs, model, speed, price, rights', async () => {
  const at = await served();
  const client = await at.client();
  const { id } = await client.sdk.beta.memoryStores.create({ name: 'notes' });
  const good = asking(id, ['sesn_a'], { model: 'test-model' });
  const [store, sessions] = good.inputs;
  const updating = { output_behavior: { type: 'update_existing', memory_store_id: 'memstore_b' } };
  const refused: [object, RegExp][] = [
    [{ inputs: [store] }, /exactly one/],
    [{ inputs: [store, store] }, /exactly one/],
    [{ inputs: [store, { type: 'sessions', session_ids: [] }] }, /session_ids/],
    [{ inputs: [store, { type: 'sessions', session_ids: ['sesn_a', 'sesn_a'] }] }, /twice/],
    [{ model: 'another' }, /not test-model, the configured one/],
    [{ model: { id: 'test-model', speed: 'fast' } }, /standard/],
    [{ instructions: '' }, /instructions/],
    [{ instructions: 'x'.repeat(4_097) }, /instructions/],
    [{ more: 1 }, /unknown key .*more/],
    [updating, /must name the memory store of the inputs/],
  ];
  for (const [wrong, message] of refused) {
    const error = await client.sdk.beta.dreams.create({ ...good, ...wrong } as DreamCreateParams).catch((each) => each);
    expect([error instanceof BadRequestError, error.message]).toEqual([true, expect.stringMatching(message)]);
  }
  const dear = await served({ app: { settings: { dayMoneyUsd: 1 }, variables: { NOCTURNE_MODEL: 'unpriced' } } });
  const { sdk } = await dear.client();
  const other = await sdk.beta.memoryStores.create({ name: 'notes' });
  const unpriced = sdk.beta.dreams.create(asking(other.id, ['sesn_a'], { model: 'unpriced' }));
  await expect(unpriced).rejects.toThrow(/no price/);
  const reading = (await at.client({ rights: ['read', 'dream'], stores: [id] })).sdk.beta;
  const inPlace = { ...good, output_behavior: { type: 'update_existing', memory_store_id: id } } as DreamCreateParams;
  await expect(reading.dreams.create(inPlace)).rejects.toBeInstanceOf(PermissionDeniedError);
  expect(sessions).toMatchObject({ type: 'sessions' });
  const made = await reading.dreams.create({ ...good, model: { id: 'test-model', speed: null }, instructions: null });
  expect(made).toMatchObject({
    model: { id: 'test-model' },
    instructions: null,
    output_behavior: { type: 'create_new' },
  });
});

test('a session comes in any form that is read here, grows by what follows, and keeps nothing that is private or secret', async () => {
  const at = await served({ app: { fixed: { sessionBytes: 4_096 } } });
  const client = await at.client();
  const { id: store } = await client.sdk.beta.memoryStores.create({ name: 'notes' });
  const key = `ghp_${'x7Q2mZ9kLp4RtV8wB3nC'.repeat(2).slice(0, 36)}`;
  const first = [
    { role: 'user', content: `Please remember: the key is ${key}.` },
    { role: 'assistant', content: 'Noted.' },
    { role: 'user', content: '<private>my salary is 1234</private>' },
  ];
  const zipped = new Uint8Array(gzipSync(JSON.stringify(first)));
  const sent = await send(at, client, store, zipped, '&id=sesn_mine');
  expect(sent).toMatchObject({ status: 200, body: { id: 'sesn_mine', messages: 3 } });
  // Again, and as it is: it is the same; another under its id is none.
  expect(await send(at, client, store, JSON.stringify(first), '&id=sesn_mine')).toEqual(sent);
  expect((await send(at, client, store, TALK, '&id=sesn_mine')).status).toBe(409);
  const patch = async (after: number, body: string) => {
    const answer = await fetch(`${at.url}/nocturne/v1/sessions/sesn_mine?after=${after}`, {
      ...{ method: 'PATCH', headers: { 'x-api-key': client.key }, body },
    });
    return [answer.status, ((await answer.json()) as { messages?: number }).messages];
  };
  expect(await patch(3, JSON.stringify(TALK))).toEqual([200, 5]);
  expect(await patch(3, JSON.stringify(TALK))).toEqual([200, 5]);
  expect(await patch(3, JSON.stringify(TALK.slice(0, 1)))).toEqual([409, undefined]);
  expect(await patch(9, JSON.stringify(TALK))).toEqual([409, undefined]);
  for (const [body, status] of [
    ['no session', 400],
    ['[]', 400],
    [new Uint8Array([0x1f, 0x8b, 1, 2, 3]), 400],
    [JSON.stringify([{ role: 'user', content: 'x'.repeat(5_000) }]), 413],
    [new Uint8Array(gzipSync(JSON.stringify([{ role: 'user', content: 'x'.repeat(5_000) }]))), 413],
  ] as const) {
    expect((await send(at, client, store, body)).status).toBe(status);
  }
  const kept = (await at.stores.sentTexts()).join();
  expect([/make ship/.test(kept), /salary|x7Q2mZ9k/.test(kept)]).toEqual([true, false]);

  const extract = await fetch(`${at.url}/nocturne/v1/sessions/sesn_mine/extract`, {
    ...{ method: 'POST', headers: { 'x-api-key': client.key } },
  });
  expect(extract.status).toBe(200);
  await work(at);
  const logs = [...(await texts(client, store)).values()].join();
  expect(logs).toContain('make ship');
  expect(logs).not.toMatch(/salary|x7Q2mZ9k/);
  const [version] = await all(client.sdk.beta.memoryStores.memoryVersions.list(store, { session_id: 'sesn_mine' }));
  expect(version?.created_by).toEqual({ type: 'session_actor', session_id: 'sesn_mine' });
});

test('a dream that is not done in time fails with a timeout, and a session that is kept no more fails it, too', async () => {
  const at = await served({ app: { settings: { sessionDays: 1 } } });
  const client = await at.client();
  const { id: store } = await client.sdk.beta.memoryStores.create({ name: 'notes' });
  const { body } = await send(at, client, store, TALK);
  const late = await client.sdk.beta.dreams.create(asking(store, [body.id]));
  const later = await served({
    app: { home: at.home, dir: at.dir, now: '2026-11-23T02:00:00Z', settings: { sessionDays: 1 } },
  });
  const then = clientOf({ url: later.url, key: client.key, id: client.id }).sdk.beta;
  expect(await then.dreams.retrieve(late.id)).toMatchObject({
    status: 'failed',
    outputs: [],
    error: { type: 'timeout' },
  });
  const gone = await then.dreams.create(asking(store, [body.id]));
  expect((await then.dreams.retrieve(gone.id)).error?.type).toBe('input_session_unavailable');
  expect(await later.stores.sentTexts()).toEqual([]);
});
