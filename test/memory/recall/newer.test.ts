// Which lines a newer entry is marked before. Pairs of both kinds: the entry changes the line, or it does not; a third of
// them was written before the rules and held back from work on them. And evenings of a play of sessions: all lines of the
// topics with all entries since, of which every pair is told (texts shortened).

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newerAmong, readSaid } from '../../../src/memory/recall/newer.ts';

interface Pair {
  /** What is right: the entry changes the line, or the line stays as it is. */
  line: 'changes' | 'stays';
  kind: string;
  newer: string;
  standing: string;
  changes?: string;
  isHabit?: true;
  heldBack?: true;
}

interface Evening {
  evening: number;
  lines: string[];
  said: { text: string; changes?: string; isHabit?: boolean }[];
  /** Which of `said` changes which of `lines`; no other does. */
  marks: [said: number, line: number][];
}

const fileText = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8');
const PAIRS: Pair[] = fileText('newer-pairs.jsonl')
  .trim()
  .split('\n')
  .map((row) => JSON.parse(row));

const EVENINGS: Evening[] = JSON.parse(fileText('newer-evenings.json'));

function isMarked({ newer: text, standing, changes, isHabit }: Pair): boolean {
  const said = readSaid({ text, ...(changes && { changes }), ...(isHabit && { isHabit }) });
  return newerAmong([standing], [said])(standing).length > 0;
}

/** What was said, and the line that it is marked before. */
function marksOf({ lines, said }: Evening): string[] {
  const newerThan = newerAmong(lines, said.map(readSaid));
  return lines.flatMap((line) => newerThan(line).map((each) => `${each.said.text} → ${line}`));
}

const share = (pairs: Pair[], is: (pair: Pair) => boolean) => pairs.filter(is).length / pairs.length;

describe.each([
  // What the words do not tell is left to the dream: an entry that changes a line is shown, if not beside it.
  { name: 'worked on', pairs: PAIRS.filter(({ heldBack }) => !heldBack), least: 0.9 },
  { name: 'held back', pairs: PAIRS.filter(({ heldBack }) => heldBack), least: 0.65 },
])('of the pairs $name', ({ pairs, least }) => {
  const [right = [], wrong = []] = ['changes', 'stays'].map((line) => pairs.filter((pair) => pair.line === line));

  test('at least 95 of 100 lines that an entry does not change are not marked', () => {
    console.info(`${wrong.filter(isMarked).length} of ${wrong.length} marked wrongly`);
    expect(share(wrong, (pair) => !isMarked(pair))).toBeGreaterThanOrEqual(0.95);
  });

  test(`at least ${100 * least} of 100 lines that an entry changes are marked`, () => {
    console.info(`${right.filter(isMarked).length} of ${right.length} marked rightly`);
    expect(share(right, isMarked)).toBeGreaterThanOrEqual(least);
  });
});

test.each(EVENINGS)(
  'of evening $evening of the play every line that an entry changes is marked, and no other',
  (evening) => {
    const wanted = evening.marks.map(([said, line]) => `${evening.said[said]?.text} → ${evening.lines[line]}`);
    expect(marksOf(evening).toSorted()).toEqual(wanted.toSorted());
  },
);

test('an entry that says what it changes stands before the line that says it best, and before such as say it as well', () => {
  const [staging, again] = ['The staging database is on port 5433.', 'On staging the database listens on port 5433.'];
  const production = 'The production database listens on port 5433.';
  const changes = 'The staging database listens on port 5433.';
  const marked = (lines: string[]) => {
    const newerThan = newerAmong(lines, [readSaid({ text: 'It is on 5544 since the move.', changes })]);
    return lines.filter((line) => newerThan(line).length > 0);
  };
  expect(marked([production, staging])).toEqual([staging]);
  expect(marked([staging, production, again])).toEqual([staging, again]);
});

test('what an entry sets apart from its own thing is not over, and marks no line that shares a word with it', () => {
  const marked = (text: string, line: string) => newerAmong([line], [readSaid({ text })])(line).length > 0;
  const apart = 'Large files of lumen are tried on wide-blob-check, not wide-ref-check.';
  expect(marked(apart, 'lumen prints no bare ref where it pushes in batches.')).toBe(false);
  expect(marked('Retries of lumen wait with jitter, not a fixed delay.', 'The tag of lumen has a fixed version.')).toBe(
    false,
  );
  // Where the word is one of ending, it is.
  expect(marked('lumen pushes to wharf, no longer to quay.', 'lumen pushes its images to quay at night.')).toBe(true);
});

test.each([
  ["The mirror-pipeline is Priya's.", 'The mirror-pipeline has batching on 6 of 9 clusters.'],
  ['#96 is in review with Marek.', 'Marek reviews what touches internal/gitproto.'],
])(
  'an entry that changes "%s", which is not among the lines, marks no other line that speaks of the same',
  (changes, line) => {
    const newerThan = newerAmong([line], [readSaid({ text: 'That is otherwise since yesterday.', changes })]);
    expect(newerThan(line)).toEqual([]);
  },
);

const LOCKING = 'PR #94 moves slot locking to `select for update`; Tom reviews it.';

test.each([
  ['PR #94 is merged.', LOCKING],
  ['#94 was merged on 2026-10-08, and the lock table is gone.', LOCKING],
  ['Pull request 94 was closed without a merge.', 'Slot locking moves to `select for update` (#94).'],
  ['PR #94 is merged.', 'PR #94 is open and waits for a review.'],
  ['HAF-17 is fixed.', 'HAF-17: the importer fails on files without a header.'],
])('what became of a ticket stands before a line that names it: %s', (newer, standing) => {
  expect(isMarked({ line: 'changes', kind: 'ticket', newer, standing })).toBe(true);
});

test.each([
  ['PR #94 is merged.', 'PR #95 moves slot locking to `select for update`.'],
  ['PR #94 is merged.', 'PR #940 moves slot locking to `select for update`.'],
  ['PR #94 is merged.', 'Slot locking uses `select for update` since PR #94 was merged.'],
  ['94 % of the tests are done.', LOCKING],
  ['Step 94 is done.', LOCKING],
  ['PR #94 or PR #95 is merged.', LOCKING],
])('and before no line of another, nor one that says so: %s', (newer, standing) => {
  expect(isMarked({ line: 'stays', kind: 'ticket', newer, standing })).toBe(false);
});
