// What holds for the home because several machines share it. What holds for every home is in test/memory/home.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../../../src/base/time.ts';
import type { Home } from '../../../../src/memory/home/home.ts';
import { JobSpend } from '../../../../src/memory/home/spend.ts';
import { testModel } from '../../../support/app.ts';
import { jobsInProcess } from '../../../support/jobs-in-process.ts';
import { aSession } from '../../../support/session-file.ts';
import { tempDir } from '../../../support/temp.ts';
import { lineTo } from '../line.ts';
import { noPostgres, type OwnDatabase, openHomeAt, ownDatabase } from '../own-database.ts';

const clock = fixedClock('2026-11-20T23:30:00Z');
const limits = { jobTokens: 1e9, dayTokens: 2_000, zone: 'UTC', clock };
const EARLIER = `to_char(clock_timestamp() at time zone 'utc' - interval '121 seconds', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

describe.skipIf(noPostgres)(`the home in PostgreSQL ${noPostgres}`, () => {
  let own: OwnDatabase;
  beforeAll(async () => {
    own = await ownDatabase();
    const first = openHomeAt(own.url, clock);
    await first.stores();
    await first.close();
  });
  afterAll(() => own.drop());

  /** As another machine has it: with connections of its own. */
  function home(url = own.url, at = clock): Home {
    const opened = openHomeAt(url, at);
    onTestFinished(() => opened.close());
    return opened;
  }

  function asNobody(sql: string): Promise<unknown> {
    return own.ask(`set search_path = nocturne_home; ${sql}; set search_path = nocturne`);
  }

  const emptied = () => asNobody('delete from spend; delete from limits; delete from worker');

  test('the limits and the zone of the first machine count for all, until a person sets others', async () => {
    await emptied();
    const [one, two] = [home(), home()];
    await new JobSpend(one, limits).reserve(900);
    const others = { ...limits, dayTokens: 1e9, dayMoneyUsd: 9, zone: 'Asia/Tokyo' };
    const job = new JobSpend(two, others);
    await job.reserve(1_000);
    await expect(job.reserve(200)).rejects.toMatchObject({
      code: 'ceiling',
      message: expect.stringContaining('ceiling of 2000 tokens'),
      remedy: 'Raise dayTokens by nocturne fleet limits, or wait for tomorrow.',
    });
    expect(await two.days.limits(others)).toEqual({ dayTokens: 2_000, zone: 'UTC' });
    await one.days.setLimits({ dayTokens: 3_000, dayMoneyUsd: 2.5, zone: 'Asia/Tokyo' });
    expect(await two.days.limits(limits)).toEqual({ dayTokens: 3_000, dayMoneyUsd: 2.5, zone: 'Asia/Tokyo' });
    // Both machines knew another zone: what they reserve now is of its day, which has begun there.
    await job.reserve(2_900);
    await expect(new JobSpend(one, limits).reserve(200)).rejects.toMatchObject({ code: 'ceiling' });
    expect((await one.days.spendOf('2026-11-21')).reservedTokens).toBe(2_900);
    expect((await one.days.spendOf('2026-11-20')).reservedTokens).toBe(1_900);
  });

  test('a worker lives as long as it is seen by the database’s time, whatever its own clock and its host say', async () => {
    await emptied();
    const [one, two] = [home(), home(own.url, fixedClock('2031-01-01T00:00:00Z'))];
    await one.workers.enter('redis');
    const [entered] = await two.workers.all();
    expect(Math.abs(Date.parse(entered?.seenAt ?? '') - Date.now())).toBeLessThan(60_000);
    await asNobody(`insert into worker select 'elsewhere:1:2', backend, started_at, seen_at from worker`);
    expect(await two.workers.all()).toHaveLength(2);
    await asNobody(`update worker set seen_at = ${EARLIER}`);
    expect(await two.workers.all()).toEqual([]);
    // It was stopped for long, and goes on.
    await one.workers.see();
    expect(await two.workers.all()).toMatchObject([{ process: entered?.process, startedAt: entered?.startedAt }]);
    await one.workers.leave();
    await one.workers.see();
    expect(await two.workers.all()).toEqual([]);
  });

  test('a worker that tries for all keeps the try for as long as it is seen, and no longer', async () => {
    await emptied();
    const [one, two] = [home(), home()];
    await one.workers.enter('redis');
    await asNobody(`update breaker set until = '2026-11-20T23:00:00.000Z'`);
    expect(await one.breaker.admit()).toEqual({ isAdmitted: true, isProbe: true });
    await asNobody(`update breaker set prober_seen_at = ${EARLIER}`);
    await one.workers.see();
    expect(await two.breaker.admit()).toMatchObject({ isAdmitted: false });
    await asNobody(`update breaker set prober_seen_at = ${EARLIER}`);
    expect(await two.breaker.admit()).toEqual({ isAdmitted: true, isProbe: true });
    await two.breaker.close();
  });

  test('its sign is another after each change, and the same while nothing changes', async () => {
    const [one, two] = [home(), home()];
    const before = await one.sign();
    expect(await one.sign()).toBe(before);
    await two.pauses.begin({ project: null, until: null });
    const paused = await one.sign();
    expect(paused).not.toBe(before);
    await two.database.insert('key_spend', { key: 'k', day: '2026-11-21', micro_usd: 2 ** 40 });
    expect(await one.sign()).not.toBe(paused);
    expect(await one.database.all('select micro_usd from key_spend')).toEqual([{ micro_usd: 2 ** 40 }]);
    await two.pauses.end(null);
  });

  test('a transaction that throws leaves nothing behind, and text compares by its bytes', async () => {
    const rows = home().database;
    await expect(
      rows.transaction(function* () {
        yield { sql: 'insert into page_server (process, url) values (?, ?)', values: ['gone', ''], wants: 'count' };
        throw new Error('taken back');
      }),
    ).rejects.toThrow('taken back');
    for (const name of ['b', 'a', 'B', 'é', 'z', 'Ω']) await rows.insert('page_server', { process: name, url: '' });
    const found = await rows.all<{ name: string }>(
      "select process as name from page_server where process <> '?' and process >= ? order by process",
      'B',
    );
    expect(found.map(({ name }) => name)).toEqual(['B', 'a', 'b', 'z', 'é', 'Ω']);
  });

  test('while the database is away nothing is reserved and no request is sent; the same home goes on when it is back', async () => {
    await emptied();
    let requests = 0;
    const model = await testModel(() => {
      requests += 1;
      return { text: 'Nothing.' };
    });
    const line = await lineTo(own.url);
    const shared = home(line.url);
    await shared.pauses.all();
    const jobs = await jobsInProcess(join(tempDir(), 'memory'), clock, {
      all: { model: 'test-model', access: model.access },
      home: shared,
    });
    const session = aSession(['Always water the trees.'], {
      id: '01112222-2222-4333-8444-555555555555',
      cwd: '/work/shop',
    });
    line.close();
    const failed = await jobs.extract(session.path);
    expect(failed).toMatchObject({ outcome: 'failed', error: { code: 'database-unavailable' } });
    expect(requests).toBe(0);
    const back = await lineTo(own.url, Number(new URL(line.url).port));
    onTestFinished(() => back.close());
    expect(await jobs.extract(session.path)).toMatchObject({ outcome: 'nothing-worth-keeping' });
    expect(requests).toBeGreaterThan(0);
    expect((await shared.days.spendOf('2026-11-20')).calls).toBe(requests);
  });

  test('a reservation whose answer is lost stays counted, and is told as not made', async () => {
    await emptied();
    const line = await lineTo(own.url);
    onTestFinished(() => line.close());
    const shared = home(line.url);
    const spend = new JobSpend(shared, limits);
    await spend.reserve(100);
    line.cutAt('answer');
    await expect(spend.reserve(200)).rejects.toMatchObject({ code: 'database-unavailable' });
    await expect.poll(async () => (await shared.days.spendOf('2026-11-20')).reservedTokens, { interval: 5 }).toBe(300);
    await spend.reserve(1_700);
    await expect(spend.reserve(1)).rejects.toMatchObject({ code: 'ceiling' });
  });

  test('nothing is reached before the first question, and what could not be reached is asked anew', async () => {
    const line = await lineTo(own.url);
    const shared = home(line.url);
    line.close();
    await expect(shared.stores()).rejects.toMatchObject({ code: 'database-unavailable' });
    const back = await lineTo(own.url, Number(new URL(line.url).port));
    onTestFinished(() => back.close());
    expect(await shared.stores()).toEqual([]);
  });
});
