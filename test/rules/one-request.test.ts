// What was asked once is kept as that: no entry and no line makes "always" of it.

import { expect, test } from 'vitest';
import { type Proposed, proposed, type Step } from '../support/lessons.ts';

const ASKED: Step[] = [
  { human: 'Number the points of the list' },
  { says: 'Done: the list has numbers. Shall I always number lists?' },
  { human: 'number them here too, and run the linter each time you commit' },
  { human: 'do not push the list' },
];
const entry = (text: string, ...evidence: Proposed['evidence']): Proposed => ({
  ...{ type: 'feedback', strength: 'stated', found: undefined, text, evidence },
});

test.each<[string, Proposed]>([
  ['a request', entry('Number the points of the list.', ['m0', 'Number the points of the list'])],
  [
    'a rule in other words',
    entry('Always run the linter before a commit.', ['m2', 'run the linter each time you commit']),
  ],
  [
    'what is asked in two turns',
    entry(
      'Always number the points of a list.',
      ['m0', 'Number the points of the list'],
      ['m2', 'number them here too'],
    ),
  ],
  ['a denial', entry('Never push the list.', ['m3', 'do not push the list'])],
  ['how often', entry('Number the points of the list every 5 points.', ['m0', 'Number the points of the list'])],
  ['a name', entry('Number the points of the `always` list.', ['m0', 'Number the points of the list'])],
])('%s is kept', async (_, of) => {
  expect(await proposed(ASKED, of)).toMatchObject({ text: of.text });
});

test.each([
  'Always number the points of a list.',
  'Number the points of every list.',
  'Never leave points of the list without a number.',
])('of one request "%s" is refused, with what to say', async (text) => {
  for (const strength of ['stated', 'implied'] as const) {
    const of = { ...entry(text, ['m0', 'Number the points of the list']), strength };
    expect(await proposed(ASKED, of)).toMatch(/says "(?:always|every|never)", and no quote does.*"For X: …"/i);
  }
});
