// Whoever notices that a session has news tells it to the inbox with one function; these are its promises, with a
// worker.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { announceSession } from '../support/doors.ts';
import { says } from '../support/messages-server.ts';
import { until } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { aSession, RULE } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';
import { workerHere } from '../support/worker-here.ts';

const nothing = says('Nothing worth keeping.');

async function dueAt({ rows }: TestApp): Promise<string[]> {
  return (await rows('waiting')).map(({ notBefore }) => notBefore.slice(11, 19));
}

test('news wait half a minute, and news of a session that goes on come no more often than every five', async () => {
  const testing = await testApp({ settings: { debounceMs: 30_000 } });
  const session = aSession([RULE, 'I prefer short answers.']);
  const news = { transcript: session.path, session: session.id, cwd: '/anywhere', ended: false };
  const at = (now: string) => testApp({ ...testing, now: `2026-11-21T${now}Z` });
  expect(await announceSession(testing.app, news)).toMatchObject({ notBefore: '2026-11-21T02:00:30.000Z' });
  await announceSession((await at('02:00:10')).app, news);
  expect(await dueAt(testing)).toEqual(['02:00:40']);
  const early = await runHere(['worker', '--once'], (await at('02:00:39')).environment);
  expect(early.stderr).toMatch(/^1 job for later/);
  await runHere(['worker', '--once'], (await at('02:00:40')).environment);
  expect(await dueAt(testing)).toEqual(['02:30:40']);

  await announceSession((await at('02:01:00')).app, news);
  expect(await dueAt(testing)).toEqual(['02:05:40']);
  await announceSession((await at('02:02:00')).app, { ...news, ended: true });
  expect(await dueAt(testing)).toEqual(['02:02:30']);
});

test('an extraction that a person asked for and one that a hook announces are one', async () => {
  const testing = await testApp();
  const session = aSession();
  await testing.nocturne('learn', '--later', session.path, '--instructions', 'Only facts.');
  await announceSession(testing.app, { transcript: session.path, ended: true });
  expect(await testing.rows('waiting')).toMatchObject([{ kind: 'extract', payload: { instructions: 'Only facts.' } }]);
});

test('news that come while their session is worked are worked once more, after it, however many', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const model = await testModel(async (_, call) => {
    if (call === 1) await held;
    return nothing;
  });
  const settings = { debounceMs: 0, throttleMs: 0, concurrency: 4 };
  const testing = await testApp({ server: model, settings });
  const session = aSession();
  const news = { transcript: session.path, session: session.id, cwd: '/', ended: true };
  await announceSession(testing.app, news);
  const worker = await workerHere(testing.environment);
  await model.received(1);
  for (const prompt of ['I prefer short answers.', 'Never commit to main directly.']) {
    session.add(prompt);
    await announceSession(testing.app, news);
  }
  expect(await testing.rows('waiting')).toHaveLength(1);
  release();
  await until(async () => (await testing.rows('waiting')).length === 0);
  await worker.stop();
  expect(model.requests).toHaveLength(2);
  expect(await testing.rows('fates')).toEqual(['nothing', 'nothing', 'nothing']);
});

test('two files of one session that wait together are both learned from: arrays of messages that begin alike', async () => {
  const testing = await testApp();
  const dir = tempDir();
  const paths = ['Always use pnpm instead of npm.', 'Never commit to main directly.'].map((rule, n) => {
    const said = [
      ['user', 'Have a look at the page.'],
      ['assistant', 'It is slow.'],
      ['user', rule],
    ].map(([role, content]) => ({ role, content }));
    const path = join(dir, `chat-${n}.json`);
    writeFileSync(path, JSON.stringify(said));
    return path;
  });
  await testing.nocturne('learn', '--later', ...paths);
  await testing.nocturne('worker', '--once');
  expect((await testing.rows('entries')).map(({ text }) => text).sort()).toEqual([
    'Always use pnpm instead of npm.',
    'Never commit to main directly.',
  ]);
});
