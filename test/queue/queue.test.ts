// What a queue does, on a Redis.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WakeQueue, WakeUp } from '../../src/queue/queue.ts';
import { eventually, missing, recorder, workshop } from './backends.ts';

const wake = (key: string, kind: WakeUp['kind'] = 'extract'): WakeUp => ({ kind, store: '/memory', key });

async function expectEmpty(queue: WakeQueue): Promise<void> {
  await eventually(async () => expect(await queue.counts()).toEqual({ waiting: 0, active: 0, delayed: 0 }));
}

const reason = await missing();

describe.skipIf(reason)(`a queue${reason ? ` (${reason})` : ''}`, { concurrent: true }, () => {
  const shop = workshop();
  beforeAll(async () => void (await shop.queue()));
  afterAll(() => shop.closeAll());

  test('wakes a worker with what was rung', async () => {
    const queue = await shop.queue();
    const { heard, onWake, onError } = recorder();
    queue.listen(onWake, onError);
    for (const each of [wake('extract s1'), wake('dream', 'dream'), wake('day 2026-01-02', 'reprocess')]) {
      await queue.notify(each);
      await eventually(() => expect(heard).toContainEqual(each));
    }
    expect(heard).toHaveLength(3);
    await expectEmpty(queue);
  });

  test('is heard by a worker that comes later, in another opening', async () => {
    const namespace = `test-${process.pid}-later`;
    const early = await shop.queue(namespace);
    await early.notify(wake('s1'));
    await early.close();

    const late = await shop.queue(namespace);
    const { heard, onWake, onError } = recorder();
    late.listen(onWake, onError);
    await eventually(() => expect(heard).toEqual([wake('s1')]));
  });

  test('rung twenty times while waiting wakes once; other keys, kinds and stores are their own', async () => {
    const queue = await shop.queue();
    for (let n = 0; n < 20; n += 1) await queue.notify(wake('s1'));
    await queue.notify(wake('s2'));
    await queue.notify(wake('s1', 'reprocess'));
    await queue.notify({ ...wake('s1'), store: '/elsewhere' });
    await queue.notify({ ...wake('s1'), store: 'store_1a2b3c' });
    expect(await queue.counts()).toEqual({ waiting: 5, active: 0, delayed: 0 });

    const { heard, onWake, onError } = recorder();
    queue.listen(onWake, onError);
    await eventually(() => expect(heard).toHaveLength(5));
    await expectEmpty(queue);
    expect(heard).toHaveLength(5);
  });

  test('rings after a delay, and not before', async () => {
    const queue = await shop.queue();
    const { heard, onWake, onError } = recorder();
    queue.listen(onWake, onError);
    const rungAt = performance.now();
    await queue.notify(wake('s1'), { delayMs: 700 });
    await eventually(() => expect(heard).toEqual([wake('s1')]));
    expect(performance.now() - rungAt).toBeGreaterThan(690);
  });

  test('a ring without a delay overtakes the delayed one of its key', async () => {
    const queue = await shop.queue();
    const { heard, onWake, onError } = recorder();
    queue.listen(onWake, onError);
    await queue.notify(wake('s1'), { delayMs: 3_600_000 });
    await queue.notify(wake('s1'), { delayMs: 7_200_000 });
    expect(await queue.counts()).toEqual({ waiting: 0, active: 0, delayed: 1 });
    await queue.notify(wake('s1'));
    await eventually(() => expect(heard).toEqual([wake('s1')]));
    await expectEmpty(queue);
  });
});
