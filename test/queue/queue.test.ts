// What a bell does, whatever it hangs on: the same sentences for Redis, Postgres and the embedded queue.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Bell, WakeUp } from '../../src/queue/queue.ts';
import { eventually, missing, recorder, stopwatch, workshop } from './backends.ts';

const wake = (key: string, kind: WakeUp['kind'] = 'extract'): WakeUp => ({ kind, store: '/memory', key });

async function expectEmpty(bell: Bell): Promise<void> {
  await eventually(async () => expect(await bell.counts()).toEqual({ waiting: 0, active: 0, delayed: 0 }));
}

for (const kind of ['redis', 'postgres', 'embedded'] as const) {
  const reason = await missing(kind);
  // Servers take many bells at once, an embedded directory one after the other.
  const concurrent = kind !== 'embedded';
  describe.skipIf(reason)(`a bell on ${kind}${reason ? ` (${reason})` : ''}`, { concurrent }, () => {
    const shop = workshop(kind);
    beforeAll(async () => shop.close(await shop.bell(shop.namespace())));
    (concurrent ? afterAll : afterEach)(() => shop.closeAll());
    afterAll(() => shop.remove());

    test('wakes a worker with what was rung', async () => {
      const bell = await shop.bell(shop.namespace());
      const { heard, handler, onError } = recorder();
      bell.listen(handler, { concurrency: 1, onError });
      await bell.ring(wake('extract s1'));
      await bell.ring(wake('dream', 'dream'));
      await bell.ring(wake('day 2026-01-02', 'reprocess'));
      await eventually(() => expect(heard).toHaveLength(3));
      expect(heard).toEqual([wake('extract s1'), wake('dream', 'dream'), wake('day 2026-01-02', 'reprocess')]);
    });

    test('is heard by a worker that comes later, in another opening', async () => {
      const namespace = shop.namespace();
      const early = await shop.bell(namespace);
      await early.ring(wake('s1'));
      await shop.close(early);

      const late = await shop.bell(namespace);
      const { heard, handler, onError } = recorder();
      late.listen(handler, { concurrency: 1, onError });
      await eventually(() => expect(heard).toEqual([wake('s1')]));
    });

    test('rung twenty times while waiting wakes once; other keys, kinds and stores are their own', async () => {
      const bell = await shop.bell(shop.namespace());
      for (let n = 0; n < 20; n += 1) await bell.ring(wake('s1'));
      await bell.ring(wake('s2'));
      await bell.ring(wake('s1', 'reprocess'));
      await bell.ring({ ...wake('s1'), store: '/elsewhere' });
      expect(await bell.counts()).toEqual({ waiting: 4, active: 0, delayed: 0 });

      const { heard, handler, onError } = recorder();
      bell.listen(handler, { concurrency: 1, onError });
      await eventually(() => expect(heard).toHaveLength(4));
      await expectEmpty(bell);
      expect(heard).toHaveLength(4);
    });

    test('rung many times while its handler runs wakes exactly once more, afterwards', async () => {
      const bell = await shop.bell(shop.namespace());
      const record = recorder();
      const release = record.holdAll();
      bell.listen(record.handler, { concurrency: 4, onError: record.onError });
      await bell.ring(wake('s1'));
      await eventually(() => expect(record.heard).toHaveLength(1));
      for (let n = 0; n < 5; n += 1) await bell.ring(wake('s1'));
      await bell.ring(wake('s1'), { delayMs: 50 });
      release();
      await eventually(() => expect(record.heard).toHaveLength(2));
      await expectEmpty(bell);
      expect(record.heard).toHaveLength(2);
      expect(record.mostAtOnce).toBe(1);
    });

    test('handles different keys side by side, up to the concurrency and no further', async () => {
      const bell = await shop.bell(shop.namespace());
      const record = recorder();
      const release = record.holdAll();
      bell.listen(record.handler, { concurrency: 3, onError: record.onError });
      for (const key of ['a', 'b', 'c', 'd', 'e']) await bell.ring(wake(key));
      await eventually(async () => expect(await bell.counts()).toEqual({ waiting: 2, active: 3, delayed: 0 }));
      await eventually(() => expect(record.heard).toHaveLength(3));
      release();
      await eventually(() => expect(record.keys().sort()).toEqual(['a', 'b', 'c', 'd', 'e']));
      expect(record.mostAtOnce).toBe(3);
    });

    test('rings after a delay, and not before', async () => {
      const bell = await shop.bell(shop.namespace());
      const { heard, handler, onError } = recorder();
      bell.listen(handler, { concurrency: 1, onError });
      const rungAt = performance.now();
      await bell.ring(wake('s1'), { delayMs: 700 });
      await eventually(() => expect(heard).toEqual([wake('s1')]));
      expect(performance.now() - rungAt).toBeGreaterThan(690);
    });

    test('a ring without a delay overtakes the delayed one of its key', async () => {
      const bell = await shop.bell(shop.namespace());
      const { heard, handler, onError } = recorder();
      bell.listen(handler, { concurrency: 1, onError });
      await bell.ring(wake('s1'), { delayMs: 3_600_000 });
      await bell.ring(wake('s1'), { delayMs: 7_200_000 });
      expect(await bell.counts()).toEqual({ waiting: 0, active: 0, delayed: 1 });
      await bell.ring(wake('s1'));
      await eventually(() => expect(heard).toEqual([wake('s1')]));
      await expectEmpty(bell);
    });

    test('a delayed ring while its handler runs waits out its delay afterwards', async () => {
      const bell = await shop.bell(shop.namespace());
      const record = recorder();
      const release = record.holdAll();
      bell.listen(record.handler, { concurrency: 1, onError: record.onError });
      await bell.ring(wake('s1'));
      await eventually(() => expect(record.heard).toHaveLength(1));
      await bell.ring(wake('s1'), { delayMs: 3_600_000 });
      release();
      await eventually(async () => expect(await bell.counts()).toEqual({ waiting: 0, active: 0, delayed: 1 }));
      expect(record.heard).toHaveLength(1);
    });

    test('tells of a handler that throws, tries it no more, and goes on', async () => {
      const bell = await shop.bell(shop.namespace());
      const heard: unknown[] = [];
      const told: unknown[] = [];
      bell.listen(
        async (wakeUp) => {
          heard.push(wakeUp);
          if (heard.length === 1) throw new Error('the model is down');
        },
        {
          concurrency: 1,
          onError: (error, wakeUp) => told.push({ message: (error as Error).message, wakeUp }),
        },
      );
      await bell.ring(wake('bad'));
      await bell.ring(wake('good'));
      await eventually(() => expect(heard).toEqual([wake('bad'), wake('good')]));
      await expectEmpty(bell);
      expect(told).toEqual([{ message: 'the model is down', wakeUp: wake('bad') }]);
      await bell.ring(wake('bad'));
      await eventually(() => expect(heard).toHaveLength(3));
    });

    test('closes at its deadline though a handler never ends, whose signal it aborts', async () => {
      const bell = await shop.bell(shop.namespace());
      let abortedAt = 0;
      let isRunning = false;
      bell.listen(
        (_wakeUp, signal) => {
          isRunning = true;
          signal.addEventListener('abort', () => {
            abortedAt = performance.now();
          });
          return new Promise<never>(() => {});
        },
        { concurrency: 1, onError: () => {} },
      );
      await bell.ring(wake('endless'));
      await eventually(() => expect(isRunning).toBe(true));
      const askedAt = performance.now();
      const took = stopwatch();
      await bell.close({ deadlineMs: 300 });
      expect(abortedAt - askedAt).toBeGreaterThan(290);
      expect(took()).toBeLessThan(3_300);
    });

    test('closing waits for a handler that ends before the deadline, and takes no other', async () => {
      const bell = await shop.bell(shop.namespace());
      const record = recorder();
      const release = record.holdAll();
      bell.listen(record.handler, { concurrency: 1, onError: record.onError });
      await bell.ring(wake('running'));
      await bell.ring(wake('waiting'));
      await eventually(() => expect(record.heard).toHaveLength(1));
      const closed = bell.close({ deadlineMs: 10_000 });
      release();
      await closed;
      expect(record.keys()).toEqual(['running']);
      expect(record.errors).toEqual([]);
    });
  });
}
