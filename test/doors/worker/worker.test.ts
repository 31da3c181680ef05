// The worker as a service manager and a person see it: how it ends, how often it tries.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { coverageWhere } from '../../../src/memory/ledger/coverage.ts';
import { inboxItems } from '../../../src/memory/ledger/inbox.ts';
import { type TestApp, testApp, testModel } from '../../support/app.ts';
import { error, says } from '../../support/messages-server.ts';
import { agentsOf } from '../../support/processes.ts';
import { start, stop, until, whileRuns } from '../../support/run.ts';
import { runHere } from '../../support/run-here.ts';
import { sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { workerHere } from '../../support/worker-here.ts';

const onLinux = process.platform === 'linux';

function aSession(): string {
  const session = sessionFile(tempDir());
  session.add('Always use pnpm instead of npm.');
  session.add('I prefer short answers.');
  return session.path;
}

function waiting({ store }: TestApp) {
  return inboxItems(store.ledger).map(({ kind, notBefore, attempts, failure }) => ({
    kind,
    notBefore,
    attempts,
    failure,
  }));
}

/** Works what is due at an instant; that a process does is tested beside. */
function workAt(now: string, { environment }: TestApp) {
  return runHere(['worker', '--once'], { ...environment, NOCTURNE_NOW: now });
}

test('SIGTERM ends a resident worker within its deadline, its agent with it, and hands the work back', async () => {
  const hanging = await testModel((_, call) => (call === 1 ? 'hang' : says('Nothing worth keeping.')));
  const testing = await testApp({ server: hanging });
  await runHere(['enqueue', 'extract', aSession()], testing.environment);
  const worker = start(['worker'], testing.environment);
  await whileRuns(worker, hanging.received(1));
  const stopping = performance.now();
  expect(await stop(worker)).toMatchObject({ code: 0, signal: null, stdout: '', stderr: '' });
  expect(performance.now() - stopping).toBeLessThan(15_000);
  if (onLinux) expect(agentsOf(testing.home)).toEqual([]);
  expect(waiting(testing)).toMatchObject([{ kind: 'extract', attempts: 0, failure: null }]);
  expect(await testing.app.home.workers.all()).toEqual([]);
  expect(await runHere(['worker', '--once'], testing.environment)).toMatchObject({ code: 0 });
  expect(coverageWhere(testing.store.ledger).map(({ disposition }) => disposition)).toEqual(['nothing', 'nothing']);
});

test('SIGTERM ends worker --once at once: 75, its work named as waiting, its agent gone', async () => {
  const hanging = await testModel(['hang']);
  const testing = await testApp({ server: hanging });
  await runHere(['enqueue', 'extract', aSession()], testing.environment);
  const worker = start(['worker', '--once'], testing.environment);
  await whileRuns(worker, hanging.received(1));
  const { code, stderr } = await stop(worker);
  expect(code).toBe(75);
  expect(stderr).toMatch(/^waits until 2026-11-21 02:00:00: extract \S+ \[.*\]\n$/);
  if (onLinux) expect(agentsOf(testing.home)).toEqual([]);
});

test('a model that always refuses is asked in three runs, up to a minute and then four apart; then the range is given up', async () => {
  const model = await testModel(() => ({ text: 'No.', stop: 'refusal' }));
  const testing = await testApp({ server: model });
  const session = aSession();
  await runHere(['enqueue', 'extract', session], testing.environment);
  let now = Date.parse('2026-11-21T02:00:00Z');
  for (const [requests, boundMs] of [
    [1, 60_000],
    [2, 240_000],
  ] as const) {
    const { code, stderr } = await workAt(new Date(now).toISOString(), testing);
    expect(code).toBe(0);
    const [next] = waiting(testing).map(({ notBefore }) => notBefore);
    expect(stderr).toContain(`waits until ${next?.slice(0, 19).replace('T', ' ')}: extract`);
    const waitMs = Date.parse(next as string) - now;
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(boundMs);
    expect(model.requests).toHaveLength(requests);
    expect(coverageWhere(testing.store.ledger)).toEqual([]);
    // A moment before its time nothing happens.
    await workAt(new Date(now + waitMs - 1).toISOString(), testing);
    expect(model.requests).toHaveLength(requests);
    now += waitMs;
  }
  expect(await workAt(new Date(now).toISOString(), testing)).toMatchObject({ code: 0 });
  expect(waiting(testing)).toEqual([]);
  expect(model.requests).toHaveLength(3);
  expect(coverageWhere(testing.store.ledger).map(({ disposition }) => disposition)).toEqual(['gave-up', 'gave-up']);
  expect(await testing.store.list()).toEqual([]);
  // Given up is covered: nothing asks again, not even inline.
  expect(await runHere(['extract', session], testing.environment)).toMatchObject({ code: 0 });
  expect(model.requests).toHaveLength(3);
});

test('a wrong key uses up no attempt: the work waits, named, however often it was tried', async () => {
  let isKeyWrong = true;
  const model = await testModel(() => (isKeyWrong ? error(401, 'invalid x-api-key') : says('Nothing worth keeping.')));
  const testing = await testApp({ server: model });
  await runHere(['enqueue', 'extract', aSession()], testing.environment);
  for (const now of ['02:00', '02:05', '02:10', '02:15']) {
    const { stderr } = await workAt(`2026-11-21T${now}:00Z`, testing);
    expect(stderr).toMatch(/waits until .*invalid x-api-key/);
    expect(waiting(testing)).toMatchObject([{ attempts: 0 }]);
  }
  expect(model.requests).toHaveLength(4);
  isKeyWrong = false;
  await workAt('2026-11-21T02:20:00Z', testing);
  expect(waiting(testing)).toEqual([]);
  expect(coverageWhere(testing.store.ledger).map(({ disposition }) => disposition)).toEqual(['nothing', 'nothing']);
});

test('what waits for a key is worked as soon as there is one, another, or another model is asked', async () => {
  let isGood = false;
  const model = await testModel(() => (isGood ? says('Nothing worth keeping.') : error(401, 'invalid x-api-key')));
  const testing = await testApp({ server: model, settings: { breakerAfter: 2, concurrency: 1 } });
  const once = (key: string | undefined, ...args: string[]) =>
    runHere(['worker', '--once', ...args], { ...testing.environment, ANTHROPIC_API_KEY: key });
  const keys = () => model.headers.map((headers) => headers.authorization);
  for (const _ of [1, 2, 3]) await runHere(['enqueue', 'extract', aSession()], testing.environment);
  // Two are tried, and the breaker holds the third; with the same key none is tried again.
  for (const key of [undefined, undefined, 'bad', 'bad']) {
    const { stderr } = await once(key);
    expect(stderr.match(/^waits until/gm)).toHaveLength(3);
  }
  expect(keys()).toEqual(['Bearer bad', 'Bearer bad']);
  isGood = true;
  writeFileSync(join(testing.home, 'key'), 'kept\n', { mode: 0o600 });
  await once(undefined);
  expect(waiting(testing)).toEqual([]);
  expect(keys().slice(2)).toEqual(['Bearer kept']);

  isGood = false;
  const other = sessionFile(tempDir(), { id: '99999999-2222-4333-8444-555555555555' });
  other.add('Always use pnpm instead of npm.');
  await runHere(['enqueue', 'extract', other.path], testing.environment);
  await once('bad');
  expect(waiting(testing)).toHaveLength(1);
  await once(undefined, '--model', 'offline');
  expect(waiting(testing)).toEqual([]);
});

test('a supervisor can ask whether a worker is alive: one that runs is, and none is once it ended or was suspended', async () => {
  const testing = await testApp();
  expect(await runHere(['worker', '--check'], testing.environment)).toMatchObject({ code: 1 });
  const worker = await workerHere(testing.environment);
  await until(async () => (await testing.app.home.workers.all()).length === 1);
  const { code, stderr } = await runHere(['worker', '--check'], testing.environment);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`:${process.pid}:`) });
  const later = { ...testing.environment, NOCTURNE_NOW: '2026-11-21T02:02:00Z' };
  expect(await runHere(['worker', '--check'], later)).toMatchObject({ code: 1 });
  await worker.stop();
  expect(await runHere(['worker', '--check'], testing.environment)).toMatchObject({ code: 1 });
});

test('two resident workers on one home work what comes once', async () => {
  const testing = await testApp();
  const workers = [await workerHere(testing.environment), await workerHere(testing.environment)];
  for (const worked of [1, 2]) {
    await runHere(['enqueue', 'extract', aSession()], testing.environment);
    await until(() => workers.flatMap(({ said }) => said).length >= worked && waiting(testing).length === 0);
  }
  const said = workers.flatMap((worker) => worker.said);
  expect(said.filter((line) => line.endsWith(': recorded'))).toHaveLength(1);
  expect(coverageWhere(testing.store.ledger)).toHaveLength(2);
  for (const worker of workers) await worker.stop();
});
