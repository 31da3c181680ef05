import { expect, test } from 'vitest';
import { mergeFiles, mergeLines } from '../../../src/memory/store/edit-text.ts';

test.each([
  ['both add elsewhere', '1\n2\n3\n', '1\n2\n3\n4\n', '0\n1\n2\n3\n', '0\n1\n2\n3\n4\n'],
  ['both add at the end', '1\n', '1\nours\n', '1\ntheirs\n', '1\ntheirs\nours\n'],
  ['both add the same and more', '1\n', '1\nboth\nours\n', '1\nboth\n', '1\nboth\nours\n'],
  ['what was merged already', '1\n', '1\nours\n', '1\ntheirs\nours\n', '1\ntheirs\nours\n'],
  ['a last line without newline stays so', '1\n2\n3', '0\n1\n2\n3', '1\n2\nTHREE', '0\n1\n2\nTHREE'],
  ['lines behind a last line without newline', '1\n2', '1\n2\nours\n', 'ONE\n2', 'ONE\n2\nours\n'],
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
