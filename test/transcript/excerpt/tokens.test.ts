import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { countO200k, estimateTokens, isWithinTokens } from '../../../src/transcript/excerpt/tokens.ts';

const AS_TEXT = { disallowedSpecial: new Set<string>() };
const atLeast = (text: string) => Math.max(text.length / 3, countTokens(text, AS_TEXT) * 1.53);

const japanese = '本番環境へのデプロイは必ず私の承認を得てから行ってください。';
const base64 = Buffer.from(Array.from({ length: 9000 }, (_, at) => (at * at * 7919) % 251)).toString('base64');

test('nothing costs nothing', () => {
  expect(estimateTokens('')).toBe(0);
});

test.each([
  ['prose', 'The quick brown fox jumps over the lazy dog. '.repeat(40)],
  ['Japanese', japanese.repeat(20)],
  ['Japanese without a stop', japanese.slice(0, -1).repeat(30)],
  ['base64', base64],
  ['marks of the tokenizer', 'a <|endoftext|> b '.repeat(50)],
  ['one character without end', 'a'.repeat(3_000)],
  ['emoji cut anywhere', '👩‍👩‍👧'.repeat(200)],
])('%s is never underestimated, nor by much over', (_, text) => {
  expect(estimateTokens(text)).toBeGreaterThanOrEqual(atLeast(text));
  expect(estimateTokens(text)).toBeLessThanOrEqual(atLeast(text) * 1.07 + 1);
});

test('any text is never underestimated, however it is cut', () => {
  const word = fc.constantFrom(
    'a',
    'の',
    ' ',
    '  ',
    '\n',
    '123',
    '=',
    '/',
    '| ',
    'é',
    '😀',
    'the',
    'ing',
    '\t',
    '.',
    '{"',
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 900 }), (words) => {
      const text = words.join('');
      expect(estimateTokens(text)).toBeGreaterThanOrEqual(atLeast(text));
    }),
    { numRuns: 300 },
  );
});

test('English is counted as it is encoded, in whatever lines it comes', () => {
  const lines = Array.from(
    { length: 200 },
    (_, at) => `| line ${at} says: "use spaces", never tabs (see src/a${at}.ts)`,
  );
  for (const text of [lines.join('\n'), lines.join(' ')]) expect(countO200k(text)).toBe(countTokens(text, AS_TEXT));
});

test('what fits is told as the estimate tells it', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200, unit: 'grapheme' }), fc.integer({ min: 0, max: 120 }), (text, budget) => {
      expect(isWithinTokens(text, budget)).toBe(estimateTokens(text) <= budget);
    }),
  );
});

test('ten megabytes without a space are judged at once', () => {
  expect(isWithinTokens('x'.repeat(10_000_000), 12_000)).toBe(false);
});
