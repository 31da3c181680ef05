// With a queue or without, and whatever becomes of it: the same memory.

import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { type NewItem, put } from '../../src/queue/inbox.ts';
import { missing, REDIS, stopwatch } from '../queue/backends.ts';
import { noOwnRedis, ownRedis } from '../queue/own-redis.ts';
import { refusedPort, silentServer } from '../queue/servers.ts';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { isDeep, waysTaken } from '../support/depth.ts';
import { wakeQueueOptions } from '../support/doors.ts';
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

/** What `worker --once` says, and what it makes of the night; that a process does is tested in once.test.ts. */
async function workOnce() {
  const testing = await testApp({ settings: ONE_AGENT });
  await enqueueNight(testing, sessions);
  const ended = await testing.nocturne('worker', '--once');
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

test('work that an earlier build left for a worker is let go with a word, and no dream in its place', async () => {
  const testing = await testApp();
  const memory = await testing.app.memoryFor();
  const left = { kind: 'reprocess', key: `${memory.id} all`, memory: memory.id, payload: {}, notBefore: new Date(0) };
  await testing.app.db.write((sql) => put(sql, left as NewItem, new Date(0)));
  expect((await testing.nocturne('worker', '--once')).stderr).toContain(
    'nocturne learn --again is done at once by now',
  );
  expect(await testing.rows('waiting')).toEqual([]);
});

test('worker --once does all that waits, the dream last, says what became of it, and ends', async () => {
  const { code, stdout, stderr, memory } = await workedOnce();
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  const said = stderr.trimEnd().split('\n');
  expect(said.map((line) => line.split(/[ :]/)[0])).toEqual([...sessions.map(() => 'session'), 'dream']);
  const { files, coverage, waiting } = memory;
  expect(waiting).toBe(0);
  expect(coverage).toHaveLength(11);
  expect(Object.keys(files).filter((path) => path.startsWith('logs/'))).toHaveLength(5);
  expect(files['working-agreements.md']).toContain('- Never mock the database in tests.');
  expect(files['MEMORY.md']?.filter((line) => line.startsWith('- '))).toHaveLength(4);
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

test.skipIf(noRedisOfOurs || !isDeep)(
  `the queue deleted under an idle worker and again under waiting work: all is done after a restart, once ${noRedisOfOurs ?? ''}`,
  async () => {
    const model = await testModel(() => says('Nothing worth keeping.'));
    const testing = await testApp({ server: model, settings: ONE_AGENT });
    const redis = await ownRedis();
    onTestFinished(() => redis.close());
    testing.environment.NOCTURNE_QUEUE_URL = redis.url;
    const [first, ...rest] = sessions as [string, ...string[]];
    await testing.nocturne('learn', '--later', first);
    const idle = start(['worker'], testing.environment);
    await until(() => isIdle(testing));
    expect(await redis.flush()).toBeGreaterThan(0);
    await testing.nocturne('learn', '--later', ...rest);
    idle.kill('SIGKILL');
    await idle.ended;

    await redis.flush();
    await workUntilIdle(testing);
    const turns = (await testing.rows('coverage')).map(({ turn }) => turn);
    expect(new Set(turns).size).toBe(11);
    expect(turns).toHaveLength(11);
    // What the killed one had begun is asked again.
    expect([sessions.length, sessions.length + 1]).toContain(model.requests.length);
  },
);

test('enqueue tells soon that Redis is down or silent, keeps the work, and a worker finds it', async () => {
  const testing = await testApp();
  const silent = await silentServer();
  onTestFinished(silent.close);
  const urls = [`redis://127.0.0.1:${await refusedPort()}`, `redis://127.0.0.1:${silent.port}`];
  for (const [index, url] of urls.entries()) {
    const environment = { ...testing.environment, NOCTURNE_QUEUE_URL: url };
    // Without the loading of its code, which a busy machine makes long.
    await testing.nocturne('dream', '--later');
    const took = stopwatch();
    const { code, stderr } = await runHere(['learn', '--later', sessions[index] as string], environment);
    expect(took()).toBeLessThan(10_000);
    expect(code).toBe(0);
    expect(stderr).toContain('Redis was not told');
    expect(await testing.rows('waiting')).toHaveLength(index + 2);
  }
  await testing.nocturne('worker', '--once');
  expect(await isIdle(testing)).toBe(true);
  expect(await testing.rows('coverage')).toHaveLength(4);
});

test.skipIf(noRedisOfOurs || !isDeep)(
  `SIGTERM ends an idle worker whose Redis is away as soon as any other ${noRedisOfOurs ?? ''}`,
  async () => {
    const testing = await testApp({ server: await testModel(() => says('Nothing worth keeping.')) });
    const redis = await ownRedis();
    onTestFinished(() => redis.close());
    testing.environment.NOCTURNE_QUEUE_URL = redis.url;
    await testing.nocturne('learn', '--later', sessions[0] as string);
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
