import { expect, test } from 'vitest';
import { mergeLines } from '../../../src/memory/store/edit-text.ts';

const base = 'one\ntwo\nthree\n';

test.each([
  ['edits of different lines both live', 'ONE\ntwo\nthree\n', 'one\ntwo\nTHREE\n', 'ONE\ntwo\nTHREE\n', 0],
  ['both add at the end: theirs first, then ours', `${base}ours\n`, `${base}theirs\n`, `${base}theirs\nours\n`, 0],
  ['we add behind a line that they changed', `${base}ours\n`, 'one\ntwo\nTHREE\n', 'one\ntwo\nTHREE\nours\n', 0],
  ['they emptied the file while we added to it', `${base}ours\n`, '', 'ours\n', 0],
  ['the same edit on both sides is one', 'one\n2\nthree\n', 'one\n2\nthree\n', 'one\n2\nthree\n', 0],
  ['where lines collide theirs wins', 'one\nours\nthree\n', 'one\ntheirs\nthree\n', 'one\ntheirs\nthree\n', 1],
])('%s', (_, ours, external, text, collisions) => {
  expect(mergeLines(base, { ours, external })).toEqual({ text, collisions });
});
