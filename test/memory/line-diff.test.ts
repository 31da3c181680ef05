import fc from 'fast-check';
import { expect, test } from 'vitest';
import { takeBackLines, unifiedDiff } from '../../src/memory/edit-text.ts';

const lines = fc.array(fc.constantFrom('a\n', 'b\n', 'c\n', 'd\n'), { maxLength: 12 }).map((list) => list.join(''));

test('what nobody changed since is taken back exactly', () => {
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      expect(takeBackLines({ before, after, current: after })).toEqual({ text: before, collisions: 0 });
    }),
  );
});

test('lines that others put anywhere between stay, in their order', () => {
  fc.assert(
    fc.property(lines, lines, fc.array(fc.nat(20), { maxLength: 4 }), (before, after, places) => {
      const current = after.match(/[^\n]*\n/g) ?? [];
      for (const [at, place] of places.entries()) current.splice(place % (current.length + 1), 0, `theirs ${at}\n`);
      const theirs = (text: string) => text.match(/theirs \d\n/g) ?? [];
      const { text } = takeBackLines({ before, after, current: current.join('') });
      expect(theirs(text)).toEqual(theirs(current.join('')));
    }),
  );
});

test('a line put right behind one that is taken back is no collision', () => {
  expect(takeBackLines({ before: 'a\n', after: 'a\nours\n', current: 'a\nours\ntheirs\n' })).toEqual({
    text: 'a\ntheirs\n',
    collisions: 0,
  });
});

test('a line that somebody changed since collides and stays as they left it', () => {
  expect(takeBackLines({ before: 'a\nold\nc\n', after: 'a\nours\nc\n', current: 'a\ntheirs\nc\n' })).toEqual({
    text: 'a\ntheirs\nc\n',
    collisions: 1,
  });
});

test('lines that are to be kept stay where they are', () => {
  const texts = { before: 'a\n', after: 'a\nb\nc\n', current: 'a\nb\nc\nd\n' };
  expect(takeBackLines(texts, new Set([1])).text).toBe('a\nb\nd\n');
});

test('a unified diff has three lines of context, joined hunks and missing line ends', () => {
  const a = { name: 'a', text: '1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13' };
  const b = { name: 'b', text: '1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\nthirteen\n' };
  expect(unifiedDiff(a, b)).toBe(
    [
      '--- a',
      '+++ b',
      '@@ -2,7 +2,7 @@',
      ...[' 2', ' 3', ' 4', '-5', '+five', ' 6', ' 7', ' 8'],
      '@@ -10,4 +10,4 @@',
      ...[' 10', ' 11', ' 12', '-13', '\\ No newline at end of file', '+thirteen', ''],
    ].join('\n'),
  );
  expect(unifiedDiff({ name: 'a', text: '' }, { name: 'b', text: 'x\n' })).toBe('--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n');
  expect(unifiedDiff(a, { name: 'b', text: a.text })).toBe('');
});
