// The day's ceiling over many directories, sessions and worker processes, and the breaker, as workers see them.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { testApp, testModel } from '../support/app.ts';
import { sized } from '../support/depth.ts';
import { enqueueExtract, openApp, rowsIn } from '../support/doors.ts';
import { laterApp, workDue, workSession } from '../support/due-work.ts';
import { error, says } from '../support/messages-server.ts';
import { run, until } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';
import { workerHere } from '../support/worker-here.ts';

vi.setConfig({ testTimeout: 900_000 });

const SESSIONS = sized({ quick: 14, deep: 24 });
const DIRECTORIES = 4;
/** Half as many sessions more are begun by each of two workers: those that are turned away at once are beyond these. */
const CONCURRENCY = sized({ quick: 2, deep: 4 });
const NOW = Date.parse('2026-11-21T02:00:00Z');
const MINUTE = 60_000;

function idOf(n: number): string {
  return `${String(n).padStart(4, '0')}2222-2222-4333-8444-555555555555`;
}

test('with a daily ceiling two workers never send more than it allows; the rest waits and is named', async () => {
  // The dearest reply there is: a token for each byte, and all output used.
  const costs: number[] = [];
  const model = await testModel((request) => {
    const usage = { input_tokens: Buffer.byteLength(JSON.stringify(request)), output_tokens: request.max_tokens };
    costs.push(usage.input_tokens + usage.output_tokens);
    return { text: 'Nothing.', usage };
  });
  const dayTokens = Math.max(100_000, SESSIONS * 1_500);
  const { home, environment } = await testApp({ server: model, settings: { dayTokens, concurrency: CONCURRENCY } });
  const shared = { ...environment, NOCTURNE_MEMORY_DIR: '', CLAUDE_CONFIG_DIR: join(home, 'claude') };
  const app = await openApp(await loadConfig({}, shared));
  const transcripts = tempDir();
  for (let n = 0; n < SESSIONS; n++) {
    const session = aSession([`Rule ${n}: always water the trees.`], {
      dir: transcripts,
      id: idOf(n),
      cwd: `/work/project-${n % DIRECTORIES}`,
    });
    await enqueueExtract(app, { transcript: session.path, ended: true });
  }
  // One in a process of its own, one in this.
  const workers = await Promise.all([run(['worker', '--once'], shared), runHere(['worker', '--once'], shared)]);
  expect(workers.map(({ code }) => code)).toEqual([0, 0]);
  // Whoever was turned away while requests were under way tries again later, and finds no room: the day is full.
  const later = { ...shared, NOCTURNE_NOW: new Date(NOW + 60 * MINUTE).toISOString() };
  expect((await runHere(['worker', '--once'], later)).stderr).toContain('limit');
  const sent = costs.reduce((sum, cost) => sum + cost, 0);
  expect(sent).toBeGreaterThan(dayTokens / 2);
  expect(sent).toBeLessThanOrEqual(dayTokens);
  expect(await app.home.days.spendOf('2026-11-21')).toMatchObject({
    reservedTokens: 0,
    usedTokens: sent,
    calls: costs.length,
  });
  const dirs = (await app.home.stores()).filter((dir) => dir.includes('project'));
  expect(dirs).toHaveLength(DIRECTORIES);
  const stores = await Promise.all(dirs.map((dir) => app.store(dir)));
  const waiting = (await Promise.all(stores.map((store) => rowsIn(app, store)('waiting')))).flat();
  expect(waiting).toHaveLength(SESSIONS - costs.length);
  for (const { failure, notBefore } of waiting) {
    // Of what was not begun the status alone says so, and it waits as it is.
    if (failure !== null) expect(failure).toMatch(/daily limit of/);
    expect(notBefore > '2026-11-21T24:00:00').toBe(notBefore > '2026-11-22');
  }
  const { code, stdout } = await runHere(['--json'], later);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    all: { pending: SESSIONS - costs.length, directories: DIRECTORIES + 1, failed: [] },
    spendToday: { usedTokens: sent, ceilingTokens: dayTokens, fullFrom: expect.stringMatching(/^2026-11-21T0[23]:00/) },
  });
  await app.close();
});

test('what a ceiling held back is done on the next day', async () => {
  const model = await testModel(() => says('Nothing.'));
  const testing = await testApp({ server: model, settings: { dayTokens: 10_000 } });
  const session = aSession(['Always water the trees.']);
  expect(await workSession(testing, session.path)).toMatchObject({ outcome: 'ceiling', code: 'ceiling' });
  const [item] = await testing.rows('waiting');
  expect(item?.notBefore.slice(0, 13)).toBe('2026-11-22T00');
  expect(item?.attempts).toBe(0);
  const tomorrow = await laterApp(testing, '2026-11-22T01:00:00Z', { server: model, settings: { dayTokens: 100_000 } });
  expect(await workDue(tomorrow)).toMatchObject([{ outcome: 'nothing-worth-keeping' }]);
  expect(await testing.rows('failures')).toEqual([]);
});

test('after five jobs in a row without progress no model is asked; then one tries, and all is done', async () => {
  let isDown = true;
  const model = await testModel(() => (isDown ? error(401, 'invalid x-api-key') : says('Nothing.')));
  const testing = await testApp({ server: model });
  const dir = tempDir();
  for (let n = 0; n < 8; n++) {
    const session = aSession(['Always water the trees.'], { dir, id: idOf(n) });
    await enqueueExtract(testing.app, { transcript: session.path, ended: true });
  }
  // The three that are turned away wait as they are.
  const results = await workDue(testing);
  expect(results.map(({ outcome }) => outcome)).toEqual(Array(5).fill('failed'));
  expect(await testing.rows('waiting')).toHaveLength(8);
  expect(model.requests).toHaveLength(5);
  const status = await testing.nocturne('--json');
  expect(status.code).toBe(3);
  expect(JSON.stringify(JSON.parse(status.stdout).needs)).toMatch(
    /"The model could not be asked 5 times in a row; it is asked again 2026-11-21T02:05:00.000Z: .*refused the key/,
  );
  expect(JSON.parse(status.stdout).modelPause).toMatchObject({ state: 'open', failures: 5, code: 'auth' });
  // The pause is over: one asks, and fails again.
  const later = await laterApp(testing, NOW + 11 * MINUTE, { server: model });
  const again = await workDue(later);
  expect(again.map(({ outcome }) => outcome)).toEqual(['failed']);
  expect(model.requests).toHaveLength(6);
  isDown = false;
  const mended = await laterApp(testing, NOW + 60 * MINUTE, { server: model });
  expect((await workDue(mended)).map(({ outcome }) => outcome)).toEqual(Array(8).fill('nothing-worth-keeping'));
  expect(await mended.app.home.breaker.read()).toMatchObject({ state: 'closed', failures: 0 });
  expect(await testing.rows('failures')).toEqual([]);
  expect(await runHere([], { ...testing.environment, NOCTURNE_NOW: '2026-11-21T03:00:00Z' })).toMatchObject({
    code: 0,
  });
});

/** Two sessions that wait, since no day has room for either; each costs 10,000 tokens, and a cent. */
async function heldByCeiling(settings: object) {
  const usage = { input_tokens: 9_000, output_tokens: 1_000 };
  const model = await testModel(() => ({ text: 'Nothing.', usage }));
  const testing = await testApp({ server: model, settings });
  const prices = { 'test-model': { input: 1, cacheRead: 1, cacheWrite: 1, output: 1 } };
  const set = (more: object) => writeFileSync(join(testing.home, 'config.json'), JSON.stringify({ prices, ...more }));
  set(settings);
  for (const n of [0, 1])
    await testing.nocturne('learn', '--later', aSession(['Always water the trees.'], { id: idOf(n) }).path);
  await testing.nocturne('worker', '--once');
  expect((await testing.rows('waiting')).map(({ notBefore }) => notBefore.slice(0, 10))).toEqual([
    '2026-11-22',
    '2026-11-22',
  ]);
  expect(model.requests).toHaveLength(0);
  return { testing, set };
}

test.for([
  ['tokens', { dayTokens: 100 }, { dayTokens: 1_000_000 }],
  ['money', { dayMoneyUsd: 0.000001 }, { dayMoneyUsd: 5 }],
] as const)('a ceiling of %s that is raised lets the next worker do at once what waited for it', async (of) => {
  const [, low, high] = of;
  const { testing, set } = await heldByCeiling(low);
  const status = async () => JSON.parse((await testing.nocturne('--json')).stdout).spendToday;
  const said = (await testing.nocturne()).stdout.replace(/\n +/g, ' ');
  expect(said).toMatch(
    /2 jobs wait: The daily limit of \S+( tokens)? is too small for a single request, which may take up to /,
  );
  const setting = Object.keys(low)[0];
  expect(said).toMatch(new RegExp(`another day does not help\\. nocturne config ${setting} [\\d.]+\\n`));
  expect(said).not.toContain('tomorrow');
  await testing.nocturne('worker', '--once');
  expect(await testing.rows('waiting')).toHaveLength(2);
  set(high);
  await testing.nocturne('worker', '--once');
  expect(await testing.rows('waiting')).toEqual([]);
  expect(await status()).toMatchObject({ fullFrom: null });
});

test('a worker that stays sees the ceiling that is raised in config.json', async () => {
  const { testing, set } = await heldByCeiling({ dayTokens: 100 });
  const worker = await workerHere(testing.environment);
  await until(async () => (await testing.app.home.workers.all()).length === 1);
  set({ dayTokens: 1_000_000 });
  await until(async () => (await testing.rows('waiting')).length === 0);
  await worker.stop();
});

test('retry --failed tries what waits for a ceiling, and says where nothing failed', async () => {
  const { testing, set } = await heldByCeiling({ dayTokens: 100 });
  set({ dayTokens: 1_000_000 });
  expect((await testing.nocturne('retry', '--failed')).stdout.match(/ waits in /g)).toHaveLength(2);
  expect(await testing.rows('waiting')).toMatchObject([{ failure: null }, { failure: null }]);
  expect((await testing.nocturne('retry', '--failed')).stdout).toBe('Nothing failed.\n');
});
