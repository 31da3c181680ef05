// What happens on the disk under a server: edits by hand, files that are moved, links that lead elsewhere.

import { readdirSync, readFileSync, renameSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { write } from '../page/beside-page.ts';
import { tempDir } from '../support/temp.ts';
import { ask, refusal, served } from './served.ts';

/** A store that is kept in a directory: of a project. */
async function inDirectory() {
  const at = await served({ withProjects: true });
  const { id } = await at.stores.adopt(at.dir);
  return { at, id, dir: at.dir, client: await at.client({ stores: [id] }) };
}

test('an edit by hand is a version by the person of this machine in the next list, and what is written comes back', async () => {
  const { at, id, dir, client } = await inDirectory();
  const { sdk, id: key } = client;
  const { memoryStores } = sdk.beta;
  const content = '\ufeffa\r\nb\u0000c\n\n';
  const made = await memoryStores.memories.create(id, { path: '/a.md', content, view: 'full' });
  expect(made.content).toBe(content);
  writeFileSync(join(dir, 'a.md'), 'by hand');
  writeFileSync(join(dir, 'b.md'), 'new by hand');
  const listed = await memoryStores.memories.list(id, { view: 'full' });
  const found = listed.data.flatMap((item) => ('content' in item && item.path !== '/MEMORY.md' ? [item.content] : []));
  expect(found).toEqual(['by hand', 'new by hand']);
  const { data } = await memoryStores.memoryVersions.list(id, { memory_id: made.id });
  const user = { type: 'user_actor', user_id: at.server.deps.user };
  expect(data.map((version) => version.created_by)).toEqual(
    expect.arrayContaining([user, { type: 'api_actor', api_key_id: key }]),
  );
  expect((await memoryStores.memoryVersions.list(id, { api_key_id: key, memory_id: made.id })).data).toHaveLength(1);
  const head = data.find(({ created_by }) => created_by?.type === 'user_actor');
  const error = await refusal(memoryStores.memoryVersions.redact(head?.id as string, { memory_store_id: id }));
  expect(error.constructor).toBe(Anthropic.BadRequestError);
});

test('no path and no id leads out of a store, and a link in it leads nowhere', async () => {
  const { at, id, dir, client } = await inDirectory();
  const { sdk, key } = client;
  const { memoryStores } = sdk.beta;
  const outside = tempDir();
  writeFileSync(join(outside, 'secret.md'), 'out of reach');
  symlinkSync(outside, join(dir, 'linked'));
  symlinkSync(join(outside, 'secret.md'), join(dir, 'linked.md'));
  const climbing = ['/../out.md', '/a/../../out.md', '/./out.md', '//out.md', '/a//out.md', '/..', '/linked/out.md'];
  const { memories } = memoryStores;
  for (const path of [...climbing, '/.nocturne/ledger.db', '/a\u0000.md', '/linked/secret.md', '/linked.md']) {
    const error = await refusal(memories.create(id, { path, content: 'out' }));
    expect([path, [400, 409].includes(error.status as number)]).toEqual([path, true]);
  }
  for (const named of ['..%2f..%2fhome.db', '%2e%2e', '..%2f..', '%00', 'linked.md', '.nocturne']) {
    const url = `/v1/memory_stores/${named}/memories`;
    expect([named, (await ask(at, key, url)).status]).toEqual([named, 404]);
    for (const kind of ['memories', 'memory_versions']) {
      const status = (await ask(at, key, `/v1/memory_stores/${id}/${kind}/${named}`)).status;
      expect([named, status]).toEqual([named, 404]);
    }
  }
  const listed = await memories.list(id, { view: 'full' });
  expect(JSON.stringify(listed.data)).not.toContain('out of reach');
  expect(readdirSync(outside)).toEqual(['secret.md']);
  expect(readFileSync(join(outside, 'secret.md'), 'utf8')).toBe('out of reach');
});

test('a memory that was moved by hand is changed where it stands, and its path is free at once', async () => {
  const { id, dir, client } = await inDirectory();
  const { memoryStores } = client.sdk.beta;
  const { memories } = memoryStores;
  const of = { memory_store_id: id };
  const [one, two] = [
    await memories.create(id, { path: '/one.md', content: '1' }),
    await memories.create(id, { path: '/two.md', content: '2' }),
  ];
  for (const name of ['one', 'two']) renameSync(join(dir, `${name}.md`), join(dir, `moved-${name}.md`));
  const made = await memories.create(id, { path: '/one.md', content: 'new' });
  expect(made.id).not.toBe(one.id);
  expect(await memories.update(two.id, { ...of, content: '3' })).toMatchObject({ path: '/moved-two.md' });
  expect(await memories.retrieve(one.id, of)).toMatchObject({ path: '/moved-one.md', content: '1' });
  writeFileSync(join(dir, 'by-hand.md'), 'by hand');
  expect((await refusal(memories.create(id, { path: '/by-hand.md', content: 'over it' }))).status).toBe(409);
  expect(readFileSync(join(dir, 'by-hand.md'), 'utf8')).toBe('by hand');
});

test('what was read before is read as it stands as soon as anything about it changed', async () => {
  const { at, id, dir, client } = await inDirectory();
  const { memoryStores } = client.sdk.beta;
  const { memories } = memoryStores;
  const of = { memory_store_id: id };
  const file = join(dir, 'in', 'a.md');
  const made = await memories.create(id, { path: '/in/a.md', content: 'one' });
  const read = () => memories.retrieve(made.id, of);
  /** So old that its times tell a change, and known as that. */
  const settle = async (path = file) => {
    utimesSync(path, 1_000, 1_000);
    await memories.list(id);
    return (await read()).content;
  };
  expect(await settle()).toBe('one');
  writeFileSync(file, 'two');
  utimesSync(file, 1_000, 1_000);
  expect((await read()).content).toBe('two');
  expect(await settle()).toBe('two');
  writeFileSync(`${file}.new`, 'six');
  renameSync(`${file}.new`, file);
  expect((await read()).content).toBe('six');
  expect(await settle()).toBe('six');
  // What a command or another server does, which this one is not told.
  await write(at, 'in/a.md', 'ten');
  const changed = await read();
  expect(changed).toMatchObject({ content: 'ten', content_size_bytes: 3 });
  expect(changed.memory_version_id).not.toBe(made.memory_version_id);
  expect(await settle()).toBe('ten');
  await memoryStores.memoryVersions.redact(made.memory_version_id, of);
  expect(await read()).toEqual(changed);
  renameSync(file, join(dir, 'in', 'b.md'));
  expect(await read()).toMatchObject({ path: '/in/b.md', content: 'ten' });
  expect(await settle(join(dir, 'in', 'b.md'))).toBe('ten');
  // Behind a link nothing is a memory, though the file is the same.
  const out = join(tempDir(), 'out');
  renameSync(join(dir, 'in'), out);
  symlinkSync(out, join(dir, 'in'));
  writeFileSync(join(out, 'b.md'), 'behind a link');
  expect((await read().catch(() => null))?.content).not.toBe('behind a link');
  unlinkSync(join(dir, 'in'));
  await memories.delete(made.id, of).catch(() => {});
  expect((await memories.create(id, { path: '/in/b.md', content: 'ten' })).id).not.toBe(made.id);
  expect((await refusal(read())).status).toBe(404);
});
