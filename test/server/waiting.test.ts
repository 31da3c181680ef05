// Dreams over HTTP that may not ask a model for now wait as running, and fail where that lasts too long.

import { expect, onTestFinished, test, vi } from 'vitest';
import { testModel } from '../support/app.ts';
import { obey } from '../support/obedient.ts';
import { asking, type Client, clientOf, type Served, send, served, work } from './served.ts';

const TALK = [
  { role: 'user', content: 'Please remember: we ship on Fridays.' },
  { role: 'assistant', content: 'Noted.' },
];

/** A server whose model answers, a store, and dreams over a session of its own each. */
async function world(settings: object) {
  const model = await testModel(obey({}));
  const app = { server: model, settings };
  const at = await served({ app });
  const ask = async ({ sdk, key }: Client, session: string) => {
    const { id: store } = await sdk.beta.memoryStores.create({ name: session });
    expect((await send(at, { key }, store, TALK, `&id=${session}`)).status).toBe(200);
    return sdk.beta.dreams.create(asking(store, [session], { model: 'test-model' }));
  };
  /** The same home at another time. */
  const later = (now: string) => served({ app: { ...app, home: at.home, dir: at.dir, now } });
  return { at, model, ask, later };
}

test('what the dreams of a key may cost in a day holds the next one back until the day is over, and no other key’s', async () => {
  const prices = { 'test-model': { input: 0, cacheRead: 0, cacheWrite: 0, output: 1_000 } };
  const { at, model, ask, later } = await world({ prices });
  const other = await at.client();
  const before = await ask(other, 'sesn_before');
  await work(at);
  const { usage } = await other.sdk.beta.dreams.retrieve(before.id);
  // What a request may cost at most counts before it is sent: there is room for one dream, and not for the next one's first.
  const most = 1_000 * ((model.requests[0]?.max_tokens ?? 0) + usage.output_tokens) - 1;
  model.requests.length = 0;
  const frugal = await at.client({ dayMicroUsd: most });
  const first = await ask(frugal, 'sesn_first');
  await work(at);
  // It was begun before anything was spent; what it costs is known by now.
  const asked = model.requests.length;
  expect(asked).toBeGreaterThan(0);
  const second = await ask(frugal, 'sesn_second');
  const free = await ask(other, 'sesn_other');
  const why = new RegExp(`What the key ${frugal.id} may cost in a day|Raise the key's limit`);
  expect(await work(at)).toContainEqual(expect.stringMatching(why));
  const status = async ({ sdk }: Client, id: string) => (await sdk.beta.dreams.retrieve(id)).status;
  expect([await status(frugal, second.id), await status(other, free.id)]).toEqual(['running', 'completed']);
  const tomorrow = await later('2026-11-22T00:00:01Z');
  const then = clientOf({ url: tomorrow.url, key: frugal.key, id: frugal.id });
  await work(tomorrow);
  expect([await status(then, first.id), await status(then, second.id)]).toContain('completed');
});

test.each([
  ['at the ceiling of the day', { dayTokens: 1 }, () => {}, /limit/],
  [
    'while the breaker is open',
    { breakerAfter: 1 },
    ({ stores }: Served) => stores.openBreaker(),
    // Then nothing is taken up: what holds it is told of the breaker alone.
    null,
  ],
] as const)('a dream waits %s, and has failed with a timeout after a day', async (_, settings, hold, why) => {
  const { at, model, ask, later } = await world(settings);
  await hold(at);
  const client = await at.client();
  const { id } = await ask(client, 'sesn_waits');
  const timers = vi.spyOn(globalThis, 'setInterval');
  onTestFinished(() => timers.mockRestore());
  const waits = await work(at);
  if (why) expect(waits).toContainEqual(expect.stringMatching(why));
  else expect(waits).toEqual([]);
  // Nothing is left that looks, once a second, whether what is worked was canceled.
  const looking = timers.mock.results.filter((_, call) => timers.mock.calls[call]?.[1] === 1_000);
  expect(looking.filter(({ value }) => (value as { _destroyed: boolean })._destroyed === false)).toEqual([]);
  expect(model.requests).toEqual([]);
  const running = await client.sdk.beta.dreams.retrieve(id);
  const waiting = why ? 'running' : 'pending';
  expect(running).toMatchObject({ status: waiting, error: null, ended_at: null });
  const almost = await later('2026-11-22T01:59:59Z');
  const then = ({ url }: Served) => clientOf({ url, key: client.key, id: client.id }).sdk.beta.dreams;
  expect((await then(almost).retrieve(id)).status).toBe(waiting);
  const after = await later('2026-11-22T02:00:01Z');
  expect(await then(after).retrieve(id)).toMatchObject({ status: 'failed', error: { type: 'timeout' } });
});
