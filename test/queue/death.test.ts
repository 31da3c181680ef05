// What becomes of a wake-up whose worker slept longer than its lock; one that died: doors/crash.test.ts.

import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import type { WakeUp } from '../../src/queue/queue.ts';
import { eventually, missing, REDIS, workshop } from './backends.ts';

const reason = await missing();

test.skipIf(reason)(
  `a wake-up whose worker lost its lock is heard again, and the late handler is stopped ${reason ?? ''}`,
  async () => {
    const shop = workshop();
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
    const redis = new Redis(REDIS);
    await redis.del(await redis.keys(`nocturne:${namespace}:*:lock`));
    redis.disconnect();
    await eventually(() => expect(signals).toHaveLength(2));
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
    await shop.closeAll();
    await shop.remove();
  },
);
