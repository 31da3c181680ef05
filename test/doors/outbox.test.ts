// Who delivers what an earlier process left in the outbox.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { compose } from '../../src/doors/compose.ts';
import { sweepSessions } from '../../src/doors/hook/sweep.ts';
import { runWorker, untilIdle } from '../../src/doors/worker/worker.ts';
import { openStore } from '../../src/memory/open.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { jobsInProcess } from '../support/jobs-in-process.ts';
import { rowsOf } from '../support/rows.ts';
import { aSession } from '../support/session-file.ts';

interface Scoped extends TestApp {
  /** The directory of the user scope. */
  user: string;
  transcript: string;
}

/** What was sent waits in the outbox, as after a crash. */
async function leftOver(): Promise<Scoped> {
  const made = await testApp({ settings: { userScope: true } });
  const transcript = aSession(['I prefer tea over coffee.', 'Always use pnpm instead of npm.']).path;
  const testing = { ...made, user: join(made.home, '.claude/memory'), transcript };
  const user = await openStore(testing.user, { clock: testing.app.config.clock });
  const jobs = await jobsInProcess(testing.dir, testing.app.config.clock, { user });
  await jobs.extract(testing.transcript);
  jobs.close();
  user.close();
  expect(await testing.rows('outbox')).toHaveLength(1);
  return testing;
}

async function expectDelivered({ store, user, app }: Scoped): Promise<void> {
  expect(readFileSync(join(user, 'logs/2026/11/2026-11-20.md'), 'utf8')).toContain('The user prefers tea over coffee.');
  expect(await rowsOf(store)('outbox')).toEqual([]);
  expect(await app.home.stores()).toContain(user);
}

const silent = { signal: new AbortController().signal, onResult() {}, onError() {} };

test.each<[string, (testing: Scoped) => Promise<unknown>]>([
  ['a worker', ({ app }) => runWorker(app, { ...silent, until: untilIdle })],
  ['a sweep', ({ app }) => sweepSessions(app)],
  ['the next extraction there', ({ app, transcript }) => app.extract({ transcript, ended: true })],
  ['a dream over the project', ({ app, store }) => app.dream(store, {})],
  ['a dream over the user scope', async ({ app }) => app.dream(await app.userScope.open(), {})],
  [
    'a worker, also when the setting was turned off meanwhile,',
    async ({ home, environment }) => {
      rmSync(join(home, 'config.json'));
      const app = compose(await loadConfig({}, environment));
      onTestFinished(() => app.close());
      await runWorker(app, { ...silent, until: untilIdle });
    },
  ],
])('%s delivers what an earlier process left in the outbox', async (_, work) => {
  const testing = await leftOver();
  await work(testing);
  await expectDelivered(testing);
});
