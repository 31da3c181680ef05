// Metrics as a reader collects them that a user registered; here one that keeps them in memory, by the API's own interfaces.

import { expect, test } from 'vitest';
import { observeFigures } from '../../src/agent/telemetry.ts';
import { testApp, testModel } from '../support/app.ts';
import { enqueueExtract } from '../support/doors.ts';
import { laterApp, workSession } from '../support/due-work.ts';
import { metricReader } from '../support/metric-reader.ts';
import { until } from '../support/run.ts';
import { aSession } from '../support/session-file.ts';
import { workerHere } from '../support/worker-here.ts';

const reader = metricReader();

test('a worker tells what waits and since when, what the day spent and what is worked on, in all directories together', async () => {
  const held = Promise.withResolvers<void>();
  let asked = 0;
  const server = await testModel(async () => {
    asked += 1;
    if (asked > 1) await held.promise;
    return { text: 'Nothing.', usage: { input_tokens: 9_000, output_tokens: 1_000 } };
  });
  const prices = { 'test-model': { input: 1, cacheRead: 1, cacheWrite: 1, output: 1 } };
  const variables = { OTEL_SERVICE_NAME: 'test' };
  const settings = { concurrency: 1, prices };
  const testing = await testApp({ server, settings, variables, now: '2026-11-21T01:58:30Z' });
  await workSession(testing, aSession(['Always water the trees.'], { id: idOf(0) }).path);
  const enqueue = (app: typeof testing.app, n: number) =>
    enqueueExtract(app, { transcript: aSession(['Always water the trees.'], { id: idOf(n) }).path, ended: true });
  for (const n of [1, 2]) await enqueue(testing.app, n);
  const now = await laterApp(testing, '2026-11-21T02:00:00Z', { server, settings, variables });
  await enqueue(now.app, 3);
  const worker = await workerHere(now.environment);
  await until(async () => asked === 2);
  const { usedTokens, reservedTokens } = await now.app.home.days.spendOf('2026-11-21');
  expect(usedTokens).toBe(10_000);
  const told = await reader.collect();
  expect(told).toMatchObject({
    'nocturne.work.waiting': 3,
    'nocturne.work.oldest': 90,
    'nocturne.spend.tokens': usedTokens + reservedTokens,
    'nocturne.leases': 1,
  });
  expect(told['nocturne.spend.usd']).toBeGreaterThan(0.01);
  expect(told['nocturne.spend.usd']).toBeLessThanOrEqual((usedTokens + reservedTokens) / 1e6);
  expect(Object.fromEntries(reader.units)).toMatchObject({ 'nocturne.work.oldest': 's', 'nocturne.spend.usd': 'USD' });
  held.resolve();
  await worker.stop();
  expect(await reader.collect()).toEqual({});
});

test('figures are read when a reader asks, also after they could not be, and not after the end', async () => {
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
  expect(await told()).toEqual([2, 14.999]);
  isAway = true;
  nowMs += 15_000;
  await expect(told()).rejects.toThrow('away');
  isAway = false;
  expect(await told()).toEqual([4, 29.999]);
  end();
  expect(await told()).toEqual([]);
  expect(reads).toBe(4);
});

function idOf(n: number): string {
  return `000${n}2222-2222-4333-8444-555555555555`;
}
