// Whose a key is, and with it the stores that it makes; and how many sessions may wait before further ones are refused.

import { expect, test } from 'vitest';
import { jsonHere, runHere } from '../support/run-here.ts';
import { ask, asking, type Client, machine, send as sendSession, served, work } from './served.ts';

const TALK = JSON.stringify([
  { role: 'user', content: 'Please remember: we ship on Fridays.' },
  { role: 'assistant', content: 'Noted.' },
]);

test('a store belongs to the tenant of the key that makes it, whatever its metadata says, and its copies to who asks for them', async () => {
  const at = await served();
  const [acme, nobody] = [await at.client({ tenant: 'acme', stores: 'all' }), await at.client({ stores: 'all' })];
  const make = async ({ sdk }: Client, metadata = {}) =>
    (await sdk.beta.memoryStores.create({ name: 'notes', metadata })).id;
  const [theirs, nobodys] = [await make(acme, { tenant: 'other' }), await make(nobody, { tenant: 'acme' })];
  expect([await at.stores.tenantOf(theirs), await at.stores.tenantOf(nobodys)]).toEqual(['acme', null]);
  await nobody.sdk.beta.memoryStores.update(nobodys, { metadata: { tenant: 'acme' } });
  expect(await at.stores.tenantOf(nobodys)).toBeNull();
  const { id: session } = (await sendSession(at, acme, theirs, JSON.parse(TALK))).body;
  const copyOf = async ({ sdk }: Client) => {
    const { id } = await sdk.beta.dreams.create(asking(theirs, [session]));
    await work(at);
    return (await sdk.beta.dreams.retrieve(id)).outputs[0]?.memory_store_id as string;
  };
  const copies = [await copyOf(acme), await copyOf(nobody)];
  expect(await Promise.all(copies.map((copy) => at.stores.tenantOf(copy)))).toEqual(['acme', null]);
});

test('keys create --tenant is shown where keys are listed, and takes only letters, digits, _, - and dots', async () => {
  const environment = await machine();
  const create = (...more: string[]) => runHere(['keys', 'create', '--name', 'ci', ...more], environment);
  const made = await jsonHere<{ tenant: string }>(
    ['keys', 'create', '--name', 'ci', '--tenant', 'acme_2.eu-west'],
    environment,
  );
  expect(made.tenant).toBe('acme_2.eu-west');
  expect((await create()).code).toBe(0);
  for (const wrong of ['', 'a b', 'ä', 'a'.repeat(65), 'a/b'])
    expect(await create('--tenant', wrong)).toMatchObject({ code: 2, stdout: '' });
  expect(
    (await jsonHere<{ tenant: string | null }[]>(['keys', 'list'], environment)).map(({ tenant }) => tenant),
  ).toEqual(['acme_2.eu-west', null]);
  expect((await runHere(['keys', 'list'], environment)).stdout).toContain('\tci\tacme_2.eu-west\t');
});

test('while too many sessions of a tenant wait, or of all, further ones are refused until later; what was sent is answered', async () => {
  const at = await served({ app: { fixed: { maxWaitingSessions: { all: 5, each: 2 } } } });
  const [acme, sister, nobody, other] = await Promise.all([
    at.client({ tenant: 'acme' }),
    at.client({ tenant: 'acme' }),
    at.client(),
    at.client(),
  ]);
  const storeOf = new Map<Client, string>();
  for (const each of [acme, sister, nobody, other])
    storeOf.set(each, (await each.sdk.beta.memoryStores.create({ name: 'notes' })).id);
  const send = (by: Client, id: string) =>
    ask(at, by.key, `/nocturne/v1/sessions?memory_store_id=${storeOf.get(by)}&id=${id}`, {
      method: 'POST',
      body: TALK,
    });
  const wait = async (by: Client, id: string) => {
    expect((await send(by, id)).status).toBe(200);
    expect((await ask(at, by.key, `/nocturne/v1/sessions/${id}/extract`, { method: 'POST' })).status).toBe(200);
  };
  const refused = (type: string) => ({ body: { type: 'error', error: { type } } });
  await wait(acme, 'sesn_1');
  await wait(sister, 'sesn_2');
  for (const by of [acme, sister])
    expect(await send(by, 'sesn_more')).toMatchObject({ status: 429, ...refused('rate_limit_error') });
  // The same again adds nothing.
  expect(await send(acme, 'sesn_1')).toMatchObject({ status: 200 });
  await wait(nobody, 'sesn_3');
  await wait(nobody, 'sesn_4');
  expect(await send(nobody, 'sesn_more')).toMatchObject({ status: 429 });
  await wait(other, 'sesn_5');
  const full = await fetch(`${at.url}/nocturne/v1/sessions?memory_store_id=${storeOf.get(other)}`, {
    ...{ method: 'POST', body: TALK, headers: { 'x-api-key': other.key } },
  });
  expect([full.status, Number(full.headers.get('retry-after')) > 0, full.headers.get('x-should-retry')]).toEqual([
    503,
    true,
    'true',
  ]);
  expect(await send(acme, 'sesn_more')).toMatchObject({ status: 503 });
  await work(at);
  for (const by of [acme, nobody, other]) expect(await send(by, 'sesn_more')).toMatchObject({ status: 200 });
});
