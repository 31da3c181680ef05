// What an open page is told of changes, also of those that came while it slept.

import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openHome } from '../../../src/memory/home/home.ts';
import { memoryId } from '../../../src/wings/page/places.ts';
import { served } from '../server/served.ts';
import { hasBrowser, useBrowser, visit } from './browser.ts';
import { enter, OURS } from './enter.ts';

interface Event {
  id: string;
  memory: string;
}

/** A server, and one who listens to it: each call of `next` waits for another event. */
async function listening() {
  const world = await served();
  writeFileSync(join(world.dir, 'a.md'), '---\nname: a\ndescription: A\ntype: project\n---\n\n- One.\n');
  await world.app.home.addStore(world.dir);
  const { cookie } = await enter(world);
  const headers = { ...OURS, cookie };
  const listen = async ({ after, lastId }: { after?: string; lastId?: string } = {}) => {
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const answer = await fetch(`${world.url}/live${after ? `?after=${after}` : ''}`, {
      headers: { ...headers, ...(lastId && { 'last-event-id': lastId }) },
      signal: stop.signal,
    });
    const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const next = async (): Promise<Event> => {
      for (;;) {
        const found = /id: (\S+)\nevent: changed\ndata: (\S+)\n\n/.exec(text);
        if (found) {
          text = text.slice(found.index + found[0].length);
          return { id: found[1] as string, memory: found[2] as string };
        }
        text += (await reader.read()).value ?? '';
      }
    };
    return { next, stop: () => stop.abort() };
  };
  const id = memoryId(world.dir);
  const tokenOf = async () => {
    const page = await (await fetch(`${world.url}/memory/${id}/topic/a.md`, { headers })).text();
    return /name="token" value="([^"]+)"/.exec(page)?.[1] ?? '';
  };
  const mark = async () => /data-mark="([^"]+)"/.exec(await (await fetch(world.url, { headers })).text())?.[1] ?? '';
  /** What another process does to the home. */
  const home = openHome(world.home, world.app.config.clock);
  onTestFinished(() => home.close());
  return { ...world, id, tokenOf, headers, listen, mark, others: home };
}

test('a change of a file, of a ledger and of the home is told once each, by where it is and never by what it says', async () => {
  const { listen, mark, dir, store, id, others } = await listening();
  const { next } = await listen({ after: await mark() });
  appendFileSync(join(dir, 'a.md'), '- Two.\n');
  expect(await next()).toEqual({ id: expect.stringMatching(/\.1$/), memory: id });
  await others.pauses.begin({ project: '/somewhere', until: null });
  expect(await next()).toEqual({ id: expect.stringMatching(/\.2$/), memory: 'home' });
  await store.write({ actor: 'person' }, { path: 'b.md', text: 'Another.\n' });
  expect(await next()).toEqual({ id: expect.stringMatching(/\.3$/), memory: id });
});

test('who comes back with the last id it had is told what changed while nobody listened, and no more', async () => {
  const { listen, mark, dir, id, others } = await listening();
  const before = await mark();
  const first = await listen({ after: before });
  appendFileSync(join(dir, 'a.md'), '- Two.\n');
  const { id: lastId } = await first.next();
  first.stop();
  appendFileSync(join(dir, 'a.md'), '- Three.\n');
  await others.pauses.begin({ project: '/somewhere', until: null });
  const again = await listen({ after: before, lastId });
  expect([(await again.next()).memory, (await again.next()).memory].sort()).toEqual([id, 'home'].sort());
  const late = await listen({ after: before });
  expect((await late.next()).id).toBe(lastId);
});

test('who knows another server, or too little, is told to read everything', async () => {
  const { listen } = await listening();
  expect((await (await listen({ lastId: 'other.7' })).next()).memory).toBe('all');
});

test('what is done on the page is told to its other tabs at once', async () => {
  const { listen, mark, url, headers, tokenOf } = await listening();
  const { next } = await listen({ after: await mark() });
  await fetch(`${url}/do/resume`, {
    method: 'POST',
    redirect: 'manual',
    headers: { ...headers, origin: url },
    body: new URLSearchParams({ token: await tokenOf() }),
  });
  expect((await next()).memory).toBe('home');
});

describe.skipIf(!hasBrowser)('in a browser', () => {
  const browser = useBrowser();

  test('a tab that slept shows what changed meanwhile, also of costs and pauses, and says when nocturne is gone', async () => {
    const world = await listening();
    const { page, context, go } = await visit(browser(), world);
    await context.route('**/live*', (route) => route.abort());
    await go('/cost');
    const reading = await context.newPage();
    await reading.goto(`${world.url}/memory/${world.id}/topic/a.md`);
    await world.others.enterWorker('redis');
    appendFileSync(join(world.dir, 'a.md'), '- What an editor saved.\n');
    await page.locator('#gone').waitFor();
    expect(await page.locator('#workers ~ *').innerText()).toContain('None runs now');
    await context.unroute('**/live*');
    await page.getByText('redis queue').waitFor();
    await reading.locator('.what', { hasText: 'What an editor saved' }).waitFor();
    await page.locator('#gone').waitFor({ state: 'hidden' });
    await context.clearCookies();
    await context.route('**/live*', (route) => route.fulfill({ status: 401, body: 'over' }));
    await go('/cost');
    await page.getByRole('heading', { name: 'Open your memory' }).waitFor();
  });
});
