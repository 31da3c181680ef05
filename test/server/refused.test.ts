// What the server refuses, and how a client is told: by the documented error classes, and asked again only where that helps.

import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import Anthropic, { type APIError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { tempDir } from '../support/temp.ts';
import { ask, refusal, served, servedForAll } from './served.ts';

const shared = servedForAll();

const SECRET = `ghp_${'a1B2'.repeat(9)}`;

function typeOf({ error }: APIError): string {
  return (error as { error: { type: string } }).error.type;
}

test('an occupied path and a failed precondition are conflicts, each of one request, and change nothing', async () => {
  const { sdk, sent } = await (await shared()).client();
  const { memoryStores } = sdk.beta;
  const { id } = await memoryStores.create({ name: 'notes' });
  const at = { memory_store_id: id };
  const made = await memoryStores.memories.create(id, { path: '/a/b.md', content: 'here' });
  await memoryStores.memories.create(id, { path: '/z.md', content: 'last' });
  sent.length = 0;
  for (const path of ['/a/b.md', '/a', '/a/b.md/c', '/A/b.md', '/a/B.md', '/A/new.md']) {
    const error = await refusal(memoryStores.memories.create(id, { path, content: 'new' }));
    expect([path, error.constructor, typeOf(error)]).toEqual([
      path,
      Anthropic.ConflictError,
      'memory_path_conflict_error',
    ]);
    expect(error.error).toMatchObject({ error: { conflicting_memory_id: made.id, conflicting_path: '/a/b.md' } });
  }
  const precondition = { type: 'content_sha256' as const, content_sha256: '0'.repeat(64) };
  const stale = await refusal(memoryStores.memories.update(made.id, { ...at, content: 'new', precondition }));
  const kept = await refusal(
    memoryStores.memories.delete(made.id, { ...at, expected_content_sha256: precondition.content_sha256 }),
  );
  expect([typeOf(stale), typeOf(kept)]).toEqual(Array(2).fill('memory_precondition_failed_error'));
  const moved = await refusal(memoryStores.memories.update(made.id, { ...at, path: '/z.md' }));
  expect(typeOf(moved)).toBe('memory_path_conflict_error');
  expect(sent.map(({ status }) => status)).toEqual(Array(9).fill(409));
  // What stands there as it was asked for is no lost edit, whatever the precondition.
  expect(await memoryStores.memories.update(made.id, { ...at, content: 'here', precondition })).toMatchObject({
    memory_version_id: made.memory_version_id,
  });
  const { data } = await memoryStores.memoryVersions.list(id);
  expect(data).toHaveLength(2);
});

test('a deleted path is another memory when it is made again, and its versions stay', async () => {
  const { sdk } = await (await shared()).client();
  const { memories, memoryVersions } = sdk.beta.memoryStores;
  const { id } = await sdk.beta.memoryStores.create({ name: 'notes' });
  const first = await memories.create(id, { path: '/a.md', content: 'first' });
  await memories.delete(first.id, { memory_store_id: id, expected_content_sha256: first.content_sha256 });
  const gone = await refusal(memories.retrieve(first.id, { memory_store_id: id }));
  expect([gone.constructor, typeOf(gone)]).toEqual([Anthropic.NotFoundError, 'not_found_error']);
  const second = await memories.create(id, { path: '/a.md', content: 'second' });
  expect(second.id).not.toBe(first.id);
  const { data } = await memoryVersions.list(id, { memory_id: first.id });
  expect(data.map(({ operation }) => operation).toSorted()).toEqual(['created', 'deleted']);
});

const INVALID: [what: string, body: object][] = [
  ['no text at all', { path: '/a.md', content: null }],
  ['a key that is not known', { path: '/a.md', content: '', title: 'x' }],
  ['a path without a slash', { path: 'a.md', content: '' }],
  ['a path that climbs', { path: '/../a.md', content: '' }],
  ['an encoded climb', { path: '/%2e%2e%2fa.md', content: '' }],
  ['a hidden name', { path: '/.nocturne/ledger.db', content: '' }],
  ['a directory in the place of the index', { path: '/MEMORY.md/a.md', content: '' }],
  ['a file in the place of the logs', { path: '/logs', content: '' }],
  ['a drive', { path: '/c:/a.md', content: '' }],
  ['a backslash', { path: '/a\\b.md', content: '' }],
  ['a dot at the end', { path: '/a./b.md', content: '' }],
  ['a device', { path: '/nul.md', content: '' }],
  ['a path not in NFC', { path: '/caf\u0065\u0301.md', content: '' }],
  ['an empty segment', { path: '/a//b.md', content: '' }],
  ['21 segments', { path: '/a'.repeat(21), content: '' }],
  ['a bidi mark', { path: '/a\u202eb.md', content: '' }],
  ['a secret in the content', { path: '/a.md', content: `one\ntoken ${SECRET}\n` }],
  ['a secret in the path', { path: `/${SECRET}.md`, content: '' }],
  ['content of 102,401 bytes', { path: '/a.md', content: 'x'.repeat(102_401) }],
  ['half a character', { path: '/a.md', content: '\ud800' }],
];

test('content and paths that cannot be kept as they are are invalid requests, asked once, and their error says no secret', async () => {
  const at = await shared();
  const { sdk, sent } = await at.client();
  const { id } = await sdk.beta.memoryStores.create({ name: 'notes' });
  for (const [what, body] of INVALID) {
    const error = await refusal(sdk.beta.memoryStores.memories.create(id, body as { path: string; content: string }));
    expect([what, error.constructor, typeOf(error)]).toEqual([
      what,
      Anthropic.BadRequestError,
      'invalid_request_error',
    ]);
    expect(error.message).not.toContain(SECRET);
  }
  expect(sent).toHaveLength(1 + INVALID.length);
  expect((await sdk.beta.memoryStores.memories.list(id)).data).toEqual([]);
});

test('bodies and queries that are not as described are refused by 400, 404, 405 and 413, in the one form', async () => {
  const at = await shared();
  const { sdk, sent, key } = await at.client();
  const { id } = await sdk.beta.memoryStores.create({ name: 'notes' });
  const memories = `/v1/memory_stores/${id}/memories`;
  const post = (body: string | Uint8Array) => ({
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  });
  const made = await sdk.beta.memoryStores.memories.create(id, { path: '/a.md', content: 'a' });
  const cases: [number, string, object?][] = [
    [400, memories, post('{"path":')],
    [400, memories, post(Buffer.from('{"path":"/b.md","content":"\xff"}', 'latin1'))],
    [400, memories, post('[]')],
    [400, memories, post('')],
    [400, `${memories}/${made.id}`, post('{}')],
    [400, `${memories}/${made.id}`, post('{"content":"b","precondition":{"type":"content_sha256"}}')],
    [400, `${memories}/${made.id}`, post('{"content":"b","precondition":{"type":"not_exists"}}')],
    [413, memories, post(JSON.stringify({ path: '/b.md', content: 'x'.repeat(1024 * 1024) }))],
    [400, `${memories}?limit=0`],
    [400, `${memories}?limit=101`],
    [400, `${memories}?limit=x`],
    [400, `${memories}?limit=1&limit=2`],
    [400, `${memories}?depth=2`],
    [400, `${memories}?path_prefix=/a`],
    [400, `${memories}?view=whole`],
    [400, `${memories}?colour=red`],
    [400, `${memories}?page=nonsense`],
    [400, `/v1/memory_stores?created_at[gte]=yesterday`],
    [404, '/v1/memory_stores/memstore_000000000000'],
    [404, `/v1/memory_stores/..%2f..%2fetc`],
    [404, `${memories}/..%2f${made.id}`],
    [404, '/v1/nothing'],
    [405, `/v1/memory_stores/${id}/archive`],
    [405, memories, { method: 'PUT', body: '{}' }],
  ];
  for (const [status, path, init] of cases) {
    const found = await ask(at, key, path, init);
    const requestId = found.headers.get('request-id');
    expect([path, found.status, found.body.type, found.headers.get('x-should-retry')]).toEqual([
      ...[path, status, 'error', 'false'],
    ]);
    expect(found.body).toEqual({ type: 'error', error: found.body.error, request_id: requestId });
    expect(typeof found.body.error.message).toBe('string');
  }
  expect((await ask(at, key, memories, { method: 'PUT' })).headers.get('allow')).toBe('POST, GET');
  // As the SDK has them, which asks once.
  const large = { body: { path: '/b.md', content: 'x'.repeat(1024 * 1024) } };
  const before = sent.length;
  for (const [status, asks] of [
    [405, () => sdk.put(memories, { body: {} })],
    [413, () => sdk.post(memories, large)],
  ] as const) {
    const error = await refusal(asks());
    expect([error instanceof Anthropic.APIError, error.status]).toEqual([true, status]);
    expect(typeOf(error)).toBe(status === 405 ? 'invalid_request_error' : 'request_too_large');
  }
  expect(sent.length - before).toBe(2);
  expect((await ask(at, key, `${memories}?beta=true&order_by=path`)).body.data).toHaveLength(1);
  for (const init of [{}, { body: '' }, { body: '{}' }, post(''), post('{}')])
    expect((await ask(at, key, `/v1/memory_stores/${id}/archive`, { method: 'POST', ...init })).status).toBe(200);
  const late = await refusal(sdk.beta.memoryStores.memories.create(id, { path: '/c.md', content: 'c' }));
  expect(late.constructor).toBe(Anthropic.BadRequestError);
  const gone = await sdk.beta.memoryStores.memories.delete(made.id, { memory_store_id: id });
  expect(gone.type).toBe('memory_deleted');
});

test('a cursor holds for its own list, filters and key, names no path, and loses nothing while others write', async () => {
  const at = await shared();
  const { sdk, key } = await at.client();
  const { memoryStores } = sdk.beta;
  const [one, two] = [await memoryStores.create({ name: 'one' }), await memoryStores.create({ name: 'two' })];
  for (const path of ['/b.md', '/d.md', '/f.md']) await memoryStores.memories.create(one.id, { path, content: path });
  const page = await memoryStores.memories.list(one.id, { limit: 1 });
  const cursor = page.next_page as string;
  await memoryStores.memories.create(one.id, { path: '/a.md', content: '' });
  await memoryStores.memories.create(one.id, { path: '/c.md', content: '' });
  const rest = await memoryStores.memories.list(one.id, { page: cursor });
  expect(rest.data.map(({ path }) => path)).toEqual(['/c.md', '/d.md', '/f.md']);
  const other = await at.client({ stores: [one.id] });
  const asks = [
    refusal(Promise.resolve(memoryStores.memories.list(one.id, { page: cursor, depth: 1 }))),
    refusal(Promise.resolve(memoryStores.memories.list(two.id, { page: cursor }))),
    refusal(Promise.resolve(memoryStores.memoryVersions.list(one.id, { page: cursor }))),
    refusal(Promise.resolve(other.sdk.beta.memoryStores.memories.list(one.id, { page: cursor }))),
  ];
  for (const error of await Promise.all(asks)) expect(error.constructor).toBe(Anthropic.BadRequestError);
  expect((await ask(at, key, `/v1/memory_stores/${one.id}/memories?limit=20&page=${cursor}`)).status).toBe(200);
});

test('a key is needed, two that differ are none, and a key sees, in lists too, only what is its own', async () => {
  const at = await shared();
  const [a, b] = [await at.client(), await at.client()];
  const store = await a.sdk.beta.memoryStores.create({ name: 'of a' });
  const memory = await a.sdk.beta.memoryStores.memories.create(store.id, { path: '/a.md', content: 'words of a' });
  const asB = b.sdk.beta.memoryStores;
  const in_a = { memory_store_id: store.id };
  const asks = [
    asB.retrieve(store.id),
    asB.update(store.id, { name: 'mine' }),
    asB.archive(store.id),
    asB.delete(store.id),
    asB.memories.list(store.id),
    asB.memories.create(store.id, { path: '/b.md', content: 'b' }),
    asB.memories.retrieve(memory.id, in_a),
    asB.memories.update(memory.id, { ...in_a, content: 'b' }),
    asB.memories.delete(memory.id, in_a),
    asB.memoryVersions.list(store.id),
    asB.memoryVersions.retrieve(memory.memory_version_id, in_a),
    asB.memoryVersions.redact(memory.memory_version_id, in_a),
  ];
  for (const error of await Promise.all(asks.map(refusal))) expect(error.constructor).toBe(Anthropic.NotFoundError);
  const own = await asB.create({ name: 'of b' });
  const crossed = await refusal(asB.memories.retrieve(memory.id, { memory_store_id: own.id }));
  expect(crossed.constructor).toBe(Anthropic.NotFoundError);
  expect((await asB.list()).data.map(({ id }) => id)).toEqual([own.id]);

  const reader = await at.client({ stores: [store.id], rights: ['read'] });
  expect((await reader.sdk.beta.memoryStores.memories.retrieve(memory.id, in_a)).content).toBe('words of a');
  const forbidden = await refusal(reader.sdk.beta.memoryStores.memories.delete(memory.id, in_a));
  expect([forbidden.constructor, typeOf(forbidden)]).toEqual([Anthropic.PermissionDeniedError, 'permission_error']);

  const path = '/v1/memory_stores';
  expect((await fetch(`${at.url}${path}`)).status).toBe(401);
  expect((await ask(at, 'noct_unknown', path)).status).toBe(401);
  expect((await ask(at, a.key, path, { headers: { 'x-api-key': b.key } })).status).toBe(401);
  expect((await ask(at, a.key, path, { headers: { 'x-api-key': a.key } })).status).toBe(200);
  expect((await fetch(`${at.url}${path}`, { headers: { 'x-api-key': a.key } })).status).toBe(200);
  await at.server.deps.keys.revoke(a.id);
  const revoked = await refusal(Promise.resolve(a.sdk.beta.memoryStores.list()));
  expect([revoked.constructor, typeOf(revoked)]).toEqual([Anthropic.AuthenticationError, 'authentication_error']);
});

test('pages of elsewhere and names of elsewhere that lead here are not answered', async () => {
  const at = await served({ urls: ['https://memory.example.com'] });
  const { key } = await at.client();
  const from = (value: string) => ask(at, key, '/v1/memory_stores', { headers: { origin: value } });
  for (const origin of ['https://evil.example', 'null']) expect((await from(origin)).status).toBe(403);
  expect((await from(at.url)).status).toBe(200);
  const { host, port } = new URL(at.url);
  const under = async (name: string) => {
    const asked = request({ port, path: '/v1/memory_stores', headers: { host: name, 'x-api-key': key } }).end();
    const [answer] = await once(asked, 'response');
    return [answer.statusCode, ((await json(answer)) as { error?: { type: string } }).error?.type];
  };
  for (const name of [host, `LocalHost:${port}`, `[::1]:${port}`, 'memory.example.com', 'memory.example.com:443'])
    expect([name, ...(await under(name))]).toEqual([name, 200, undefined]);
  const elsewhere = ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example'];
  for (const name of [
    ...elsewhere.flatMap((each) => [each, `${each}:${port}`]),
    ...['127.0.0.1', 'localhost', '[::1]'].flatMap((each) => [each, `${each}:1`, `${each}:80`]),
    ...[`memory.example.com:${port}`, 'memory.example.com:80'],
  ]) {
    expect([name, ...(await under(name))]).toEqual([name, 403, 'permission_error']);
  }
  const lines = [`host: ${host}`, `Host: ${host}`, `x-api-key: ${key}`, 'connection: close'];
  const twice = await answerTo(at, `GET /v1/memory_stores HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  expect(twice).toMatch(/^HTTP\/1\.1 400[\s\S]*more than one Host/);
});

/** The head of a request of 99 bytes. */
function headOf(url: string, key: string): string {
  const host = `host: ${new URL(url).host}`;
  return ['POST /v1/memory_stores HTTP/1.1', host, `x-api-key: ${key}`, 'content-length: 99'].join('\r\n');
}

test('a request that does not arrive whole in its time is ended, and takes nothing with it', async () => {
  const at = await served({ requestMs: 100 });
  const { sdk, key } = await at.client({}, { maxRetries: 10 });
  // Of two servers each has its own.
  const { url } = at;
  const begun = `${headOf(url, key)}\r\nexpect: 100-continue\r\n\r\n{"name": `;
  let answer = '';
  // Time runs from the connection. Where it is over before the server has read what is there, as on a busy machine,
  // nothing has begun, and the connection may break with the answer under way: it is begun once more.
  while (!answer.startsWith('HTTP/1.1 100')) answer = await answerTo({ url }, begun);
  expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 408/);
  expect((await sdk.beta.memoryStores.list()).data).toEqual([]);
});

/** All that the server sends to these bytes, until the connection is closed or breaks. */
async function answerTo({ url }: { url: string }, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    answer += chunk;
  });
  const closed = new Promise((resolve) => socket.on('close', resolve).on('error', () => {}));
  socket.write(bytes);
  await closed;
  return answer;
}

test('a server that ends waits no longer than it may for a request that does not come to its end', async () => {
  const at = await served();
  const { key } = await at.client();
  const socket = connect(Number(new URL(at.url).port), '127.0.0.1');
  const lines = [
    'POST /v1/memory_stores HTTP/1.1',
    `host: ${new URL(at.url).host}`,
    `x-api-key: ${key}`,
    'content-length: 99',
  ];
  socket.write(`${lines.join('\r\n')}\r\nexpect: 100-continue\r\n\r\n`);
  // So that it is under way.
  const [first] = await once(socket, 'data');
  expect(String(first)).toMatch(/^HTTP\/1\.1 100/);
  const ended = once(socket, 'close');
  await at.server.close(50);
  await ended;
});

test('a person’s key of a store that allows secrets keeps them; the error of another names line and rule', async () => {
  const at = await shared();
  const row = await at.stores.create({ name: 'vault', allowsSecrets: true });
  const { sdk } = await at.client({ stores: [row.id] });
  const kept = await sdk.beta.memoryStores.memories.create(row.id, { path: '/a.md', content: SECRET, view: 'full' });
  expect(kept.content).toBe(SECRET);
  const plain = await sdk.beta.memoryStores.create({ name: 'plain' });
  const body = { path: '/a.md', content: `one\n${SECRET}` };
  const error = await refusal(sdk.beta.memoryStores.memories.create(plain.id, body));
  expect(error.message).toMatch(/content: .*line 2: github/i);
});

test('a project’s memory is there for a key that names it, or for all where it is asked for; a team’s is only read', async () => {
  const at = await served();
  const { stores } = at;
  const project = await stores.adopt(at.dir);
  const tree = tempDir();
  mkdirSync(join(tree, '.git'));
  writeFileSync(join(tree, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  const teamDir = join(tree, '.claude', 'memory');
  mkdirSync(teamDir, { recursive: true });
  writeFileSync(join(teamDir, 'a.md'), 'of the team');
  const team = await stores.adopt(teamDir);
  expect([project.kind, team.kind]).toEqual(['project', 'team']);
  const everything = (await at.client({ stores: 'all' })).sdk.beta.memoryStores;
  expect((await everything.list()).data).toEqual([]);
  expect((await refusal(everything.retrieve(project.id))).constructor).toBe(Anthropic.NotFoundError);
  const named = (await at.client({ stores: [project.id, team.id] })).sdk.beta.memoryStores;
  expect((await named.list()).data.map(({ id }) => id).toSorted()).toEqual([project.id, team.id].toSorted());
  await named.memories.create(project.id, { path: '/a.md', content: 'of the project' });
  const read = (await named.memories.list(team.id, { view: 'full' })).data;
  expect(read.find(({ path }) => path === '/a.md')).toMatchObject({ content: 'of the team' });
  const asks = [
    named.delete(project.id),
    named.archive(project.id),
    named.delete(team.id),
    named.memories.create(team.id, { path: '/b.md', content: 'b' }),
  ];
  for (const error of await Promise.all(asks.map(refusal))) {
    expect(error.constructor).toBe(Anthropic.PermissionDeniedError);
    expect(error.message).toContain('nocturne ');
    expect(error.message).not.toContain(at.dir);
  }
  const open = await served({ withProjects: true, app: { dir: at.dir } });
  const listed = await (await open.client({ stores: 'all' })).sdk.beta.memoryStores.list();
  expect(listed.data).toHaveLength(1);
});

test('a store that is deleted is put aside, comes back as it was, and is dropped when versions are', async () => {
  const at = await shared();
  const { sdk } = await at.client();
  const { memoryStores } = sdk.beta;
  const { stores } = at;
  const { id } = await memoryStores.create({ name: 'notes' });
  const made = await memoryStores.memories.create(id, { path: '/a.md', content: 'a' });
  await memoryStores.delete(id);
  expect((await refusal(memoryStores.retrieve(id))).constructor).toBe(Anthropic.NotFoundError);
  await stores.dropRemoved(90);
  await stores.restore(id);
  expect((await memoryStores.memories.retrieve(made.id, { memory_store_id: id })).content).toBe('a');
  await memoryStores.delete(id);
  await stores.dropRemoved(0);
  expect(await stores.removed()).toEqual([]);
});
