import { expect, test } from 'vitest';
import { withLease } from '../../src/doors/job-bounds.ts';
import { isLeased } from '../../src/memory/ledger/job-rows.ts';
import { testApp } from '../support/app.ts';
import { until } from '../support/run.ts';

test('a ledger that cannot be written for a while ends no job: its lease is renewed once it can', async () => {
  const { app, store } = await testApp();
  const { clock } = app.config;
  let looks = 0;
  const counting = {
    now() {
      looks += 1;
      return clock.now();
    },
  };
  const config = { ...app.config, clock: counting, leaseMs: 60 };
  const done = await withLease(store, {
    key: 'session:1',
    config,
    work: async () => {
      // SQLite answers as on a disk that became read-only.
      store.ledger.run('pragma query_only = 1');
      await until(() => looks > 3);
      store.ledger.run('pragma query_only = 0');
      const seen = looks;
      await until(() => looks > seen);
      return isLeased(store.ledger, { prefix: 'session:', now: clock.now() });
    },
  });
  expect(done).toBe(true);
});
