// How a number of things is said.

import { expect, test } from 'vitest';
import { sayCount } from '../src/wording.ts';

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
