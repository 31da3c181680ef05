// Edits of a text: replacements and lines at their places, merges of two edits, what is taken back, and differences as they are shown.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { insertLines, mergeFiles, mergeLines, replaceOnce, unifiedDiff } from '../../src/memory/edit-text.ts';

const words = fc.array(fc.constantFrom('a', 'b', 'ab', '', 'c d', '$&'), { minLength: 1, maxLength: 8 });
const lineEnd = fc.constantFrom('\n', '\r\n');

function plain(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

test('a replacement changes its one place as it would in a file with \\n, and keeps every line end', () => {
  const wantedOf = (text: string) =>
    fc.tuple(fc.nat(text.length), fc.nat(text.length)).map(([a, b]) => text.slice(a, b));
  const edits = fc
    .tuple(words, lineEnd)
    .chain(([lines, end]) => fc.tuple(fc.constant(lines.join(end)), wantedOf(lines.join('\n')), words, lineEnd));
  fc.assert(
    fc.property(edits, ([text, wanted, by, end]) => {
      fc.pre(wanted !== '');
      const edited = replaceOnce(text, { wanted, by: by.join(end) });
      const places = plain(text)
        .split('')
        .filter((_, at) => plain(text).startsWith(wanted, at)).length;
      expect('text' in edited).toBe(places === 1);
      if (!('text' in edited)) return;
      expect(plain(edited.text)).toBe(plain(text).replace(wanted, () => by.join('\n')));
      if (text.includes('\r\n')) expect(edited.text).not.toMatch(/[^\r]\n/);
      else expect(edited.text).not.toContain('\r');
    }),
    { numRuns: 2_000 },
  );
});

test('inserted lines stand behind the line that was named, and the file ends as it did', () => {
  fc.assert(
    fc.property(words, lineEnd, fc.boolean(), fc.nat(8), words, (lines, end, isEnded, at, added) => {
      fc.pre(isEnded || lines.at(-1) !== '');
      const text = lines.join(end) + (isEnded ? end : '');
      const after = Math.min(at, lines.length);
      const edited = insertLines(text, { after, lines: `${added.join('\n')}\n` });
      const uses = lines.length > 1 || isEnded ? end : '\n';
      const expected = [...lines.slice(0, after), ...added, ...lines.slice(after)].join(uses) + (isEnded ? uses : '');
      expect(edited.text).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
});

test('a mixed file keeps each of its line ends', () => {
  expect(replaceOnce('a\r\nb\nc\r\nd\n', { wanted: 'b\nc', by: 'B' })).toMatchObject({ text: 'a\r\nB\r\nd\n' });
  expect(replaceOnce('a\nb\r\nc\n', { wanted: 'b\n', by: '' })).toMatchObject({ text: 'a\nc\n', from: 2 });
});

test.each([
  ['both add elsewhere', '1\n2\n3\n', '1\n2\n3\n4\n', '0\n1\n2\n3\n', '0\n1\n2\n3\n4\n'],
  ['both add at the end', '1\n', '1\nours\n', '1\ntheirs\n', '1\ntheirs\nours\n'],
  ['both add the same and more', '1\n', '1\nboth\nours\n', '1\nboth\n', '1\nboth\nours\n'],
  ['what was merged already', '1\n', '1\nours\n', '1\ntheirs\nours\n', '1\ntheirs\nours\n'],
  ['a last line without newline stays so', '1\n2\n3', '0\n1\n2\n3', '1\n2\nTHREE', '0\n1\n2\nTHREE'],
  ['lines behind a last line without newline', '1\n2', '1\n2\nours\n', 'ONE\n2', 'ONE\n2\nours\n'],
  ['a line behind one that they changed', '1\n2\n', '1\n2\nours\n', '1\nTWO\n', '1\nTWO\nours\n'],
  ['they emptied the file while we added to it', '1\n2\n', '1\n2\nours\n', '', 'ours\n'],
  ['the same edit on both sides is one', '1\n2\n', '1\nTWO\n', '1\nTWO\n', '1\nTWO\n'],
  ['CRLF stays CRLF', '1\r\n2\r\n3', '1\r\n2\r\n3\r\n4', 'ONE\r\n2\r\n3', 'ONE\r\n2\r\n3\r\n4'],
])('merges: %s', (_, base, ours, external, merged) => {
  expect(mergeLines(base, { ours, external })).toEqual({ text: merged, collisions: 0 });
});

test('where lines collide the external edit wins, and the collision is counted', () => {
  const merged = mergeLines('1\n2\n', { ours: '1\nours\n', external: '1\ntheirs\n' });
  expect(merged).toEqual({ text: '1\ntheirs\n', collisions: 1 });
});

test('bytes that are no UTF-8 are never merged: the external edit wins whole', () => {
  const external = Buffer.from([0xff, 0x0a]);
  const merged = mergeFiles(Buffer.from('1\n'), { ours: Buffer.from('1\n2\n'), external });
  expect(merged).toEqual({ content: external, collisions: 1 });
});

test('a file that was removed externally while ours only changed it stays removed', () => {
  const merged = mergeFiles(Buffer.from('1\n'), { ours: Buffer.from('2\n'), external: null });
  expect(merged).toEqual({ content: null, collisions: 1 });
});

const lines = fc.array(fc.constantFrom('a\n', 'b\n', 'c\n', 'd\n'), { maxLength: 12 }).map((list) => list.join(''));

test('what nobody changed since is taken back exactly', () => {
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      expect(mergeLines(after, { ours: before, external: after })).toEqual({ text: before, collisions: 0 });
    }),
  );
});

test('lines that others put anywhere between stay, in their order', () => {
  fc.assert(
    fc.property(lines, lines, fc.array(fc.nat(20), { maxLength: 4 }), (before, after, places) => {
      const current = after.match(/[^\n]*\n/g) ?? [];
      for (const [at, place] of places.entries()) current.splice(place % (current.length + 1), 0, `theirs ${at}\n`);
      const theirs = (text: string) => text.match(/theirs \d\n/g) ?? [];
      const { text } = mergeLines(after, { ours: before, external: current.join('') });
      expect(theirs(text)).toEqual(theirs(current.join('')));
    }),
  );
});

test('a line put right behind one that is taken back is no collision', () => {
  expect(mergeLines('a\nours\n', { ours: 'a\n', external: 'a\nours\ntheirs\n' })).toEqual({
    text: 'a\ntheirs\n',
    collisions: 0,
  });
});

test('a line that somebody changed since collides and stays as they left it', () => {
  expect(mergeLines('a\nours\nc\n', { ours: 'a\nold\nc\n', external: 'a\ntheirs\nc\n' })).toEqual({
    text: 'a\ntheirs\nc\n',
    collisions: 1,
  });
});

test('lines right next to each other that were changed by one side each do not collide', () => {
  expect(mergeLines('1\n2\n', { ours: 'ONE\n2\n', external: '1\nTWO\n' })).toEqual({
    text: 'ONE\nTWO\n',
    collisions: 0,
  });
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
