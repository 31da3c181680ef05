import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DreamReport } from '../../jobs/dream.ts';
import type { ExtractReport } from '../../jobs/extract.ts';
import { testApp, testModel } from '../support/app.ts';
import { calls, type MessagesRequest, says } from '../support/messages-server.ts';
import { memoryOf } from '../support/nights.ts';
import { shown } from '../support/obedient.ts';
import { runJsonHere } from '../support/run-here.ts';
import { aSession, type SessionFile } from '../support/session-file.ts';

const LOG = 'logs/2026/11/2026-11-20.md';
const PROMPTS = ['Always use pnpm instead of npm.', 'Never commit to main directly.', 'Deploy on Tuesdays only.'];

/** A model that records an entry for each turn in the words of `texts`, and dreams as it is told. */
function modelThatSays(session: SessionFile, texts: () => string[], propose: (request: MessagesRequest) => object[]) {
  return testModel((request) => {
    if (request.messages.length > 1) return says('Done.');
    if (request.tools.some(({ name }) => name === 'propose_operations'))
      return calls('propose_operations', { operations: propose(request) });
    const entries = texts().map((text, index) => ({
      type: 'feedback',
      strength: 'stated',
      text,
      evidence: [{ message: session.turn(index + 1), quote: PROMPTS[index] }],
    }));
    return calls('record_entries', { entries });
  });
}

const entriesIn = (request: MessagesRequest): { id: string; text: string }[] =>
  shown(request, 'entries')
    .split('\n')
    .flatMap((row) => (row.startsWith('{') ? JSON.parse(row) : []));

test('a better answer replaces the old entries, an edited line stays, and what rested on the old ones is sorted anew', async () => {
  const session = aSession(PROMPTS);
  let texts = ['Use pnpm.', 'No commits to main.', 'Deploy on Tuesdays.'];
  let isFirst = true;
  const model = await modelThatSays(
    session,
    () => texts,
    (request) => {
      const entries = entriesIn(request);
      const ids = entries.map(({ id }) => id);
      const place = { topic: 'ways', description: 'Ways of working', type: 'feedback', reason: 'As it was said.' };
      // One line on all entries: it goes when one of them does, and the others wait again.
      const whole = [{ text: texts.join(' '), entries: ids }];
      const lines = isFirst ? whole : entries.map(({ id, text }) => ({ text, entries: [id] }));
      isFirst = false;
      return [{ kind: 'put', ...place, in: lines }];
    },
  );
  const { environment, dir } = await testApp({ server: model });
  const read = (path: string) => readFileSync(join(dir, path), 'utf8');
  await runJsonHere<ExtractReport>(['learn', session.path], environment);
  await runJsonHere<DreamReport>(['dream'], environment);
  expect(read('ways.md')).toContain('- Use pnpm. No commits to main. Deploy on Tuesdays.\n');

  writeFileSync(join(dir, LOG), read(LOG).replace('** No commits to main.', '** No commits to main, Kim says.'));
  texts = ['Use pnpm, never npm.', 'Never commit to main but through a review.', 'Deploy on Tuesdays.'];
  const reprocessed = await runJsonHere<ExtractReport>(['learn', '--again', session.id], environment);
  expect(reprocessed).toMatchObject({ code: 0, values: [{ outcome: 'recorded', entries: { length: 3 } }] });
  const log = read(LOG)
    .split('\n')
    .flatMap((line) => /^- 09:00 \*\*feedback\*\* (.*)$/.exec(line)?.slice(1) ?? []);
  expect(log.sort()).toEqual([
    'Deploy on Tuesdays.',
    'Never commit to main but through a review.',
    'No commits to main, Kim says.',
    'Use pnpm, never npm.',
  ]);
  expect(read('ways.md')).toContain('- Use pnpm. No commits to main. Deploy on Tuesdays.\n');

  const dreamt = await runJsonHere<DreamReport>(['dream'], environment);
  expect(dreamt).toMatchObject({ code: 0, values: [{ outcome: 'dreamed' }] });
  expect(read('ways.md')).not.toContain('Use pnpm.');
  for (const line of log) expect(read('ways.md')).toContain(`- ${line}\n`);
});

test('a transcript that is gone is named, and what was remembered of it stays', async () => {
  const testing = await testApp();
  const [gone, there] = [
    aSession(PROMPTS),
    aSession(['I prefer short answers.'], { id: '22222222-2222-4333-8444-555555555555' }),
  ];
  await runJsonHere<ExtractReport>(['learn', gone.path, there.path], testing.environment);
  const before = await memoryOf(testing);
  renameSync(gone.path, `${gone.path}.moved`);
  const { code, values } = await runJsonHere<ExtractReport>(['learn', '--again', '--all'], testing.environment);
  expect(code).toBe(1);
  expect(values.map(({ session, outcome }) => [session, outcome])).toEqual([
    [gone.id, 'transcript-gone'],
    [there.id, 'recorded'],
  ]);
  expect(values[0]?.error?.message).toContain(gone.path);
  expect(await memoryOf(testing)).toEqual(before);
});
