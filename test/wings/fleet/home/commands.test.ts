// nocturne fleet: shows what machines share, changes its limits, and ends what was before a restored backup.

import { describe, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../../../src/base/time.ts';
import { JobSpend } from '../../../../src/memory/home/spend.ts';
import { takeStore } from '../../../../src/wings/fleet/stores/store-rows.ts';
import { renewClaim, takeNext } from '../../../../src/wings/fleet/work/due.ts';
import { DatabaseWorkRows } from '../../../../src/wings/fleet/work/work-rows.ts';
import { runHere } from '../../../support/run-here.ts';
import { tempDir } from '../../../support/temp.ts';
import { noPostgres, openHomeAt, putStore, withStores } from '../own-database.ts';

const NOW = '2026-11-21T02:00:00Z';

test('without a database it says which setting names one; what is no limit is wrong usage', async () => {
  const environment = { NOCTURNE_HOME: tempDir() };
  for (const args of [['fleet'], ['fleet', 'limits'], ['fleet', 'restored']]) {
    const { code, stderr } = await runHere(args, environment);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('NOCTURNE_DATABASE_URL') });
  }
  for (const wrong of [
    ['--day-tokens', '-1'],
    ['--day-usd', 'much'],
    ['--zone', 'Mars/Base'],
  ]) {
    expect(await runHere(['fleet', 'limits', ...wrong], environment)).toMatchObject({ code: 2 });
  }
});

describe.skipIf(noPostgres)(`nocturne fleet ${noPostgres}`, () => {
  const own = withStores({ stores: {} });

  const environment = () => ({
    ...{ HOME: tempDir(), NOCTURNE_HOME: tempDir(), NOCTURNE_DATABASE_URL: own.database.url },
    ...{ NOCTURNE_ZONE: 'UTC', NOCTURNE_NOW: NOW },
  });

  async function run(args: string[], settings: Record<string, string> = {}) {
    const ended = await runHere(['fleet', ...args], { ...environment(), ...settings });
    expect(ended).toMatchObject({ code: 0 });
    return ended;
  }

  async function json<T>(args: string[], settings?: Record<string, string>): Promise<T> {
    return JSON.parse((await run([...args, '--json'], settings)).stdout);
  }

  function home() {
    const opened = openHomeAt(own.database.url, fixedClock(NOW));
    onTestFinished(() => opened.close());
    return opened;
  }

  test('the first machine writes its limits; another is told that its own do not count, until a person changes them', async () => {
    expect(await json(['limits'])).toEqual({ dayTokens: 5_000_000, dayUsd: null, zone: 'UTC', overruled: [] });
    expect(await json(['limits'], { NOCTURNE_ZONE: 'Asia/Tokyo' })).toMatchObject({
      zone: 'UTC',
      overruled: ['zone is Asia/Tokyo in the settings of this machine, but UTC counts, for all machines'],
    });
    const doctor = async (more: Record<string, string>) =>
      (await runHere(['doctor'], { ...environment(), NOCTURNE_MODEL: 'offline', ...more })).stdout;
    expect(await doctor({ NOCTURNE_ZONE: 'Asia/Tokyo' })).toMatch(/limits.* zone is Asia\/Tokyo in the settings/);
    expect(await doctor({ NOCTURNE_DATABASE_URL: 'postgres://127.0.0.1:1/none' })).toContain('127.0.0.1:1');
    const changed = await run(['limits', '--day-tokens', '2000', '--day-usd', '12.5', '--zone', 'Europe/Berlin']);
    expect(changed.stdout).toContain('$12.50 in a day of Europe/Berlin');
    expect(changed.stdout).toContain(
      'differs    zone is UTC in the settings of this machine, but Europe/Berlin counts',
    );
    expect(await json(['limits', '--day-usd', 'none'])).toMatchObject({
      dayTokens: 2_000,
      dayUsd: null,
      zone: 'Europe/Berlin',
    });
    await run(['limits', '--zone', 'UTC']);
  });

  test('a day that was full has room again under higher limits', async () => {
    const spend = new JobSpend(home(), { jobTokens: 1e9, dayTokens: 1, zone: 'UTC', clock: fixedClock(NOW) });
    await expect(spend.reserve(3_000)).rejects.toMatchObject({ code: 'ceiling' });
    expect(await home().days.fullFrom('2026-11-21')).not.toBeNull();
    await run(['limits', '--day-tokens', '9000']);
    expect(await home().days.fullFrom('2026-11-21')).toBeNull();
    await spend.reserve(3_000);
  });

  test('status names stores, workers, limits and what was spent', async () => {
    await putStore(own.stores, { 'a.md': 'one\n' });
    const shared = home();
    await shared.workers.enter('redis');
    onTestFinished(() => shared.workers.leave());
    const said = (await run([])).stdout;
    expect(said).toContain('stores     1\n');
    expect(said).toContain('waiting    0\n');
    expect(said).toMatch(/^worker {5}\S+ \(redis\), seen /m);
    expect(said).toMatch(/^spend {6}.* reserved; 1 call$/m);
    expect(await json(['status'])).toMatchObject({
      database: own.stores.database.id,
      stores: { ready: 1, arriving: 0 },
      workers: [{ backend: 'redis' }],
      limits: { dayTokens: 9_000, overruled: [expect.stringContaining('dayTokens is 5000000')] },
      spendToday: { day: '2026-11-21', reservedTokens: 3_000, usedTokens: 0 },
    });
  });

  test('after restored no lease, copy or worker from before counts, and today is spent in full until a person says else', async () => {
    const id = await putStore(own.stores, { 'a.md': 'one\n' });
    const taken = await takeStore(own.stores.database.ask, { store: id, owner: 'before', leaseMs: 60_000 });
    const rows = new DatabaseWorkRows(own.stores.database.ask, id);
    await rows.put({ kind: 'extract', key: 's', payload: {}, notBefore: new Date(NOW).toISOString() });
    const claim = await takeNext(own.stores.database.ask, { owner: 'before', ttlMs: 60_000, now: new Date(NOW) });
    const lease = await rows.takeLease({ key: 'session:s', owner: 'before', now: new Date(), ttlMs: 60_000 });
    const shared = home();
    await shared.workers.enter('redis');
    await run(['limits', '--day-tokens', '9000']);
    const { stores: count, day } = await json<{ stores: number; day: string }>(['restored']);
    expect(count).toBeGreaterThan(0);
    expect(day).toBe('2026-11-21');
    const after = await takeStore(own.stores.database.ask, { store: id, owner: 'after', leaseMs: 60_000 });
    expect(after?.lease.fence).toBeGreaterThan((taken?.lease.fence ?? 0) + 999_999);
    expect(after?.row.revision).toBeGreaterThan(taken?.row.revision ?? 0);
    expect(after?.row.lineage).not.toBe(taken?.row.lineage);
    await rows.finish(claim?.id as number);
    expect(await rows.items()).toMatchObject([{ key: 's' }]);
    expect(claim && (await renewClaim(own.stores.database.ask, claim, 60_000))).toBe(false);
    await expect(lease && rows.requireLease(lease)).rejects.toMatchObject({ code: 'fenced' });
    expect(await shared.workers.all()).toEqual([]);
    const spend = new JobSpend(shared, { jobTokens: 1e9, dayTokens: 1, zone: 'UTC', clock: fixedClock(NOW) });
    await expect(spend.reserve(1)).rejects.toMatchObject({
      code: 'ceiling',
      message: expect.stringContaining('in full'),
    });
    await shared.days.reopen('2026-11-21');
    await spend.reserve(1);
  });
});
