import fc from 'fast-check';
import { expect, test } from 'vitest';
import { insertLines, replaceOnce } from '../../../src/memory/store/edit-text.ts';

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
