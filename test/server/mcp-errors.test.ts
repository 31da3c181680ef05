// What a tool of MCP refuses, as the official clients show it over HTTP.

import { expect, test } from 'vitest';
import { waysTaken } from '../support/depth.ts';
import { CLIENTS, expectAnswers, expectData, lostRemedies, NOTES, VERSIONS } from '../support/mcp-errors.ts';
import { served } from './served.ts';

// In the small size one version each.
test.each(waysTaken(VERSIONS, 1))('each error of each tool reaches a client of %s with what to do', async (version) => {
  const at = await served();
  const { sdk, key } = await at.client();
  const { memoryStores } = sdk.beta;
  const stored = async (name: string) => {
    const { id } = await memoryStores.create({ name });
    const { 'own.md': own, ...rest } = NOTES;
    for (const [path, content] of Object.entries(rest))
      await memoryStores.memories.create(id, { path: `/${path}`, content });
    await at.stores.putByHand(id, 'own.md', own);
    return id;
  };
  const [notes, kept] = [await stored('notes'), await stored('kept')];
  await memoryStores.archive(kept);
  const headers = { 'x-api-key': key, 'nocturne-stores': `${notes}, ${kept}` };
  const client = await CLIENTS[version].http(new URL(`${at.url}/mcp`), headers);
  expect(await lostRemedies(client)).toEqual([]);
  await expectData(client);
  await expectAnswers(client);
});

test.each(waysTaken(VERSIONS, 2))(
  'what the server refuses before a tool is called reaches a client of %s',
  async (version) => {
    const at = await served({ createsPerMinute: 2 });
    const { sdk, key } = await at.client();
    await sdk.beta.memoryStores.create({ name: 'notes' });
    const client = await CLIENTS[version].http(new URL(`${at.url}/mcp`), { 'x-api-key': key });
    const write = (content: string) =>
      client
        .callTool({ name: 'memory_write', arguments: { path: 'a.md', content } })
        .catch((error: Error) => error.message);
    await write('a');
    expect(await write('a')).toContain('Too many requests');
    expect(await write('a'.repeat(20_000_000))).toContain('The body is too large: at most');
  },
);
