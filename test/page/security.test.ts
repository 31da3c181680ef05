// Who the page lets in, asked without a browser; what a page of strangers can do in one is in page.test.ts.

import { get, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { SEED, sized } from '../support/depth.ts';
import { seeded } from '../support/random.ts';
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
  expect(page).toContain('What it knows');
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

test('after a form one is back where the form says one was, which is never elsewhere', async () => {
  const world = example();
  const { cookie, token } = await enter(world);
  const backFrom = async (to: string) => {
    const answer = await fetch(`${world.url}/do/nothing-known`, {
      method: 'POST',
      redirect: 'manual',
      headers: { ...OURS, cookie, origin: world.url },
      body: new URLSearchParams({ token, to }),
    });
    return new URL(answer.headers.get('location') ?? 'http://nowhere.example', world.url);
  };
  expect((await backFrom('/memory?type=user#line')).href).toMatch(/\/memory\?type=user&said=\w+#line$/);
  const steps = ['/', '\\', '%2f', '%5c', '.', '..', '%2e', '\t', '\n', '\0', ' ', '@', ':', '?', '#', 'https:'];
  const { below, pick } = seeded(SEED);
  const made = Array.from(
    { length: sized({ quick: 60, deep: 1_000 }) },
    () => `${Array.from({ length: 1 + below(6) }, () => pick(steps)).join('')}evil.example`,
  );
  for (const to of ['/.//evil.example', '/a/..//evil.example', '/%2e/\\evil.example', '/\t/evil.example', ...made])
    expect([to, (await backFrom(to)).origin]).toEqual([to, world.url]);
});

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
  for (const name of ['page.js', 'page.css', 'icon.svg'])
    bytes += gzipSync(await (await fetch(`${world.url}/assets/${name}`, { headers: OURS })).text()).length;
  expect(bytes).toBeLessThan(20_000);
});
