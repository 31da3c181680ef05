// Turns that are read again to be shown: what may happen to their file in between, and how little is kept of them.

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { excerptsOf, readTurnsToShow } from '../../../jobs/extract/show.ts';
import { sortTurns } from '../../../jobs/extract/sort-turns.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { testApp, testModel } from '../../support/app.ts';
import type { MessagesRequest } from '../../support/messages-server.ts';
import { messagesBy, obey } from '../../support/obedient.ts';
import { sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

async function sortedFile(prompts: string[]) {
  const file = sessionFile(tempDir());
  for (const prompt of prompts) file.add(prompt, [{ says: `Done: ${prompt}` }]);
  const session = await openSession(file.path);
  const sorted = await sortTurns(session, {
    ledger: null,
    memories: ['/nowhere'],
    ended: true,
    now: new Date(),
    quietMs: 0,
    reopened: new Set(),
  });
  return { file, session, sorted };
}

const saying = async (shown: Parameters<typeof readTurnsToShow>[0]) =>
  (await Array.fromAsync(readTurnsToShow(shown))).map(({ turn }) =>
    turn.messages.flatMap(({ parts }) => parts.map((part) => (part.kind === 'text' ? part.text : part.kind))),
  );

test('of the sorted turns no text is kept, and each is shown as it was', async () => {
  const { session, sorted } = await sortedFile(['Use pnpm.', 'Ship on Friday.']);
  expect(JSON.stringify({ ...sorted, pending: [...sorted.pending] })).not.toMatch(/pnpm|Friday/);
  expect(await saying({ session, sorted })).toEqual([
    ['Use pnpm.', 'Done: Use pnpm.'],
    ['Ship on Friday.', 'Done: Ship on Friday.'],
  ]);
});

test('what is appended after the turns were sorted is not shown, neither in the last turn nor as another', async () => {
  const { file, session, sorted } = await sortedFile(['Use pnpm.']);
  file.goOn([{ says: 'And one thing more.' }]);
  file.add('Ship on Friday.');
  expect(await saying({ session, sorted })).toEqual([['Use pnpm.', 'Done: Use pnpm.']]);
});

test.each([
  ['cut', (text: string) => text.slice(0, text.indexOf('\n') + 1)],
  ['replaced', (text: string) => text.replaceAll('"uuid":"1111', '"uuid":"9999')],
  ['emptied', () => ''],
])('a file that was %s after the turns were sorted is a conflict, and nothing wrong is shown', async (_, change) => {
  const { file, session, sorted } = await sortedFile(['Use pnpm.', 'Ship on Friday.']);
  writeFileSync(file.path, change(readFileSync(file.path, 'utf8')));
  const excerpts = excerptsOf({ session, sorted }, { excerptTokens: 12_000, zone: 'UTC' });
  await expect(Array.fromAsync(excerpts)).rejects.toMatchObject({ code: 'conflict' });
});

test('a half-written line at the end of the file changes nothing of what is shown', async () => {
  const { file, session, sorted } = await sortedFile(['Use pnpm.']);
  appendFileSync(file.path, '{"type":"user","mess');
  expect(await saying({ session, sorted })).toEqual([['Use pnpm.', 'Done: Use pnpm.']]);
});

test('a log tells a day as it was, in whatever order a model lists what it found', async () => {
  const rules = ['Never deploy on a Friday.', 'Always use pnpm.', 'Always squash.'];
  const record = (request: MessagesRequest) =>
    messagesBy(request, 'human')
      .map((message, at) => ({ message, quote: rules[at] ?? '' }))
      .toReversed()
      .map((each) => ({ type: 'feedback', strength: 'stated', text: each.quote, evidence: [each] }));
  const { app, dir } = await testApp({ server: await testModel(obey({ record })) });
  const session = sessionFile(tempDir());
  for (const rule of rules) session.add(rule);
  await app.extract({ transcript: session.path, ended: true });
  const log = readFileSync(join(dir, 'logs/2026/11/2026-11-20.md'), 'utf8');
  expect([...log.matchAll(/\*\*feedback\*\* (.*)/g)].map(([, text]) => text)).toEqual(rules);
});
