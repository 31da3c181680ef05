// Dreams over HTTP that read sessions of this disk: those of a project, for keys that may read its memory, and nobody else.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { aSession, type sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';
import { all, asking, type Client, type Served, served, texts, work } from './served.ts';

async function dreamt(at: Served, { sdk }: Client, { input, session }: { input: string; session: string }) {
  const asked = await sdk.beta.dreams.create(asking(input, [session]));
  await work(at);
  const dream = await sdk.beta.dreams.retrieve(asked.id);
  const output = dream.outputs[0]?.memory_store_id;
  const text = output ? [...(await texts({ sdk }, output)).values()].join('\n') : '';
  return { status: dream.status, error: dream.error, text };
}

/** A project of which one session was read, and another waits to be. */
async function withProject(options: Parameters<typeof served>[0] = {}) {
  const at = await served(options);
  const { id: project } = await at.stores.adopt(at.dir);
  const [read, waits] = ['Always use pnpm.', 'Never push to main.'].map((said, n) =>
    aSession([said], { id: `${n + 1}1111111-2222-4333-8444-555555555555` }),
  ) as [ReturnType<typeof sessionFile>, ReturnType<typeof sessionFile>];
  await at.app.extract({ transcript: read.path, ended: true }, { store: at.store });
  await at.stores.putSession(waits);
  return { ...at, project, read, waits };
}

/** Of all tests of this file; the last one spoils a session. */
let ofAll: ReturnType<typeof withProject> | undefined;
function shared() {
  ofAll ??= withProject({ app: { whenDone: (close) => ends.push(close) } });
  return ofAll;
}
const ends: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

test('a key that names the store of a project dreams over its sessions, by their own ids and as versions tell them', async () => {
  const at = await shared();
  const key = await at.client({ stores: [at.project] });
  const own = await key.sdk.beta.memoryStores.create({ name: 'notes' });
  const told = (await all(key.sdk.beta.memoryStores.memoryVersions.list(at.project))).flatMap(({ created_by: by }) =>
    by?.type === 'session_actor' ? [by.session_id] : [],
  );
  expect(told).toContain(`sesn_${at.read.id}`);
  for (const session of [at.read.id, `sesn_${at.read.id}`])
    expect(await dreamt(at, key, { input: own.id, session })).toMatchObject({
      ...{ status: 'completed', text: expect.stringContaining('Always use pnpm.') },
    });
  // What the project's memory knows of it is not learned twice.
  const { status, text } = await dreamt(at, key, { input: at.project, session: at.read.id });
  const topics = text.split('\n').filter((line) => line === '- Always use pnpm.');
  expect([status, topics.length]).toEqual(['completed', 1]);
  const waited = await dreamt(at, key, { input: own.id, session: at.waits.id });
  expect(waited).toMatchObject({ status: 'completed', text: expect.stringContaining('Never push to main.') });
});

test('to every other key a session of this disk is none, whatever it calls it; serve --projects shows it to keys for all', async () => {
  const at = await shared();
  const another = (await at.stores.adopt(tempDir())).id;
  const unseen = async (client: Client, session: string) => {
    const { id } = await client.sdk.beta.memoryStores.create({ name: 'notes' });
    const { status, error, text } = await dreamt(at, client, { input: id, session });
    expect([status, error?.type, text]).toEqual(['failed', 'input_session_unavailable', '']);
    return error?.message.replace(session, 'ID');
  };
  const others = [await at.client(), await at.client({ stores: 'all' }), await at.client({ stores: [another] })];
  const said = new Set<string | undefined>();
  for (const client of others) {
    for (const { id } of [at.read, at.waits, { id: 'none' }]) {
      said.add(await unseen(client, id));
      said.add(await unseen(client, `sesn_${id}`));
    }
  }
  expect(said.size).toBe(1);
  const withProjects = await withProject({ withProjects: true });
  const seeing = await withProjects.client({ stores: 'all' });
  const { id: input } = await seeing.sdk.beta.memoryStores.create({ name: 'notes' });
  const found = await dreamt(withProjects, seeing, { input, session: withProjects.read.id });
  expect(found).toMatchObject({ status: 'completed', text: expect.stringContaining('Always use pnpm.') });
});

test('a copy of a project’s memory tells nobody its sessions, and one that is gone fails a dream without a word of where it was', async () => {
  const at = await shared();
  const key = await at.client({ stores: [at.project] });
  const asked = await key.sdk.beta.dreams.create({
    inputs: [
      { type: 'memory_store', memory_store_id: at.project },
      { type: 'sessions', session_ids: [at.read.id] },
    ],
    model: 'test-model',
  });
  await work(at);
  const copy = (await key.sdk.beta.dreams.retrieve(asked.id)).outputs[0]?.memory_store_id as string;
  const ofCopy = await at.client({ stores: [copy] });
  expect(await dreamt(at, ofCopy, { input: copy, session: at.read.id })).toMatchObject({
    ...{ status: 'failed', error: { type: 'input_session_unavailable' } },
  });
  writeFileSync(at.read.path, 'no session any more');
  const { status, error } = await dreamt(at, key, { input: at.project, session: at.read.id });
  expect([status, error?.type]).toEqual(['failed', 'input_session_unavailable']);
  expect(error?.message).not.toContain(join(at.read.path, '..'));
});
