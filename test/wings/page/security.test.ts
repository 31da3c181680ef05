// Who the page lets in, and what strangers who wrote into a memory can do there: nothing.

import { readFileSync } from 'node:fs';
import { createServer, get, type IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sized } from '../../support/depth.ts';
import { seeded } from '../../support/random.ts';
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

test('a ticket opens the page once, and the cookie it gives is shown to nobody else', async () => {
  const world = await exampleMemory();
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
  const world = await exampleMemory();
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
    const world = await exampleMemory();
    const { cookie } = await enter(world);
    expect(await statusOf(`${world.url}/memory`, { ...headers, cookie })).toBe(status);
  },
);

test('a change needs our origin with its port, the token of the visit, and the cookie', async () => {
  const world = await exampleMemory();
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

test('the cookie opens no API, a key opens no page, and a name of elsewhere neither', async () => {
  const world = await exampleMemory();
  const { cookie } = await enter(world);
  expect((await fetch(`${world.url}/v1/memory_stores`, { headers: { ...OURS, cookie } })).status).toBe(401);
  const { key } = world.client();
  expect((await fetch(`${world.url}/memory`, { headers: { ...OURS, 'x-api-key': key } })).status).toBe(401);
  expect(await statusOf(`${world.url}/memory`, { ...OURS, cookie, host: 'memory.attacker.example' })).toBe(403);
});

test('what is sent on a first visit is small: all scripts together under 20 kB', async () => {
  const world = await served();
  let bytes = 0;
  for (const name of ['page.js', 'page.css', 'icon.svg']) {
    bytes += gzipSync(await (await fetch(`${world.url}/assets/${name}`, { headers: OURS })).text()).length;
  }
  expect(bytes).toBeLessThan(20_000);
});

describe.skipIf(!hasBrowser)('in a browser', () => {
  const browser = useBrowser();

  test('a page on another port, which gets the cookie along, reads and changes nothing', async () => {
    const world = await exampleMemory();
    const { page, context } = await visit(browser(), world);
    const { token } = { token: await page.locator('input[name=token]').first().getAttribute('value') };
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
    const before = world.app.home.lookedAt();
    const tab = await context.newPage();
    await tab.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    await tab.waitForFunction('document.title.startsWith("[")');
    const got = JSON.parse(await tab.title()) as string[];
    for (const each of got) expect(['', 'refused']).toContain(each);
    expect(world.app.home.lookedAt()).toBe(before);
    await page.reload();
    await page.getByRole('heading', { name: /things learned/ }).waitFor();
  });

  test.each(['light', 'dark'] as const)(
    'every view can be used by everyone, in %s: axe finds nothing serious',
    async (colorScheme) => {
      const world = await exampleMemory();
      const { page } = await visit(browser(), world, { colorScheme });
      const id = ((await page.locator('.cards a.row').first().getAttribute('href')) as string).split('/').at(-1);
      const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
      const night = async () => {
        await page.goto(`${world.url}/nights`);
        return page.locator('.timeline a').last().getAttribute('href');
      };
      const paths = [
        '/',
        `/memory/${id}`,
        `/memory/${id}/topic/working-agreements.md`,
        `/memory/${id}/logs`,
        await night(),
        '/review',
        '/sessions',
        '/search?q=pnpm',
        '/cost',
      ];
      const found: string[] = [];
      for (const path of paths) {
        await page.goto(`${world.url}${path}`);
        const why = page.getByRole('link', { name: /^Why/ }).first();
        if (await why.count()) {
          await why.click();
          await page.locator('.evidence').waitFor();
        }
        // The page itself lets no script in that it did not send.
        await page.evaluate(source);
        const violations = (await page.evaluate('axe.run()')) as {
          violations: { id: string; impact: string; nodes: { html: string }[] }[];
        };
        for (const { id: rule, impact, nodes } of violations.violations) {
          if (['serious', 'critical'].includes(impact)) found.push(`${path}: ${rule}: ${nodes[0]?.html}`);
        }
      }
      expect(found).toEqual([]);
    },
  );

  test('hostile strings wherever strangers can write do nothing, and nothing is wider than the view', async () => {
    const world = await exampleMemory();
    const strings = hostileStrings(sized({ quick: 40, deep: 500 }));
    const { store } = world;
    for (let at = 0; at < strings.length; at += 20) {
      const some = strings.slice(at, at + 20);
      const lines = some.map((each) => `- ${each.replace(/[\r\n]+/g, ' ')}`).join('\n');
      const description = JSON.stringify(some[0]);
      await store.write(
        { actor: 'person' },
        {
          path: `hostile-${at}.md`,
          text: `---\nname: hostile-${at}\ndescription: ${description}\ntype: project\n---\n\n${lines}\n`,
        },
      );
    }
    for (const each of strings.slice(0, 10))
      await world.app.remember(store, { text: each.slice(0, 900) || 'x', type: 'project' }).catch(() => null);
    const { page, problems, asked } = await visit(browser(), world);
    const id = ((await page.locator('.cards a.row').first().getAttribute('href')) as string).split('/').at(-1);
    const paths = [
      '/',
      `/memory/${id}`,
      `/memory/${id}/logs`,
      '/review',
      '/sessions',
      ...strings.flatMap((_, at) => (at % 20 === 0 ? [`/memory/${id}/topic/hostile-${at}.md`] : [])),
      `/search?q=${encodeURIComponent(strings[0] as string)}`,
    ];
    for (const width of [375, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      for (const path of paths) {
        await page.goto(`${world.url}${path}`);
        const told = (await page.evaluate(LOOK)) as {
          wide: number;
          ran: boolean;
          gadgets: string[];
          covered: string[];
        };
        expect({ path, width, ...told }).toMatchObject({ wide: 0, ran: false, covered: [] });
        for (const each of told.gadgets) expect(each).toMatch(/^href=(?:https?|mailto):/);
      }
    }
    expect(problems).toEqual([]);
    expect(asked.filter((each) => !each.startsWith(world.url))).toEqual([]);
  });
});

/** Run in the page: how wide it is, whether a script of others ran, which attributes they have, and what lies over a button. */
const LOOK = `({
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  ran: 'hacked' in globalThis,
  gadgets: [...document.querySelectorAll('.said *, .prose *')].flatMap((each) => [...each.attributes]
    .filter(({ name }) => !['class', 'rel', 'target', 'dir'].includes(name)).map(({ name, value }) => name + '=' + value)),
  covered: [...document.querySelectorAll('main button, main a.button')].filter((each) => each.checkVisibility()).slice(0, 30).flatMap((each) => {
    each.scrollIntoView({ block: 'center' });
    const box = each.getBoundingClientRect();
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return box.width > 1 && top && !each.contains(top) && !top.contains(each) ? [each.outerHTML.slice(0, 100)] : [];
  }),
})`;

/** Words that mean to be more than words: each kind with something different in it, so that no two are the same. */
function hostileStrings(count: number): string[] {
  const random = seeded(20_261_122);
  const kinds: ((n: number) => string)[] = [
    (n) => `<script>globalThis.hacked=${n}</script>`,
    (n) => `<img src=https://attacker.example/${n}.png onerror="globalThis.hacked=${n}">`,
    (n) => `![a picture](https://attacker.example/${n}.png)`,
    (n) =>
      `[click](${random.pick(['javascript', 'JaVaScRiPt', 'java\tscript', '&#106;avascript', 'data', 'vbscript', 'JAVASCRIPT', '\u0001javascript'])}:globalThis.hacked=${n})`,
    (n) => `<a href="&#x6A;avascript&colon;globalThis.hacked=${n}">a</a>`,
    (n) => `<div hx-get="https://attacker.example/${n}" hx-trigger="load" data-x=${n} x-on:load="hacked=${n}">x</div>`,
    (n) => `"><svg onload=globalThis.hacked=${n}>`,
    (n) => `</textarea></title></style><script>globalThis.hacked=${n}</script>`,
    (n) => `\u202e${n} gnp.exe\u202d \u2066abc\u2069 \u200f${n}`,
    (n) => `${n}${'x'.repeat(random.pick([100, 3_000, 10_000]))}`,
    (n) => `${'\u0300'.repeat(200)}${n}`,
    (n) => `<style>*{display:none}</style><form action=https://attacker.example/${n}><button>Accept</button></form>`,
    (n) => `<https://attacker.example/${n}> and [x][${n}] [${n}]: javascript:globalThis.hacked=${n}`,
    (n) => `<iframe srcdoc="<script>parent.hacked=${n}</script>"></iframe><base href=https://attacker.example/>`,
    (n) => `| a | b |\n|---|---|\n| <b onclick=hacked=${n}> | ${'word '.repeat(500)} |`,
    (n) => `\${globalThis.hacked=${n}} {{constructor.constructor('hacked=${n}')()}} #{${n}}`,
    (n) =>
      `<meta http-equiv=refresh content="0;url=https://attacker.example/${n}"><link rel=stylesheet href=//attacker.example/${n}.css>`,
    (n) => `[${'['.repeat(300)}${n}](`,
  ];
  return Array.from({ length: count }, (_, at) => (kinds[at % kinds.length] as (n: number) => string)(at));
}
