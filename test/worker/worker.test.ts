// The worker as a service manager and a person see it: how it ends, how often it tries.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { error, says } from '../support/messages-server.ts';
import { agentsOf } from '../support/processes.ts';
import { start, stop, until, whileRuns } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { aSession, RULE } from '../support/session-file.ts';
import { ON_POSTGRES } from '../support/temp.ts';
import { workerHere } from '../support/worker-here.ts';

const onLinux = process.platform === 'linux';

const TWO = [RULE, 'I prefer short answers.'];

async function waiting({ rows }: TestApp) {
  const found = await rows('waiting');
  return found.map(({ kind, notBefore, attempts, failure }) => ({ kind, notBefore, attempts, failure }));
}

test('SIGTERM ends a resident worker within its deadline, its agent with it, and hands the work back', async () => {
  const hanging = await testModel((_, call) => (call === 1 ? 'hang' : says('Nothing worth keeping.')));
  const testing = await testApp({ server: hanging });
  await testing.nocturne('learn', '--later', aSession(TWO).path);
  const worker = start(['worker'], testing.environment);
  await whileRuns(worker, hanging.received(1));
  const stopping = performance.now();
  expect(await stop(worker)).toMatchObject({ code: 0, signal: null, stdout: '', stderr: '' });
  expect(performance.now() - stopping).toBeLessThan(15_000);
  if (onLinux) expect(agentsOf(testing.home)).toEqual([]);
  expect(await waiting(testing)).toMatchObject([{ kind: 'extract', attempts: 0, failure: null }]);
  expect(await testing.app.home.workers.all()).toEqual([]);
  expect(await testing.nocturne('worker', '--once')).toMatchObject({ code: 0 });
  expect(await testing.rows('fates')).toEqual(['nothing', 'nothing']);
});

test('SIGTERM ends worker --once at once: 75, its work named as waiting, its agent gone', async () => {
  const hanging = await testModel(['hang']);
  const testing = await testApp({ server: hanging });
  await testing.nocturne('learn', '--later', aSession(TWO).path);
  const worker = start(['worker', '--once'], testing.environment);
  await whileRuns(worker, hanging.received(1));
  const { code, stderr } = await stop(worker);
  expect(code).toBe(75);
  expect(stderr).toMatch(/^1 job for later\. .*\n$/);
  if (onLinux) expect(agentsOf(testing.home)).toEqual([]);
});

// In a database that machines share it is not known whose key it waits for.
test.skipIf(ON_POSTGRES)(
  'what waits for a key is worked as soon as there is one, another, or another model is asked',
  async () => {
    let isGood = false;
    const model = await testModel(() => (isGood ? says('Nothing worth keeping.') : error(401, 'invalid x-api-key')));
    const testing = await testApp({ server: model, settings: { breakerAfter: 2, concurrency: 1 } });
    let second = 0;
    const once = (key: string | undefined, ...args: string[]) => {
      const now = new Date(Date.parse('2026-11-21T02:00:00Z') + ++second * 1_000).toISOString();
      return runHere(['worker', '--once', ...args], {
        ...testing.environment,
        NOCTURNE_NOW: now,
        ANTHROPIC_API_KEY: key,
      });
    };
    const keys = () => model.headers.map((headers) => headers.authorization);
    for (const n of [1, 2, 3]) {
      const id = `${n}1111111-2222-4333-8444-555555555555`;
      await testing.nocturne('learn', '--later', aSession(TWO, { id }).path);
    }
    // Two are tried, and the breaker holds the third; with the same key none is tried again.
    for (const key of [undefined, undefined, 'bad', 'bad']) {
      const { stderr } = await once(key);
      expect(stderr).toMatch(/^3 jobs for later/m);
    }
    expect(keys()).toEqual(['Bearer bad', 'Bearer bad']);
    isGood = true;
    writeFileSync(join(testing.home, 'key'), 'kept\n', { mode: 0o600 });
    await once(undefined);
    expect(await waiting(testing)).toEqual([]);
    expect(keys().slice(2)).toEqual(Array(3).fill('Bearer kept'));

    isGood = false;
    const other = aSession(['Always use pnpm instead of npm.'], { id: '99999999-2222-4333-8444-555555555555' });
    await testing.nocturne('learn', '--later', other.path);
    await once('bad');
    expect(await waiting(testing)).toHaveLength(1);
    await once(undefined, '--model', 'offline');
    expect(await waiting(testing)).toEqual([]);
  },
);

test('a worker that stays reads config.json again when it was changed, and does what waited for that', async () => {
  const model = await testModel(() => says('Nothing worth keeping.'));
  const testing = await testApp({ server: model });
  const set = (settings: object) => writeFileSync(join(testing.home, 'config.json'), JSON.stringify(settings));
  set({ excludedPath: ['~/orchard'] });
  await testing.nocturne('learn', '--later', aSession(TWO).path);
  const worker = await workerHere({ ...testing.environment, NOCTURNE_MODEL: undefined });
  await until(async () => (await waiting(testing))[0]?.failure?.includes('excludedPath is not a setting') ?? false);
  expect(model.requests).toEqual([]);
  set({ model: 'another', dreamCron: 'never' });
  await until(() => worker.said.some((line) => line.includes('No nightly dream can be planned')));
  set({ model: 'the-right-one' });
  await until(async () => (await waiting(testing)).length === 0);
  expect(model.requests.map((request) => request.model)).toEqual(['the-right-one']);
  await worker.stop();
});

test('a supervisor can ask whether a worker is alive: one that runs is, and none is once it ended or was suspended', async () => {
  const testing = await testApp();
  expect(await testing.nocturne('worker', '--check')).toMatchObject({ code: 1 });
  const worker = await workerHere(testing.environment);
  await until(async () => (await testing.app.home.workers.all()).length === 1);
  const { code, stderr } = await testing.nocturne('worker', '--check');
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`:${process.pid}:`) });
  const later = { ...testing.environment, NOCTURNE_NOW: '2026-11-21T02:02:00Z' };
  expect(await runHere(['worker', '--check'], later)).toMatchObject({ code: 1 });
  await worker.stop();
  expect(await testing.nocturne('worker', '--check')).toMatchObject({ code: 1 });
});

test('what waits is compiled by no optimizing compiler, and what works is', async () => {
  const testing = await testApp();
  const worker = start(['worker'], testing.environment, { nodeArgs: ['--trace-opt'] });
  await until(async () => (await testing.app.home.workers.all()).length === 1);
  expect(worker.stdout()).not.toContain('completed optimizing');
  await testing.nocturne('learn', '--later', aSession(Array.from({ length: 40 }, () => RULE)).path);
  const isOptimized = until(() => worker.stdout().includes('completed optimizing'));
  await whileRuns(worker, isOptimized);
  await stop(worker);
});

test('two resident workers on one home work what comes once', async () => {
  const testing = await testApp();
  const workers = [await workerHere(testing.environment), await workerHere(testing.environment)];
  for (const worked of [1, 2]) {
    await testing.nocturne('learn', '--later', aSession(TWO).path);
    await until(
      async () => workers.flatMap(({ said }) => said).length >= worked && (await waiting(testing)).length === 0,
    );
  }
  const said = workers.flatMap((worker) => worker.said);
  expect(said.filter((line) => line.endsWith(': recorded'))).toHaveLength(1);
  expect(await testing.rows('coverage')).toHaveLength(2);
  for (const worker of workers) await worker.stop();
});
