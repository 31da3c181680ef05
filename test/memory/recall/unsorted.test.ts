// Before which lines an entry is put that no dream has sorted yet: those of which it says that it changes them, and no
// other, on pairs of both kinds and on evenings of a play of sessions (texts shortened): all lines of the topics with all
// entries since.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { openStore } from '../../../src/memory/open.ts';
import { newerAmong, unsortedEntries } from '../../../src/memory/recall/unsorted.ts';
import { record } from '../../support/recorded.ts';
import { tempDir } from '../../support/temp.ts';

interface Evening {
  evening: number;
  lines: string[];
  said: { text: string; changes?: string }[];
  /** Which of `said` changes which of `lines`; no other does. */
  marks: [said: number, line: number][];
}

const EVENINGS: Evening[] = JSON.parse(readFileSync(join(import.meta.dirname, 'evenings.json'), 'utf8'));

/** The lines before which an entry is put that changes what `changes` says. */
function linesChanged(lines: string[], changes: string): string[] {
  const newerThan = newerAmong(lines, [{ text: 'That is otherwise since yesterday.', changes }]);
  return lines.filter((line) => newerThan(line).length > 0);
}

test.each(EVENINGS)(
  'of evening $evening of the play every line that an entry changes has it before it, and no other',
  ({ lines, said, marks }) => {
    const newerThan = newerAmong(lines, said);
    const found = lines.flatMap((line) => newerThan(line).map(({ text }) => `${text} → ${line}`));
    const wanted = marks.map(([entry, line]) => `${said[entry]?.text} → ${lines[line]}`);
    expect(found.toSorted()).toEqual(wanted.toSorted());
  },
);

test.each([
  [
    'Every pull request of the press gets a changelog line.',
    'Every pull request of the press gets a line in CHANGELOG.md.',
  ],
  [
    "The mirror-pipeline is Priya's, who picks its number.",
    "The mirror-pipeline is Priya's; she picks the number it runs with.",
  ],
  ['Tickets are kept in Jira.', 'Tickets are kept in Jira under the key SYNC.'],
  ['The backend lives in ../entiredb.', 'The Entire backend lives in ../entiredb relative to the git-sync checkout.'],
  [
    'GitHub Enterprise Server fails at 5000 ref updates.',
    'GitHub Enterprise Server of two customers fails at 5000 ref updates per push.',
  ],
  ['Windows is skipped in the releases by goreleaser: no binaries.', 'goreleaser builds no Windows binaries.'],
  ['Lathes are oiled at noon. The press listens on port 3000.', 'The press listens on port 3000 in the hall.'],
])('an entry that changes "%s" stands before the line "%s"', (changes, line) => {
  expect(linesChanged([line], changes)).toEqual([line]);
});

test.each([
  ['Every pull request of the press gets a changelog line.', 'The press was declined by the rules for every push.'],
  ['The local entiredb speaks git on port 8080.', 'The local entiredb has pprof on port 8081.'],
  ['Priya decides the value of the mirror-pipeline.', 'The mirror-pipeline does batching on 6 of 9 clusters.'],
  ["The mirror-pipeline is Priya's.", 'The mirror-pipeline has batching on 6 of 9 clusters.'],
  ['#96 is in review with Marek.', '#95 is in review with Ines.'],
  ['#96 is in review with Marek.', 'Marek reviews what touches internal/gitproto.'],
  ['The staging database listens on port 5433.', 'The production database listens on port 5432.'],
  [
    'The default is 3000 ref updates per push.',
    'The mirror-pipeline can be configured with a higher value than the default.',
  ],
])('and one that changes "%s" not before "%s"', (changes, line) => {
  expect(linesChanged([line], changes)).toEqual([]);
});

test('an entry that says what it changes stands before the line that says it best, and before such as say it as well', () => {
  const [staging, again] = ['The staging database is on port 5433.', 'On staging the database listens on port 5433.'];
  const production = 'The production database listens on port 5433.';
  const changes = 'The staging database listens on port 5433.';
  expect(linesChanged([production, staging], changes)).toEqual([staging]);
  expect(linesChanged([staging, production, again], changes)).toEqual([staging, again]);
});

test.each([
  'Never label the barrels.',
  'The press listens on port 4321 now.',
  'Use `pnpm` instead of `npm`.',
  'PR #94 is merged.',
])('an entry that does not say what it changes stands before no line: %s', (text) => {
  const lines = ['Label the barrels.', 'The press listens on port 3000.', 'Use `npm`.', 'PR #94 moves slot locking.'];
  expect(lines.flatMap(newerAmong<{ text: string; changes?: string }>(lines, [{ text }]))).toEqual([]);
});

test('what a session only showed is told to no other before a night has seen it', async () => {
  const store = await openStore(tempDir(), { clock: fixedClock('2026-11-21T02:00:00Z') });
  onTestFinished(() => store.close());
  const said = { type: 'feedback', text: 'Show the diff first.' } as const;
  await record(store, '2026-11-20T09:00:00Z', [said, { ...said, text: 'Wants a table.', strength: 'implied' }]);
  expect([...unsortedEntries(store)].map(({ text }) => text)).toEqual([said.text]);
});
