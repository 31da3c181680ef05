// Metrics as a reader collects them that a user registered; here one that keeps them in memory, by the API's own interfaces.

import { expect, onTestFinished, test } from 'vitest';
import { figuresOf, observeFigures } from '../../src/doors/telemetry.ts';
import { testApp } from '../support/app.ts';
import { metricReader } from '../support/metric-reader.ts';

const reader = metricReader();

test('what waits and since when, what the day spent and what is worked on are told as they are, in all directories together', async () => {
  const { app, store } = await testApp({ now: '2026-11-21T02:00:00Z' });
  const item = { kind: 'extract', payload: {}, notBefore: '2026-11-21T02:05:00Z' } as const;
  await store.work.put({ ...item, key: 'one', since: '2026-11-21T01:58:30Z' });
  await store.work.put({ ...item, key: 'two', since: '2026-11-21T01:59:00Z' });
  const now = app.config.clock.now();
  const lease = await store.work.takeLease({ key: 'session:one', owner: 'elsewhere:1:/job', now, ttlMs: 60_000 });
  await store.work.takeLease({ key: 'session:over', owner: 'elsewhere:1:/job', now, ttlMs: 0 });
  await app.home.days.reserve({ tokens: 900, microUsd: 2_000, at: now, limits: { dayTokens: 1_000, zone: 'UTC' } });
  await app.home.days.settle('2026-11-21', {
    ...{ reservedTokens: 400, usedTokens: 300, calls: 1, reservedMicroUsd: 1_000, usedMicroUsd: 500 },
  });
  onTestFinished(await observeFigures(() => figuresOf(app), app.config.clock));
  expect(await reader.collect()).toMatchObject({
    'nocturne.work.waiting': 2,
    'nocturne.work.oldest': 90,
    'nocturne.spend.tokens': 800,
    'nocturne.spend.usd': 0.0015,
    'nocturne.leases': 1,
  });
  expect(lease).not.toBeNull();
  expect(Object.fromEntries(reader.units)).toMatchObject({ 'nocturne.work.oldest': 's', 'nocturne.spend.usd': 'USD' });
});

test('figures are read at most every 15 s however often a reader asks, again at once where they could not be, and not after the end', async () => {
  let nowMs = Date.parse('2026-11-21T02:00:00Z');
  let reads = 0;
  let isAway = false;
  const read = async () => {
    reads += 1;
    if (isAway) throw new Error('away');
    return { waiting: reads, oldestSince: '2026-11-21T02:00:00Z', leases: 0, tokens: 0, microUsd: 0 };
  };
  const end = await observeFigures(read, { now: () => new Date(nowMs) });
  const told = async () => Object.values(await reader.collect()).slice(0, 2);
  expect(await told()).toEqual([1, 0]);
  nowMs += 14_999;
  expect(await told()).toEqual([1, 14.999]);
  nowMs += 1;
  expect(await told()).toEqual([2, 15]);
  isAway = true;
  nowMs += 15_000;
  await expect(told()).rejects.toThrow('away');
  isAway = false;
  expect(await told()).toEqual([4, 30]);
  end();
  expect(await told()).toEqual([]);
  expect(reads).toBe(4);
});
