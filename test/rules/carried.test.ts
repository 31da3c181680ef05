// What carries a text: the share that tells a rule in other words from an invention. On recorded plays: test/eval/reference.

import { expect, test } from 'vitest';
import { CARRYING_CHARS, carriedShare, commonWords } from '../../src/rules/words.ts';

test.each([
  ['Commits are to be signed.', ['sign every commit please'], 1],
  ['The staging deploy runs migrations first.', ['deployment to staging: migrate, always the first thing'], 4 / 5],
  ['Force-push to main without asking.', ['looks good, thanks, see you tomorrow'], 0],
  ['Der Containerhafen rechnet in Wochen.', ['wir im Containerhafen rechnen immer in Kalenderwochen'], 2 / 3],
  ['標高は必ずメートルで書く。', ['標高は必ずメートルで書いてください。'], 9 / 10],
  ['公開先はサーバーである。', ['写真を三枚載せるとしたら、重くなりますか？'], 0],
  ['The user is new to dbt', ['I am new to dbt'], 3 / 5],
  ['42', ['42 of them'], 0],
])('%s', (text, quotes, share) => {
  expect(carriedShare(text, quotes)).toBeCloseTo(share);
});

test('all that a person ever said carries nothing', () => {
  const text = 'Deployments happen on Fridays';
  const filler = 'x'.repeat(CARRYING_CHARS);
  expect(carriedShare(text, ['a', 'b', 'c', text])).toBe(0);
  expect(carriedShare(text, [`${filler} ${text}`])).toBe(0);
});

test('what half of the messages say does not count', () => {
  const half = ['please build nocturne', 'please test nocturne', 'nocturne hangs', 'please wait'];
  const messages = [...half, ...half];
  const common = commonWords(messages);
  expect([...common].sort()).toEqual(['nocturne', 'please']);
  expect(carriedShare('nocturne sends mails', ['nocturne hangs, please wait'], { common })).toBe(0);
  expect(commonWords(messages.slice(0, 7)).size).toBe(0);
});
