// What carries a text: that the share tells a rule in other words from an invention, and what it does on the plays that
// readers recorded.

import { describe, expect, test } from 'vitest';
import { CARRIED_SHARE, CARRYING_CHARS, carriedShare, commonWords } from '../../src/rules/words.ts';
import { cassetteNames, quotesOf, readCassette, wholeCassette } from '../eval/reference/cassette.ts';
import { judgements, wholeJudgement } from '../eval/reference/judgement.ts';
import { fileOfSession } from '../eval/reference/places.ts';
import { hasReal } from '../support/transcripts.ts';

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

/** The entries of the plays that were judged true and stated, each once. */
function statedInPlays() {
  return cassetteNames().flatMap((play) => {
    const judged = judgements().find((each) => each.play === play);
    const truths = new Set(
      judged && wholeJudgement(judged).entries.flatMap(({ verdict, text }) => (verdict === 'true' ? [text] : [])),
    );
    return wholeCassette(readCassette(play)).flatMap(({ session, entries = [] }) => {
      const common = new Set(
        fileOfSession(session)
          .split('/')[1]
          ?.toLowerCase()
          .match(/\p{L}+/gu),
      );
      return entries
        .filter(({ text, strength }) => strength === 'stated' && truths.has(text))
        .map((entry) => {
          const quotes = quotesOf(entry).map(({ quote }) => quote);
          const isPerson = entry.type === 'user' || entry.type === 'feedback';
          return { play, session, isPerson, text: entry.text, quotes, common };
        });
    });
  });
}

describe.skipIf(!hasReal)('on the recorded plays', () => {
  const rows = hasReal ? [...new Map(statedInPlays().map((row) => [row.play + row.text, row])).values()] : [];
  const sessions = [...new Set(rows.map(({ session }) => session))].sort();
  const halfOf = (session: string) => sessions.indexOf(session) % 2;
  const shares = rows.map((row) => ({ ...row, share: carriedShare(row.text, row.quotes, row) }));

  test.each([
    ['one half', 0, { of: 56, below: [8, 11, 12] }],
    ['the other half', 1, { of: 38, below: [5, 6, 8] }],
  ])('of %s: true entries as their player quoted them, who was told of no share', (_, half, counted) => {
    const of = shares.filter(({ session }) => halfOf(session) === half);
    const below = (share: number) => of.filter((row) => row.share < share).length;
    expect({ of: of.length, below: [CARRIED_SHARE, 0.45, 0.5].map(below) }).toEqual(counted);
  });

  test('the quotes of one entry seldom carry another of the same session', () => {
    const pairs = shares.flatMap((row) =>
      shares
        .filter(({ play, session, text }) => play === row.play && session === row.session && text !== row.text)
        .map((other) => ({ row, other })),
    );
    const carried = pairs.filter(({ row, other }) => carriedShare(row.text, other.quotes, row) >= CARRIED_SHARE);
    expect([pairs.length, carried.length]).toEqual([434, 13]);
  });
});
