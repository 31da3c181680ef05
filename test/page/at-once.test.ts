// What a page shows while itself, a worker and a person's editor change one memory at the same time.

import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { served } from '../server/served.ts';
import { sized } from '../support/depth.ts';
import { append, idOf, saidIn, write } from './beside-page.ts';
import { enter, OURS } from './enter.ts';

const MS = sized({ quick: 500, deep: 10_000 });
/** What each of them does at least, however long that takes. */
const CHANGES = 11;
const PATH = 'shared.md';
const LINES_SHOWN = 150;

test('lines that say the same are edited each by a form of its own; forgetting a topic names its file', async () => {
  const world = await served();
  const { app, url } = world;
  await write(world, PATH, '---\nname: shared\ndescription: Of all\ntype: project\n---\n\n- page 0\n- page 0\n');
  const { cookie } = await enter({ app, url });
  const topic = `${url}/memory/${idOf(world)}/topic/${PATH}`;
  const read = async (query = '') => (await fetch(`${topic}${query}`, { headers: { ...OURS, cookie } })).text();
  const html = await read();
  expect(html).toContain(`name="target" value="${PATH}"`);
  const ids = [...html.matchAll(/<li id="l-([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(2);
  const edited = await read(`?edit=${ids[1]}`);
  expect(edited.match(/action="\/do\/edit"/g)).toHaveLength(1);
  expect(edited).toContain('name="index" value="1"');
});

test('what the page, a worker and an editor write at once is all there', async () => {
  const world = await served();
  const { app, store, url } = world;
  await write(world, PATH, '---\nname: shared\ndescription: Of all\ntype: project\n---\n\n- page 0\n');
  const { cookie } = await enter({ app, url });
  const headers = { ...OURS, origin: url, cookie };
  const topic = `${url}/memory/${idOf(world)}/topic/${PATH}`;
  const field = (html: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
  const ends = performance.now() + MS;
  const counts = { page: 0, editor: 0, worker: 0 };
  const isOver = () => performance.now() > ends && Object.values(counts).every((count) => count >= CHANGES);
  const texts: string[] = [];
  const asPage = async () => {
    while (!isOver()) {
      const line = /id="d-(\w+)" ><summary><div class="what"><span[^>]*>page /.exec(
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
      await pause(60);
    }
  };
  const asEditor = async () => {
    while (!isOver()) {
      counts.editor += 1;
      await append(world, PATH, `- editor ${counts.editor}\n`);
      await pause(90);
    }
  };
  const asWorker = async () => {
    while (!isOver()) {
      counts.worker += 1;
      const text = `The service number ${counts.worker} listens on port ${3_000 + counts.worker}.`;
      texts.push((await app.remember(store, { text, type: 'project' })).entry.text);
      if (counts.worker % 5 === 0) await app.dream(store, {});
      await pause(150);
    }
  };
  await Promise.all([asPage(), asEditor(), asWorker()]);
  await app.dream(store, {});
  for (const count of Object.values(counts)) expect(count).toBeGreaterThanOrEqual(CHANGES);
  const said = await saidIn(world);
  const lines = said.split('\n');
  const missing = Array.from({ length: counts.editor }, (_, at) => `- editor ${at + 1}`).filter(
    (each) => !lines.includes(each),
  );
  expect(missing).toEqual([]);
  expect(lines).toContain(`- page ${counts.page}`);
  expect(texts.filter((text) => !said.includes(text))).toEqual([]);
  await append(world, PATH, '- the last word\n');
  const end = `${topic}?page=${Math.ceil((counts.editor + 2) / LINES_SHOWN)}`;
  expect(await (await fetch(end, { headers })).text()).toContain('the last word');
});
