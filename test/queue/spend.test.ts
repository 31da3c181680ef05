// What requests may use, on both engines: reserved before, settled after, and the ceilings of a day, of a plan and of a key.

import { describe, expect, test } from 'vitest';
import { NO_USAGE } from '../../src/agent/agent-types.ts';
import { dayOf } from '../../src/base/time.ts';
import type { Db } from '../../src/db/sql.ts';
import {
  type Ceilings,
  ceilingsOf,
  fullSince,
  reopenDay,
  type SpendDeps,
  setCeilings,
  spendOf,
  spentOn,
} from '../../src/queue/spend.ts';
import { ENGINE_TAKEN, inWorld, skipped } from '../support/memory-world.ts';

const DAY = '2026-03-02';
const START = Date.parse(`${DAY}T09:00:00.000Z`);
const CEILINGS: Ceilings = { jobTokens: 10_000, dayTokens: 5_000, zone: 'UTC' };
const MODEL = 'claude-haiku-4-5';
const USED = {
  ...NO_USAGE,
  calls: 1,
  inputTokens: 300,
  cachedInputTokens: 50,
  cacheWriteTokens: 100,
  outputTokens: 50,
};

function spends(db: Db, of: Partial<Ceilings> = {}, more: Partial<SpendDeps> & { job?: string } = {}) {
  const clock = { now: () => new Date(START) };
  return spendOf({ db, clock, ceilings: { ...CEILINGS, ...of }, model: MODEL, ...more }, more.job ?? 'job_1');
}

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('what was reserved is replaced by what was used, and a request that never left is none', () =>
    inWorld(engine, async ({ db }) => {
      const { reserve, settle } = spends(db);
      const first = await reserve(2_000, 400);
      // 1,600 tokens of input written to the cache, 400 of output.
      expect(await spentOn(db, DAY)).toMatchObject({ tokens: 2_000, reservedTokens: 2_000, calls: 1, microUsd: 4_000 });
      const never = await reserve(1_000, 0);
      await settle(first, USED);
      await settle(first, USED);
      await settle(never, NO_USAGE);
      // (200 + 1.25 * 100 + 0.1 * 50) of input and 50 of output, at 1 and 5 dollars.
      expect(await spentOn(db, DAY)).toMatchObject({ tokens: 400, reservedTokens: 0, calls: 1, microUsd: 580 });
    }));

  it('what is never settled stays counted whole, also for who comes after a crash, but another day begins anew', () =>
    inWorld(engine, async ({ db, again }) => {
      await spends(db).reserve(3_000, 0);
      const other = await again();
      await expect(spends(other.db).reserve(3_000, 0)).rejects.toMatchObject({ code: 'ceiling' });
      const clock = { now: () => new Date(START + 86_400_000) };
      await spends(other.db, {}, { clock }).reserve(3_000, 0);
      expect((await spentOn(db, DAY)).tokens).toBe(3_000);
    }));

  it('a job has its own ceiling, which counts what is under way', () =>
    inWorld(engine, async ({ db }) => {
      const { reserve, settle } = spends(db, { jobTokens: 4_500, dayTokens: 50_000 });
      const first = await reserve(3_000, 0);
      await expect(reserve(2_000, 0)).rejects.toMatchObject({ code: 'job-ceiling' });
      await settle(first, USED);
      await reserve(4_000, 0);
      await spends(db, { jobTokens: 4_500, dayTokens: 50_000 }, { job: 'job_2' }).reserve(4_000, 0);
    }));

  it('a refusal says whether another day has to come, and only then is the day full until its ceiling is another', () =>
    inWorld(engine, async ({ db }) => {
      const { reserve, settle } = spends(db);
      const first = await reserve(3_000, 0);
      await expect(reserve(2_500, 0)).rejects.toMatchObject({
        message:
          'The daily limit of 5000 tokens would be exceeded: 0 tokens used, 3000 tokens set aside, 2500 tokens more needed.',
        retryAfterMs: undefined,
      });
      expect(await fullSince(db, DAY)).toBeNull();
      await settle(first, { ...USED, inputTokens: 2_900, cachedInputTokens: 0, cacheWriteTokens: 0 });
      await expect(reserve(2_500, 0)).rejects.toMatchObject({ retryAfterMs: 15 * 3_600_000 });
      expect(await fullSince(db, DAY)).toBe(new Date(START).toISOString());
      expect(await fullSince(db, '2026-03-03')).toBeNull();
      await reopenDay(db);
      expect(await fullSince(db, DAY)).toBeNull();
      await setCeilings(db, { ...CEILINGS, dayTokens: 6_000 });
      await spends(db, { dayTokens: 6_000 }).reserve(2_500, 0);
    }));

  it('money has its ceiling at the dearest a request can be; what costs nothing passes it', () =>
    inWorld(engine, async ({ db }) => {
      const { reserve, settle } = spends(db, { dayMoneyUsd: 0.005 });
      await settle(await reserve(2_000, 400), USED);
      await reserve(2_000, 400);
      await expect(reserve(2_000, 400)).rejects.toMatchObject({
        message: 'The daily limit of $0.0050 would be exceeded: $0.0006 used, $0.0040 set aside, $0.0040 more needed.',
        remedy: expect.stringContaining('dayMoneyUsd'),
      });
      await spends(db, { dayMoneyUsd: 0.005 }, { model: 'unpriced' }).reserve(100, 0);
    }));

  it('requests on a plan cost no money and have a number a day; one that never left gives it back', () =>
    inWorld(engine, async ({ db }) => {
      const { reserve, settle } = spends(db, { planRequests: 2, dayMoneyUsd: 0 });
      const onPlan = () => reserve(100, 0, { by: 'plan' });
      const first = await onPlan();
      await settle(await onPlan(), USED);
      await expect(onPlan()).rejects.toMatchObject({
        message: expect.stringContaining('2 requests on your plan'),
        retryAfterMs: 15 * 3_600_000,
      });
      await settle(first, NO_USAGE);
      await onPlan();
      expect(await spentOn(db, DAY, 'plan')).toMatchObject({ calls: 2, microUsd: 0 });
    }));

  it('a key has a ceiling of its own, which closes the day for nobody else', () =>
    inWorld(engine, async ({ db }) => {
      const key = { key: 'apikey_1', dayMoneyUsd: 0.004 };
      const ofKey = spends(db, {}, { key });
      await ofKey.settle(await ofKey.reserve(2_000, 400), { ...USED, outputTokens: 400 });
      await expect(ofKey.reserve(2_000, 400)).rejects.toMatchObject({ remedy: expect.stringContaining('key') });
      expect(await fullSince(db, DAY)).toBeNull();
      // Nothing of what was refused is counted anywhere.
      expect(await spentOn(db, DAY)).toMatchObject({ tokens: 750, calls: 1 });
      await spends(db, {}, { key: { ...key, key: 'apikey_2' } }).reserve(2_000, 400);
      expect(await spentOn(db, DAY, 'apikey_2')).toMatchObject({ microUsd: 4_000, reservedMicroUsd: 4_000 });
    }));

  it('a program that chooses its model itself is settled at what that costs', () =>
    inWorld(engine, async ({ db }) => {
      const { reserve, settle } = spends(db, { dayTokens: 50_000 }, { model: 'claude-code' });
      const id = await reserve(2_000, 400, { by: 'key', model: 'claude-fable-5' });
      expect((await spentOn(db, DAY)).microUsd).toBe(1_600 * 12.5 + 400 * 50);
      await settle(id, { ...USED, answeredBy: MODEL });
      expect((await spentOn(db, DAY)).microUsd).toBe(580);
      expect(await db.all('select job, model from call')).toEqual([{ job: 'job_1', model: MODEL }]);
    }));

  it('a day of the zone has its ceiling anew, also where it is an hour longer or shorter', () =>
    inWorld(engine, async ({ db }) => {
      const zone = 'Europe/Berlin';
      for (const [before, after] of [
        ['2026-03-29T21:59:00.000Z', '2026-03-29T22:00:00.000Z'],
        ['2026-10-25T22:59:00.000Z', '2026-10-25T23:00:00.000Z'],
      ] as const) {
        const on = (now: string) => spends(db, { zone }, { clock: { now: () => new Date(now) } });
        const { reserve, settle } = on(before);
        await settle(await reserve(5_000, 0), {
          ...USED,
          inputTokens: 5_000,
          cachedInputTokens: 0,
          outputTokens: 0,
        });
        await expect(on(before).reserve(1, 0)).rejects.toMatchObject({ retryAfterMs: 60_000 });
        await on(after).reserve(5_000, 0);
        expect(dayOf(before, zone) < dayOf(after, zone)).toBe(true);
      }
    }));

  it('where several machines share the database, the ceilings that it keeps count for all', () =>
    inWorld(engine, async ({ db }) => {
      expect(await ceilingsOf(db, { ...CEILINGS, dayMoneyUsd: 2 })).toMatchObject({ dayTokens: 5_000, dayMoneyUsd: 2 });
      const other = await ceilingsOf(db, { ...CEILINGS, dayTokens: 99, zone: 'Asia/Tokyo', planRequests: 7 });
      const kept = { dayTokens: 5_000, dayMoneyUsd: 2, zone: 'UTC' };
      expect(other).toMatchObject({ ...(engine === 'postgres' ? kept : { dayTokens: 99 }), planRequests: 7 });
    }));
});
