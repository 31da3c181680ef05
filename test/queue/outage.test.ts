// What a queue does when what it hangs on is away, silent or unfit.

import { describe, expect, type TestContext, test } from 'vitest';
import { writeSpoolItem } from '../../src/queue/spool.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { enqueueExtract, wakeQueueOptions } from '../support/doors.ts';
import { until } from '../support/run.ts';
import { aSession } from '../support/session-file.ts';
import { workerHere } from '../support/worker-here.ts';
import { forget, missing, REDIS, stopwatch } from './backends.ts';
import { lineTo } from './servers.ts';

const reason = await missing();

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
    // What a hook tells is rung for, unless the worker found out before that nobody answers.
    const { id, path } = aSession(['Thanks.']);
    const told = { v: 1, agent: 'claude-code', event: 'SessionEnd', session: id, transcript: path } as const;
    writeSpoolItem(testing.home, { ...told, cwd: null, size: null, mtime: null, at: '2026-11-21T02:00:00.000Z' });
    await until(() => /Cannot (?:notify|reach) the queue at redis:/.test(worker.said.join('\n')));
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
