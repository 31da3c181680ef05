// A worker whose queue is taken away under it while it runs: it goes on by itself, or ends with 75 for its supervisor;
// in either case everything is done, once.

import { expect, onTestFinished, test, vi } from 'vitest';
import { coverageWhere } from '../../src/memory/ledger/coverage.ts';
import { missing } from '../queue/backends.ts';
import { ownPostgres } from '../queue/own-postgres.ts';
import { noOwnRedis, ownRedis } from '../queue/own-redis.ts';
import { lineTo } from '../queue/servers.ts';
import { type TestApp, type TestAppOptions, testApp, testModel } from '../support/app.ts';
import { waysTaken } from '../support/depth.ts';
import { type MessagesServer, says } from '../support/messages-server.ts';
import { isIdle, sixSessions } from '../support/nights.ts';
import { start, stop, until } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { type WorkerHere, workerHere } from '../support/worker-here.ts';

vi.setConfig({ testTimeout: 120_000 });

const noPostgres = await missing('postgres');
const sessions = sixSessions();
const [first, ...others] = sessions as [string, ...string[]];

/** Each agent of a worker's process is one too: where nothing is done side by side, one does. */
const ONE_AGENT = { concurrency: 1 };

/** A model that finds nothing. */
function indifferent(): Promise<MessagesServer> {
  return testModel(() => says('Nothing worth keeping.'));
}

async function onPostgres(options: TestAppOptions) {
  const testing = await testApp(options);
  const postgres = await ownPostgres();
  onTestFinished(() => postgres.close());
  // The queue is rung by nobody but the worker itself.
  const unrung = { ...testing.environment };
  testing.environment.NOCTURNE_QUEUE_URL = postgres.url;
  return { testing, postgres, unrung };
}

async function expectAllOnce({ store }: TestApp, model: MessagesServer): Promise<void> {
  const turns = coverageWhere(store.ledger).map(({ turn }) => turn);
  expect(new Set(turns).size).toBe(11);
  expect(turns).toHaveLength(11);
  expect(model.requests).toHaveLength(sessions.length);
}

async function expectEndsInOrder(worker: WorkerHere): Promise<void> {
  expect(await worker.stop()).toBe('ended');
}

test.skipIf(noPostgres)(
  `a worker whose connections Postgres ends, while it waits and while it works, goes on by itself ${noPostgres ?? ''}`,
  async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const model = await testModel(async (_, call) => {
      if (call > 1) await held;
      return says('Nothing worth keeping.');
    });
    const { testing, postgres, unrung } = await onPostgres({ server: model });
    await runHere(['enqueue', 'extract', first], unrung);
    const worker = await workerHere(testing.environment);
    await until(() => isIdle(testing));
    expect(await postgres.terminate()).toBeGreaterThan(0);
    await runHere(['enqueue', 'extract', ...others.slice(0, 3)], testing.environment);
    await model.received(3);
    // As while a server restarts: nobody is let in for a while.
    await postgres.admit(false);
    expect(await postgres.terminate()).toBeGreaterThan(0);
    const turns = coverageWhere(testing.store.ledger).length;
    release();
    await until(() => coverageWhere(testing.store.ledger).length > turns);
    const { code, stderr } = await runHere(['enqueue', 'extract', ...others.slice(3)], testing.environment);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('The queue was not notified') });
    await postgres.admit(true);
    await until(() => isIdle(testing), 60_000);
    await expectAllOnce(testing, model);
    await expectEndsInOrder(worker);
  },
);

/** Of what befalls the tables of a queue the small size takes one. */
const befalls = waysTaken(['dropped', 'emptied']);

test.skipIf(noPostgres || !befalls.includes('dropped'))(
  `a worker makes the queue's schema anew that is dropped under it, and goes on ${noPostgres ?? ''}`,
  async () => {
    const model = await indifferent();
    const { testing, postgres, unrung } = await onPostgres({ server: model, settings: ONE_AGENT });
    await runHere(['enqueue', 'extract', first], unrung);
    const worker = await workerHere(testing.environment);
    await until(() => isIdle(testing), 60_000);
    await postgres.dropSchema();
    await runHere(['enqueue', 'extract', ...others], unrung);
    await until(() => isIdle(testing), 60_000);
    await expectAllOnce(testing, model);
    await expectEndsInOrder(worker);
  },
);

test.skipIf(noPostgres || !befalls.includes('emptied'))(
  `tables of the queue that were emptied, under a worker and before one starts, keep nobody from the work ${noPostgres ?? ''}`,
  async () => {
    const model = await indifferent();
    const { testing, postgres, unrung } = await onPostgres({ server: model, settings: ONE_AGENT });
    await runHere(['enqueue', 'extract', first], unrung);
    const worker = await workerHere(testing.environment);
    await until(() => isIdle(testing), 60_000);
    await postgres.truncateAll();
    await runHere(['enqueue', 'extract', ...others.slice(0, 2)], unrung);
    await until(() => isIdle(testing), 60_000);
    await expectEndsInOrder(worker);
    await runHere(['enqueue', 'extract', ...others.slice(2)], unrung);
    await postgres.truncateAll();
    const next = await workerHere(testing.environment);
    await until(() => isIdle(testing), 60_000);
    await expectAllOnce(testing, model);
    await expectEndsInOrder(next);
  },
);

// On Redis: queues.test.ts.
test.skipIf(noPostgres || !waysTaken(['redis', 'postgres']).includes('postgres'))(
  `a worker whose connections to Postgres are silent for ever ends with 75; the next does the work ${noPostgres ?? ''}`,
  async () => {
    const model = await indifferent();
    const { testing, postgres, unrung } = await onPostgres({
      server: model,
      settings: { deafMs: 2_000, ...ONE_AGENT },
    });
    const url = new URL(postgres.url);
    const line = await lineTo({ host: url.hostname, port: Number(url.port || 5432) });
    onTestFinished(() => line.cut());
    url.port = String(line.port);
    const environment = { ...testing.environment, NOCTURNE_QUEUE_URL: url.href };
    await runHere(['enqueue', 'extract', first], unrung);
    const worker = start(['worker'], environment);
    await until(() => isIdle(testing), 60_000);
    line.deafen();
    await runHere(['enqueue', 'extract', ...others], unrung);
    expect(await worker.ended).toMatchObject({
      code: 75,
      stderr: expect.stringContaining('stalled: the queue has work'),
    });
    const next = await workerHere(environment);
    await until(() => isIdle(testing), 60_000);
    await expectAllOnce(testing, model);
    await expectEndsInOrder(next);
  },
);

const noRedisOfOurs = noOwnRedis();

test.skipIf(noRedisOfOurs)(
  `SIGTERM ends an idle worker whose Redis is away as soon as any other ${noRedisOfOurs ?? ''}`,
  async () => {
    const testing = await testApp({ server: await indifferent() });
    const redis = await ownRedis();
    onTestFinished(() => redis.close());
    testing.environment.NOCTURNE_QUEUE_URL = redis.url;
    await runHere(['enqueue', 'extract', first], testing.environment);
    const worker = start(['worker'], testing.environment);
    await until(() => isIdle(testing));
    await redis.kill();
    const from = performance.now();
    expect(await stop(worker)).toMatchObject({ code: 0, signal: null });
    // A worker that has work under way is given ten seconds for it.
    expect(performance.now() - from).toBeLessThan(10_000);
  },
);
