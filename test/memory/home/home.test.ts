import { describe, expect, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import type { Home } from '../../../src/memory/home/home.ts';
import { JobSpend } from '../../../src/memory/home/spend.ts';
import { HOMES } from '../../support/homes.ts';

const clock = fixedClock('2026-11-20T23:30:00Z');
const limits = { jobTokens: 1_000, dayTokens: 2_000, zone: 'UTC', clock };
const usage = { calls: 1, inputTokens: 50, cachedInputTokens: 20, cacheWriteTokens: 10, outputTokens: 30 };
const noMoney = { planRequests: 0, reservedMicroUsd: 0, usedMicroUsd: 0 };

const price = { input: 4, cacheRead: 0.2, cacheWrite: 5, output: 20 };
const priced = { model: 'main', prices: { main: price, other: { ...price, input: 40, cacheWrite: 50 } } };

describe.each(HOMES)('$name', ({ setUp, begin }) => {
  setUp();

  test('a request that might pass the job’s ceiling is refused, whatever the day has left', async () => {
    const spend = new JobSpend((await begin()).open(clock), limits);
    await spend.reserve(600);
    await expect(spend.reserve(401)).rejects.toMatchObject({ code: 'job-ceiling' });
  });

  test('what was reserved is replaced by what was used: input, cached and output tokens', async () => {
    const home = (await begin()).open(clock);
    const spend = new JobSpend(home, limits);
    await spend.settle(await spend.reserve(900), usage);
    expect(await home.days.spendOf('2026-11-20')).toEqual({ reservedTokens: 0, usedTokens: 100, calls: 1, ...noMoney });
    expect(spend.total()).toEqual({
      ...usage,
      rawInputTokens: 70,
      weightedInputTokens: 55,
      microUsd: null,
    });
  });

  test('a request is counted from before it leaves, also without an answer, unless it never left', async () => {
    const home = (await begin()).open(clock);
    const spend = new JobSpend(home, limits);
    const callsNow = async () => [spend.total().calls, (await home.days.spendOf('2026-11-20')).calls];
    await spend.reserve(100);
    expect(await callsNow()).toEqual([1, 1]);
    await spend.settle(await spend.reserve(100), { ...usage, calls: 0, inputTokens: 0 });
    expect(await callsNow()).toEqual([1, 1]);
    await spend.settle(await spend.reserve(100), usage);
    expect(await callsNow()).toEqual([2, 2]);
    await expect(spend.reserve(2_000)).rejects.toMatchObject({ code: 'job-ceiling' });
    expect(await callsNow()).toEqual([2, 2]);
    expect(spend.record()).toMatchObject({ calls: 2, parts: [{ calls: 1 }] });
  });

  test('a reservation that is never settled stays counted, and one settled twice counts once', async () => {
    const home = (await begin()).open(clock);
    const killed = new JobSpend(home, limits);
    await killed.reserve(900);
    const next = new JobSpend(home, limits);
    const reservation = await next.reserve(900);
    await next.settle(reservation, usage);
    await next.settle(reservation, usage);
    expect(await home.days.spendOf('2026-11-20')).toEqual({
      reservedTokens: 900,
      usedTokens: 100,
      calls: 2,
      ...noMoney,
    });
    await expect(new JobSpend(home, { ...limits, jobTokens: 5_000 }).reserve(1_001)).rejects.toMatchObject({
      code: 'ceiling',
    });
  });

  test('two processes’ homes share one day', async () => {
    const { open } = await begin();
    const [one, two] = [open(clock), open(clock)];
    await new JobSpend(one, limits).reserve(900);
    await new JobSpend(two, limits).reserve(900);
    expect((await one.days.spendOf('2026-11-20')).reservedTokens).toBe(1_800);
    await expect(new JobSpend(one, limits).reserve(300)).rejects.toMatchObject({ code: 'ceiling' });
  });

  test('the day of spending is that of the configured zone', async () => {
    const home = (await begin()).open(clock);
    await new JobSpend(home, { ...limits, zone: 'Asia/Tokyo' }).reserve(10);
    expect((await home.days.spendOf('2026-11-21')).reservedTokens).toBe(10);
  });

  test('money is reserved at its dearest and settled at what was used', async () => {
    const home = (await begin()).open(clock);
    const spend = new JobSpend(home, { ...limits, dayMoneyUsd: 1, ...priced });
    const reservation = await spend.reserve(900, 100);
    expect(await home.days.spendOf('2026-11-20')).toMatchObject({
      reservedMicroUsd: 800 * 5 + 100 * 20,
      usedMicroUsd: 0,
    });
    await spend.settle(reservation, { ...usage, cacheWriteTokens: 10 });
    const cost = 40 * 4 + 10 * 5 + 20 * 0.2 + 30 * 20;
    expect(await home.days.spendOf('2026-11-20')).toMatchObject({ reservedMicroUsd: 0, usedMicroUsd: cost });
    expect(spend.total()).toMatchObject({ microUsd: cost });
  });

  test('a request of another model that is continued is counted at its price, kept for an hour at the dearest', async () => {
    const home = (await begin()).open(clock);
    const spend = new JobSpend(home, { ...limits, dayMoneyUsd: 1, ...priced });
    const reservation = await spend.reserve(900, 100, { continued: 'other' });
    expect(await home.days.spendOf('2026-11-20')).toMatchObject({ reservedMicroUsd: 800 * 80 + 100 * 20 });
    await spend.settle(reservation, { ...usage, cacheWriteTokens: 10, hourCacheWriteTokens: 4 });
    const cost = 40 * 40 + 6 * 50 + 4 * 80 + 20 * 0.2 + 30 * 20;
    expect(await home.days.spendOf('2026-11-20')).toMatchObject({ reservedMicroUsd: 0, usedMicroUsd: cost });
    expect(spend.total()).toMatchObject({ microUsd: cost, weightedInputTokens: 40 + 6 * 1.25 + 4 * 2 + 2 + 0.5 });
    await spend.settle(await spend.reserve(10, 1, { continued: 'nobody knows' }), usage);
    expect(spend.total()).toMatchObject({ microUsd: null });
  });

  test('a request that the day’s money has no room for is refused until the next day of the zone', async () => {
    const home = (await begin()).open(clock);
    const spend = new JobSpend(home, { ...limits, dayMoneyUsd: 0.001, ...priced, zone: 'America/New_York' });
    await expect(spend.reserve(900, 100)).rejects.toMatchObject({
      code: 'ceiling',
      message: expect.stringContaining('$0.0010'),
      // 18:30 in New York, where the day ends in five and a half hours.
      retryAfterMs: 5.5 * 3_600_000,
    });
    expect(await home.days.fullFrom('2026-11-20')).toBe('2026-11-20T23:30:00.000Z');
  });

  test('a refusal that requests under way may still make room for is not for the whole day', async () => {
    const home = (await begin()).open(clock);
    const spend = new JobSpend(home, { ...limits, jobTokens: 10_000 });
    const reservation = await spend.reserve(1_500);
    await expect(spend.reserve(1_000)).rejects.toMatchObject({ code: 'ceiling', retryAfterMs: undefined });
    expect(await home.days.fullFrom('2026-11-20')).toBeNull();
    await spend.settle(reservation, usage);
    await spend.reserve(1_000);
  });

  test('a model without a price is counted in tokens only', async () => {
    const home = (await begin()).open(clock);
    await new JobSpend(home, { ...limits, dayMoneyUsd: 0 }).reserve(900, 100);
    expect(await home.days.spendOf('2026-11-20')).toMatchObject({ reservedTokens: 900, reservedMicroUsd: 0 });
  });

  test('a night that was noted by a clock that was ahead keeps no night away', async () => {
    const { open } = await begin();
    expect((await open(fixedClock('2027-11-20T23:30:00Z')).nightlyAt()).toISOString()).toBe('2027-11-20T23:30:00.000Z');
    const home = open(clock);
    expect(await home.nightlyAt()).toEqual(clock.now());
    const later = open(fixedClock('2026-11-21T03:30:00Z'));
    expect(await later.nightlyAt()).toEqual(clock.now());
    let rounds = 0;
    for (let asked = 0; asked < 2; asked += 1)
      await later.nightlyRound(new Date('2026-11-21T03:30:00Z'), () => rounds++);
    expect(rounds).toBe(1);
  });

  test('a day of the zone has its ceiling anew, also on the days that are an hour longer or shorter', async () => {
    const { open, limit } = await begin();
    const ofDay = { ...limits, zone: 'Europe/Berlin' };
    const spendAt = (instant: string) =>
      new JobSpend(open(fixedClock(instant)), { ...ofDay, clock: fixedClock(instant) });
    for (const [last, first] of [
      ['2026-10-25T22:59:59Z', '2026-10-25T23:00:00Z'],
      ['2027-03-28T21:59:59Z', '2027-03-28T22:00:00Z'],
    ] as const) {
      await spendAt(last).reserve(1_000);
      await spendAt(last).reserve(1_000);
      await expect(spendAt(last).reserve(1)).rejects.toMatchObject({ code: 'ceiling' });
      await spendAt(first).reserve(600);
      // Lowered while work is under way: what is reserved stays, nothing more is let through.
      const less = { ...ofDay, dayTokens: 500 };
      await limit(less);
      const lowered = new JobSpend(open(clock), { ...less, clock: fixedClock(first) });
      await expect(lowered.reserve(1)).rejects.toMatchObject({ code: 'ceiling' });
      await limit(ofDay);
    }
  });

  test('requests that are reserved at the same moment pass neither the job’s ceiling nor the day’s', async () => {
    const { open } = await begin();
    const homes = [open(clock), open(clock)] as const;
    const spend = new JobSpend(homes[0], limits);
    const ofJob = await Promise.allSettled([spend.reserve(600), spend.reserve(600)]);
    expect(ofJob.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    const asked = Array.from({ length: 20 }, (_, at) => new JobSpend(homes[at % 2] as Home, limits).reserve(150));
    const ofDay = await Promise.allSettled(asked);
    expect(ofDay.filter(({ status }) => status === 'fulfilled')).toHaveLength(9);
    expect((await homes[1].days.spendOf('2026-11-20')).reservedTokens).toBe(600 + 9 * 150);
  });

  test('directories, pauses, what was declined, looked at, blocked or swept are the same for every process', async () => {
    const { open } = await begin();
    const [one, two] = [open(clock), open(fixedClock('2026-11-20T23:31:00Z'))];
    for (const dir of ['/work/b', '/work/B', '/work/b', '/work/é']) await one.addStore(dir);
    await one.removeStore('/work/B');
    expect(await two.stores()).toEqual(['/work/b', '/work/é']);
    await one.pauses.begin({ project: '/work/b', until: null });
    await one.pauses.begin({ project: null, until: '2026-11-20T23:30:30.000Z' });
    expect(await one.pauses.all()).toEqual([
      { project: null, until: '2026-11-20T23:30:30.000Z' },
      { project: '/work/b', until: null },
    ]);
    expect(await two.pauses.all()).toEqual([{ project: '/work/b', until: null }]);
    expect([await two.pauses.end('/work/b'), await two.pauses.end(null)]).toEqual([true, false]);
    expect(await two.declinedBefore()).toBeUndefined();
    for (const before of ['2026-11-01T00:00:00Z', '2026-11-02T00:00:00Z']) await one.decline(new Date(before));
    expect(await two.declinedBefore()).toBe('2026-11-02T00:00:00.000Z');
    expect(await two.lookedAt()).toBeNull();
    for (const home of [one, two]) await home.noteLook();
    expect(await one.lookedAt()).toBe('2026-11-20T23:31:00.000Z');
    const blocked = { path: '/a', reason: 'It is closed.', since: '2026-11-20T00:00:00.000Z' };
    await one.blocked.add(blocked);
    await two.blocked.add({ ...blocked, reason: 'It is gone.', since: '2026-11-21T00:00:00.000Z' });
    expect(await one.blocked.all()).toEqual([{ ...blocked, reason: 'It is gone.' }]);
    await two.blocked.remove('/a');
    expect(await one.blocked.all()).toEqual([]);
    const swept = { path: '/t', sizeBytes: 2 ** 40, modifiedAt: 'then', cwd: null, store: null, verdict: 'nothing' };
    await one.swept.remember([swept, { ...swept, verdict: 'known' }]);
    expect(await two.swept.all()).toEqual([{ ...swept, verdict: 'known' }]);
    expect(await two.damage()).toBeNull();
  });

  test('what was spent since a day is told by day, and so is how often its ceiling held work back', async () => {
    const home = (await begin()).open(clock);
    const { days } = home;
    const spend = new JobSpend(home, limits);
    await spend.settle(await spend.reserve(400), usage);
    expect(await days.since('2026-11-01')).toMatchObject([{ day: '2026-11-20', usedTokens: 100 }]);
    await days.countSkip('2026-11-20');
    expect(await days.skipsOf('2026-11-20')).toBe(1);
  });
});
