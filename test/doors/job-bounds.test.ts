// What bounds a job: as many requests at once as there are slots, whatever becomes of them, and its lease.

import { expect, test } from 'vitest';
import type { AgentRequest, RunAgent } from '../../src/agent/types.ts';
import { ModelSlots, withinSlots } from '../../src/doors/job-bounds.ts';
import { withLease } from '../../src/doors/keeping.ts';
import { isLeased } from '../../src/memory/ledger/job-rows.ts';
import { recordingPorts } from '../support/agent-ports.ts';
import { testApp } from '../support/app.ts';
import { until } from '../support/run.ts';
import { HOUSE } from '../support/temp.ts';

const NO_USAGE = { calls: 1, inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
const request = {} as AgentRequest;

test('a run that never settles, tries again and fails gives its only slot to the next', async () => {
  const ports = recordingPorts();
  const slots = new ModelSlots(1);
  const unlucky: RunAgent = async (_request, { reserve }) => {
    await reserve(1, 1);
    await reserve(1, 1);
    throw new Error('reset');
  };
  await expect(withinSlots(unlucky, slots)(request, ports)).rejects.toThrow('reset');
  const lucky: RunAgent = async (_request, { reserve, settle }) => {
    await settle(await reserve(1, 1), NO_USAGE);
    return 'done';
  };
  expect(await withinSlots(lucky, slots)(request, ports)).toBe('done');
  expect(ports.reserved).toHaveLength(3);
});

test('a run that is ended while its request waits for a slot takes none from the others', async () => {
  const ports = recordingPorts();
  const slots = new ModelSlots(1);
  const giveBack = await slots.take();
  const ended: RunAgent = async (_request, { reserve }) => {
    void reserve(1, 1);
    return 'done';
  };
  await withinSlots(ended, slots)(request, ports);
  giveBack();
  await new Promise(setImmediate);
  const again = slots.take();
  expect(await Promise.race([again, new Promise((resolve) => setImmediate(resolve, 'none is free'))])).toEqual(
    expect.any(Function),
  );
});

// Of the next house chaos stops who holds the database for longer than a claim lasts.
test.skipIf(HOUSE === 'next')(
  'a ledger that cannot be written for a while ends no job: its lease is renewed once it can',
  async () => {
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
  },
);
