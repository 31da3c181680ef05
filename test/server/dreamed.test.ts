// A store made with the SDK alone, dreamed over by processes that are killed on the way.

import { expect, onTestFinished, test } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import { workersOf } from '../page/beside-page.ts';
import { sized, waysTaken } from '../support/depth.ts';
import { start, until } from '../support/run.ts';
import { all, clientOf, keyIn, machine, send } from './served.ts';

const MEMORIES = sized({ quick: 8, deep: 40 });
const SAID_AGAIN = sized({ quick: 3, deep: 10 });
const NEW = sized({ quick: 3, deep: 12 });
const SESSIONS = sized({ quick: 2, deep: 6 });
/** How many of the two dreams are killed on the way, and when: before a worker takes it, and at its work. */
const KILLED = sized({ quick: 1, deep: 2 });
const MOMENTS = waysTaken(['before', 'at work'] as const);

const THINGS =
  `billing search ledger gateway mailer invoice catalog basket wallet voucher courier parcel depot ticket seating
  concert museum archive garden weather traffic harbor railway airport stadium theater library campus clinic pharmacy dentist
  bakery brewery vineyard orchard meadow glacier volcano canyon prairie tundra lagoon estuary bamboo cedar juniper maple walnut
  chestnut hazel rowan willow`.split(/\s+/);
const factOf = (at: number) => `The ${THINGS[at]} service listens on port ${4_000 + at}.`;

/** The processes of a home: a server, and the worker that it starts. */
function processesOf(environment: Environment) {
  const workers = () => workersOf(environment);
  const killWorkers = async () => {
    for (const pid of await workers()) process.kill(pid, 'SIGKILL');
  };
  onTestFinished(killWorkers);
  const serve = async () => {
    const server = start(['serve', '--port', '0', '--json'], environment);
    await until(() => server.stdout().includes('\n'));
    return { server, url: (JSON.parse(server.stdout()) as { url: string }).url };
  };
  return { workers, killWorkers, serve };
}

test('of what sessions say each new thing stands once and nothing twice, what callers wrote is untouched, on a second dream too, whoever is killed on the way', async () => {
  const environment = await machine();
  const key = await keyIn(environment);
  const { workers, killWorkers, serve } = processesOf(environment);
  let { server, url } = await serve();
  const sdk = () => clientOf({ url, ...key }).sdk.beta;
  const { id: store } = await sdk().memoryStores.create({ name: 'notes' });
  const own = new Map<string, string>();
  for (let at = 0; at < MEMORIES; at += 1) {
    const content = at % 2 === 0 ? `${factOf(at)}\n` : `# ${THINGS[at]}\n\n- ${factOf(at)}\n- It restarts at night.\n`;
    const { path } = await sdk().memoryStores.memories.create(store, {
      path: `/services/${at % 5}/${THINGS[at]}.md`,
      content,
    });
    own.set(path, content);
  }
  const said = Array.from({ length: SAID_AGAIN + NEW }, (_, at) => MEMORIES - SAID_AGAIN + at);
  const sessions = await Promise.all(
    Array.from({ length: SESSIONS }, async (_, number) => {
      const facts = said.filter((at) => at % SESSIONS === number);
      const messages = facts.flatMap((at) => [
        { role: 'user', content: `Please remember: ${factOf(at)}` },
        { role: 'assistant', content: 'Noted.' },
      ]);
      return (await send({ url }, key, store, messages)).body.id;
    }),
  );

  const killInTurn = async (id: string) => {
    if (MOMENTS.includes('before')) {
      await until(async () => (await workers()).length > 0);
      server.kill('SIGKILL');
      await server.ended;
      await killWorkers();
      ({ server, url } = await serve());
    }
    if (!MOMENTS.includes('at work')) return;
    await until(async () => (await sdk().dreams.retrieve(id)).status !== 'pending');
    await killWorkers();
    server.kill('SIGKILL');
    await server.ended;
    ({ server, url } = await serve());
  };
  let dreams = 0;
  const dream = async (input: string, { updates }: { updates: boolean }): Promise<string> => {
    const { id } = await sdk().dreams.create({
      inputs: [
        { type: 'memory_store', memory_store_id: input },
        { type: 'sessions', session_ids: sessions },
      ],
      model: 'offline',
      ...(updates && { output_behavior: { type: 'update_existing', memory_store_id: input } }),
    });
    dreams += 1;
    if (dreams <= KILLED) await killInTurn(id);
    await until(async () => (await sdk().dreams.retrieve(id)).ended_at !== null);
    const { status, error, outputs } = await sdk().dreams.retrieve(id);
    expect([status, error]).toEqual(['completed', null]);
    return outputs[0]?.memory_store_id as string;
  };
  const checkStore = async (id: string) => {
    const found = await all(sdk().memoryStores.memories.list(id, { view: 'full', path_prefix: '/' }));
    const texts = new Map(found.flatMap((each) => (each.type === 'memory' ? [[each.path, each.content ?? '']] : [])));
    for (const [path, content] of own) expect(texts.get(path)).toBe(content);
    const recalled = [...texts]
      .filter(([path]) => !path.startsWith('/logs/'))
      .map(([, text]) => text)
      .join('\n');
    for (let at = 0; at < MEMORIES + NEW; at += 1)
      expect([factOf(at), recalled.split(factOf(at)).length - 1]).toEqual([factOf(at), 1]);
  };
  const output = await dream(store, { updates: false });
  await checkStore(output);
  expect(await dream(output, { updates: true })).toBe(output);
  await checkStore(output);
  expect((await all(sdk().memoryStores.list())).map(({ id }) => id).toSorted()).toEqual([store, output].toSorted());
});
