// nocturne serve, stores and keys as their users run them: processes of their own.

import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Environment } from '../../../src/base/config/config.ts';
import type { StoreRow } from '../../../src/wings/server/rows/stores.ts';
import { run, runJson, start, stop, until } from '../../support/run.ts';
import { tempDir } from '../../support/temp.ts';
import { clientOf } from './served.ts';

function homeOf(): Environment {
  const home = tempDir();
  return { PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, NOCTURNE_MODEL: 'offline', NOCTURNE_QUEUE_URL: '' };
}

async function newKey(environment: Environment, args: string[] = []): Promise<{ id: string; key: string }> {
  const { values } = await runJson<{ id: string; key: string }>(
    ['keys', 'create', '--name', 'test', ...args],
    environment,
  );
  return values[0] as { id: string; key: string };
}

test('without a key serve says how to make one and ends in wrong usage; with one it serves, and ends when it is told to', async () => {
  const environment = homeOf();
  const refused = await run(['serve', '--port', '0'], environment);
  expect([refused.code, refused.stdout]).toEqual([2, '']);
  expect(refused.stderr).toContain('nocturne keys create');
  const open = await run(['serve', '--host', '0.0.0.0'], environment);
  expect([open.code, open.stderr.includes('--behind-proxy')]).toEqual([1, true]);

  const { id, key } = await newKey(environment);
  const server = start(['serve', '--no-worker', '--port', '0', '--json'], environment);
  await until(() => server.stdout().includes('\n'));
  const { url } = JSON.parse(server.stdout()) as { url: string };
  const { sdk } = clientOf({ url, key, id });
  const store = await sdk.beta.memoryStores.create({ name: 'notes' });
  await sdk.beta.memoryStores.memories.create(store.id, { path: '/a.md', content: 'words nobody logs' });
  expect((await (await fetch(`${url}/readyz`)).json()) as object).toEqual({ status: 'ready' });

  const answered = await fetch(`${url}/v1/memory_stores/${store.id}`, { headers: { 'x-api-key': key } });
  const log = () => readFileSync(join(environment.NOCTURNE_HOME as string, 'logs', 'nocturne.log'), 'utf8');
  await until(() => log().includes(answered.headers.get('request-id') as string));
  const lines = log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({
    ...{ event: 'request', method: 'GET', route: '/v1/memory_stores/{store}', status: 200, caller: id },
  });
  expect(log()).not.toMatch(/words nobody logs|a\.md|noct_/);

  // Memories of the store are those of every other command.
  const named = await run(['history', 'a.md', '--store', 'notes'], environment);
  expect([named.code, named.stdout.includes('created')]).toEqual([0, true]);
  const ended = await stop(server);
  expect([ended.code, ended.signal]).toEqual([0, null]);
});

test('a socket of the file system is for this user alone, and answers under any name', async () => {
  const environment = homeOf();
  const { key } = await newKey(environment);
  const socket = join(tempDir(), 'serve.sock');
  const server = start(['serve', '--no-worker', '--socket', socket], environment);
  await until(() => server.stdout().includes(socket));
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  const status = await new Promise((resolve) => {
    request({ socketPath: socket, path: '/v1/memory_stores', headers: { 'x-api-key': key } }, (answer) =>
      resolve(answer.statusCode),
    ).end();
  });
  expect(status).toBe(200);
  await stop(server);
});

test('two stores of one name are told apart by their ids, and a deleted one comes back by undo', async () => {
  const environment = homeOf();
  const [one, two] = [
    (await runJson<StoreRow>(['stores', 'create', 'notes'], environment)).values[0] as StoreRow,
    (await runJson<StoreRow>(['stores', 'create', 'notes'], environment)).values[0] as StoreRow,
  ];
  writeFileSync(join(one.dir, 'a.md'), 'kept\n');
  const unclear = await run(['list', '--store', 'notes'], environment);
  expect(unclear.code).toBe(2);
  for (const { id } of [one, two]) expect(unclear.stderr).toContain(id);
  expect((await run(['list', '--store', two.id], environment)).stdout).toContain(two.dir);
  expect((await run(['list', '--store', 'none'], environment)).code).toBe(1);

  expect((await run(['stores', 'delete', one.id], environment)).code).toBe(0);
  expect((await runJson<StoreRow[]>(['stores', 'list'], environment)).values[0]?.map(({ id }) => id)).toEqual([two.id]);
  expect((await run(['undo', one.id], environment)).stdout).toContain(one.dir);
  expect(readFileSync(join(one.dir, 'a.md'), 'utf8')).toBe('kept\n');
  expect((await run(['undo', one.id], environment)).code).toBe(1);
});
