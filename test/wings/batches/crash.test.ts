// A worker that is killed while it sends the night's batch, or while it carries out the answer. What comes after it pays
// for no second batch and leaves every entry in one operation.
// NOCTURNE_TEST_STRIDE is how many steps lie between two kills (1: at every step).

import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { inboxItems } from '../../../src/memory/ledger/inbox.ts';
import { openBatches } from '../../../src/wings/batches/rows.ts';
import { sized } from '../../support/depth.ts';
import { run, until } from '../../support/run.ts';
import {
  type BatchedNight,
  batchedNight,
  beginNight,
  linesOf,
  rememberAll,
  statesOf,
  timesTold,
  work,
} from './batched-night.ts';

vi.setConfig({ testTimeout: 900_000 });

const DIES_AT = join(import.meta.dirname, '../../support/dies-at.ts');
const strideOf = (sizes: { quick: number; deep: number }) => Number(process.env.NOCTURNE_TEST_STRIDE ?? sized(sizes));
const WORDS = ['Always use pnpm.', 'Never push to main.'];

/** Works what is due in a process that dies at a step (dies-at.ts); answers whether it did. */
async function dieAt(step: number | string, minutes: number, { after }: BatchedNight): Promise<boolean> {
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
  expect(await testing.app.home.days.spendOf('2026-11-21')).toMatchObject({
    reservedTokens: 0,
    usedTokens: 110,
    calls: 1,
  });
}

test('killed at a step of its sending, a worker leaves a batch that is found, or none, and one is paid for', async () => {
  /** Answers how many batches were sent by the kill; null: none came. */
  const sentWhenKilledAt = async (step: number | string) => {
    const night = await batchedNight(WORDS);
    const isDead = await dieAt(step, 0, night);
    const sent = night.model.batches.sent.length;
    await work(await night.after(1));
    // It may be on its way for five minutes; then it is looked for, and sent where it is not there.
    await work(await night.after(7));
    await night.model.batches.answer();
    await work(await night.after(120));
    await expectOneOfEach(night);
    return isDead ? sent : null;
  };
  // The first step after the batch was sent, and from the third of the process on, which is long before.
  expect(await sentWhenKilledAt('sent+1')).toBe(1);
  const sentBy: (number | null)[] = [];
  for (let step = 3; sentBy.at(-1) !== null; step += strideOf({ quick: 120, deep: 11 })) {
    sentBy.push(await sentWhenKilledAt(step));
  }
  expect(sentBy[0]).toBe(0);
  console.log(
    `killed ${sentBy.length} times, ${1 + sentBy.filter((sent) => sent === 1).length} after the batch was sent`,
  );
});

test('killed at a step of carrying out the answer, a worker leaves what the next one brings to the same memory', async () => {
  let kills = 0;
  for (let step = 3, isDead = true; isDead; step += strideOf({ quick: 40, deep: 11 })) {
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

test('a worker that stalls while it sends takes its batch back when another has sent the night meanwhile; both stay counted', async () => {
  const night = await batchedNight(WORDS);
  const { batches } = night.model;
  const { promise: stalled, resolve: goOn } = Promise.withResolvers<void>();
  batches.nextAfter = stalled;
  const late = work(night.testing);
  await until(() => batches.asked.length === 1);
  expect(batches.sent).toEqual([]);
  // Its lease is over; what it sent is looked for, is not there, and is sent by another.
  await work(await night.after(7));
  expect(batches.sent).toHaveLength(1);
  const { reservedTokens } = await night.testing.app.home.days.spendOf('2026-11-21');
  goOn();
  await late;
  expect(batches.sent.map(({ isCanceled }) => isCanceled)).toEqual([false, true]);
  // What was answered of the second before it was taken back is paid for, too.
  expect((await night.testing.app.home.days.spendOf('2026-11-21')).reservedTokens).toBe(2 * reservedTokens);
  await batches.answer(undefined, batches.sent[0]);
  await batches.answer(() => ({ type: 'canceled' }), batches.sent[1]);
  await work(await night.after(120));
  expect(linesOf(night.testing)).toEqual(WORDS.map((text) => `- ${text}`));
  expect(timesTold(night.testing, ['2026-11-21'])).toEqual([1, 1]);
  expect(statesOf(night.testing)).toEqual(['distilled', 'distilled']);
  expect(openBatches(night.testing.store.ledger)).toEqual([]);
  expect(night.model.requests).toEqual([]);
});

/** So many nights that each failure comes once, and that a worker dies twice in one or several. */
const NIGHTS = sized({ quick: 4, deep: 10 });
const DEADLY_UNTIL = sized({ quick: 2, deep: 10 });

test(`over ${NIGHTS} nights of batches, with workers that die and answers that fail, every entry is told once and paid for once`, async () => {
  const night = await batchedNight(['Rule 0 is kept.']);
  const { model, testing } = night;
  const failures = ['errored', 'expired', 'canceled'].map((type) => ({
    type,
    ...(type === 'errored' && {
      error: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' }, request_id: 'req_1' },
    }),
  }));
  const days = 24 * 60;
  for (let at = 0; at < NIGHTS; at += 1) {
    const begins = at * days;
    model.batches.createdAt = (await night.after(begins)).app.config.clock.now().toISOString();
    if (at > 0) {
      const evening = await night.after(begins - 60);
      await rememberAll(evening, [`Rule ${at} is kept.`]);
      beginNight(await night.after(begins));
    }
    // Every other night the worker dies on its way, before it asks at once what failed as a batch, which would be paid for
    // a second time; in the small size one night.
    const isDeadly = at % 2 === 1 && at < DEADLY_UNTIL;
    if (isDeadly) await dieAt(`sent+${1 + (at % 3)}`, begins, night);
    await work(await night.after(begins));
    await work(await night.after(begins + 7));
    const open = model.batches.sent.at(-1);
    const failure = failures[at % 4];
    if (open && !open.results) await model.batches.answer(() => failure, open);
    if (isDeadly) await dieAt(30 + at * 11, begins + 60, night);
    await work(await night.after(begins + 70));
    await work(await night.after(begins + 140));
  }
  // What failed as a batch is for the ordinary loop of the next night.
  beginNight(await night.after(NIGHTS * days));
  await work(await night.after(NIGHTS * days));
  const all = Array.from({ length: NIGHTS }, (_, at) => `- Rule ${at} is kept.`);
  expect(linesOf(testing)).toEqual(all);
  expect(new Set(statesOf(testing))).toEqual(new Set(['distilled']));
  expect(openBatches(testing.store.ledger)).toEqual([]);
  const ids = model.batches.sent.flatMap(({ requests }) => requests.map(({ custom_id }) => custom_id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toHaveLength(NIGHTS);
  // The nights that failed were asked in one request each; of every other only the batch was paid for.
  const succeeded = Math.floor(NIGHTS / 4);
  expect(model.requests).toHaveLength(NIGHTS - succeeded);
  const dates = Array.from({ length: NIGHTS + 1 }, (_, at) => new Date(Date.parse('2026-11-21') + at * days * 60_000));
  const spent = await Promise.all(dates.map((day) => testing.app.home.days.spendOf(day.toISOString().slice(0, 10))));
  expect(spent.map(({ reservedTokens }) => reservedTokens)).toEqual(spent.map(() => 0));
  expect(spent.reduce((sum, { usedTokens }) => sum + usedTokens, 0)).toBe(NIGHTS * 110);
});
