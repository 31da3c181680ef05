// How an agent's program that stands as the model is ended, with all that it started, whatever ends it: here and in real
// processes of workers, of which several may share a home.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type TestAppOptions, testApp } from '../support/app.ts';
import { isDeep, sized, waysTaken } from '../support/depth.ts';
import { announceSession } from '../support/doors.ts';
import { claudeSays, type FakeProgram, fakeProgram, type Order } from '../support/fake-program.ts';
import { areGone } from '../support/processes.ts';
import { run, start, stop, until, whileRuns } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { aSession, RULE } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const deep = test.runIf(isDeep);

vi.setConfig({ testTimeout: 60_000 });

const NOTHING = claudeSays({ entries: [] });

const aTranscript = (id = '11111111') => aSession([RULE], { id: `${id}-2222-4333-8444-555555555555` }).path;

async function withProgram(order: Order, options: TestAppOptions = {}) {
  const fake = fakeProgram('claude');
  fake.answers(order);
  const variables = { PATH: `${fake.dir}:${process.env.PATH}`, NOCTURNE_MODEL: 'claude-code', ...options.variables };
  const testing = await testApp({ ...options, variables });
  return { fake, ...testing };
}

const runs = (fake: FakeProgram) => until(() => fake.starts().length > 0);
const pidsOf = (fake: FakeProgram) => fake.starts().flatMap(({ pids }) => pids);
/** Killed they are already; the system may take a moment. */
const areEnded = (fake: FakeProgram) => until(() => areGone(pidsOf(fake)), 5_000);
const leftIn = (home: string) =>
  readdirSync(join(home, 'programs'))
    .filter((name) => name !== 'turn.db')
    .sort();

test.each(waysTaken([false, true]))(
  'one that waits, for an answer to a question say, is ended at the time of a request (forked: %s)',
  async (isForked) => {
    const { fake, app, home } = await withProgram({ hangs: true }, { isForked, settings: { requestMs: 3_000 } });
    const report = await app.extract({ transcript: aTranscript(), ended: true });
    expect(report).toMatchObject({ outcome: 'failed', error: { code: 'timeout' } });
    await areEnded(fake);
    expect(pidsOf(fake)).toHaveLength(3);
    expect(leftIn(home)).toEqual([]);
    // What became of the request is not known.
    const { reservedTokens } = await app.home.days.spendOf('2026-11-21');
    expect(reservedTokens).toBeGreaterThan(8_000);
  },
);

test.each(waysTaken([false, true], 1))(
  'it is ended with the run that asks, before that is told to be over (forked: %s)',
  async (isForked) => {
    const { fake, app, home } = await withProgram({ hangs: true }, { isForked });
    const ending = new AbortController();
    const working = app.extract({ transcript: aTranscript(), ended: true }, { signal: ending.signal });
    await runs(fake);
    const since = performance.now();
    ending.abort(new Error('enough'));
    await expect(working).rejects.toThrow('enough');
    expect(performance.now() - since).toBeLessThan(10_000);
    await areEnded(fake);
    expect(leftIn(home)).toEqual([]);
  },
);

test('what waits for the turn of another is ended, too, and starts no program', async () => {
  const first = await withProgram({ hangs: true });
  const { fake, app } = first;
  const [one, two] = [new AbortController(), new AbortController()];
  const working = app.extract({ transcript: aTranscript(), ended: true }, { signal: one.signal });
  await runs(fake);
  const waiting = app.extract({ transcript: aTranscript('22222222'), ended: true }, { signal: two.signal });
  two.abort(new Error('not this one'));
  await expect(waiting).rejects.toThrow('not this one');
  one.abort(new Error('enough'));
  await expect(working).rejects.toThrow('enough');
  expect(fake.starts()).toHaveLength(1);
});

deep('a pause ends it soon; the work waits as paused, and goes on when the pause is over', async () => {
  // It is the session's model, not that of the worker.
  const variables = { NOCTURNE_MODEL: 'offline' };
  const { fake, environment, ...testing } = await withProgram({ hangs: true }, { variables });
  const own = { NOCTURNE_MODEL: 'claude-code' };
  await announceSession(testing.app, { transcript: aTranscript(), ended: true, isDueNow: true, environment: own });
  const worker = start(['worker', '--once'], environment);
  await whileRuns(worker, runs(fake));
  await runHere(['pause'], environment);
  const since = performance.now();
  await until(() => areGone(pidsOf(fake)));
  expect(performance.now() - since).toBeLessThan(10_000);
  await worker.ended;
  expect(await testing.rows('waiting')).toMatchObject([{ attempts: 0, failure: expect.stringContaining('paused') }]);
  fake.answers(NOTHING);
  await runHere(['pause', '--off'], environment);
  await until(async () => (await testing.rows('waiting')).length === 0);
});

test.each(waysTaken(['SIGTERM', 'SIGKILL'] as const))(
  'a worker’s %s ends it; the next worker begins in a clean directory',
  async (signal) => {
    const { fake, environment, home, ...testing } = await withProgram({ hangs: true });
    await runHere(['learn', '--later', aTranscript()], environment);
    const worker = start(['worker', '--once'], environment);
    await whileRuns(worker, runs(fake));
    expect(areGone(pidsOf(fake))).toBe(false);
    if (signal === 'SIGTERM') await stop(worker);
    else worker.kill('SIGKILL');
    await worker.ended;
    await until(() => areGone(pidsOf(fake)), 15_000);
    fake.answers(NOTHING);
    // The lease of a worker that was killed is over by then.
    await runHere(['worker', '--once'], { ...environment, NOCTURNE_NOW: '2026-11-21T03:00:00Z' });
    expect(await testing.rows('waiting')).toEqual([]);
    expect(fake.starts().at(-1)?.names).toEqual([]);
    expect(leftIn(home)).toEqual([]);
  },
);

test('where the process that leads its group is killed, it is ended, and the work is tried again', async () => {
  const { fake, app } = await withProgram({ hangs: true });
  const working = app.extract({ transcript: aTranscript(), ended: true });
  await runs(fake);
  const [leader = 0] = pidsOf(fake);
  process.kill(leader, 'SIGKILL');
  const since = performance.now();
  const said = expect.stringContaining('it was killed');
  expect(await working).toMatchObject({ outcome: 'failed', error: { code: 'server-error', message: said } });
  expect(performance.now() - since).toBeLessThan(10_000);
  await areEnded(fake);
});

deep('a child of it that left its group, and holds its pipes, keeps nobody waiting', async () => {
  const { fake, app } = await withProgram({ ...NOTHING, leavesMs: 60_000 });
  const since = performance.now();
  expect(await app.extract({ transcript: aTranscript(), ended: true })).toMatchObject({
    outcome: 'nothing-worth-keeping',
  });
  expect(performance.now() - since).toBeLessThan(30_000);
  process.kill(pidsOf(fake).at(-1) ?? 0, 'SIGKILL');
});

test.skipIf(sized({ quick: true, deep: false }))(
  'of all workers of a home, in several directories, one asks a program at a time',
  async () => {
    const { fake, environment, home } = await withProgram(
      { ...NOTHING, takesMs: 150 },
      { settings: { concurrency: 3 } },
    );
    const others = { ...environment, NOCTURNE_MEMORY_DIR: tempDir() };
    for (const each of [environment, others])
      for (const id of ['11111111', '22222222']) await runHere(['learn', '--later', aTranscript(id)], each);
    const workers = await Promise.all([run(['worker', '--once'], environment), run(['worker', '--once'], others)]);
    expect(workers.map(({ code }) => code)).toEqual([0, 0]);
    expect(fake.starts()).toHaveLength(4);
    expect(fake.hasOverlapped()).toBe(false);
    expect(leftIn(home)).toEqual([]);
  },
);
