// nocturne serve, stores and keys as their users run them.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { start, until } from '../support/run.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { machine, served } from './served.ts';

interface StoreRow {
  id: string;
  name: string;
  /** None where memory is in the database alone: there a store is named by its id. */
  dir: string | null;
}

const placeOf = ({ dir, id }: StoreRow) => dir ?? id;

test('serve is refused without a key, and where others could read along', async () => {
  const environment = await machine();
  const refused = await runHere(['serve', '--port', '0'], environment);
  expect([refused.code, refused.stdout]).toEqual([2, '']);
  expect(refused.stderr).toContain('nocturne keys create');
  const open = await runHere(['serve', '--host', '0.0.0.0'], environment);
  expect([open.code, open.stderr.includes('--behind-proxy')]).toEqual([1, true]);
});

test('behind a proxy it is served to other machines too; told to end it takes nothing new, lets what is under way come to its end, and leaves nothing held', async () => {
  const environment = await machine();
  const { id, key } = await jsonHere<{ id: string; key: string }>(['keys', 'create', '--name', 'test'], environment);
  const open = ['--host', '0.0.0.0', '--behind-proxy'];
  const server = start(['serve', '--no-worker', '--port', '0', '--json', ...open], environment);
  await until(() => server.stdout().includes('\n'));
  const { url } = JSON.parse(server.stdout()) as { url: string };
  const at = { host: '127.0.0.1', port: Number(new URL(url).port) };
  const begin = (path: string, options: { method?: string; headers?: Record<string, string> } = {}) =>
    request({ ...at, path, ...options, agent: false, headers: { 'x-api-key': key, ...options.headers } });
  const ask = async <T>(path: string, body?: object) => {
    const asked = begin(path, body ? { method: 'POST' } : {});
    asked.end(body && JSON.stringify(body));
    const [answer] = await once(asked, 'response');
    return { headers: answer.headers, body: (await json(answer)) as T };
  };
  const store = (await ask<{ id: string }>('/v1/memory_stores', { name: 'notes' })).body;
  const memories = `/v1/memory_stores/${store.id}/memories`;
  await ask(memories, { path: '/a.md', content: 'words nobody logs' });
  expect((await ask('/readyz')).body).toEqual({ status: 'ready' });

  const answered = await ask(`/v1/memory_stores/${store.id}`);
  const log = () => readFileSync(join(environment.NOCTURNE_HOME, 'logs', 'nocturne.log'), 'utf8');
  await until(() => log().includes(answered.headers['request-id']));
  const lines = log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({
    ...{ event: 'request', method: 'GET', route: '/v1/memory_stores/{store}', status: 200, caller: id },
  });
  expect(log()).not.toMatch(/words nobody logs|a\.md|noct_/);

  // A request whose body is still to come when the server is told to end.
  const late = begin(memories, { method: 'POST', headers: { expect: '100-continue' } });
  late.flushHeaders();
  await once(late, 'continue');
  server.kill('SIGTERM');
  await until(() =>
    ask('/readyz').then(
      () => false,
      () => true,
    ),
  );
  late.end(JSON.stringify({ path: '/late.md', content: 'in time' }));
  const [done] = await once(late, 'response');
  expect([done.statusCode, await json(done)]).toMatchObject([200, { path: '/late.md' }]);
  const ended = await server.ended;
  expect([ended.code, ended.signal]).toEqual([0, null]);

  // Memories of the store are those of every other command, which need not wait.
  const named = await runHere(['show', 'late.md', '--history', '--store', 'notes'], environment);
  expect([named.code, named.stdout.includes('created')]).toEqual([0, true]);
});

test('two stores of one name are told apart by their ids, and a deleted one comes back by undo', async () => {
  const { environment, stores } = await served();
  const [one, two] = [
    await jsonHere<StoreRow>(['stores', 'create', 'notes'], environment),
    await jsonHere<StoreRow>(['stores', 'create', 'notes'], environment),
  ];
  await stores.putByHand(one.id, 'a.md', 'kept\n');
  const unclear = await runHere(['list', '--store', 'notes'], environment);
  expect(unclear.code).toBe(1);
  for (const { id } of [one, two]) expect(unclear.stderr).toContain(id);
  expect((await runHere(['list', '--store', two.id], environment)).stdout).toContain(placeOf(two));
  expect((await runHere(['list', '--store', 'none'], environment)).code).toBe(1);

  expect(await runHere(['stores', 'delete', one.id], environment)).toMatchObject({
    code: 0,
    stdout: `${one.name} was deleted; nocturne undo ${one.id} brings it back.\n`,
  });
  const left = (await jsonHere<StoreRow[]>(['stores', 'list'], environment)).filter(({ name }) => name === 'notes');
  expect(left.map(({ id }) => id)).toEqual([two.id]);
  expect((await runHere(['undo', one.id], environment)).stdout).toContain(placeOf(one));
  expect((await runHere(['show', 'a.md', '--store', one.id], environment)).stdout).toBe('kept\n');
  expect((await runHere(['undo', one.id], environment)).code).toBe(1);
});
