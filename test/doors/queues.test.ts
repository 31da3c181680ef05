// With a queue or without, and whatever becomes of it: the same memory.

import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { wakeQueueOptions } from '../../src/doors/worker/worker.ts';
import { coverageWhere } from '../../src/memory/ledger/coverage.ts';
import { inboxItems } from '../../src/memory/ledger/inbox.ts';
import { missing, REDIS, stopwatch } from '../queue/backends.ts';
import { noOwnRedis, ownRedis } from '../queue/own-redis.ts';
import { refusedPort, silentServer } from '../queue/servers.ts';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { waysTaken } from '../support/depth.ts';
import { says } from '../support/messages-server.ts';
import { enqueueNight, isIdle, memoryOf, sixSessions } from '../support/nights.ts';
import { start, stop, until } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { workerHere } from '../support/worker-here.ts';

/** Each agent of a worker's process is one too: where queues are tested, one does. */
const ONE_AGENT = { concurrency: 1 };
const noRedis = await missing();
const sessions = sixSessions();
let once: ReturnType<typeof workOnce> | undefined;

/** What `worker --once` says, and what it makes of the night; that a process does is tested in crash.test.ts. */
async function workOnce() {
  const testing = await testApp({ settings: ONE_AGENT });
  await enqueueNight(testing, sessions);
  const ended = await runHere(['worker', '--once'], testing.environment);
  return { ...ended, memory: await memoryOf(testing) };
}

/** The same, worked once for all tests. */
function workedOnce(): ReturnType<typeof workOnce> {
  once ??= workOnce();
  return once;
}

/** Lets a resident worker do all that waits and ends it. */
async function workUntilIdle(testing: TestApp): Promise<void> {
  const worker = await workerHere(testing.environment);
  await until(() => isIdle(testing));
  await worker.stop();
}

test('worker --once does all that waits, the dream last, says what became of it, and ends', async () => {
  const { code, stdout, stderr, memory } = await workedOnce();
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  const said = stderr.trimEnd().split('\n');
  expect(said.map((line) => line.split(/[ :]/)[0])).toEqual([...sessions.map(() => 'extract'), 'dream']);
  const { files, coverage, waiting } = memory;
  expect(waiting).toBe(0);
  expect(coverage).toHaveLength(11);
  expect(Object.keys(files).filter((path) => path.startsWith('logs/'))).toHaveLength(5);
  expect(files['working-agreements.md']).toContain('- Never mock the database in tests.');
  expect(files['MEMORY.md']?.filter((line) => line.startsWith('- '))).toHaveLength(4);
});

/** A night in the middle of which the worker was killed; one session after the other, so that it has a middle. */
async function killedAtWork(): Promise<TestApp> {
  const testing = await testApp({ settings: ONE_AGENT });
  await enqueueNight(testing, sessions);
  const worker = start(['worker'], testing.environment);
  await until(() => coverageWhere(testing.store.ledger).length > 0);
  worker.kill('SIGKILL');
  await worker.ended;
  return testing;
}

test('a worker without a queue, killed, makes the same memory as one that ends by itself', async () => {
  let testing = await killedAtWork();
  // One that was done before this process had its turn again was not killed at work.
  while (isIdle(testing)) testing = await killedAtWork();
  await workUntilIdle(testing);
  expect(await memoryOf(testing)).toEqual((await workedOnce()).memory);
});

const onItsWay = waysTaken(['whole', 'emptied']);

test.skipIf(noRedis || !onItsWay.includes('whole'))(
  `a worker on Redis makes the same memory ${noRedis ?? ''}`,
  async () => {
    const { testing } = await onRedis();
    await enqueueNight(testing, sessions);
    await workUntilIdle(testing);
    expect(await memoryOf(testing)).toEqual((await workedOnce()).memory);
  },
);

test.skipIf(noRedis || !onItsWay.includes('emptied'))(
  `a worker on a Redis that forgot everything makes the same memory ${noRedis ?? ''}`,
  async () => {
    const { testing, forget } = await onRedis();
    await enqueueNight(testing, sessions);
    expect(await forget()).toBeGreaterThan(sessions.length);
    await workUntilIdle(testing);
    expect(await memoryOf(testing)).toEqual((await workedOnce()).memory);
  },
);

const noRedisOfOurs = noOwnRedis();

test.skipIf(noRedisOfOurs)(
  `the queue deleted under an idle worker and again under waiting work: all is done after a restart, once ${noRedisOfOurs ?? ''}`,
  async () => {
    const model = await testModel(() => says('Nothing worth keeping.'));
    const testing = await testApp({ server: model, settings: ONE_AGENT });
    const redis = await ownRedis();
    onTestFinished(() => redis.close());
    testing.environment.NOCTURNE_QUEUE_URL = redis.url;
    const [first, ...rest] = sessions as [string, ...string[]];
    await runHere(['enqueue', 'extract', first], testing.environment);
    const idle = start(['worker'], testing.environment);
    await until(() => isIdle(testing));
    expect(await redis.flush()).toBeGreaterThan(0);
    await runHere(['enqueue', 'extract', ...rest], testing.environment);
    idle.kill('SIGKILL');
    await idle.ended;

    await redis.flush();
    await workUntilIdle(testing);
    const turns = coverageWhere(testing.store.ledger).map(({ turn }) => turn);
    expect(new Set(turns).size).toBe(11);
    expect(turns).toHaveLength(11);
    // What the killed one had begun is asked again.
    expect([sessions.length, sessions.length + 1]).toContain(model.requests.length);
  },
);

test('enqueue tells within two seconds that Redis is down or silent, keeps the work, and a worker finds it', async () => {
  const testing = await testApp();
  const silent = await silentServer();
  onTestFinished(silent.close);
  const urls = [`redis://127.0.0.1:${await refusedPort()}`, `redis://127.0.0.1:${silent.port}`];
  for (const [index, url] of urls.entries()) {
    const environment = { ...testing.environment, NOCTURNE_QUEUE_URL: url };
    // Without the loading of its code, which a busy machine makes long.
    await runHere(['enqueue', 'dream'], testing.environment);
    const took = stopwatch();
    const { code, stderr } = await runHere(['enqueue', 'extract', sessions[index] as string], environment);
    expect(took()).toBeLessThan(2_000);
    expect(code).toBe(0);
    expect(stderr).toContain('The queue was not notified');
    expect(inboxItems(testing.store.ledger)).toHaveLength(index + 2);
  }
  await runHere(['worker', '--once'], testing.environment);
  expect(isIdle(testing)).toBe(true);
  expect(coverageWhere(testing.store.ledger)).toHaveLength(4);
});

test.skipIf(noRedisOfOurs)(
  `Redis killed while a worker works: the worker goes on by itself when it is back ${noRedisOfOurs ?? ''}`,
  async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const model = await testModel(async (_, call) => {
      if (call === 1) await held;
      return says('Nothing worth keeping.');
    });
    const testing = await testApp({ server: model, settings: { concurrency: 2 } });
    const redis = await ownRedis();
    onTestFinished(() => redis.close());
    testing.environment.NOCTURNE_QUEUE_URL = redis.url;
    await runHere(['enqueue', 'extract', ...sessions.slice(0, 3)], testing.environment);
    const worker = await workerHere(testing.environment);
    await model.received(2);
    await redis.kill();
    release();
    await until(() => coverageWhere(testing.store.ledger).length > 0);
    await runHere(['enqueue', 'extract', ...sessions.slice(3)], testing.environment);
    await redis.start();
    await until(() => isIdle(testing));
    await worker.stop();
    expect(model.requests).toHaveLength(sessions.length);
    expect(coverageWhere(testing.store.ledger)).toHaveLength(11);
  },
);

test.skipIf(noRedisOfOurs)(
  `SIGTERM ends an idle worker whose Redis is away as soon as any other ${noRedisOfOurs ?? ''}`,
  async () => {
    const testing = await testApp({ server: await testModel(() => says('Nothing worth keeping.')) });
    const redis = await ownRedis();
    onTestFinished(() => redis.close());
    testing.environment.NOCTURNE_QUEUE_URL = redis.url;
    await runHere(['enqueue', 'extract', sessions[0] as string], testing.environment);
    const worker = start(['worker'], testing.environment);
    await until(() => isIdle(testing));
    await redis.kill();
    const from = performance.now();
    expect(await stop(worker)).toMatchObject({ code: 0, signal: null });
    // A worker that has work under way is given ten seconds for it.
    expect(performance.now() - from).toBeLessThan(10_000);
  },
);

/** An app whose queue is in Redis, and what deletes that queue there; answers how many keys it had. */
async function onRedis() {
  const testing = await testApp({ settings: ONE_AGENT });
  testing.environment.NOCTURNE_QUEUE_URL = REDIS;
  const keys = `nocturne:${(await wakeQueueOptions(testing.app)).namespace}:*`;
  const redis = new Redis(REDIS);
  const forget = async () => {
    const found = await redis.keys(keys);
    return found.length > 0 ? redis.del(found) : 0;
  };
  onTestFinished(async () => {
    await forget();
    redis.disconnect();
  });
  return { testing, forget };
}
