// What a queue does, on a Redis.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WakeQueue, WakeUp } from '../../src/queue/queue.ts';
import { eventually, missing, recorder, stopwatch, workshop } from './backends.ts';

const wake = (key: string, kind: WakeUp['kind'] = 'extract'): WakeUp => ({ kind, store: '/memory', key });

async function expectEmpty(queue: WakeQueue): Promise<void> {
  await eventually(async () => expect(await queue.counts()).toEqual({ waiting: 0, active: 0, delayed: 0 }));
}

const reason = await missing();

describe.skipIf(reason)(`a queue${reason ? ` (${reason})` : ''}`, { concurrent: true }, () => {
  const shop = workshop();
  beforeAll(async () => shop.close(await shop.queue(shop.namespace())));
  afterAll(() => shop.closeAll());
  afterAll(() => shop.remove());

  test('wakes a worker with what was rung', async () => {
    const queue = await shop.queue(shop.namespace());
    const { heard, handler, onError } = recorder();
    queue.listen(handler, { concurrency: 1, onError });
    await queue.notify(wake('extract s1'));
    await queue.notify(wake('dream', 'dream'));
    await queue.notify(wake('day 2026-01-02', 'reprocess'));
    await eventually(() => expect(heard).toHaveLength(3));
    expect(heard).toEqual([wake('extract s1'), wake('dream', 'dream'), wake('day 2026-01-02', 'reprocess')]);
  });

  test('is heard by a worker that comes later, in another opening', async () => {
    const namespace = shop.namespace();
    const early = await shop.queue(namespace);
    await early.notify(wake('s1'));
    await shop.close(early);

    const late = await shop.queue(namespace);
    const { heard, handler, onError } = recorder();
    late.listen(handler, { concurrency: 1, onError });
    await eventually(() => expect(heard).toEqual([wake('s1')]));
  });

  test('rung twenty times while waiting wakes once; other keys, kinds and stores are their own', async () => {
    const queue = await shop.queue(shop.namespace());
    for (let n = 0; n < 20; n += 1) await queue.notify(wake('s1'));
    await queue.notify(wake('s2'));
    await queue.notify(wake('s1', 'reprocess'));
    await queue.notify({ ...wake('s1'), store: '/elsewhere' });
    await queue.notify({ ...wake('s1'), store: 'store_1a2b3c' });
    expect(await queue.counts()).toEqual({ waiting: 5, active: 0, delayed: 0 });

    const { heard, handler, onError } = recorder();
    queue.listen(handler, { concurrency: 1, onError });
    await eventually(() => expect(heard).toHaveLength(5));
    await expectEmpty(queue);
    expect(heard).toHaveLength(5);
  });

  test('rung many times while its handler runs wakes exactly once more, afterwards', async () => {
    const queue = await shop.queue(shop.namespace());
    const record = recorder();
    const release = record.holdAll();
    queue.listen(record.handler, { concurrency: 4, onError: record.onError });
    await queue.notify(wake('s1'));
    await eventually(() => expect(record.heard).toHaveLength(1));
    for (let n = 0; n < 5; n += 1) await queue.notify(wake('s1'));
    await queue.notify(wake('s1'), { delayMs: 50 });
    release();
    await eventually(() => expect(record.heard).toHaveLength(2));
    await expectEmpty(queue);
    expect(record.heard).toHaveLength(2);
    expect(record.mostAtOnce).toBe(1);
  });

  test('handles different keys side by side, up to the concurrency and no further', async () => {
    const queue = await shop.queue(shop.namespace());
    const record = recorder();
    const release = record.holdAll();
    queue.listen(record.handler, { concurrency: 3, onError: record.onError });
    for (const key of ['a', 'b', 'c', 'd', 'e']) await queue.notify(wake(key));
    await eventually(async () => expect(await queue.counts()).toEqual({ waiting: 2, active: 3, delayed: 0 }));
    await eventually(() => expect(record.heard).toHaveLength(3));
    release();
    await eventually(() => expect(record.keys().sort()).toEqual(['a', 'b', 'c', 'd', 'e']));
    expect(record.mostAtOnce).toBe(3);
  });

  test('rings after a delay, and not before', async () => {
    const queue = await shop.queue(shop.namespace());
    const { heard, handler, onError } = recorder();
    queue.listen(handler, { concurrency: 1, onError });
    const rungAt = performance.now();
    await queue.notify(wake('s1'), { delayMs: 700 });
    await eventually(() => expect(heard).toEqual([wake('s1')]));
    expect(performance.now() - rungAt).toBeGreaterThan(690);
  });

  test('a ring without a delay overtakes the delayed one of its key', async () => {
    const queue = await shop.queue(shop.namespace());
    const { heard, handler, onError } = recorder();
    queue.listen(handler, { concurrency: 1, onError });
    await queue.notify(wake('s1'), { delayMs: 3_600_000 });
    await queue.notify(wake('s1'), { delayMs: 7_200_000 });
    expect(await queue.counts()).toEqual({ waiting: 0, active: 0, delayed: 1 });
    await queue.notify(wake('s1'));
    await eventually(() => expect(heard).toEqual([wake('s1')]));
    await expectEmpty(queue);
  });

  test('a delayed ring while its handler runs waits out its delay afterwards', async () => {
    const queue = await shop.queue(shop.namespace());
    const record = recorder();
    const release = record.holdAll();
    queue.listen(record.handler, { concurrency: 1, onError: record.onError });
    await queue.notify(wake('s1'));
    await eventually(() => expect(record.heard).toHaveLength(1));
    await queue.notify(wake('s1'), { delayMs: 3_600_000 });
    release();
    await eventually(async () => expect(await queue.counts()).toEqual({ waiting: 0, active: 0, delayed: 1 }));
    expect(record.heard).toHaveLength(1);
  });

  test('tells of a handler that throws, tries it no more, and goes on', async () => {
    const queue = await shop.queue(shop.namespace());
    const heard: unknown[] = [];
    const told: unknown[] = [];
    queue.listen(
      async (wakeUp) => {
        heard.push(wakeUp);
        if (heard.length === 1) throw new Error('the model is down');
      },
      {
        concurrency: 1,
        onError: (error, wakeUp) => told.push({ message: (error as Error).message, wakeUp }),
      },
    );
    await queue.notify(wake('bad'));
    await queue.notify(wake('good'));
    await eventually(() => expect(heard).toEqual([wake('bad'), wake('good')]));
    await expectEmpty(queue);
    expect(told).toEqual([{ message: 'the model is down', wakeUp: wake('bad') }]);
    await queue.notify(wake('bad'));
    await eventually(() => expect(heard).toHaveLength(3));
  });

  test('closes at its deadline though a handler never ends, whose signal it aborts', async () => {
    const queue = await shop.queue(shop.namespace());
    let abortedAt = 0;
    let isRunning = false;
    queue.listen(
      (_wakeUp, signal) => {
        isRunning = true;
        signal.addEventListener('abort', () => {
          abortedAt = performance.now();
        });
        return new Promise<never>(() => {});
      },
      { concurrency: 1, onError: () => {} },
    );
    await queue.notify(wake('endless'));
    await eventually(() => expect(isRunning).toBe(true));
    const askedAt = performance.now();
    const took = stopwatch();
    await queue.close({ deadlineMs: 300 });
    expect(abortedAt - askedAt).toBeGreaterThan(290);
    expect(took()).toBeLessThan(3_300);
  });

  test('closing waits for a handler that ends before the deadline, and takes no other', async () => {
    const queue = await shop.queue(shop.namespace());
    const record = recorder();
    const release = record.holdAll();
    queue.listen(record.handler, { concurrency: 1, onError: record.onError });
    await queue.notify(wake('running'));
    await queue.notify(wake('waiting'));
    await eventually(() => expect(record.heard).toHaveLength(1));
    const closed = queue.close({ deadlineMs: 10_000 });
    release();
    await closed;
    expect(record.keys()).toEqual(['running']);
    expect(record.errors).toEqual([]);
  });
});
