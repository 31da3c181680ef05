// nocturne cost: real jobs of two projects against a loopback model, on several days, with and without a price.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixedClock } from '../../src/base/time.ts';
import type { MonthCost } from '../../src/queue/month-cost.ts';
import type { Status } from '../../src/worker/overview.ts';
import { environmentIn, testModel } from '../support/app.ts';
import { says } from '../support/messages-server.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const PRICE = { input: 2, cacheRead: 0.2, cacheWrite: 2.5, output: 10 };
/** Of one request below: 10,000 tokens in, 1,000 out. */
const MICRO_USD = 30_000;

type Cost = MonthCost;

/** A home with a session a day: two in a shop, one by a model without a price in an api. */
async function spent() {
  const server = await testModel(() => ({
    ...says('Nothing.'),
    usage: { input_tokens: 10_000, output_tokens: 1_000 },
  }));
  const user = tempDir();
  mkdirSync(join(user, '.nocturne'), { recursive: true });
  writeFileSync(join(join(user, '.nocturne'), 'config.json'), JSON.stringify({ prices: { priced: PRICE } }));
  const { apiKey: ANTHROPIC_API_KEY, baseURL: ANTHROPIC_BASE_URL } = server.access;
  const reach = { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, NOCTURNE_ZONE: 'Europe/Berlin' };
  const at = (now: string) => environmentIn(user, { ...reach, NOCTURNE_NOW: now });
  let count = 0;
  const learn = async (project: string, model: string, now: string) => {
    const cwd = join(user, 'code', project);
    mkdirSync(join(cwd, '.git'), { recursive: true });
    count += 1;
    const session = aSession(['Always use pnpm instead of npm.'], {
      id: `${count}1111111-2222-4333-8444-555555555555`,
      cwd,
    });
    const { code, stderr } = await runHere(['learn', session.path, '--model', model], at(now));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  };
  await learn('shop', 'priced', '2026-11-19T09:00:00Z');
  // In Berlin that is the next day.
  await learn('shop', 'priced', '2026-11-19T23:30:00Z');
  await learn('api', 'unpriced', '2026-11-20T10:00:00Z');
  return { user, at, learn };
}

test('a month is told by day, project, job and model; all of them sum up to what the ceilings count', async () => {
  const { at } = await spent();
  const cost = await jsonHere<Cost>(['cost'], at('2026-11-21T08:00:00Z'));
  const [one, two] = [MICRO_USD / 1e6, (2 * MICRO_USD) / 1e6];
  expect(cost).toMatchObject({
    month: '2026-11',
    today: { usd: 0, tokens: 0 },
    total: { usd: two, tokens: 33_000, requests: 3 },
    days: [
      { day: '2026-11-19', usd: one, tokens: 11_000, unfinished: { usd: 0, tokens: 0 } },
      { day: '2026-11-20', usd: one, tokens: 22_000, unfinished: { usd: 0, tokens: 0 } },
    ],
    projects: [
      { project: '~/code/shop', usd: two, tokens: 22_000 },
      { project: '~/code/api', usd: 0, tokens: 11_000 },
    ],
    kinds: [{ kind: 'extract', jobs: 3, usd: two, tokens: 33_000, requests: 3 }],
    models: [
      { model: 'priced', usd: two, tokens: 22_000 },
      { model: 'unpriced', usd: 0, tokens: 11_000 },
    ],
    unfinished: { usd: 0, tokens: 0, requests: 0 },
  });
  // Two whole days cost 30,000 each; ten days of the month are left, today among them.
  expect(cost.forecast?.usd).toBeCloseTo(two + 10 * one, 6);
  const [, total] =
    /^November +\$(\d\.\d\d);/m.exec((await runHere(['cost'], at('2026-11-21T08:00:00Z'))).stdout) ?? [];
  expect(Number(total)).toBe(cost.total.usd);
});

/** A process that was killed leaves what it had reserved, and no usage in the row of its job. */
async function leaveUnfinished(user: string): Promise<void> {
  const { openDatabase } = await import('../../src/db/open-database.ts');
  const { spendOf } = await import('../../src/queue/spend.ts');
  const db = await openDatabase({ home: join(user, '.nocturne') });
  const ceilings = { jobTokens: 1e9, dayTokens: 1e9, zone: 'Europe/Berlin' };
  const prices = { priced: { ...PRICE, output: 1.4, input: 1.12 } };
  const spend = spendOf(
    { db, clock: fixedClock('2026-11-20T12:00:00Z'), ceilings, model: 'priced', prices },
    'job_killed',
  );
  await spend.reserve(5_000, 5_000);
  await db.close();
}

test('what no job says is shown as unfinished requests, older rows as before their version', async () => {
  const { at, user } = await spent();
  await leaveUnfinished(user);
  const cost = await jsonHere<Cost>(['cost'], at('2026-11-21T08:00:00Z'));
  expect(cost.unfinished).toEqual({ usd: 0.007, tokens: 5_000, requests: 1 });
  expect(cost.total).toMatchObject({ usd: 0.067, tokens: 38_000 });
  const models = JSON.stringify(cost.models.map(({ model, usd }) => [model, usd]));
  expect(models).toContain('["priced",0.06]');
  const { stdout, code } = await runHere(['cost'], at('2026-11-21T08:00:00Z'));
  expect(code).toBe(0);
  for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  expect(stdout).toMatch(/^November {4}\$0\.07; about \$0\.\d\d by its end$/m);
  expect(stdout).toMatch(/^Fri 20 Nov\t\$0\.04\t27,000\t3$/m);
  expect(stdout).toMatch(/^~\/code\/shop\t\$0\.06\t22,000\t2$/m);
  expect(stdout).toMatch(/^learning from sessions \(3\)\t\$0\.06\t33,000\t3\nunfinished requests\t/m);
  // In tokens only.
  expect(stdout).toMatch(/^unpriced\t–\t11,000\t1$/m);
  expect(stdout).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-|\dT\d\d:/);
});

test('nocturne says the same of today and the month as cost, requests without an answer included', async () => {
  const { at, user } = await spent();
  await leaveUnfinished(user);
  const now = at('2026-11-20T13:00:00Z');
  const { stdout } = await runHere(['cost'], now);
  const [, today] = /^Today {7}(\$0\.\d\d)$/m.exec(stdout) ?? [];
  const [, month] = /^November {4}(\$0\.\d\d);/m.exec(stdout) ?? [];
  expect((await runHere([], now)).stdout).toContain(`\nCost        ${today} today, ${month} this month\n`);
});

test('a month without spend says so, another month is told when it is asked for', async () => {
  const { at } = await spent();
  expect((await runHere(['cost'], at('2026-12-03T08:00:00Z'))).stdout).toBe('Nothing was spent in December 2026.\n');
  const { total, forecast } = await jsonHere<Cost>(['cost', '--month', '2026-11'], at('2026-12-03T08:00:00Z'));
  expect({ total, forecast }).toMatchObject({ total: { tokens: 33_000 }, forecast: null });
  expect((await runHere(['cost', '--month', 'May'], at('2026-12-03T08:00:00Z'))).code).toBe(2);
});

test('what doctor asked the model counts, in what nocturne says of today as in cost', async () => {
  const { at } = await spent();
  const now = at('2026-12-03T08:00:00Z');
  await runHere(['doctor'], { ...now, NOCTURNE_MODEL: 'unpriced' });
  const { today, kinds, total } = await jsonHere<Cost>(['cost'], now);
  expect(kinds).toMatchObject([{ kind: 'check', requests: 1, tokens: 11_000 }]);
  const { spendToday, spendMonth } = await jsonHere<Status>([], now);
  expect([spendToday.usedTokens, spendMonth.tokens]).toEqual([today?.tokens, total.tokens]);
  const { stdout } = await runHere(['cost'], now);
  expect(stdout).toMatch(/^setup and doctor \(1\)\t–\t11,000\t1$/m);
});
