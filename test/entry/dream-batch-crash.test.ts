// A worker that is killed while it sends the night's batch, or while it carries out the answer. What comes after it pays
// for no second batch and leaves every entry in one operation.
// NOCTURNE_TEST_STRIDE is how many steps lie between two kills (1: at every step).

import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openBatches } from '../../src/memory/ledger/batches.ts';
import { inboxItems } from '../../src/memory/ledger/inbox.ts';
import { type BatchedNight, batchedNight, linesOf, statesOf, timesTold, work } from '../support/batched-night.ts';
import { run } from '../support/run.ts';

vi.setConfig({ testTimeout: 900_000 });

const DIES_AT = join(import.meta.dirname, '../support/dies-at.ts');
const STRIDE = Number(process.env.NOCTURNE_TEST_STRIDE ?? 11);
const WORDS = ['Always use pnpm.', 'Never push to main.'];

/** Works what is due in a process that dies at a step; answers whether it did. */
async function dieAt(step: number, minutes: number, { after }: BatchedNight): Promise<boolean> {
  const { environment } = await after(minutes);
  const dying = { ...environment, NOCTURNE_TEST_DIES_AT: String(step) };
  const { signal } = await run(['worker', '--once'], dying, { nodeArgs: ['--import', DIES_AT] });
  return signal === 'SIGKILL';
}

async function expectOneOfEach({ model, testing }: BatchedNight): Promise<void> {
  expect(linesOf(testing)).toEqual(WORDS.map((text) => `- ${text}`));
  expect(timesTold(testing, ['2026-11-21'])).toEqual([1, 1]);
  expect(statesOf(testing)).toEqual(['distilled', 'distilled']);
  expect(model.batches.sent).toHaveLength(1);
  expect(model.requests).toEqual([]);
  expect(openBatches(testing.store.ledger)).toEqual([]);
  expect(inboxItems(testing.store.ledger)).toEqual([]);
  expect(testing.app.home.spendOf('2026-11-21')).toMatchObject({ reservedTokens: 0, usedTokens: 110, calls: 1 });
}

test('killed at a step of its sending, a worker leaves a batch that is found, or none, and one is paid for', async () => {
  const sentBy: number[] = [];
  for (let step = 3, isDead = true; isDead; step += STRIDE) {
    const night = await batchedNight(WORDS);
    isDead = await dieAt(step, 0, night);
    if (isDead) sentBy.push(night.model.batches.sent.length);
    await work(await night.after(1));
    // It may be on its way for five minutes; then it is looked for, and sent where it is not there.
    await work(await night.after(7));
    await night.model.batches.answer();
    await work(await night.after(120));
    await expectOneOfEach(night);
  }
  expect(sentBy).toContain(0);
  expect(sentBy).toContain(1);
  console.log(`killed ${sentBy.length} times, ${sentBy.filter((sent) => sent > 0).length} after the batch was sent`);
});

test('killed at a step of carrying out the answer, a worker leaves what the next one brings to the same memory', async () => {
  let kills = 0;
  for (let step = 3, isDead = true; isDead; step += STRIDE) {
    const night = await batchedNight(WORDS);
    await work(night.testing);
    await night.model.batches.answer();
    isDead = await dieAt(step, 10, night);
    if (isDead) kills += 1;
    await work(await night.after(20));
    await work(await night.after(90));
    await expectOneOfEach(night);
  }
  expect(kills).toBeGreaterThan(2);
  console.log(`killed ${kills} times`);
});
