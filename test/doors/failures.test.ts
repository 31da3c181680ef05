// What becomes of work when the model or the machine fails: each failure ends in its named class, within its bounds.

import { appendFileSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type TestApp, type TestAppOptions, testApp, testModel } from '../support/app.ts';
import { waysTaken } from '../support/depth.ts';
import { enqueueExtract } from '../support/doors.ts';
import { laterApp, workDue, workSession } from '../support/due-work.ts';
import { type Answer, calls, error, says } from '../support/messages-server.ts';
import { aSession } from '../support/session-file.ts';
import { ON_POSTGRES } from '../support/temp.ts';

const NOW = Date.parse('2026-11-21T02:00:00Z');
const MINUTE = 60_000;

async function waitMs({ rows }: TestApp): Promise<number | undefined> {
  const [item] = await rows('waiting');
  return item && Date.parse(item.notBefore) - NOW;
}

const pause = (seconds: number, status: number) => error(status, 'later', { 'retry-after-ms': String(seconds * 1000) });
const cutCall: Answer = { ...calls('record_entries', { entries: [{ type: 'fee' }] }), stop: 'max_tokens' };
const truncated: Answer = { status: 200, body: '{"id":"msg_1","content":[{"type":"tool_use","input":{"entr' };
const refusal: Answer = { text: 'No.', stop: 'refusal' };

const FAILURES: [string, Answer, { code: string; requests: number; attempts: number; from?: number; to: number }][] = [
  ['429 with a pause', pause(90, 429), { code: 'overloaded', requests: 1, attempts: 0, from: 90_000, to: 150_000 }],
  ['529', error(529, 'Overloaded'), { code: 'overloaded', requests: 3, attempts: 0, to: MINUTE + 1 }],
  ['500', error(500, 'internal'), { code: 'server-error', requests: 3, attempts: 1, to: MINUTE + 1 }],
  ['503 with a pause', pause(45, 503), { code: 'server-error', requests: 1, attempts: 1, from: 45_000, to: 105_000 }],
  ['a reset', 'reset', { code: 'network', requests: 3, attempts: 0, to: MINUTE }],
  ['a reply that breaks off', 'cut', { code: 'network', requests: 1, attempts: 0, to: MINUTE }],
  ['silence', 'hang', { code: 'timeout', requests: 1, attempts: 1, to: MINUTE }],
  ['silence within a reply', 'stall', { code: 'timeout', requests: 1, attempts: 1, to: MINUTE }],
  ['truncated JSON', truncated, { code: 'bad-reply', requests: 1, attempts: 1, to: MINUTE }],
  ['a refusal', refusal, { code: 'refusal', requests: 1, attempts: 1, to: MINUTE }],
  ['a tool call cut by the token limit', cutCall, { code: 'bad-reply', requests: 1, attempts: 1, to: MINUTE }],
  [
    'invalid arguments',
    calls('record_entries', { entries: [{ kind: 1 }] }),
    { code: 'bad-reply', requests: 5, attempts: 1, to: MINUTE },
  ],
  ['a wrong key', error(401, 'invalid x-api-key'), { code: 'auth', requests: 1, attempts: 0, to: 5 * MINUTE }],
  [
    'an empty balance',
    error(400, 'Your credit balance is too low'),
    { code: 'quota', requests: 1, attempts: 0, to: 5 * MINUTE },
  ],
  ['an unknown model', error(404, 'model: test-model'), { code: 'no-model', requests: 1, attempts: 0, to: 5 * MINUTE }],
];

// In the small size a third; of what class each is tells agent/model.test.ts.
test.each(waysTaken(FAILURES, 0, 3))(
  '%s: its class, its requests, its tries, its wait',
  async (_, answer, { code, requests, attempts, from = 0, to }) => {
    const model = await testModel(() => answer);
    // What is answered is waited for, on a busy machine too.
    const requestMs = code === 'timeout' ? 1_500 : 60_000;
    const testing = await testApp({ server: model, settings: { requestMs } });
    expect(await workSession(testing, aSession().path)).toMatchObject({ outcome: 'failed', code });
    expect(model.requests).toHaveLength(requests);
    expect((await testing.app.home.days.spendOf('2026-11-21')).calls).toBe(requests);
    expect(await testing.rows('failures')).toMatchObject([{ state: 'retrying', code, attempts, failures: 1 }]);
    expect(await testing.rows('coverage')).toEqual([]);
    const wait = (await waitMs(testing)) as number;
    expect(wait).toBeGreaterThan(from);
    expect(wait).toBeLessThanOrEqual(to);
  },
);

// Other machines read the copy that was sent to the database.
test.skipIf(ON_POSTGRES)('a transcript that is gone is given up at once, is listed, and costs no request', async () => {
  const model = await testModel([]);
  const testing = await testApp({ server: model });
  const session = aSession();
  await enqueueExtract(testing.app, { transcript: session.path, ended: true });
  rmSync(session.path);
  expect(await workDue(testing)).toMatchObject([{ outcome: 'transcript-gone', isGivenUp: true }]);
  expect(await testing.rows('failures')).toMatchObject([{ state: 'failed', code: 'transcript-gone' }]);
  expect(await testing.rows('waiting')).toEqual([]);
  expect(model.requests).toEqual([]);
});

/** Works an item again whenever it is due, and not a moment before, until nothing waits; answers how long it waited. */
async function workToTheEnd(testing: TestApp, options: TestAppOptions): Promise<number[]> {
  const waits: number[] = [];
  let now = 0;
  for (let at = await waitMs(testing); at !== undefined && waits.length < 20; at = await waitMs(testing)) {
    waits.push(at - now);
    now = at;
    expect(await workDue(await laterApp(testing, NOW + at - 1, options))).toEqual([]);
    expect(await workDue(await laterApp(testing, NOW + at, options))).toHaveLength(1);
  }
  return waits;
}

test.each<[string, Answer, number]>([
  ['refusal', refusal, 3],
  ['bad-reply', cutCall, 3],
  ['server-error', error(500, 'internal', { 'x-should-retry': 'false' }), 8],
])('%s is given up after its last try, covered as such, listed, and asked no more', async (code, answer, tries) => {
  const model = await testModel(() => answer);
  const options = { server: model, settings: { breakerAfter: 100 } };
  const testing = await testApp(options);
  const { path } = aSession();
  await workSession(testing, path);
  const waits = await workToTheEnd(testing, options);
  expect(waits).toHaveLength(tries - 1);
  for (const [nth, wait] of waits.entries()) expect(wait).toBeLessThanOrEqual(4 ** nth * MINUTE);
  await testing.app.extract({ transcript: path, ended: true });
  expect(model.requests).toHaveLength(tries);
  expect(await testing.rows('failures')).toMatchObject([{ state: 'failed', code, failures: tries }]);
  expect(await testing.rows('fates')).toEqual(['gave-up']);
});

test('a prompt that is too long is split smaller until the model takes it', async () => {
  const model = await testModel((request) =>
    JSON.stringify(request.messages).length > 6_000 ? error(400, 'prompt is too long: 9 > 8') : says('Nothing.'),
  );
  const testing = await testApp({ server: model, settings: { excerptTokens: 4_000 } });
  const session = aSession(Array.from({ length: 12 }, (_, n) => `Rule ${n}: ${'keep the trees watered. '.repeat(40)}`));
  expect(await workSession(testing, session.path)).toMatchObject({ outcome: 'nothing-worth-keeping', reason: null });
  expect(await testing.rows('coverage')).toHaveLength(12);
  expect(await testing.rows('failures')).toEqual([]);
  const refused = model.requests.filter((request) => JSON.stringify(request.messages).length > 6_000);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThanOrEqual(3);
});

test('a prompt that is too long however small it is split is given up; what comes after it is not held up', async () => {
  const model = await testModel((request) =>
    JSON.stringify(request.messages).includes('POISON') ? error(413, 'too large') : says('Nothing.'),
  );
  const testing = await testApp({ server: model, settings: { excerptTokens: 1_000 } });
  const filler = 'Water the trees. '.repeat(130);
  const session = aSession([`POISON ${filler}`, `Second ${filler}`, `Third ${filler}`]);
  expect(await workSession(testing, session.path)).toMatchObject({
    outcome: 'failed',
    code: 'oversize',
    isGivenUp: true,
  });
  const fates = Object.fromEntries(
    (await testing.rows('coverage')).map(({ turn, disposition }) => [turn, disposition]),
  );
  expect(fates).toMatchObject({ [session.turn(1)]: 'gave-up', [session.turn(3)]: 'nothing' });
  expect(Object.keys(fates)).toHaveLength(3);
  expect(await testing.rows('failures')).toMatchObject([{ state: 'failed', code: 'oversize' }]);
});

test('tries are given back when the transcript grows, also after it was given up; the rest is then done', async () => {
  let isRefusing = true;
  const model = await testModel(() => (isRefusing ? refusal : says('Nothing.')));
  const options = { server: model, settings: { breakerAfter: 100 } };
  const testing = await testApp(options);
  const session = aSession();
  await workSession(testing, session.path);
  session.add('I prefer short answers.');
  const later = await laterApp(testing, NOW + MINUTE, options);
  await enqueueExtract(later.app, { transcript: session.path, ended: true });
  expect(await workDue(later)).toHaveLength(1);
  expect(await testing.rows('failures')).toMatchObject([{ attempts: 1, failures: 1 }]);
  for (const minutes of [30, 60]) {
    await enqueueExtract(later.app, { transcript: session.path, ended: true });
    await workDue(await laterApp(testing, NOW + minutes * MINUTE, options));
  }
  // Asking again without anything new gave no tries back.
  expect(await testing.rows('failures')).toMatchObject([{ state: 'failed', attempts: 3 }]);
  const requests = model.requests.length;
  await workSession(await laterApp(testing, NOW + 90 * MINUTE, options), session.path);
  expect(model.requests).toHaveLength(requests);
  expect(await testing.rows('failures')).toMatchObject([{ state: 'failed' }]);
  session.add('Thanks.');
  isRefusing = false;
  await workSession(await laterApp(testing, NOW + 120 * MINUTE, options), session.path);
  expect(await testing.rows('fates')).toEqual(['nothing', 'nothing', 'nothing']);
  expect(await testing.rows('failures')).toEqual([]);
});

test('a run that got somewhere before it failed begins to count anew', async () => {
  const model = await testModel((request) =>
    JSON.stringify(request.messages).includes('POISON') ? refusal : says('Nothing.'),
  );
  const options = { server: model, settings: { excerptTokens: 1_000, breakerAfter: 100 } };
  const testing = await testApp(options);
  const filler = 'Water the trees. '.repeat(130);
  await workSession(testing, aSession([`First ${filler}`, `Second ${filler}`, `POISON ${filler}`]).path);
  expect((await testing.rows('coverage')).length).toBeGreaterThan(0);
  expect(await testing.rows('failures')).toMatchObject([{ state: 'retrying', attempts: 1 }]);
  expect(await workToTheEnd(testing, options)).toHaveLength(2);
  const fates = await testing.rows('fates');
  expect(fates.toSorted()).toEqual(['gave-up', 'nothing', 'nothing']);
});

test('bytes that are no new turn bring no request', async () => {
  const model = await testModel(() => says('Nothing.'));
  const testing = await testApp({ server: model });
  const session = aSession();
  await workSession(testing, session.path);
  appendFileSync(session.path, '\n');
  await workSession(testing, session.path);
  expect(model.requests).toHaveLength(1);
});
