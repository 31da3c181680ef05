// The examples of docs/server-and-machines.md do what they say.

import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { until } from '../support/run.ts';
import { servedForAll, work } from './served.ts';

const shared = servedForAll();

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/server-and-machines.md'), 'utf8');
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, text]) => text as string);

test('the examples with curl and with the SDK run as they stand', async () => {
  const at = await shared();
  const { key, sdk } = await at.client();
  const environment = { PATH: process.env.PATH, NOCTURNE_URL: at.url, NOCTURNE_KEY: key };
  const [create = '', add = '', list = '', send = '', append = ''] = blocks('sh');
  const sh = async (text: string, more: object = {}) =>
    JSON.parse((await promisify(execFile)('sh', ['-c', text], { env: { ...environment, ...more } })).stdout);
  const store = await sh(create);
  expect(store).toMatchObject({ type: 'memory_store', name: 'plans' });
  expect(await sh(add, { STORE: store.id })).toMatchObject({ path: '/2026/autumn.md', content_size_bytes: 17 });
  expect((await sh(list, { STORE: store.id })).data).toEqual([{ type: 'memory_prefix', path: '/2026/' }]);

  // Where it finds the SDK.
  const dir = join(ROOT, 'node_modules/.cache/nocturne-test');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'example.mjs'), blocks('js')[0] as string);
  const { stdout } = await promisify(execFile)(process.execPath, [join(dir, 'example.mjs')], { env: environment });
  expect(stdout).toBe('/preferences/formatting.md\nmodified\ncreated\n');

  expect(await sh(send, { STORE: store.id })).toMatchObject({ id: 'sesn_monday', messages: 2 });
  expect(await sh(append, { STORE: store.id })).toMatchObject({ id: 'sesn_monday', messages: 3 });
  writeFileSync(join(dir, 'dream.mjs'), blocks('js')[1] as string);
  const dreaming = promisify(execFile)(process.execPath, [join(dir, 'dream.mjs')], {
    env: { ...environment, STORE: store.id, MODEL: 'test-model' },
  });
  await until(async () => (await sdk.beta.dreams.list()).data.length > 0);
  await work(at);
  const dreamt = (await dreaming).stdout;
  expect(dreamt).toMatch(/^completed\n/);
  for (const said of ['We ship on Fridays.', 'The shop listens on port 8443.']) expect(dreamt).toContain(`- ${said}\n`);
});
