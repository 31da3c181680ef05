// The page, a worker and a person's editor change one memory at the same time: nothing of any of them is lost, and the page
// shows what is there.

import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { memoryId } from '../../../src/wings/page/places.ts';
import { sized } from '../../support/depth.ts';
import { served } from '../server/served.ts';
import { hasBrowser, useBrowser, visit } from './browser.ts';
import { enter, OURS } from './enter.ts';

const MS = sized({ quick: 5_000, deep: 120_000 });
/** What each of them does at least, however long that takes. */
const CHANGES = 11;
const PATH = 'shared.md';
const LINES_SHOWN = 150;

const browser = useBrowser();

/** By how many milliseconds timers of this process went off too late at most, since it was called. */
function timersLate(): () => number {
  let [most, last] = [0, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    most = Math.max(most, now - last - 50);
    last = now;
  }, 50);
  return () => {
    clearInterval(timer);
    return most;
  };
}

test('what the page, a worker and an editor write at once is all there, and the page shows it within two seconds', async () => {
  const { app, store, dir, url } = await served();
  await store.write(
    { actor: 'person' },
    { path: PATH, text: '---\nname: shared\ndescription: Of all\ntype: project\n---\n\n- page 0\n' },
  );
  const { cookie } = await enter({ app, url });
  const headers = { ...OURS, origin: url, cookie };
  const topic = `${url}/memory/${memoryId(store.dir)}/topic/${PATH}`;
  const field = (html: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
  const reader = hasBrowser ? await visit(browser(), { app, url }) : null;
  const ends = performance.now() + MS;
  const counts = { page: 0, editor: 0, worker: 0 };
  const isOver = () => performance.now() > ends && Object.values(counts).every((count) => count >= CHANGES);
  const texts: string[] = [];
  const asPage = async () => {
    while (!isOver()) {
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
      await pause(60);
    }
  };
  const asEditor = async () => {
    while (!isOver()) {
      counts.editor += 1;
      appendFileSync(join(dir, PATH), `- editor ${counts.editor}\n`);
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
  const lateness = timersLate();
  await Promise.all([asPage(), asEditor(), asWorker(), asReader()]);
  if (hasBrowser) expect(late.length).toBeGreaterThan(1);
  // A machine that runs everything late is no slower page: its own lateness does not count.
  expect(Math.max(0, ...late)).toBeLessThan(2_000 + lateness());
  await app.dream(store, {});
  for (const count of Object.values(counts)) expect(count).toBeGreaterThanOrEqual(CHANGES);
  const lines = readFileSync(join(dir, PATH), 'utf8').split('\n');
  const missing = Array.from({ length: counts.editor }, (_, at) => `- editor ${at + 1}`).filter(
    (each) => !lines.includes(each),
  );
  expect(missing).toEqual([]);
  expect(lines).toContain(`- page ${counts.page}`);
  const said = (await Promise.all((await store.list()).map((path) => store.read(path)))).join('\n');
  expect(texts.filter((text) => !said.includes(text))).toEqual([]);
  appendFileSync(join(dir, PATH), '- the last word\n');
  const end = `${topic}?page=${Math.ceil((counts.editor + 2) / LINES_SHOWN)}`;
  expect(await (await fetch(end, { headers })).text()).toContain('the last word');
});
