// The nightly dream as a Message Batch: what is sent and what waits, what is made of the answers, and that no crash, no
// restart and no answer whatever costs anything twice or leaves an entry behind.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inboxItem, inboxItems } from '../../../src/memory/ledger/inbox.ts';
import { askAfter, intendBatch, openBatches } from '../../../src/wings/batches/rows.ts';
import { testApp } from '../../support/app.ts';
import { error } from '../../support/messages-server.ts';
import { entriesShown } from '../../support/obedient.ts';
import { runHere } from '../../support/run-here.ts';
import { batchedNight, beginNight, linesOf, NIGHT, rememberAll, statesOf, timesTold, work } from './batched-night.ts';

const DAY = '2026-11-21';
const WORDS = ['Always use pnpm.', 'Never push to main.'];
const LINES = WORDS.map((text) => `- ${text}`);
const tiny = { excerptTokens: 500 };
/** Each is a request of its own in `tiny`. */
const FOUR = ['why', 'how', 'who', 'when'].map((word) => `Always say ${`${word} `.repeat(150)}first.`);
const LONG = FOUR.slice(0, 2);

test('the night is sent as one batch that waits, and its answer is carried out when it is there, at half the price', async () => {
  const { model, testing, after } = await batchedNight(WORDS);
  expect(await work(testing)).toEqual(['dream waiting']);
  expect(model.requests).toEqual([]);
  const [batch] = model.batches.sent;
  expect(batch?.requests).toHaveLength(1);
  expect(batch?.requests[0]?.custom_id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(batch?.requests[0]?.params).toMatchObject({ model: 'test-model', tools: [{ name: 'propose_operations' }] });
  expect(statesOf(testing)).toEqual(['new', 'new']);
  const reserved = await testing.app.home.days.spendOf(DAY);
  expect(reserved.reservedTokens).toBeGreaterThan(8_000);
  expect(reserved).toMatchObject({ usedTokens: 0, calls: 0 });
  const { stdout } = await runHere(['status', '--verbose'], testing.environment);
  expect(stdout).toContain(`2 entries wait in a batch of 1 request since ${NIGHT} (msgbatch_1)`);
  // Asked too early, and not answered yet; then it waits longer.
  const early = await after(6);
  expect(await work(early)).toEqual(['batch waiting']);
  expect(inboxItem(testing.store.ledger, 'dream', 'batch')?.notBefore).toBe('2026-11-21T02:11:00.000Z');
  await model.batches.answer();
  const later = await after(60);
  expect(await work(later)).toEqual(['batch dreamed']);
  expect(linesOf(testing)).toEqual(LINES);
  expect(timesTold(testing, [DAY])).toEqual([1, 1]);
  expect(inboxItems(testing.store.ledger)).toEqual([]);
  expect(model.requests).toEqual([]);
  // 100 tokens in at $4 and 10 out at $20 a million, halved.
  expect(await testing.app.home.days.spendOf(DAY)).toEqual({
    reservedTokens: 0,
    usedTokens: 110,
    calls: 1,
    reservedMicroUsd: 0,
    usedMicroUsd: 300,
  });
  const report = readFileSync(join(testing.dir, '.nocturne', 'dreams', `${DAY}.md`), 'utf8');
  expect(report).toContain('1 model call in a batch at half the price, 100 tokens in, 10 out, $0.0003.');
});

test('what waits is not sent again: a dream that a person asks for, and the next night, are about what is new', async () => {
  const { model, testing, after } = await batchedNight(WORDS);
  await work(testing);
  const day = await after(30);
  await rememberAll(day, ['Water the trees.']);
  const { stdout } = await runHere(['dream'], day.environment);
  expect(stdout).toContain('2 entries wait in a batch of 1 request');
  const asked = model.requests.filter(({ messages }) => messages.length === 1);
  expect(asked.map((request) => entriesShown(request).map(({ text }) => text))).toEqual([['Water the trees.']]);
  const { stdout: dry } = await runHere(['dream', '--dry-run'], day.environment);
  expect(dry).toContain('dry run: 0 entries; 0 requests');
  await rememberAll(day, ['Feed the cat.']);
  const nextNight = await after(23 * 60);
  beginNight(nextNight);
  expect((await work(nextNight)).sort()).toEqual(['batch waiting', 'dream waiting']);
  const sent = model.batches.sent.map(({ requests }) => requests.map(({ params }) => entriesShown(params).length));
  expect(sent).toEqual([[2], [1]]);
  for (const batch of model.batches.sent) await model.batches.answer(undefined, batch);
  const morning = await after(26 * 60);
  await work(morning);
  expect(linesOf(testing)).toEqual([
    '- Always use pnpm.',
    '- Feed the cat.',
    '- Never push to main.',
    '- Water the trees.',
  ]);
  expect(timesTold(testing, [DAY, '2026-11-22'])).toEqual([1, 1, 1, 1]);
  expect(inboxItems(testing.store.ledger)).toEqual([]);
});

test('--no-batch takes a batch back and dreams over it at once; what it cost is settled when it is told', async () => {
  const { model, testing, after } = await batchedNight(WORDS);
  await work(testing);
  const { stdout } = await runHere(['dream', '--no-batch'], testing.environment);
  expect(stdout).toContain('dream: dreamed (2 added)');
  expect(model.batches.sent[0]?.isCanceled).toBe(true);
  expect(linesOf(testing)).toEqual(LINES);
  const before = await testing.app.home.days.spendOf(DAY);
  expect(before.reservedTokens).toBeGreaterThan(8_000);
  await model.batches.answer();
  expect(await work(await after(30))).toEqual(['batch nothing-new']);
  expect(linesOf(testing)).toEqual(LINES);
  expect(await testing.app.home.days.spendOf(DAY)).toMatchObject({ reservedTokens: 0, calls: before.calls + 1 });
  expect(inboxItems(testing.store.ledger)).toEqual([]);
});

test('--batch sends where the setting does not, and a worker fetches the answer', async () => {
  const { model, testing, after } = await batchedNight(WORDS, { settings: { dreamBatch: false } });
  const { stdout, code } = await runHere(['dream', '--batch'], testing.environment);
  expect({ stdout, code }).toMatchObject({ stdout: expect.stringContaining('dream: waiting'), code: 0 });
  await model.batches.answer();
  await work(await after(10));
  expect(linesOf(testing)).toEqual(LINES);
  expect(model.requests).toEqual([]);
});

test('what expired, failed or was canceled there costs nothing, waits for the next night, and is then asked without a batch', async () => {
  const { model, testing, after } = await batchedNight(FOUR, { settings: tiny });
  await work(testing);
  // What they share is paid for once, where there are several.
  const marks = model.batches.sent[0]?.requests.map(({ params }) => params.system[0]?.cache_control);
  expect(marks).toEqual(Array(4).fill({ type: 'ephemeral' }));
  const failure = { type: 'error', error: { type: 'api_error', message: 'no luck' } };
  const results = [{ type: 'expired' }, { type: 'errored', error: failure }, { type: 'canceled' }];
  await model.batches.answer((_request, at) => results[at]);
  expect(await work(await after(60))).toEqual(['batch dreamed']);
  expect(statesOf(testing).sort()).toEqual(['distilled', 'new', 'new', 'new']);
  expect(model.requests).toEqual([]);
  expect(await testing.app.home.days.spendOf(DAY)).toMatchObject({ reservedTokens: 0, usedTokens: 110 });
  const nextNight = await after(24 * 60);
  beginNight(nextNight);
  expect(await work(nextNight)).toEqual(['dream dreamed']);
  expect(model.batches.sent).toHaveLength(1);
  expect(timesTold(testing, [DAY, '2026-11-22'])).toEqual([1, 1, 1, 1]);
});

test('a batch that is never answered is given up after a day, and what it may have cost stays counted', async () => {
  const { model, testing, after } = await batchedNight(WORDS);
  await work(testing);
  const { reservedTokens } = await testing.app.home.days.spendOf(DAY);
  expect(await work(await after(25 * 60))).toEqual(['batch waiting']);
  const nextNight = await after(27 * 60);
  beginNight(nextNight);
  await work(nextNight);
  expect(model.batches.sent).toHaveLength(1);
  expect(model.requests.length).toBeGreaterThan(0);
  expect(linesOf(testing)).toEqual(LINES);
  expect(await testing.app.home.days.spendOf(DAY)).toMatchObject({ reservedTokens, calls: 0 });
  expect(openBatches(testing.store.ledger)).toEqual([]);
});

test('a batch that the API no longer knows is given up at once', async () => {
  const { model, testing, after } = await batchedNight(WORDS);
  await work(testing);
  model.batches.isForgetful = true;
  expect(await work(await after(10))).toEqual(['batch nothing-new']);
  const nextNight = await after(24 * 60);
  beginNight(nextNight);
  expect(await work(nextNight)).toEqual(['dream dreamed']);
  expect(linesOf(testing)).toEqual(LINES);
});

test('results that are no JSON are asked for again, and then given up like an answer that never came', async () => {
  const { model, testing, after } = await batchedNight(WORDS);
  await work(testing);
  await model.batches.answer(() => '{"custom_id": ');
  expect(await work(await after(10))).toEqual(['batch failed']);
  const nextNight = await after(27 * 60);
  beginNight(nextNight);
  await work(nextNight);
  expect(linesOf(testing)).toEqual(LINES);
  expect(model.batches.sent).toHaveLength(1);
});

test('what a person changed meanwhile goes into the ordinary loop, what was answered beside it does not', async () => {
  const { model, testing, after } = await batchedNight(LONG, { settings: tiny });
  await work(testing);
  await model.batches.answer();
  const log = join(testing.dir, `logs/2026/11/${DAY}.md`);
  writeFileSync(log, readFileSync(log, 'utf8').replace(LONG[0] as string, 'Always say why at once.'));
  expect(await work(await after(10))).toEqual(['batch dreamed']);
  expect(model.requests.map((request) => entriesShown(request).map(({ text }) => text))).toContainEqual([
    'Always say why at once.',
  ]);
  expect(linesOf(testing)).toEqual([`- ${LONG[1]}`, '- Always say why at once.']);
  expect(timesTold(testing, [DAY])).toEqual([1, 1]);
});

test('entries that were forgotten meanwhile leave an answer to nothing', async () => {
  const { model, testing, after } = await batchedNight(['Always use pnpm.']);
  await work(testing);
  await testing.app.forget(testing.store, { target: 'pnpm', confirm: async () => true });
  await model.batches.answer();
  await work(await after(10));
  expect(model.requests).toEqual([]);
  expect(openBatches(testing.store.ledger)).toEqual([]);
  expect(statesOf(testing)).toEqual(['forgotten']);
});

test.each([
  ['lost on its way back', 'lost' as const, 1],
  ['answered by an error of the server', error(500, 'oops'), 2],
])(
  'a sending whose answer is %s is looked for by the ids of its requests and not paid for twice',
  async (_, next, batches) => {
    const { model, testing, after } = await batchedNight(WORDS);
    model.batches.next = next;
    expect(await work(testing)).toEqual(['dream waiting']);
    expect(model.batches.sent).toHaveLength(next === 'lost' ? 1 : 0);
    // It may be any batch of one request that is not answered yet.
    expect(await work(await after(6))).toEqual(
      next === 'lost' ? ['batch waiting'] : ['batch nothing-new', 'dream waiting'],
    );
    await model.batches.answer();
    await work(await after(60));
    expect(linesOf(testing)).toEqual(LINES);
    expect(model.batches.sent).toHaveLength(1);
    expect(model.batches.asked.filter((asked) => asked === 'POST /v1/messages/batches')).toHaveLength(batches);
    expect(await testing.app.home.days.spendOf(DAY)).toMatchObject({ reservedTokens: 0, usedTokens: 110, calls: 1 });
  },
);

test('a batch that is refused leaves nothing behind, and the night is tried again by the rule of the failure', async () => {
  const { model, testing, after } = await batchedNight(WORDS);
  model.batches.next = error(401, 'invalid x-api-key');
  expect(await work(testing)).toEqual(['dream failed']);
  expect(openBatches(testing.store.ledger)).toEqual([]);
  expect(await testing.app.home.days.spendOf(DAY)).toMatchObject({ reservedTokens: 0 });
  expect(await work(await after(11))).toContain('dream waiting');
});

test('where nobody could be reached nothing was sent, and nothing waits', async () => {
  const { model, testing } = await batchedNight(WORDS);
  await model.close();
  expect(await work(testing)).toEqual(['dream failed']);
  expect(openBatches(testing.store.ledger)).toEqual([]);
  expect(await testing.app.home.days.spendOf(DAY)).toMatchObject({ reservedTokens: 0 });
});

test('an endpoint that knows no batches is asked without', async () => {
  const { model, testing } = await batchedNight(WORDS);
  model.batches.next = error(404, 'not found');
  expect(await work(testing)).toEqual(['dream dreamed']);
  expect(linesOf(testing)).toEqual(LINES);
  expect(openBatches(testing.store.ledger)).toEqual([]);
});

test('the ceiling of the day holds for what waits, over restarts: what does not fit is not sent', async () => {
  const { model, testing, after } = await batchedNight(LONG, { settings: { ...tiny, dayTokens: 40_000 } });
  expect(await work(testing)).toEqual(['dream waiting']);
  expect(model.batches.sent[0]?.requests).toHaveLength(1);
  const later = await after(20);
  beginNight(later);
  expect(await work(later)).toContain('dream ceiling');
  expect(model.batches.sent).toHaveLength(1);
  expect(model.requests).toEqual([]);
  const { reservedTokens } = await later.app.home.days.spendOf(DAY);
  expect(reservedTokens).toBeGreaterThan(20_000);
  expect(reservedTokens).toBeLessThanOrEqual(40_000);
});

test('a ledger that is lost while a batch waits costs one more asking, and no entry twice', async () => {
  const { model, testing, after } = await batchedNight(WORDS);
  await work(testing);
  await model.batches.answer();
  await testing.app.close();
  for (const end of ['', '-wal', '-shm']) rmSync(join(testing.dir, '.nocturne', `ledger.db${end}`), { force: true });
  const later = await after(10);
  expect(await work(later)).toEqual([]);
  const nextNight = await after(24 * 60);
  beginNight(nextNight);
  await work(nextNight);
  await model.batches.answer();
  await work(await after(25 * 60));
  expect(model.batches.sent).toHaveLength(2);
  expect(linesOf(testing)).toEqual(LINES);
  expect(timesTold(testing, ['2026-11-22'])).toEqual([1, 1]);
});

test('the offline model answers at once, whatever the setting says', async () => {
  const testing = await testApp({ settings: { dreamBatch: true } });
  await rememberAll(testing, WORDS);
  beginNight(testing);
  expect(await work(testing)).toEqual(['dream dreamed']);
  expect(statesOf(testing)).toEqual(['distilled', 'distilled']);
});

test('a batch that is sent while the question after earlier ones comes to its end is asked after all the same', async () => {
  const { store } = await testApp();
  const now = new Date(NIGHT);
  await askAfter(store, now);
  const asking = await store.work.item('dream', 'batch');
  const lookAt = new Date(now.getTime() + 300_000);
  const sent = { id: 'batch_1', model: 'test-model', job: 'job_1', requests: [] };
  await intendBatch(store, { ...sent, now, lookAt, forgetBefore: now });
  await store.work.finish(asking?.id ?? 0);
  expect(await store.work.item('dream', 'batch')).toMatchObject({ notBefore: lookAt.toISOString() });
  expect(openBatches(store.ledger)).toHaveLength(1);
});
