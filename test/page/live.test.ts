// What an open page is told of changes, also of those that came while it slept; and what it shows while the page, a worker
// and a person's editor change one memory at the same time.

import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { served } from '../server/served.ts';
import { isDeep, sized } from '../support/depth.ts';
import { append, elsewhere, idOf, know, saidIn, write } from './beside-page.ts';
import { hasBrowser, useBrowser, visit } from './browser.ts';
import { enter, OURS } from './enter.ts';

const isSeen = hasBrowser && isDeep;
const browser = isSeen ? useBrowser() : () => expect.fail('no browser');

const MS = sized({ quick: 500, deep: 10_000 });
/** What each of them does at least, however long that takes. */
const CHANGES = 11;
const PATH = 'shared.md';
const LINES_SHOWN = 150;

/** A server, and one who asks whether anything changed. */
async function asking() {
  const world = await served();
  await append(world, 'a.md', '---\nname: a\ndescription: A\ntype: project\n---\n\n- One.\n');
  await know(world);
  const { cookie } = await enter(world);
  const headers = { ...OURS, cookie };
  const ask = async () => (await (await fetch(`${world.url}/live`, { headers })).text()).trim();
  const mark = async () => /data-mark="([^"]+)"/.exec(await (await fetch(world.url, { headers })).text())?.[1] ?? '';
  /** What is answered once that is another mark than `before`. */
  const other = async (before: string) => {
    for (;;) {
      const now = await ask();
      if (now !== before) return now;
      await pause(50);
    }
  };
  const topic = `${world.url}/memory/${idOf(world)}/topic/a.md`;
  const token = async () =>
    /name="token" value="([^"]+)"/.exec(await (await fetch(topic, { headers })).text())?.[1] ?? '';
  return { ...world, id: idOf(world), token, headers, ask, mark, other, others: await elsewhere(world) };
}

test('a change of a file, of a memory and of the home gives another mark each, which says nothing of what they say', async () => {
  const world = await asking();
  const { ask, mark, other, others } = world;
  expect(await mark()).toMatch(/^[0-9a-f]{16}$/);
  const known = await ask();
  await append(world, 'a.md', '- Two.\n');
  const second = await other(known);
  await others.pause('/somewhere');
  const third = await ask();
  expect(third).not.toBe(second);
  await write(world, 'b.md', 'Another.\n');
  expect(await ask()).not.toBe(third);
  expect(await mark()).toBe(await ask());
});

describe.skipIf(!isSeen)('in a browser', () => {
  test('a tab that slept shows what changed meanwhile, also of costs and pauses, and says when nocturne is gone', async () => {
    const world = await asking();
    const { page, context, go, tab } = await visit(browser(), world);
    await context.route('**/live*', (route) => route.abort());
    await go('/cost');
    const reading = await tab(`/memory/${world.id}/topic/a.md`);
    await world.others.enterWorker();
    await append(world, 'a.md', '- What an editor saved.\n');
    await page.locator('#gone').waitFor();
    expect(await page.locator('#workers ~ *').first().innerText()).toContain('None runs now');
    await context.unroute('**/live*');
    await page.locator('#workers ~ ul li').waitFor();
    await reading.locator('.what', { hasText: 'What an editor saved' }).waitFor();
    await page.locator('#gone').waitFor({ state: 'hidden' });
    await context.clearCookies();
    await context.route('**/live*', (route) => route.fulfill({ status: 401, body: 'over' }));
    await go('/cost');
    await page.getByRole('heading', { name: 'Open your memory' }).waitFor();
  });
});

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

test('what the page, a worker and an editor write at once is all there, and the page shows it soon', async () => {
  const world = await served();
  const { app, store, url } = world;
  await write(world, PATH, '---\nname: shared\ndescription: Of all\ntype: project\n---\n\n- page 0\n');
  const { cookie } = await enter({ app, url });
  const headers = { ...OURS, origin: url, cookie };
  const topic = `${url}/memory/${idOf(world)}/topic/${PATH}`;
  const field = (html: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
  const reader = isSeen ? await visit(browser(), { app, url }) : null;
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
  // A tab that is open all the while, asked again and again for what the editor saved last.
  const late: number[] = [];
  const asReader = async () => {
    if (!reader) return;
    const { page, go } = reader;
    let open = 0;
    while (performance.now() < ends - MS / 5 || late.length < 2) {
      const last = counts.editor;
      // One line stands before those of the editor.
      const part = Math.ceil((last + 1) / LINES_SHOWN);
      if (part !== open) await go(`${new URL(topic).pathname}?page=${part}`);
      open = part;
      const began = performance.now();
      await page.locator('.what', { hasText: new RegExp(`^editor ${last}$`) }).waitFor();
      late.push(performance.now() - began);
    }
  };
  await Promise.all([asPage(), asEditor(), asWorker(), asReader()]);
  if (isSeen) expect(late.length).toBeGreaterThan(1);
  // What nobody told the page is seen at its next look, two seconds later; one that waits for its own reload comes far later.
  expect(Math.max(0, ...late)).toBeLessThan(15_000);
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
