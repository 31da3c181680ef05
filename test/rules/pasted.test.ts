import { expect, test } from 'vitest';
import { ownWords, passagesOf } from '../../src/rules/spoken-text.ts';
import { waysTaken } from '../support/depth.ts';

const pasted = (message: string): string[] =>
  passagesOf(message).flatMap(({ text, isPasted }) => (isPasted ? [text] : []));

test.each([
  ['a fence', 'Fix this:\n```\nboom\n```\nand use tabs', ['```\nboom\n```']],
  ['quoted lines', 'He wrote\n> always use tabs\n> says Bob\nand I do not', ['> always use tabs\n> says Bob']],
  ['a table', 'See\n| a | b |\n|---|---|\n| 1 | 2 |\nok', ['|---|---|\n| 1 | 2 |']],
  ['an element over lines', 'See\n<log>\nNever retry.\n</log>\nand stop', ['<log>\nNever retry.\n</log>']],
  ['a mail', 'Answer this.\n\nFrom: eve@example.org\nUse tabs.', ['From: eve@example.org\nUse tabs.']],
  ['a diff', 'Take\ndiff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\nand land it', ['diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b']],
  [
    'a command at a prompt',
    'It could use the helper, like:\n\n❯ go run ./cmd \\\n    --all\nright?',
    ['❯ go run ./cmd \\\n    --all'],
  ],
  ['a command on a host', 'kim@mill:~/app$ make\nfails, use tabs', ['kim@mill:~/app$ make']],
  ['a command in another shell', 'kim@mill app %  make\nfails, use tabs', ['kim@mill app %  make']],
  ['a line of a chat', 'Can we try\n[9:41 AM]the cache must go first\nok?', ['[9:41 AM]the cache must go first']],
  ['a line of a group', 'See\n[03/02/2026, 17:05:11] Kim: never squash', ['[03/02/2026, 17:05:11] Kim: never squash']],
  [
    'what somebody is said to have said',
    'A colleague said this belongs to it:\n\nWorkers retry twice.\nThen they stop.\n\nDoes it?',
    ['Workers retry twice.\nThen they stop.\n'],
  ],
  ['what one by name said', 'Any idea?\nMira wrote:\nAlways restart.\n\nI never do.', ['Always restart.\n']],
  ['a text that is to be checked', 'Can you check this tweet:\n\nMost caches lie.', ['Most caches lie.']],
  ['a bare file', 'Here is the file README.md:\n# Acme\nAlways use tabs.', ['# Acme\nAlways use tabs.']],
  ['a bare file by its kind', 'here’s our contributing page:\n\nAlways squash.', ['Always squash.']],
  ['what a file says', 'CLAUDE.md says:\nNever use mocks.', ['Never use mocks.']],
  ['contents', 'Contents of docs/plan.md:\nShip on Friday.', ['Ship on Friday.']],
  ['what a program printed', 'I got this output:\nError: always restart.', ['Error: always restart.']],
  ['a document that is asked about', 'Please summarise this.\n\n# Guide\nUse tabs.', ['# Guide\nUse tabs.']],
  ['a document with front matter', '---\nname: x\n---\nUse tabs.', ['---\nname: x\n---\nUse tabs.']],
])('%s in a message is not the person’s own', (_, message, expected) => {
  expect(pasted(message)).toEqual(expected);
});

test.each([
  ['a fence', 'The layout:\n```\n├── a\n└── b``` Always use tabs.\nAnd no dots.', ['```\n├── a\n└── b```']],
  ['a fence on a line of its own', 'See\n```\n└── b\n``` Always use tabs.', ['```\n└── b\n```']],
  ['a fence, with code in it', 'See\n```\n└── b\n``` Always use `make`, always use tabs.', ['```\n└── b\n```']],
  [
    'a fence on one line',
    `\`\`\`The └── says that all code comes from somebody else.\`\`\` Always use tabs.`,
    ['```The └── says that all code comes from somebody else.```'],
  ],
  ['an element', 'See\n<tree>\n└── b\n</tree> Always use tabs.', ['<tree>\n└── b\n</tree>']],
  ['a quotation', 'It was "src:\n\n    ├── a\n    └── b", and always use tabs.', ['    ├── a\n    └── b']],
])('what a person writes behind the end of %s on its last line is theirs', (_, message, expected) => {
  expect(pasted(message)).toEqual(expected);
  expect(ownWords(message)).toMatch(/lways use tabs\./);
  expect(ownWords(message)).not.toContain('└');
});

test('a quotation that ends on an indented line takes no later words with it', () => {
  const message = 'It printed "src:\n\n    ├── a\n    └── b" today.\nAlways use 5" disks.';
  expect(ownWords(message)).toContain('Always use 5" disks.');
});

test.each([
  ['a fence that a later line closes', 'See\n```\na ``` Never retry.\n```\nok', ['```\na ``` Never retry.\n```']],
  ['a fence with marks in its code', "See\n```\nx('```') Never retry.", ["```\nx('```') Never retry."]],
  ['a fence that holds another', 'See\n```\na ``` Never retry.\nb ``` c', ['```\na ``` Never retry.\nb ```']],
  ['quoted code', 'See:\n\n    log("a b", c) // Never retry.\nok', ['    log("a b", c) // Never retry.']],
  ['an element within one', 'See\n<a>\n<b>x</b> Never retry.\n</a>\nok', ['<a>\n<b>x</b> Never retry.\n</a>']],
])('what stands behind a mark in %s is not the person’s', (_, message, expected) => {
  expect(pasted(message)).toEqual(expected);
});

test.each([
  'Build a parser.\n\n# Rules\n\nAlways use tabs.\n\n## Tests\n\n- no mocks\n    - not even small ones',
  'Here is what I want:\n\n1. Lint first.\n2. Then the tests.',
  'Here are the changes for README.md I would like: shorter, no badges.\nKeep the table.',
  'In src/app.ts:\n- use tabs\n- no default exports',
  'Rename "Save" to "Save all".\n\nThe rules:\n- never push to main',
  'I see this problem:\nthe list jumps when I scroll.',
  'From now on:\nuse tabs.',
  'Before a push, run\n$ make lint\nand mail kim@mill.example: $ 5 for a typo.\nkim@mill.example # owns billing',
  'kim@mill takes 5 % more, kim@mill.example 10 %',
  'We said:\nuse tabs.\n\nThe customer portal says hello:\nkeep that.',
  'Please review this plan:\n1. Move the cache.\n2. Drop the old one.',
  '[ ] tests at 10:30\n[x] ask the client:\nships in May.',
  '```npm ci``` comes first.\nThen the tests.',
])('what a person wrote in %j is all theirs', (message) => {
  expect(pasted(message)).toEqual([]);
});

test.each(['', 'a\n\n```\nb\n```\n\nc\n', '\n\n> a\n\nb', '```\nnever closed'])(
  'the passages of %j make it up again',
  (message) => {
    expect(
      passagesOf(message)
        .map(({ text }) => text)
        .join('\n'),
    ).toBe(message);
  },
);

const REPEATED = [
  // The last one's line took minutes: its words were split in every way.
  ['<x>\n', '```\n', 'a\n    b\n\n', '- - - ', `Kim Lee 12 ${'a'.repeat(80)}  b\n`],
  ['# x\n', '> x\n', ' "a', '```\na```b\n'],
  ['README.md\n', '\n\n    "a', '<x>\n</x> a', '``` a'],
];

test.each(waysTaken(REPEATED).flat())('a megabyte of %j is looked through once', (part) => {
  const message = part.repeat(Math.ceil(1_000_000 / part.length));
  expect(passagesOf(message).length).toBeGreaterThan(0);
});
