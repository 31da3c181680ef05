// What a tool of MCP refuses, as the official clients show it over HTTP.

import { expect, test } from 'vitest';
import { waysTaken } from '../support/depth.ts';
import { CLIENTS, expectAnswers, expectData, lostRemedies, NOTES, REFUSED, VERSIONS } from '../support/mcp-errors.ts';
import { served } from './served.ts';

// In the small size one version each.
test.each(waysTaken(VERSIONS, 1))('each error of each tool reaches a client of %s with what to do', async (version) => {
  const at = await served();
  const { sdk, key } = await at.client();
  const { memoryStores } = sdk.beta;
  const { id } = await memoryStores.create({ name: 'notes' });
  const { 'own.md': own, ...rest } = NOTES;
  for (const [path, content] of Object.entries(rest))
    await memoryStores.memories.create(id, { path: `/${path}`, content });
  await at.stores.putByHand(id, 'own.md', own);
  const client = await CLIENTS[version].http(new URL(`${at.url}/mcp/${id}`), { 'x-api-key': key });
  // There is one store.
  const refused = REFUSED.filter(([, , input]) => !('store' in input));
  expect(await lostRemedies(client, refused)).toEqual([]);
  await expectData(client);
  await expectAnswers(client);
});

test.each(waysTaken(VERSIONS, 2))(
  'what the server refuses before a tool is called reaches a client of %s',
  async (version) => {
    const at = await served();
    const { sdk, key } = await at.client();
    const { id } = await sdk.beta.memoryStores.create({ name: 'notes' });
    const client = await CLIENTS[version].http(new URL(`${at.url}/mcp/${id}`), { 'x-api-key': key });
    const write = (content: string) =>
      client
        .callTool({ name: 'memory_write', arguments: { path: 'a.md', content } })
        .catch((error: Error) => error.message);
    expect(await write('a'.repeat(20_000_000))).toContain('The body is too large: at most');
  },
);
