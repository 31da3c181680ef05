// What becomes of a wake-up whose worker died, or slept longer than its lock.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { openWakeQueue, type WakeUp } from '../../src/queue/queue.ts';
import { copyEmbeddedQueue } from '../support/embedded-queue.ts';
import { QUICK_WASM } from '../support/run.ts';
import { eventually, missing, recorder, servers, temporaryDirectory, workshop } from './backends.ts';

const reason = await missing('redis');

describe('a wake-up whose worker died', { concurrent: true }, () => {
  const dir = temporaryDirectory();
  afterAll(() => dir.remove());

  test('by kill -9 is heard by the next process, and so is all that waited', async () => {
    const dataDir = join(dir.path, 'queue');
    await copyEmbeddedQueue(dataDir);
    const program = join(import.meta.dirname, 'killed-worker.ts');
    const child = spawn(process.execPath, [QUICK_WASM, program, dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');

    const queue = await openWakeQueue({ dataDir, namespace: 'killed' });
    expect(queue.rebuilt).toBe(false);
    const { keys, handler, onError } = recorder();
    queue.listen(handler, { concurrency: 8, onError });
    const waited = Array.from({ length: 100 }, (_, n) => `waiting ${n}`);
    await eventually(() => expect(keys()).toEqual(expect.arrayContaining(waited)));
    await eventually(() => expect(keys()).toContain('active'));
    await queue.close({ deadlineMs: 1_000 });
  });

  test.skipIf(reason)(`or lost its lock is heard again, and the late handler is stopped ${reason ?? ''}`, async () => {
    const shop = workshop('redis');
    const namespace = shop.namespace();
    const queue = await shop.queue(namespace);
    const signals: AbortSignal[] = [];
    const handler = async (_wakeUp: WakeUp, signal: AbortSignal) => {
      signals.push(signal);
      if (signals.length > 1) return;
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    };
    queue.listen(handler, { concurrency: 1, onError: () => {} });
    await queue.notify({ kind: 'extract', store: '/memory', key: 's1' });
    await eventually(() => expect(signals).toHaveLength(1));

    // As after a sleep of the machine: the lock ran out, and the renewal finds none.
    const redis = new Redis(servers.redis);
    await redis.del(await redis.keys(`nocturne:${namespace}:*:lock`));
    redis.disconnect();
    await eventually(() => expect(signals).toHaveLength(2));
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
    await shop.closeAll();
    await shop.remove();
  });
});
