// Whose a key is, and with it the stores that it makes.

import { expect, test } from 'vitest';
import { jsonHere, runHere } from '../support/run-here.ts';
import { asking, type Client, machine, send as sendSession, served, work } from './served.ts';

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
