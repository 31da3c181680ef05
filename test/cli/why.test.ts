// why: one door for what a line, words, an entry, a session, a job and a day have to say.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ExplainedLine } from '../../src/memory/rests.ts';
import { testApp, testModel } from '../support/app.ts';
import type { MessagesRequest } from '../support/messages-server.ts';
import { messagesBy, obey, replacesLine } from '../support/obedient.ts';
import { runHere } from '../support/run-here.ts';
import { asking } from '../support/scripted-model.ts';
import { aSession, sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

async function aMemory() {
  const { environment, dir, nocturne, json, rows } = await testApp();
  const session = aSession(['Always use pnpm instead of npm.', 'Thanks, that is all.']);
  await nocturne('learn', session.path);
  await nocturne('dream');
  return { environment, dir, nocturne, json, rows, session, why: (...words: string[]) => nocturne('why', ...words) };
}

test('a line, its words, its entry, its session, its job and its day all lead to the entry and the quote', async () => {
  const { session, why, json, rows } = await aMemory();
  const [line] = await json<ExplainedLine[]>('why', 'working-agreements:7');
  const entry = line?.entries[0]?.id ?? '';
  for (const words of [
    ['working-agreements:7'],
    ['working-agreements.md'],
    ['pnpm', 'npm'],
    [entry],
    [entry.slice(0, 8)],
  ]) {
    const { code, stdout } = await why(...words);
    expect({ words, code }).toEqual({ words, code: 0 });
    expect(stdout).toContain(`← ${entry.slice(0, 10)}, feedback`);
    expect(stdout).toContain('“Always use pnpm instead of npm.”');
    expect(stdout).toMatch(/in session “[^”]*” \(11111111\)\n/);
  }
  for (const what of [session.id, session.id.slice(0, 8), session.path])
    expect((await why(what)).stdout).toMatch(/^taught {6}feedback {3}Always use pnpm instead of npm\.$/m);
  for (const words of [[], ['today'], ['2026-11-21']])
    expect((await why(...words)).stdout).toContain(`(${entry.slice(0, 10)})`);
  const dreamed = (await rows('jobs')).find(({ kind }) => kind === 'dream')?.id ?? '';
  expect((await why(dreamed)).stdout).toContain(`(${entry.slice(0, 10)})`);
});

test('of a line that was edited by hand it says so and when, also once others were added', async () => {
  const { dir, why, nocturne } = await aMemory();
  const file = join(dir, 'working-agreements.md');
  writeFileSync(file, readFileSync(file, 'utf8').replace('Always use pnpm', 'Use yarn'));
  expect((await why('yarn')).stdout).toMatch(/\n {2}edited outside nocturne, just now\n$/);
  await nocturne('learn', aSession(['Never push to main.'], { id: '22222222-2222-4222-8333-444444444444' }).path);
  await nocturne('dream');
  expect((await why('yarn')).stdout).toMatch(/\n {2}edited outside nocturne, just now\n$/);
});

test('the JSON of words is that of the line they are found in', async () => {
  const { json } = await aMemory();
  const read = (...words: string[]) => json<unknown>(...words);
  expect(await read('why', 'pnpm')).toEqual(await read('why', 'working-agreements.md:7'));
});

test('of a night that replaced a line, both are told', async () => {
  const { environment, why, nocturne } = await aMemory();
  Object.assign(environment, asking(await testModel(replacesLine)));
  const session = aSession(['Always use npm instead of pnpm.'], { id: '22222222-2222-4222-8333-444444444444' });
  await nocturne('learn', session.path);
  await nocturne('dream');
  expect((await why()).stdout).toMatch(
    /^ {2}changed .*\n {4}now: Always use npm instead of pnpm\.\n {4}was: Always use pnpm instead of npm\.$/m,
  );
});

test('an id of a session without a digit is one, too', async () => {
  const { nocturne } = await testApp();
  const session = aSession(['Always use pnpm instead of npm.'], { id: 'deadbeef-cafe-4222-8333-444444444444' });
  await nocturne('learn', session.path);
  expect((await nocturne('why', 'deadbeef')).stdout).toMatch(/^session {5}“.*” \(deadbeef\)$/m);
});

test('what is nowhere is an error that says where to look', async () => {
  const { nocturne } = await testApp();
  const stderr = expect.stringContaining('nocturne search');
  expect(await nocturne('why', 'zebra crossing')).toMatchObject({ code: 1, stderr });
});

test('of the beginning of an id that two sessions have it tells both, each by as much as tells it apart', async () => {
  const { why, nocturne } = await aMemory();
  const second = sessionFile(tempDir(), { id: '11111111-2333-4333-8444-555555555555' });
  // Its records are other ones, also by what their ids begin with.
  second.add('Always lint before pushing.', [{ types: 'Never push to main.' }, { says: 'Done.' }]);
  expect(await nocturne('learn', second.path)).toMatchObject({ code: 0, stderr: '' });
  const { stdout } = await why('11111111');
  for (const id of ['11111111-22', '11111111-23'])
    expect(stdout).toMatch(new RegExp(`^session {5}“.*” \\(${id}\\)$`, 'm'));
});

test('of a session of which code refused all that was proposed, learn says how many, and why tells of each what was wrong', async () => {
  const record = (request: MessagesRequest) =>
    ['Always use yarn here.', 'Never use tabs here.'].map((quote) => {
      const [message] = messagesBy(request, 'human');
      return { type: 'feedback', strength: 'stated', text: quote, evidence: [{ message, quote }] };
    });
  const { nocturne, json } = await testApp({ server: await testModel(obey({ record })) });
  const session = aSession(['Which package manager do we use?']);
  const learned = await nocturne('learn', session.path);
  expect(learned.stdout).toBe('11111111: nothing kept\n  2 proposals of the model refused: nocturne why 11111111\n');
  expect((await nocturne('list', '--sessions')).stdout).toMatch(': nothing kept (nocturne why 11111111)\n');
  const told = (await nocturne('why', '11111111')).stdout;
  expect(told).toMatch(/^refused {5}2 × its quote: these words do not stand in 11110001\.$/m);
  expect(await json('why', session.id)).toMatchObject({ refused: [expect.any(String), expect.any(String)] });
});

test('of words that were forgotten and said again on the same day it tells of those that stand', async () => {
  const { environment, nocturne } = await testApp();
  let said = '';
  for (const minute of [1, 2, 3, 4]) {
    await nocturne('forget', 'Tuesdays', '--yes');
    const at = { ...environment, NOCTURNE_NOW: `2026-11-21T02:0${minute}:00Z` };
    said = (await runHere(['remember', 'Deploys go out on Tuesdays.'], at)).stdout;
  }
  const [, entry] = /\((e_\w+)\)/.exec(said) ?? [];
  expect((await nocturne('why', 'Tuesdays')).stdout).toMatch(new RegExp(`^← ${entry}, feedback, not sorted`));
});
