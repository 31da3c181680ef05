// How a number of things is said, and the values that one may search for.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asSeen, sayCount } from '../../../src/base/text/wording.ts';
import { containsLiteral, containsLiteralTail, distinctValues, literals } from '../../../src/rules/literals.ts';
import { segmentWords } from '../../../src/rules/words.ts';
import { SEED, sized, waysTaken } from '../../support/depth.ts';

test.each([
  [1, 'line', '1 line'],
  [0, 'line', '0 lines'],
  [1, 'entry', '1 entry'],
  [2, 'entry', '2 entries'],
  [3, 'day', '3 days'],
  [2, 'unreadable line', '2 unreadable lines'],
])('%d %s is said as “%s”', (count, noun, said) => {
  expect(sayCount(count, noun)).toBe(said);
});

test.each(['A', 'a-', '.', 'x)', '(', '-.', '~'])('a word of a megabyte of %j is looked through once', (part) => {
  const word = `${part.repeat(1_000_000 / part.length)}!x`;
  expect(literals(word).length).toBeLessThanOrEqual(1);
  expect(containsLiteral(word, `${word}${word}`)).toBe(true);
});

test('a tag that is shown with `‹`, so that it begins none, is the value it was', () => {
  expect(containsLiteral('<topics>', 'It prints `‹topics>` first.')).toBe(true);
  expect(containsLiteral('‹topics>', 'It prints `<topics>` first.')).toBe(true);
});

test.each([
  ['docs/plans', 'see /Users/a/cli/Docs/plans', true],
  ['AGENTS.md', 'put it into ./Agents.md', true],
  ['~/work/cli', 'the one in Documents/work/cli', true],
  ['docs/plans', 'the plans of the docs', false],
  ['plans', 'in myplans/x', false],
  ['--force', 'use --Force', false],
])('%j stands as the tail of a path in %j: %j', (value, text, isThere) => {
  expect(containsLiteralTail(value, text)).toBe(isThere);
});

test.each([
  ['It is kept in src/memory/dream… and elsewhere.', 'src/memory/dream'],
  ['It is kept in src/memory/dream...', 'src/memory/dream'],
  ['It is kept in `src/memory/dream…`', 'src/memory/dream'],
  ['It is kept in `src/memory/dream ...`.', 'src/memory/dream'],
  ['The limit is 3000…', '3000'],
  ['The limit is `3000.`', '3000'],
  ['The port (“8443”…)', '8443'],
  ['See https://wiki.example/a…, please', 'https://wiki.example/a'],
  ['Run `go test ./...` first.', 'go test ./...'],
  ['Run `git add .` first.', 'git add .'],
])('of %j the value is %j', (text, value) => {
  expect(literals(text)).toEqual([value]);
});

test('the words of a text in ASCII are those that Unicode tells', () => {
  const words = new Intl.Segmenter('und', { granularity: 'word' });
  const sign = fc.constantFrom(...'abZ19__..,:;\'" -/\\@#`(%\t\n\r\0');
  fc.assert(
    fc.property(
      fc.string({ unit: fc.oneof(sign, sign, fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 1 })) }),
      (text) => {
        const told = [...words.segment(text)].filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment);
        expect(segmentWords(text)).toEqual(told);
        // A sign of another script behind a space ends no word and begins none: the same words, the other way.
        expect(segmentWords(`${text} …`)).toEqual(told);
      },
    ),
    { seed: SEED, numRuns: 1_000 },
  );
});

test('half a million of one sign are cut into words, and seen, at once', () => {
  for (const sign of ['_', 'a', '.', 'a.', ' ', "'", '1,']) {
    const text = sign.repeat(500_000);
    expect(segmentWords(text).length).toBeLessThanOrEqual(1);
    expect(asSeen(text).length).toBeLessThanOrEqual(text.length);
  }
});

const MEGABYTES = sized({ quick: 3, deep: 10 });

test(`${MEGABYTES} megabytes are seen and cut into words, ASCII or nearly so`, () => {
  const bytes = MEGABYTES * 1_000_000;
  for (const end of waysTaken(['', 'é'])) {
    expect(asSeen(`${'a '.repeat(bytes / 2)}${end}`).length).toBe(bytes - (end ? -1 : 1));
    expect(segmentWords(`${'a'.repeat(bytes)}${end}`)).toHaveLength(1);
  }
});

test('a number of any length is a value like others', () => {
  const long = '7'.repeat(80_000);
  expect(distinctValues(`The port is ${long}.`, 'The port is 5432.')).toEqual([long, '5432']);
  expect(distinctValues('See PR 12345.', 'The port is 5432.')).toBeNull();
});
