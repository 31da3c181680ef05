// Memory stores over HTTP as the official SDK, unchanged, speaks them.

import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Anthropic } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { sized } from '../support/depth.ts';
import { tempDir } from '../support/temp.ts';
import { all, served } from './served.ts';

test('every method of stores, memories and versions answers the SDK, and pages go on to the end', async () => {
  const { sdk } = await (await served()).client();
  const { memoryStores } = sdk.beta;
  const store = await memoryStores.create({ name: 'notes', description: 'of a test', metadata: { a: '1', b: '2' } });
  expect(store).toMatchObject({ type: 'memory_store', name: 'notes', archived_at: null, metadata: { a: '1', b: '2' } });
  expect(await memoryStores.retrieve(store.id)).toEqual(store);
  const changed = await memoryStores.update(store.id, { description: '', metadata: { a: null, c: '3' } });
  expect(changed).toMatchObject({ name: 'notes', description: '', metadata: { b: '2', c: '3' } });
  expect((await all(memoryStores.list())).map(({ id }) => id)).toEqual([store.id]);

  const at = { memory_store_id: store.id };
  const made = await memoryStores.memories.create(store.id, { path: '/a/one.md', content: 'one\n', view: 'full' });
  expect(made).toMatchObject({ type: 'memory', path: '/a/one.md', content: 'one\n', content_size_bytes: 4 });
  await memoryStores.memories.create(store.id, { path: '/a/two.md', content: '' });
  await memoryStores.memories.create(store.id, { path: '/b.txt', content: 'bee' });
  expect(await memoryStores.memories.retrieve(made.id, at)).toEqual(made);
  const paths = await all(memoryStores.memories.list(store.id, { limit: 1 }));
  expect(paths.map(({ path }) => path)).toEqual(['/a/one.md', '/a/two.md', '/b.txt']);
  const folded = await all(memoryStores.memories.list(store.id, { depth: 1, limit: 1 }));
  expect(folded.map(({ type, path }) => [type, path])).toEqual([
    ['memory_prefix', '/a/'],
    ['memory', '/b.txt'],
  ]);
  const updated = await memoryStores.memories.update(made.id, {
    ...at,
    path: '/c/one.md',
    content: 'two\n',
    precondition: { type: 'content_sha256', content_sha256: made.content_sha256 },
  });
  expect(updated).toMatchObject({ id: made.id, path: '/c/one.md', content: null, created_at: made.created_at });
  expect(await memoryStores.memories.delete(made.id, at)).toEqual({ id: made.id, type: 'memory_deleted' });

  const versions = await all(memoryStores.memoryVersions.list(store.id, { memory_id: made.id, limit: 1 }));
  expect(versions.map(({ operation }) => operation).toSorted()).toEqual(['created', 'deleted', 'modified']);
  const first = versions.find(({ operation }) => operation === 'created');
  const version = await memoryStores.memoryVersions.retrieve(first?.id as string, at);
  expect(version).toMatchObject({ path: '/a/one.md', content: 'one\n', created_by: { type: 'api_actor' } });
  expect(await memoryStores.memoryVersions.redact(version.id, at)).toMatchObject({
    ...{ id: version.id, path: null, content: null, content_sha256: null, redacted_by: version.created_by },
  });

  expect((await memoryStores.archive(store.id)).archived_at).not.toBeNull();
  expect(await memoryStores.delete(store.id)).toEqual({ id: store.id, type: 'memory_store_deleted' });
  expect(await all(memoryStores.list({ include_archived: true }))).toEqual([]);
});

test.each(sized({ quick: [], deep: ['0.94.0', '0.112.0'] }))(
  'SDK %s makes, reads, changes, lists and deletes, and its create on an occupied path is a conflict that changes nothing',
  async (version) => {
    const dir = tempDir();
    const npm = [
      'install',
      '--prefix',
      dir,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      `@anthropic-ai/sdk@${version}`,
    ];
    execFileSync('npm', npm, { stdio: 'ignore' });
    const sdk = createRequire(join(dir, 'package.json'))('@anthropic-ai/sdk') as { Anthropic: typeof Anthropic };
    const at = await served();
    const client = new sdk.Anthropic({ apiKey: (await at.client()).key, baseURL: at.url });
    const { memoryStores } = client.beta;
    const { id } = await memoryStores.create({ name: 'notes' });
    const made = await memoryStores.memories.create(id, { path: '/a.md', content: 'one' });
    const error = await memoryStores.memories.create(id, { path: '/a.md', content: 'two' }).catch((each) => each);
    expect(error.status).toBe(409);
    expect((await memoryStores.memories.retrieve(made.id, { memory_store_id: id })).content).toBe('one');
    await memoryStores.memories.update(made.id, { memory_store_id: id, content: 'three' });
    expect((await all(memoryStores.memories.list(id))).map(({ path }) => path)).toEqual(['/a.md']);
    expect(await all(memoryStores.memoryVersions.list(id, { limit: 1 }))).toHaveLength(2);
    await memoryStores.memories.delete(made.id, { memory_store_id: id });
    expect((await memoryStores.delete(id)).type).toBe('memory_store_deleted');
  },
);
