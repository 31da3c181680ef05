// What the server knows after its database was damaged: what the newest copy holds, once a person has let its keys in again.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuthenticationError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { backUp } from '../../src/db/backup.ts';
import { runHere } from '../support/run-here.ts';
import { asking, clientOf, send, served } from './served.ts';

/** A home with a store, a key, a session and a dream, which nobody has open any more. */
async function before() {
  const at = await served();
  const client = await at.client();
  const { memoryStores, dreams } = client.sdk.beta;
  const { id: store } = await memoryStores.create({ name: 'notes', metadata: { team: 'a' } });
  const memory = await memoryStores.memories.create(store, { path: '/a.md', content: 'Kept.\n' });
  const gone = await memoryStores.create({ name: 'gone' });
  await memoryStores.delete(gone.id);
  const sent = await send(at, client, store, [{ role: 'user', content: 'We ship on Fridays.' }], '&id=sesn_a');
  expect(sent.status).toBe(200);
  const dream = await dreams.create(asking(store, ['sesn_a']));
  await at.server.close(0);
  await at.app.close();
  const damage = (how: (bytes: Buffer) => Buffer) => {
    const path = join(at.home, 'nocturne.db');
    const bytes = how(readFileSync(path));
    for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
    writeFileSync(path, bytes);
  };
  const again = () => served({ app: { home: at.home, dir: at.dir } });
  return { at, client, store, memory, gone: gone.id, dream, damage, again };
}

test('where the database is damaged, the newest copy has stores, memories, sessions and dreams, and a key when it is confirmed', async () => {
  const { at, client, store, memory, gone, dream, damage, again } = await before();
  await backUp(at.home, { now: new Date('2026-11-21T02:00:00Z') });
  damage(() => Buffer.from('no database '.repeat(1_000)));
  const serve = await runHere(['serve', '--port', '0'], at.environment);
  expect([serve.code, serve.stderr]).toEqual([1, expect.stringContaining('nocturne check --restore')]);
  expect((await runHere(['check', '--restore'], at.environment)).code).toBe(0);
  const restored = await again();
  const { memoryStores, dreams } = clientOf({ url: restored.url, key: client.key, id: client.id }).sdk.beta;
  await expect(memoryStores.retrieve(store)).rejects.toBeInstanceOf(AuthenticationError);
  expect((await runHere(['keys', 'confirm', client.id], at.environment)).code).toBe(0);
  expect(await memoryStores.retrieve(store)).toMatchObject({ name: 'notes', metadata: { team: 'a' } });
  const found = await memoryStores.memories.retrieve(memory.id, { memory_store_id: store });
  expect(found).toMatchObject({ content: 'Kept.\n', content_sha256: memory.content_sha256 });
  expect((await dreams.retrieve(dream.id)).status).toBe('pending');
  const session = await fetch(`${restored.url}/nocturne/v1/sessions/sesn_a`, { headers: { 'x-api-key': client.key } });
  expect(session.status).toBe(200);
  expect((await runHere(['stores', 'list', '--removed'], at.environment)).stdout).toContain(gone);
});
