import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLog } from '../../src/base/logger.ts';
import { fixedClock } from '../../src/base/time.ts';
import { testApp, testModel } from '../support/app.ts';
import { workSession } from '../support/due-work.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const clock = fixedClock('2026-11-21T02:00:00Z');

function linesOf(home: string): Record<string, unknown>[] {
  const text = readFileSync(join(home, 'logs', 'nocturne.log'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('each job is a line of JSON with job, session, store, outcome and spend, and none of its words', async () => {
  const testing = await testApp();
  const session = aSession();
  await workSession(testing, session.path);
  const lines = linesOf(testing.home);
  expect(lines).toMatchObject([
    {
      level: 'info',
      time: '2026-11-21T02:00:00.000Z',
      event: 'job',
      kind: 'extract',
      job: expect.stringMatching(/^job_/),
      session: session.id,
      store: testing.dir,
      outcome: 'recorded',
      entries: 1,
      spend: { calls: expect.any(Number) },
    },
    { event: 'done', kind: 'extract', store: testing.dir, outcome: 'recorded' },
  ]);
  expect(JSON.stringify(lines)).not.toContain('pnpm');
});

test('of a failure the class is logged, but no words that may be the model’s', async () => {
  const model = await testModel([{ text: 'No.', stop: 'refusal' }]);
  const testing = await testApp({ server: model });
  await workSession(testing, aSession().path);
  const [job, item] = linesOf(testing.home);
  expect(job).toMatchObject({ level: 'warn', event: 'job', outcome: 'failed', code: 'refusal' });
  expect(job).not.toHaveProperty('error');
  expect(item).toMatchObject({ event: 'waits', code: 'refusal', until: expect.stringMatching(/^2026-11-21T02:0/) });
});

test('a secret in an error is redacted, and a long error is cut', async () => {
  const home = tempDir();
  const secret = ['ghp', '16C7e42F292c6912E7710c838347Ae178B4a'].join('_');
  const log = openLog({ home, maxBytes: 1_000_000, clock });
  await log('warn', { event: 'trouble', code: 'network', error: `no route with ${secret} ${'x'.repeat(2_000)}` });
  const [line] = linesOf(home);
  expect(String(line?.error)).toMatch(/^no route with \[redacted:/);
  expect(String(line?.error).length).toBeLessThanOrEqual(500);
});

test('the log stays within its bounds: it begins anew, and the one before is kept', async () => {
  const home = tempDir();
  const log = openLog({ home, maxBytes: 2_000, clock });
  for (let n = 0; n < 200; n++) await log('info', { event: 'job', session: `session-${n}` });
  const names = readdirSync(join(home, 'logs')).sort();
  expect(names).toEqual(['nocturne.log', 'nocturne.log.1']);
  for (const name of names) expect(readFileSync(join(home, 'logs', name)).length).toBeLessThan(2_200);
  expect(readFileSync(join(home, 'logs', 'nocturne.log.1'), 'utf8')).toContain('session-1');
});

test('a log that cannot be written fails no job', async () => {
  const home = tempDir();
  writeFileSync(join(home, 'logs'), 'a file where the directory would be');
  await openLog({ home, maxBytes: 2_000, clock })('info', { event: 'job' });
  expect(existsSync(join(home, 'logs', 'nocturne.log'))).toBe(false);
});
