// Memory stores to MCP clients over HTTP: the official client against a server in this process.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { called } from '../support/mcp.ts';
import { type Client as ApiClient, type Served, servedForAll } from './served.ts';

const shared = servedForAll();

interface Asked {
  store: string;
  era?: '2026' | 'before';
}

async function connect({ url }: Served, { key }: Pick<ApiClient, 'key'>, { store, era = '2026' }: Asked) {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp/${store}`), { requestInit });
  const mode = era === '2026' ? ('auto' as const) : ('legacy' as const);
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    client,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (tool: string, input?: object) => called<Record<string, unknown>>(client, tool, input),
  };
}

const READING = ['memory_list', 'memory_search', 'memory_read'];
const WRITING = ['memory_write', 'memory_edit', 'memory_delete'];

test.for(['2026', 'before'] as const)(
  'a client of the protocol (%s) finds, writes, edits and deletes what the SDK sees, as versions by its key',
  async (era) => {
    const at = await shared();
    const api = await at.client();
    const { memoryStores } = api.sdk.beta;
    const store = await memoryStores.create({ name: 'notes', description: 'What was\n\nsaid.' });
    await memoryStores.memories.create(store.id, { path: '/hosts.md', content: 'Staging is alpha.\n' });
    const { client, tools, call } = await connect(at, api, { store: store.id, era });
    expect(await tools()).toEqual([...READING, ...WRITING]);
    expect(client.getInstructions()).toContain('- `notes` (read_write): What was said.');
    expect((await call('memory_search', { query: 'staging' })).data.hits).toMatchObject([
      { path: 'hosts.md', line: 1 },
    ]);
    const { data: read } = await call('memory_read', { path: 'hosts.md' });
    expect(read).toMatchObject({ content: 'Staging is alpha.\n' });

    const written = await call('memory_write', { path: 'plans/autumn.md', content: 'Ship it.\n' });
    expect(written.data).toMatchObject({ outcome: 'created' });
    const edited = await call('memory_edit', { path: 'hosts.md', old_str: 'alpha', new_str: 'beta' });
    expect(edited.data).toMatchObject({ outcome: 'modified' });
    const late = await call('memory_write', {
      ...{ path: 'hosts.md', content: 'Staging is gamma.\n', expected_content_sha256: read.content_sha256 },
    });
    expect([late.isError, late.text.includes('Staging is beta.')]).toEqual([true, true]);
    expect((await call('memory_delete', { path: 'plans/autumn.md' })).data).toMatchObject({ outcome: 'deleted' });

    const full = (await memoryStores.memories.list(store.id, { view: 'full' })).data;
    expect(full).toMatchObject([{ path: '/hosts.md', content: 'Staging is beta.\n' }]);
    const versions = (await memoryStores.memoryVersions.list(store.id, { api_key_id: api.id })).data;
    expect(versions.map(({ operation }) => operation)).toEqual(['deleted', 'modified', 'created', 'created']);
  },
);

test('what a key may not do is not listed, another’s store is not known, and every request is let in by its key alone', async () => {
  const at = await shared();
  const owner = await at.client();
  const { id } = await owner.sdk.beta.memoryStores.create({ name: 'notes' });
  const { id: of } = await (await at.client()).sdk.beta.memoryStores.create({ name: 'of another' });
  await owner.sdk.beta.memoryStores.memories.create(id, { path: '/a.md', content: 'kept\n' });
  const reader = await at.client({ rights: ['read'], stores: [id] });
  const { tools, call, client } = await connect(at, reader, { store: id });
  expect(await tools()).toEqual(READING);
  await expect(call('memory_write', { path: 'a.md', content: 'changed\n' })).rejects.toThrow(/memory_write.*not found/);
  expect((await call('memory_read', { path: 'a.md' })).data).toMatchObject({ content: 'kept\n' });

  const status = async (path: string, headers: Record<string, string>) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
    const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
    const answer = await fetch(`${at.url}${path}`, { method: 'POST', headers: all, body });
    await answer.text();
    return answer.status;
  };
  const mine = { 'x-api-key': reader.key };
  expect(await status(`/mcp/${id}`, mine)).toBe(200);
  expect(await status(`/mcp/${of}`, mine)).toBe(404);
  const writer = await at.client({ rights: ['write'], stores: [id] });
  expect(await status(`/mcp/${id}`, { 'x-api-key': writer.key })).toBe(403);
  expect(await status(`/mcp/${id}`, { ...mine, origin: 'https://elsewhere.example' })).toBe(403);
  expect(await status(`/mcp/${id}`, { 'mcp-session-id': 'known' })).toBe(401);
  await at.server.deps.keys.revoke(reader.id);
  expect(await status(`/mcp/${id}`, mine)).toBe(401);
  await expect(client.listTools()).rejects.toThrow();
});

test('there is nothing to wait for, so a stream is refused, and the client goes on', async () => {
  const at = await shared();
  const api = await at.client();
  const { id } = await api.sdk.beta.memoryStores.create({ name: 'notes' });
  const { client, tools } = await connect(at, api, { store: id });
  await expect(client.listen({ toolsListChanged: true })).rejects.toThrow(/Subscription limit/);
  expect(await tools()).toEqual([...READING, ...WRITING]);
  // An archived store is only read.
  await api.sdk.beta.memoryStores.archive(id);
  expect(await (await connect(at, api, { store: id })).tools()).toEqual(READING);
});
