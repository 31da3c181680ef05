// Whoever asks, once: the same work begun in several processes, or gone on with after a sleep, is committed once.

import { expect, onTestFinished, test } from 'vitest';
import type { ExtractReport } from '../../jobs/extract.ts';
import { noOwnRedis, ownRedis } from '../queue/own-redis.ts';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { isDeep, waysTaken } from '../support/depth.ts';
import { calls, type MessagesRequest } from '../support/messages-server.ts';
import { agentsOf } from '../support/processes.ts';
import { run, runJson, start, stop, until, whileRuns } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { aSession, RULE } from '../support/session-file.ts';
import { workerHere } from '../support/worker-here.ts';

const deep = test.runIf(isDeep);

/** Queues of a test's own: `lockIsOver` tells whether the lock of a wake-up that is worked ran out, by the server's clock. */
const queues = {
  redis: {
    reason: noOwnRedis(),
    make: async () => {
      const redis = await ownRedis();
      onTestFinished(() => redis.close());
      const lockIsOver = () => redis.until(async (client) => (await client.keys('*:lock')).length === 0);
      return { url: redis.url, lockIsOver };
    },
  },
  'no queue': {
    reason: null,
    make: async (testing: TestApp) => ({
      url: '',
      lockIsOver: () =>
        until(async () => Date.now() > Date.parse((await testing.rows('leases'))[0]?.until ?? ''), 30_000),
    }),
  },
};
const onLinux = process.platform === 'linux';

/** The model records what was said, and is asked no more. */
function records(request: MessagesRequest) {
  const message = /\[(\w+) human/.exec(JSON.stringify(request.messages[0]))?.[1];
  const evidence = [{ message, quote: RULE }];
  const entry = { type: 'feedback', strength: 'stated', text: 'Kim wants pnpm, not npm.', evidence };
  return calls('record_entries', { entries: [entry] });
}

const commitsOf = async ({ rows }: TestApp) => new Set((await rows('versions')).map(({ commit }) => commit)).size;

async function expectOneCommit({ store, dir, rows }: TestApp, turns: number): Promise<void> {
  const covered = await rows('coverage');
  expect(covered.map(({ disposition }) => disposition)).toEqual(Array.from({ length: turns }, () => 'recorded'));
  const entries = await rows('entries');
  expect(entries).toHaveLength(turns);
  const logs = (await store.list()).filter((path) => path.startsWith('logs/'));
  const lines = (await Promise.all(logs.map((path) => store.read(path)))).join('\n');
  for (const { id } of entries) expect(lines.split(`${id} `)).toHaveLength(2);
  expect([dir, null]).toContain(store.dir);
}

test('a session that two commands and two workers extract at once is committed once', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const model = await testModel(async (request, call) => {
    if (call === 1) await held;
    return records(request);
  });
  const testing = await testApp({ server: model });
  const session = aSession();
  await testing.nocturne('learn', '--later', session.path);
  const first = runJson<ExtractReport>(['learn', session.path], testing.environment);
  await model.received(1);
  const others = [
    ['learn', session.path],
    ['worker', '--once'],
    ['worker', '--once'],
  ];
  const ended = await Promise.all(others.map((args) => run(args, testing.environment)));
  expect(ended.map(({ code }) => code)).toEqual([75, 0, 0]);
  release();
  expect(await first).toMatchObject({ code: 0, values: [{ outcome: 'recorded' }] });
  expect(await testing.nocturne('worker', '--once')).toMatchObject({ code: 0 });
  expect(await testing.rows('waiting')).toEqual([]);
  expect(model.requests).toHaveLength(1);
  await expectOneCommit(testing, 1);
});

deep('sessions of one directory are worked side by side, as many as the concurrency', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const model = await testModel(async (request) => {
    await held;
    return records(request);
  });
  const testing = await testApp({ server: model, settings: { concurrency: 3 } });
  const sessions = [1, 2, 3, 4, 5].map((n) => aSession([RULE], { id: `${n}1110000-2222-4333-8444-555555555555` }));
  await testing.nocturne('learn', '--later', ...sessions.map(({ path }) => path));
  const worker = run(['worker', '--once'], testing.environment);
  await model.received(3);
  if (onLinux) await until(() => agentsOf(testing.home).length === 3);
  expect(model.requests).toHaveLength(3);
  release();
  expect(await worker).toMatchObject({ code: 0 });
  await expectOneCommit(testing, 5);
});

/** A worker's process whose first request waits until it is released. */
async function atWork(
  make: (testing: TestApp) => Promise<{ url: string; lockIsOver(): Promise<unknown> }>,
  settings: object,
) {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const model = await testModel(async (request, call) => {
    if (call === 1) await held;
    return records(request);
  });
  const testing = await testApp({ server: model, settings });
  const { url, lockIsOver } = await make(testing);
  // Leases run out by the clock that goes on.
  const environment = { ...testing.environment, NOCTURNE_NOW: undefined, NOCTURNE_QUEUE_URL: url };
  await runHere(['learn', '--later', aSession().path], environment);
  const worker = start(['worker'], environment);
  await whileRuns(worker, model.received(1));
  return { testing, environment, worker, release, lockIsOver };
}

const kinds = Object.keys(queues);
for (const [kind, { reason, make }] of Object.entries(queues)) {
  test.skipIf(reason || !onLinux || !waysTaken(kinds).includes(kind))(
    `on ${kind} a worker that slept longer than its lease and its lock changes nothing more: the one that took over did it ${reason ?? ''}`,
    async () => {
      const { testing, environment, release, worker: sleeper } = await atWork(make, { leaseMs: 2_000, concurrency: 1 });
      const [agent] = agentsOf(testing.home);
      sleeper.kill('SIGSTOP');
      process.kill(agent as number, 'SIGSTOP');
      const other = await workerHere(environment);
      await until(async () => (await testing.rows('waiting')).length === 0, 60_000);
      await expectOneCommit(testing, 1);
      const commits = await commitsOf(testing);

      release();
      // The worker ends it as soon as it sees that the work is no longer its own.
      process.kill(agent as number, 'SIGCONT');
      sleeper.kill('SIGCONT');
      const late = aSession([RULE], { id: '21110000-2222-4333-8444-555555555555' });
      await runHere(['learn', '--later', late.path], environment);
      await until(async () => (await testing.rows('waiting')).length === 0, 60_000);
      expect(await stop(sleeper)).toMatchObject({ code: 0 });
      await other.stop();
      expect(agentsOf(testing.home)).toEqual([]);
      await expectOneCommit(testing, 2);
      expect(await commitsOf(testing)).toBe(commits + 1);
    },
  );

  test.skipIf(reason || !onLinux || !waysTaken(kinds, 1).includes(kind))(
    `on ${kind} the only worker, after a sleep longer than its lease and its lock, does its work once ${reason ?? ''}`,
    async () => {
      const { testing, release, worker, lockIsOver } = await atWork(make, { leaseMs: 1_000, concurrency: 2 });
      worker.kill('SIGSTOP');
      release();
      await lockIsOver();
      worker.kill('SIGCONT');
      await until(async () => (await testing.rows('waiting')).length === 0, 60_000);
      expect(await stop(worker)).toMatchObject({ code: 0 });
      await expectOneCommit(testing, 1);
    },
  );
}

test('the second signal ends a worker at once, its agent with it, and the work waits', async () => {
  const hanging = await testModel(() => 'hang');
  const testing = await testApp({ server: hanging });
  await testing.nocturne('learn', '--later', aSession().path);
  const worker = start(['worker'], testing.environment);
  await whileRuns(worker, hanging.received(1));
  worker.kill('SIGTERM');
  const first = performance.now();
  // Two signals that wait together are one: of a process that gets no CPU meanwhile it takes more.
  const again = setInterval(() => worker.kill('SIGTERM'), 200);
  const ended = await worker.ended.finally(() => clearInterval(again));
  expect(ended).toMatchObject({ code: 1, signal: null });
  expect(performance.now() - first).toBeLessThan(9_000);
  if (onLinux) await until(() => agentsOf(testing.home).length === 0);
  expect(await testing.rows('waiting')).toMatchObject([{ kind: 'extract', attempts: 0, failure: null }]);
});
