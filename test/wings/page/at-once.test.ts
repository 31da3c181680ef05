// The page, a worker and a person's editor change one memory at the same time: nothing of any of them is lost, and the page
// shows what is there.

import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { memoryId } from '../../../src/wings/page/places.ts';
import { makeTicket } from '../../../src/wings/page/rows.ts';
import { sized } from '../../support/depth.ts';
import { served } from '../server/served.ts';

const MS = sized({ quick: 10_000, deep: 120_000 });
const PATH = 'shared.md';

test('what the page, a worker and an editor write at once is all there, and the page shows it within two seconds', async () => {
  const { app, store, dir, url } = await served();
  await store.write(
    { actor: 'person' },
    { path: PATH, text: '---\nname: shared\ndescription: Of all\ntype: project\n---\n\n- page 0\n' },
  );
  const origin = { origin: url, 'sec-fetch-site': 'same-origin' };
  const entered = await fetch(`${url}/enter`, {
    method: 'POST',
    redirect: 'manual',
    headers: origin,
    body: new URLSearchParams({ ticket: makeTicket(app.home, app.config.clock) }),
  });
  const headers = { ...origin, cookie: (entered.headers.get('set-cookie') ?? '').split(';')[0] as string };
  const topic = `${url}/memory/${memoryId(store.dir)}/topic/${PATH}`;
  const field = (html: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
  const ends = performance.now() + MS;
  const counts = { page: 0, editor: 0, worker: 0 };
  const texts: string[] = [];
  const asPage = async () => {
    while (performance.now() < ends) {
      const line = /id="l-(\w+)" class="line ">\s*<div class="what"><span[^>]*>page /.exec(
        await (await fetch(topic, { headers })).text(),
      )?.[1];
      const form = await (await fetch(`${topic}?edit=${line}`, { headers })).text();
      const edit = /<form method="post" action="\/do\/edit"[\s\S]*?<\/form>/.exec(form)?.[0] ?? '';
      const fields = Object.fromEntries(
        ['token', 'to', 'memory', 'path', 'line', 'index', 'shown'].map((name) => [name, field(edit, name)]),
      );
      const text = `- page ${counts.page + 1}`;
      const done = await fetch(`${url}/do/edit`, {
        method: 'POST',
        redirect: 'manual',
        headers,
        body: new URLSearchParams({ ...fields, text }),
      });
      if (done.status === 303) counts.page += 1;
      await pause(20);
    }
  };
  const asEditor = async () => {
    while (performance.now() < ends) {
      counts.editor += 1;
      appendFileSync(join(dir, PATH), `- editor ${counts.editor}\n`);
      await pause(90);
    }
  };
  const asWorker = async () => {
    while (performance.now() < ends) {
      counts.worker += 1;
      const text = `The service number ${counts.worker} listens on port ${3_000 + counts.worker}.`;
      texts.push((await app.remember(store, { text, type: 'project' })).entry.text);
      if (counts.worker % 5 === 0) await app.dream(store, {});
      await pause(60);
    }
  };
  await Promise.all([asPage(), asEditor(), asWorker()]);
  await app.dream(store, {});
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(10);
  const lines = readFileSync(join(dir, PATH), 'utf8').split('\n');
  const missing = Array.from({ length: counts.editor }, (_, at) => `- editor ${at + 1}`).filter(
    (each) => !lines.includes(each),
  );
  expect(missing).toEqual([]);
  expect(lines).toContain(`- page ${counts.page}`);
  const said = (await Promise.all((await store.list()).map((path) => store.read(path)))).join('\n');
  expect(texts.filter((text) => !said.includes(text))).toEqual([]);
  const began = performance.now();
  appendFileSync(join(dir, PATH), '- the last word\n');
  expect(await (await fetch(`${topic}?page=${Math.ceil((counts.editor + 2) / 150)}`, { headers })).text()).toContain(
    'the last word',
  );
  expect(performance.now() - began).toBeLessThan(2_000);
});
