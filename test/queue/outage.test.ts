// What a queue does when what it hangs on is away, silent or unfit.

import { afterAll, describe, expect, onTestFinished, type TestContext, test } from 'vitest';
import { type AppError, isAppError } from '../../src/base/errors.ts';
import { openWakeQueue } from '../../src/queue/queue.ts';
import { writeSpoolItem } from '../../src/queue/spool.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { enqueueExtract, wakeQueueOptions } from '../support/doors.ts';
import { until } from '../support/run.ts';
import { aSession } from '../support/session-file.ts';
import { HOUSE } from '../support/temp.ts';
import { workerHere } from '../support/worker-here.ts';
import { eventually, forget, missing, REDIS, recorder, stopwatch, workshop } from './backends.ts';
import { lineTo, redisThatSays, refusedPort, silentServer } from './servers.ts';

const wakeUp = { kind: 'extract', store: '/memory', key: 's1' } as const;

/** The AppError with which `work` rejects, and how long that took. */
async function failure(work: Promise<unknown>): Promise<{ error: AppError; tookMs: number }> {
  const took = stopwatch();
  const error = await work.then(
    () => null,
    (thrown) => thrown,
  );
  const tookMs = took();
  if (!isAppError(error)) throw new Error(`not an AppError: ${error}`);
  return { error, tookMs };
}

// The next house is asked the same beside its own queue (next/queue/wake.test.ts).
describe.skipIf(HOUSE === 'next')('opening', { concurrent: true }, () => {
  test.each(['amqp://user:hunter2@host', 'hunter2 is no URL'])('refuses the URL %s without showing it', async (url) => {
    const { error } = await failure(openWakeQueue({ url }));
    expect(error.code).toBe('bad-input');
    expect(error.remedy).toContain('redis:');
    expect(error.message).not.toContain('hunter2');
  });

  test.each(['redis://:hunter%2@host', 'rediss://me:hunter%@host/q'])('says of %s what is wrong in it', async (url) => {
    const { error } = await failure(openWakeQueue({ url }));
    expect(error.code).toBe('bad-input');
    expect(error.remedy).toContain('%25');
    expect(error.message).not.toContain('hunter');
  });

  test.each(['postgres://me:hunter2@host/q', 'postgresql://host'])('says of %s what to do instead', async (url) => {
    const { error } = await failure(openWakeQueue({ url }));
    expect(error).toMatchObject({ code: 'bad-input', remedy: expect.stringMatching(/Leave it out.*databaseUrl/) });
    expect(error.message).not.toContain('hunter2');
  });

  test('refuses a namespace that is not a plain name', async () => {
    const { error } = await failure(openWakeQueue({ url: REDIS, namespace: 'a:b' }));
    expect(error.code).toBe('bad-input');
  });

  test('says within two seconds that Redis refuses, without its password', async () => {
    const port = await refusedPort();
    const url = `redis://user:hunter2@127.0.0.1:${port}/0?password=hunter2`;
    const { error, tookMs } = await failure(openWakeQueue({ url }));
    expect(error.code).toBe('queue-unavailable');
    expect(error.message).toContain(`redis://user@127.0.0.1:${port}/0`);
    expect(error.message).toContain('ECONNREFUSED');
    expect(error.message).not.toContain('hunter2');
    expect(tookMs).toBeLessThan(2_000);
  });

  test('says within two seconds that Redis does not answer', async () => {
    const silent = await silentServer();
    const { error, tookMs } = await failure(openWakeQueue({ url: `redis://127.0.0.1:${silent.port}` }));
    await silent.close();
    expect(error.code).toBe('queue-unavailable');
    expect(tookMs).toBeLessThan(2_000);
  });

  test.each([
    ['is too old', 'redis_version:6.0.16\r\nmaxmemory_policy:noeviction\r\n', 'Redis 6.0.16'],
    ['may evict jobs', 'redis_version:7.2.4\r\nmaxmemory_policy:allkeys-lru\r\n', 'allkeys-lru'],
  ])('refuses a Redis that %s, with a remedy', async (_what, info, found) => {
    const redis = await redisThatSays(info);
    const { error } = await failure(openWakeQueue({ url: `redis://127.0.0.1:${redis.port}` }));
    await redis.close();
    expect(error.code).toBe('queue-unavailable');
    expect(error.message).toContain(found);
    expect(error.remedy).toContain('Redis');
  });
});

const reason = await missing();

test.skipIf(reason || HOUSE === 'next')(
  `a process that gets no CPU for longer does not take Redis for silent ${reason ?? ''}`,
  async () => {
    const stopped = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_800);
    const opening = openWakeQueue({ url: REDIS });
    stopped();
    const queue = await opening;
    onTestFinished(() => queue.close());
    const counting = queue.counts();
    stopped();
    expect(await counting).toMatchObject({ waiting: expect.any(Number) });
  },
);

describe.skipIf(reason || HOUSE === 'next')(
  `a queue that goes away${reason ? ` (${reason})` : ''}`,
  { concurrent: true },
  () => {
    const shop = workshop();
    afterAll(() => shop.closeAll());

    async function openOnLine() {
      const url = new URL(REDIS);
      const line = await lineTo({ host: url.hostname, port: Number(url.port || 6379) });
      url.host = `127.0.0.1:${line.port}`;
      return { queue: await shop.queue(undefined, url.href), line };
    }

    test('fails to ring within two seconds, and is heard again once it is back', async () => {
      const { queue, line } = await openOnLine();
      const { heard, onWake, onError } = recorder();
      queue.listen(onWake, onError);
      await queue.notify(wakeUp);
      await eventually(() => expect(heard).toHaveLength(1));

      await line.cut();
      const { error, tookMs } = await failure(queue.notify(wakeUp));
      expect(error.code).toBe('queue-unavailable');
      expect(tookMs).toBeLessThan(2_000);

      await line.mend();
      await eventually(() => queue.notify({ ...wakeUp, key: 'after' }));
      await eventually(() => expect(heard).toContainEqual({ ...wakeUp, key: 'after' }));
    });

    test('fails to ring within two seconds when it falls silent', async () => {
      const { queue, line } = await openOnLine();
      line.silence();
      const { error, tookMs } = await failure(queue.notify(wakeUp));
      expect(error.code).toBe('queue-unavailable');
      expect(tookMs).toBeLessThan(2_000);
      await line.cut();
    });

    test.each(['silence', 'cut'] as const)('closes in time after a %s', async (what) => {
      const { queue, line } = await openOnLine();
      const { heard, onWake, onError } = recorder();
      queue.listen(onWake, onError);
      await queue.notify(wakeUp);
      await eventually(() => expect(heard).toHaveLength(1));
      await line[what]();
      const took = stopwatch();
      await queue.close();
      expect(took()).toBeLessThan(2_200);
      if (what === 'silence') await line.cut();
    });
  },
);

// One after the other: what a worker here leaves to be done belongs to the test that runs.
describe.skipIf(reason)(`a worker whose Redis${reason ? ` (${reason})` : ''}`, () => {
  const SECONDS_MS = 15_000;

  async function onLine({ onTestFinished }: TestContext) {
    const { hostname, port } = new URL(REDIS);
    const line = await lineTo({ host: hostname, port: Number(port || 6379) });
    const testing = await testApp({ whenDone: onTestFinished });
    testing.environment.NOCTURNE_QUEUE_URL = `redis://127.0.0.1:${line.port}`;
    const { namespace } = await wakeQueueOptions(testing.app);
    onTestFinished(() => forget(REDIS, namespace));
    return { line, testing };
  }

  /** Leaves work in the inbox, and nobody rings for it; answers when it is done. */
  async function expectDone({ app, rows }: TestApp, id: string): Promise<void> {
    const session = aSession([`Always close gate ${id} at night.`], { id: `${id}112222-2222-4333-8444-555555555555` });
    await enqueueExtract(app, { transcript: session.path, ended: true });
    const took = stopwatch();
    await until(async () => (await rows('waiting')).length === 0);
    expect(took()).toBeLessThan(SECONDS_MS);
  }

  test('falls silent says so, and works what comes within seconds', async (context) => {
    const { line, testing } = await onLine(context);
    const worker = await workerHere(testing.environment);
    await expectDone(testing, '01');
    line.silence();
    await expectDone(testing, '02');
    // What a hook tells is rung for.
    const { id, path } = aSession(['Thanks.']);
    const told = { v: 1, agent: 'claude-code', event: 'SessionEnd', session: id, transcript: path } as const;
    writeSpoolItem(testing.home, { ...told, cwd: null, size: null, mtime: null, at: '2026-11-21T02:00:00.000Z' });
    await until(() => /Cannot notify the queue at redis:/.test(worker.said.join('\n')));
    await worker.stop();
    await line.cut();
  });

  test('is away when it begins says so, and works what comes, then and once it is back', async (context) => {
    const { line, testing } = await onLine(context);
    await line.cut();
    const worker = await workerHere(testing.environment);
    await expectDone(testing, '01');
    expect(worker.said.join('\n')).toContain('Cannot reach the queue');
    await line.mend();
    await expectDone(testing, '02');
    await worker.stop();
    await line.cut();
  });
});
