import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recognise, says } from './recognise.ts';

const isSaid = (match: string, line: string) => says(line, { match });

test('a line says a fact by whole words, unless the pattern lets them go on', () => {
  expect(isSaid('port', 'Support is closed.')).toBe(false);
  expect(isSaid('18', 'It takes 180 pounds.')).toBe(false);
  expect(isSaid('commit', 'Commits are small.')).toBe(false);
  expect(isSaid('commit*', 'Commits are small.')).toBe(true);
});

test('a line says a fact by strings that mean something in a regular expression, letter for letter', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z.+?^$()[\]{}\\/-]{1,12}$/), (word) => {
      expect(isSaid(word, `It is (${word}), they say.`)).toBe(true);
      expect(isSaid(word, 'ÄÖÜ')).toBe(false);
    }),
  );
});

test('a pattern with an empty word is a mistake, told at once', () => {
  expect(() => isSaid('a & |b', 'a b')).toThrow('empty word');
});

test('each fact is found in all lines that say it, and facts of no line are absent', () => {
  const fact = (id: string, match: string) => ({ id, match }) as Parameters<typeof recognise>[0][number];
  const found = recognise([fact('tea', 'tea'), fact('milk', 'milk'), fact('gin', 'gin')], ['Tea', 'tea with milk']);
  expect([...found]).toEqual([
    ['tea', [0, 1]],
    ['milk', [1]],
  ]);
});
