// Turns as they are shown: what may happen to their file in between, and how much of them is held at a time.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { excerptsOf } from '../../../jobs/extract/show.ts';
import { sortTurns } from '../../../jobs/extract/sort-turns.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { testApp, testModel } from '../../support/app.ts';
import { jobsInProcess } from '../../support/jobs-in-process.ts';
import type { MessagesRequest } from '../../support/messages-server.ts';
import { messagesBy, obey } from '../../support/obedient.ts';
import { aSession, sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

const options = { ledger: null, memories: [], ended: true, now: new Date(), quietMs: 0, reopened: new Set<string>() };

test.each([
  ['goes on', (text: string) => `${text}${text.replaceAll('1111', '9999')}`],
  ['is half-written', (text: string) => `${text}{"type":"user","mess`],
  ['is cut', (text: string) => text.slice(0, text.indexOf('\n') + 1)],
  ['is emptied', () => ''],
])('turns are shown as they were read, also where their file %s since', async (_, change) => {
  const file = sessionFile(tempDir());
  for (const prompt of ['Use pnpm.', 'Ship on Friday.']) file.add(prompt, [{ says: `Done: ${prompt}` }]);
  const sorted = await sortTurns(await openSession(file.path), options);
  writeFileSync(file.path, change(readFileSync(file.path, 'utf8')));
  const [excerpt, ...more] = await Array.fromAsync(excerptsOf(sorted, { excerptTokens: 12_000, zone: 'UTC' }));
  expect(more).toEqual([]);
  const said = [...(excerpt?.sources.values() ?? [])].map(({ text }) => text);
  expect(said).toEqual(['Use pnpm.', 'Done: Use pnpm.', 'Ship on Friday.', 'Done: Ship on Friday.']);
});

test('of a session with more than may be held at a time the rest waits for the next pass of the same job', async () => {
  const rules = [1, 2, 3, 4, 5, 6].map((n) => `Never deploy on a Friday, rule ${n}.`);
  const file = sessionFile(tempDir());
  for (const rule of rules) file.add(rule, [{ says: 'Noted.' }]);
  const heldCharacters = 2 * `${rules[0]}Noted.`.length - 1;
  const sorted = await sortTurns(await openSession(file.path), { ...options, heldCharacters });
  expect([[...sorted.pending.keys()], sorted.later]).toEqual([[file.turn(1), file.turn(2)], 4]);
  const jobs = await jobsInProcess(undefined, undefined, { heldCharacters });
  const report = await jobs.extract(file.path);
  expect(report).toMatchObject({ outcome: 'recorded', coveredTurns: 6, pendingTurns: 0 });
  expect(report.entries.map(({ text }) => text)).toEqual(rules);
  expect(await jobs.extract(file.path)).toMatchObject({ outcome: 'nothing-new', spend: { calls: 0 } });
});

test('a log tells a day as it was, in whatever order a model lists what it found', async () => {
  const rules = ['Never deploy on a Friday.', 'Always use pnpm.', 'Always squash.'];
  const record = (request: MessagesRequest) =>
    messagesBy(request, 'human')
      .map((message, at) => ({ message, quote: rules[at] ?? '' }))
      .toReversed()
      .map((each) => ({ type: 'feedback', strength: 'stated', text: each.quote, evidence: [each] }));
  const { app, dir } = await testApp({ server: await testModel(obey({ record })) });
  await app.extract({ transcript: aSession(rules).path, ended: true });
  const log = readFileSync(join(dir, 'logs/2026/11/2026-11-20.md'), 'utf8');
  expect([...log.matchAll(/\*\*feedback\*\* (.*)/g)].map(([, text]) => text)).toEqual(rules);
});
