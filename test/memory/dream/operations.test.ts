import { expect, test } from 'vitest';
import { checkOperations } from '../../../src/memory/dream/operation-checks.ts';
import type { DreamContext, KnownEntry, Operation } from '../../../src/memory/dream/operations.ts';
import { literals } from '../../../src/rules/literals.ts';

const PNPM = 'e_00000000000a';
const PORT = 'e_00000000000b';
const GONE = 'e_00000000000d';

const plain = {
  type: 'feedback' as const,
  strength: 'stated' as const,
  at: '2026-11-20T09:00:00.000Z',
  by: 'human',
  session: 's1',
  isWithdrawn: false,
};

function context(): DreamContext {
  const entry = (id: string, text: string): [string, KnownEntry] => [id, { ...plain, id, text, quotes: [text] }];
  return {
    entries: new Map([entry(PNPM, 'Use pnpm.'), entry(PORT, 'Listen on port 8080.')]),
    topics: new Map([
      [
        'tooling',
        {
          name: 'tooling',
          path: 'tooling.md',
          type: 'feedback',
          isPinned: false,
          bytes: 100,
          lines: new Map([
            ['aaaaaaaa', { text: 'Use npm 10.', isPersons: false }],
            ['bbbbbbbb', { text: 'Never touch vendor/.', isPersons: true }],
          ]),
        },
      ],
      [
        'kept',
        {
          name: 'kept',
          path: 'kept.md',
          type: 'user',
          isPinned: true,
          bytes: 100,
          lines: new Map([['cccccccc', { text: 'Pinned.', isPersons: false }]]),
        },
      ],
    ]),
  };
}

const drop = (...entries: string[]): Operation => ({
  kind: 'drop',
  entries,
  reason: 'Not needed.',
  because: 'unsupported',
});

function add(entry: string, text: string, more: object = {}): Operation {
  return {
    kind: 'add',
    entries: [entry],
    reason: 'New.',
    topic: 'tooling',
    lines: [{ text, entries: [entry] }],
    ...more,
  } as Operation;
}

function replace(kind: 'merge' | 'supersede', line: string, text: string): Operation {
  return {
    kind,
    entries: [PNPM],
    reason: 'Newer.',
    topic: 'tooling',
    replaces: [line],
    lines: [{ text, entries: [PNPM] }],
  };
}

test('a list that accounts for every entry, and replaces what may be replaced, is let through', () => {
  expect(checkOperations([replace('supersede', 'aaaaaaaa', 'Use pnpm.'), drop(PORT)], context())).toEqual([]);
});

test.each<[string, Operation[], string]>([
  ['an entry is in no operation', [drop(PNPM)], PORT],
  ['an entry is in two operations', [drop(PNPM, PORT), drop(PORT)], 'more than one'],
  ['an entry is made up', [drop(PNPM, PORT, 'e_ffffffffffff')], 'no such entries'],
  ['a person’s line is replaced', [replace('supersede', 'bbbbbbbb', 'Use pnpm.'), drop(PORT)], 'by a person'],
  ['a pinned line is replaced', [replace('supersede', 'cccccccc', 'Use pnpm.'), drop(PORT)], 'pinned'],
  ['a pinned topic is added to', [add(PNPM, 'Use pnpm.', { topic: 'kept' }), drop(PORT)], 'pinned'],
  [
    'a line is replaced twice',
    [
      replace('merge', 'aaaaaaaa', 'Use npm 10. Use pnpm.'),
      { kind: 'retire', entries: [PORT], reason: 'x', replaces: ['aaaaaaaa'] },
    ],
    'already',
  ],
  ['a merge loses what the old line said', [replace('merge', 'aaaaaaaa', 'Use pnpm.'), drop(PORT)], '"10"'],
  ['a number comes from nowhere', [add(PNPM, 'Use pnpm 9.'), drop(PORT)], '"9"'],
  ['a number of its entry is lost', [add(PORT, 'Listen on the port.'), drop(PNPM)], '"8080"'],
  [
    'a line cites an entry of another operation',
    [add(PNPM, 'Use pnpm.', { lines: [{ text: 'Use pnpm.', entries: [PORT] }] }), drop(PORT)],
    'not in this operation',
  ],
  ['a line of the topic is said again', [add(PNPM, 'Use npm 10.'), drop(PORT)], 'stands there already'],
  ['a topic changes its type', [add(PNPM, 'Use pnpm.', { type: 'user' }), drop(PORT)], 'is of type feedback'],
])('a list is refused, with the reason, when %s', (_, operations, reason) => {
  expect(checkOperations(operations, context()).join('\n')).toContain(reason);
});

test('a withdrawn entry is accounted for but supports nothing', () => {
  const withGone = context();
  withGone.entries.set(GONE, { ...plain, id: GONE, text: 'Use yarn.', quotes: [], isWithdrawn: true });
  const gone: Operation = { kind: 'drop', entries: [GONE], reason: 'Gone.', because: 'withdrawn' };
  expect(checkOperations([drop(PNPM, PORT), gone], withGone)).toEqual([]);
  expect(checkOperations([add(GONE, 'Use yarn.'), drop(PNPM, PORT)], withGone).join()).toContain('withdrawn');
});

test('a topic that would outgrow its file is refused in words, whatever else the operations make smaller', () => {
  const full = context();
  Object.assign(full.topics.get('tooling') as object, { bytes: 102_395 });
  const said = checkOperations([add(PNPM, 'Use pnpm.'), drop(PORT)], full);
  expect(said).toEqual([
    'operations[0] (add): the topic tooling would have 102408 bytes, and a topic may have 102400: put lines into another topic.',
  ]);
  const other = { topic: 'pnpm', description: 'pnpm', type: 'feedback' };
  expect(checkOperations([add(PNPM, 'Use pnpm.', other), drop(PORT)], full)).toEqual([]);
  expect(checkOperations([replace('supersede', 'aaaaaaaa', 'Use pnpm, never npm.'), drop(PORT)], full)).toHaveLength(1);
  expect(checkOperations([replace('supersede', 'aaaaaaaa', 'pnpm!'), drop(PORT)], full)).toEqual([]);
});

test('greppable strings are code, paths, flags, URLs, identifiers and everything with a digit', () => {
  expect(
    literals('Run `pnpm run x`, then src/a.ts with --fast on 2026-12-04 (see https://x.org/1), not and/or MAX_SIZE.'),
  ).toEqual(['pnpm run x', 'src/a.ts', '--fast', '2026-12-04', 'https://x.org/1', 'and/or', 'MAX_SIZE']);
});
