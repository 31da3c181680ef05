// Who the page lets in, and what strangers who wrote into a memory can do there: nothing.

import { readFileSync } from 'node:fs';
import { createServer, get, type IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hasBrowser, useBrowser, useVisit } from './browser.ts';
import { enter, OURS } from './enter.ts';
import { useExample } from './example.ts';

/** Asked with these headers and no others, which fetch would not do. */
async function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const answer = Promise.withResolvers<IncomingMessage>();
  get(url, { headers, agent: false }, answer.resolve).on('error', answer.reject);
  const { statusCode } = (await answer.promise).resume();
  return statusCode;
}

const example = useExample();

test('a ticket opens the page once, and the cookie it gives is shown to nobody else', async () => {
  const world = example();
  const { page, ticket, post, setCookie } = await enter(world);
  expect(page).toContain('things learned');
  expect(setCookie).toMatch(
    new RegExp(`^nocturne-${new URL(world.url).port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200$`),
  );
  expect((await post(ticket)).status).toBe(401);
  expect((await post('guessed')).status).toBe(401);
  const before = await fetch(world.url, { headers: OURS });
  expect(before.status).toBe(401);
  expect(await before.text()).not.toMatch(/orchard|pnpm/);
});

test('every answer keeps scripts, frames, caches and other sites away', async () => {
  const world = example();
  const { cookie } = await enter(world);
  for (const path of ['/', '/memory', '/assets/page.js', '/do/pin', '/memory/none', '/enter']) {
    const { headers } = await fetch(`${world.url}${path}`, { headers: { ...OURS, cookie } });
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; script-src 'self'; (?!.*unsafe)(?=.*frame-ancestors 'none')/,
      ),
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
  }
});

test.each([
  ['no word of where it comes from', {}, 403],
  ['another port of this machine', { 'sec-fetch-site': 'same-site' }, 403],
  ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
  ['a script that nobody opened', { 'sec-fetch-site': 'none' }, 403],
  ['a person who types the address', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, 200],
] as [string, Record<string, string>, number][])(
  'a request with the cookie from %s is answered %j: %i',
  async (_, headers, status) => {
    const world = example();
    const { cookie } = await enter(world);
    expect(await statusOf(`${world.url}/memory`, { ...headers, cookie })).toBe(status);
  },
);

test('a change needs our origin with its port, the token of the visit, and the cookie', async () => {
  const world = example();
  const { cookie, token } = await enter(world);
  const post = (headers: Record<string, string>, fields: Record<string, string>) =>
    fetch(`${world.url}/do/seen`, {
      method: 'POST',
      redirect: 'manual',
      headers: { ...OURS, ...headers },
      body: new URLSearchParams(fields),
    });
  expect((await post({ cookie, origin: world.url }, { token })).status).toBe(303);
  expect((await post({ cookie }, { token })).status).toBe(403);
  expect((await post({ cookie, origin: 'http://127.0.0.1:1' }, { token })).status).toBe(403);
  expect((await post({ cookie, origin: 'null' }, { token })).status).toBe(403);
  expect((await post({ cookie, origin: world.url }, {})).status).toBe(403);
  expect((await post({ cookie, origin: world.url }, { token: token.replace(/^./, '~') })).status).toBe(403);
  expect((await post({ origin: world.url }, { token })).status).toBe(401);
});

test('a form larger than the page takes is refused in words that say where to go', async () => {
  const world = example();
  const { cookie, token } = await enter(world);
  const answer = await fetch(`${world.url}/do/edit-topic`, {
    method: 'POST',
    headers: { ...OURS, cookie, origin: world.url },
    body: new URLSearchParams({ token, text: 'x'.repeat(512 * 1024) }),
  });
  expect(answer.status).toBe(413);
  expect(await answer.text()).toContain('nocturne show --edit');
});

test('the cookie opens no API, a key opens no page, and a name of elsewhere neither', async () => {
  const world = example();
  const { cookie } = await enter(world);
  expect((await fetch(`${world.url}/v1/memory_stores`, { headers: { ...OURS, cookie } })).status).toBe(401);
  const { key } = await world.client();
  expect((await fetch(`${world.url}/memory`, { headers: { ...OURS, 'x-api-key': key } })).status).toBe(401);
  expect(await statusOf(`${world.url}/memory`, { ...OURS, cookie, host: 'memory.attacker.example' })).toBe(403);
});

test('what is sent on a first visit is small: all scripts together under 20 kB', async () => {
  const world = example();
  let bytes = 0;
  for (const name of ['page.js', 'page.css', 'icon.svg']) {
    bytes += gzipSync(await (await fetch(`${world.url}/assets/${name}`, { headers: OURS })).text()).length;
  }
  expect(bytes).toBeLessThan(20_000);
});

describe.skipIf(!hasBrowser)('in a browser', () => {
  const browser = useBrowser();
  const visitor = useVisit(browser, example);

  test('a page on another port, which gets the cookie along, reads and changes nothing', async () => {
    const world = example();
    const { page, context, memory, go } = visitor();
    await go(`/memory/${memory}/topic/references.md`);
    const token = await page.locator('input[name=token]').first().getAttribute('value');
    const attack = `<body><script>
      const url = ${JSON.stringify(world.url)};
      const read = (init) => fetch(url + '/memory', { credentials: 'include', ...init }).then((r) => r.text()).catch((e) => 'refused');
      (async () => {
        const got = [await read({}), await read({ mode: 'no-cors' }), await fetch(url + '/do/seen', { method: 'POST', credentials: 'include', mode: 'no-cors',
          body: new URLSearchParams({ token: ${JSON.stringify(token)} }) }).then((r) => r.text()).catch(() => 'refused')];
        const frame = document.createElement('iframe'); frame.src = url + '/'; document.body.append(frame);
        await new Promise((done) => { frame.onload = done; });
        let framed = ''; try { framed = frame.contentDocument.body.innerText; } catch { framed = 'refused'; }
        document.title = JSON.stringify([...got, framed]);
      })();
    </script></body>`;
    const other = createServer((_, answer) => void answer.setHeader('content-type', 'text/html').end(attack)).listen(
      0,
      '127.0.0.1',
    );
    onTestFinished(() => void other.close());
    const before = await world.app.home.lookedAt();
    const tab = await context.newPage();
    await tab.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    await tab.waitForFunction('document.title.startsWith("[")');
    const got = JSON.parse(await tab.title()) as string[];
    for (const each of got) expect(['', 'refused']).toContain(each);
    expect(await world.app.home.lookedAt()).toBe(before);
    await page.reload();
    await page.getByRole('heading', { name: 'references' }).waitFor();
  });

  test('every view can be used by everyone, in light and in dark: axe finds nothing serious', async () => {
    const { page, memory, go } = visitor();
    const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    await go('/nights');
    const night = (await page.locator('.timeline a').last().getAttribute('href')) as string;
    const topic = `/memory/${memory}/topic/working-agreements.md`;
    const paths = ['/', `/memory/${memory}`, topic, `${topic}?edit=topic`, `/memory/${memory}/logs`, night, '/review'];
    const found: string[] = [];
    for (const path of [...paths, '/sessions', '/search?q=pnpm', '/search?q=nowhere', '/cost', '/memory/none']) {
      await go(path);
      const why = page.getByRole('link', { name: /^Why/ }).first();
      if (await why.count()) {
        await why.click();
        await page.locator('.evidence').waitFor();
      }
      // The page itself lets no script in that it did not send.
      await page.evaluate(source);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        // What does not hang on colours is the same in both.
        const only =
          colorScheme === 'light'
            ? {}
            : { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } };
        const { violations } = (await page.evaluate(
          `axe.run(${JSON.stringify({ ...only, resultTypes: ['violations'] })})`,
        )) as {
          violations: { id: string; impact: string; nodes: { html: string }[] }[];
        };
        for (const { id, impact, nodes } of violations) {
          if (['serious', 'critical'].includes(impact)) found.push(`${path}, ${colorScheme}: ${id}: ${nodes[0]?.html}`);
        }
      }
    }
    expect(found).toEqual([]);
  });
});
