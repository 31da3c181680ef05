// When the nightly dream is due, once a night whatever happened in between.

import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { nextNightly } from '../../src/worker/nightly.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { announceSession, workElsewhere, workUntilIdle } from '../support/doors.ts';
import { run, until } from '../support/run.ts';
import { runHere, runJsonHere } from '../support/run-here.ts';
import { aSession, RULE } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';
import { workerHere } from '../support/worker-here.ts';

/** The same home and memory directory at another instant. */
function at(now: string, { home, dir }: TestApp, settings?: object): Promise<TestApp> {
  return testApp({ home, dir, now, settings });
}

/** Works what is due, as `worker --once` does; answers `kind outcome` of each. */
async function work({ app }: TestApp): Promise<string[]> {
  const done: string[] = [];
  await workUntilIdle(app, {
    onResult: ({ kind, outcome }) => done.push(`${kind} ${outcome}`),
    onError: (message) => done.push(message),
  });
  return done;
}

async function extractSession({ app }: TestApp, prompt: string, id: string): Promise<void> {
  await app.extract({ transcript: aSession([prompt], { id }).path, ended: true });
}

const UUIDS = ['1', '2', '3'].map((n) => `${n}0000000-2222-4333-8444-555555555555`) as [string, string, string];

test.each([
  ['Europe/Berlin', '30 2 * * *', '2026-03-28T12:00:00Z', ['2026-03-29T01:00:00', '2026-03-30T00:30:00']],
  ['Europe/Berlin', '30 2 * * *', '2026-10-24T12:00:00Z', ['2026-10-25T00:30:00', '2026-10-26T01:30:00']],
  ['America/New_York', '30 3 * * *', '2026-11-20T12:00:00Z', ['2026-11-21T08:30:00', '2026-11-22T08:30:00']],
])('a night in %s comes once where the clocks change too', async (zone, dreamCron, from, nights) => {
  const config = { ...(await loadConfig({}, {})), zone, dreamCron };
  const found: string[] = [];
  for (let last = from; found.length < nights.length; last = `${found.at(-1)}Z`)
    found.push(nextNightly(config, new Date(last)).toISOString().slice(0, 19));
  expect(found).toEqual(nights);
});

test.each(['at night', '0 0 30 2 *'])(
  'the schedule "%s" is refused with a remedy before anything is worked',
  async (dreamCron) => {
    const testing = await testApp({ settings: { dreamCron } });
    const { code, stderr } = await testing.nocturne('worker');
    expect(code).toBe(1);
    expect(stderr).toContain(dreamCron);
    expect(stderr).toContain('Set dreamCron in config.json');
  },
);

test('the first worker owes no night; three missed nights are one dream; no night is dreamed twice', async () => {
  const first = await testApp({ now: '2026-11-20T12:00:00Z' });
  await extractSession(first, 'Always use pnpm instead of npm.', UUIDS[0]);
  expect(await work(first)).toEqual([]);
  const late = await at('2026-11-24T10:00:00Z', first);
  expect(await work(late)).toEqual(['dream dreamed']);
  expect(await work(late)).toEqual([]);
  await extractSession(late, 'I prefer short answers.', UUIDS[1]);
  expect(await work(await at('2026-11-25T03:29:59Z', first))).toEqual([]);
  expect(await work(await at('2026-11-25T03:30:00Z', first))).toEqual(['dream dreamed']);
  expect(await work(await at('2026-11-26T03:29:00Z', first))).toEqual([]);
});

test('a clock that was ahead for a while keeps no later night from being dreamed', async () => {
  const first = await testApp({ now: '2026-11-20T12:00:00Z' });
  expect(await work(first)).toEqual([]);
  await extractSession(first, 'Always use pnpm instead of npm.', UUIDS[0]);
  expect(await work(await at('2027-06-01T04:00:00Z', first))).toEqual(['dream dreamed']);
  const back = await at('2026-11-21T12:00:00Z', first);
  await extractSession(back, 'I prefer short answers.', UUIDS[1]);
  expect(await work(back)).toEqual([]);
  expect(await work(await at('2026-11-22T04:00:00Z', first))).toEqual(['dream dreamed']);
});

test('a night that a resident worker did is not done again by one that ends', async () => {
  const first = await testApp({ now: '2026-11-20T12:00:00Z' });
  await work(first);
  await extractSession(first, 'Always use pnpm instead of npm.', UUIDS[0]);
  const dreams = async () => (await first.rows('jobs')).filter((job) => job.kind === 'dream').length;
  const polled = await at('2026-11-21T04:00:00Z', first);
  const resident = await workerHere(polled.environment);
  await until(async () => (await dreams()) === 1 && (await first.rows('waiting')).length === 0);
  await resident.stop();
  await extractSession(polled, 'I prefer short answers.', UUIDS[1]);
  expect(await work(await at('2026-11-21T23:00:00Z', first))).toEqual([]);
  expect(await dreams()).toBe(1);
});

test('no night takes the place of a dream that a person put into the inbox', async () => {
  const first = await testApp({ now: '2026-11-20T12:00:00Z' });
  await work(first);
  await extractSession(first, 'Always use pnpm instead of npm.', UUIDS[0]);
  await runJsonHere(['dream'], (await at('2026-11-20T23:00:00Z', first)).environment);
  await extractSession(first, 'I prefer short answers.', UUIDS[1]);
  await first.nocturne('dream', '--later', '--instructions', 'Be brief.');
  expect(await work(await at('2026-11-21T04:00:00Z', first))).toEqual(['dream dreamed']);
  expect((await first.rows('jobs'))[0]).toMatchObject({ kind: 'dream', outcome: 'dreamed' });
});

test('without any news the night still brings the index up to what a person wrote', async () => {
  const first = await testApp({ now: '2026-11-20T12:00:00Z' });
  await work(first);
  const topic = '---\nname: editor\ndescription: Which editor\ntype: user\n---\nVim.\n';
  await first.store.write({ actor: 'user' }, { path: 'editor.md', text: topic });
  expect(await work(await at('2026-11-21T04:00:00Z', first))).toEqual(['dream nothing-new']);
  expect(await first.store.read('MEMORY.md')).toContain('editor.md');
});

test('without any news the night still puts away what is over, and asks no model', async () => {
  const first = await testApp({ now: '2026-11-20T12:00:00Z' });
  await work(first);
  await extractSession(first, 'The release deadline is 2026-12-04.', UUIDS[0]);
  expect(await work(await at('2026-11-21T04:00:00Z', first))).toEqual(['dream dreamed']);
  expect(await work(await at('2026-12-05T04:00:00Z', first))).toEqual(['dream nothing-new']);
  const late = await at('2027-03-01T04:00:00Z', first);
  expect(await work(late)).toEqual(['dream dreamed']);
  expect(await late.store.read('archive/project-facts.md')).toContain('2026-12-04');
  expect(await late.json('--json')).toMatchObject({ spendToday: { calls: 0 } });
  expect(await work(await at('2027-03-02T04:00:00Z', first))).toEqual(['dream nothing-new']);
});

test('no dream runs beside an extraction of its directory: due, or under way in another process', async () => {
  const testing = await testApp({ now: '2026-11-20T12:00:00Z' });
  const { app, store } = testing;
  const session = aSession();
  await announceSession(app, { transcript: session.path, cwd: '/', ended: true });
  await testing.nocturne('dream', '--later');
  const later = await at('2026-11-20T12:00:30Z', testing);
  expect(await work(later)).toEqual(['extract recorded', 'dream dreamed']);

  await testing.nocturne('dream', '--later');
  await workElsewhere(app, store);
  expect(await work(later)).toEqual([]);
  expect((await testing.rows('waiting')).map(({ kind }) => kind)).toContain('dream');
});

const aTranscript = () => aSession([RULE, 'Thanks, that is all.'], { id: randomUUID() }).path;

test('worker --once --nightly extracts what waits, dreams over every known directory, and ends', async () => {
  const { environment, app, rows } = await testApp();
  const other = await app.store(tempDir());
  await runHere(['learn', '--later', aTranscript()], environment);
  const night = await run(['worker', '--once', '--nightly'], environment);
  expect(night).toMatchObject({ code: 0, stdout: '' });
  expect(night.stderr).toContain(`dream: nothing new [${other.dir}]`);
  expect((await rows('jobs')).map(({ kind, outcome }) => [kind, outcome]).sort()).toEqual([
    ['dream', 'dreamed'],
    ['extract', 'recorded'],
  ]);
  expect(await app.home.lastNightAt()).toBe('2026-11-21T02:00:00.000Z');
});
