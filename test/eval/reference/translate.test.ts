// Recorded answers in the words of three operations: nothing of them is lost, and what cannot be said is named.

import { expect, test } from 'vitest';
import { cassetteNames, readCassette } from './cassette.ts';
import { translate } from './translate.ts';

const topicOf = (line: string) => ({ a1: 'git', a2: 'git', b1: 'deploys' })[line];
const line = { text: 'Default 3000.', entries: ['e1'] };

test.each([
  [
    { kind: 'add', entries: ['e1'], topic: 'git', type: 'project', description: 'Git', lines: [line], reason: 'r' },
    { kind: 'put', topic: 'git', type: 'project', description: 'Git', in: [line], reason: 'r' },
  ],
  [
    {
      kind: 'supersede',
      entries: ['e1', 'e2'],
      topic: 'git',
      lines: [line],
      replaces: ['a1'],
      over: ['x'],
      same: true,
    },
    { kind: 'put', topic: 'git', out: ['a1'], in: [line], entries: ['e2'], over: ['x'] },
  ],
  [
    { kind: 'retire', entries: ['e1'], replaces: ['a1', 'a2'], reason: 'r' },
    { kind: 'put', topic: 'git', out: ['a1', 'a2'], entries: ['e1'], reason: 'r' },
  ],
  [
    { kind: 'drop', entries: ['e1'], because: 'duplicate', of: 'a1', reason: 'r', same: true },
    { kind: 'drop', entries: ['e1'], because: 'duplicate', of: 'a1', reason: 'r' },
  ],
  [
    { kind: 'rename', entries: [], topic: 'git', to: 'git-rules', reason: 'r' },
    { kind: 'rename', topic: 'git', to: 'git-rules', reason: 'r' },
  ],
])('$kind', (recorded, now) => {
  expect(translate([recorded], topicOf)).toEqual({ operations: [now], left: [] });
});

test('what cannot be said is named', () => {
  const held = { kind: 'hold', entries: ['e1'], reason: 'r' };
  const retired = { kind: 'retire', entries: ['e1'], replaces: ['a1', 'b1'], reason: 'r' };
  expect(translate([held, retired], topicOf)).toEqual({
    operations: [],
    left: [
      { operation: held, why: 'there is no hold' },
      { operation: retired, why: 'its lines are not in one topic' },
    ],
  });
});

test('of the plays all is translated but what was held back', () => {
  const all = cassetteNames().flatMap((name) => readCassette(name).flatMap(({ operations = [] }) => operations));
  const { operations, left } = translate(all, () => undefined);
  expect([operations.length, left.map(({ why }) => why)]).toEqual([74, Array(4).fill('there is no hold')]);
});
