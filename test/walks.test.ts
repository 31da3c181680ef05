// How far a reader goes who follows a transcript, or an entry, through the code.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { countWalks } from './walks.ts';

/** At a1df47a, the commit before the rooms were laid out anew. */
const BEFORE = {
  'a transcript, from the hook to the line in a log': { hops: 83, returns: 75, rooms: 52, climbs: 25 },
  'an entry, from the log to the index': { hops: 47, returns: 45, rooms: 32, climbs: 15 },
};

/** Calls that stand in the file that makes them now. */
const GONE = [
  'areHeld',
  'continuationOf',
  'choosePriorities|assignPriorities|assignTiers',
  'src/agent: readEntries',
  'isUntouched',
  'settleItem',
  'lostLogs',
  'lateMarks',
  'settleItem',
];

test('every call of the two walks is in the code, save those that need no other file any more', () => {
  const counts = countWalks(join(import.meta.dirname, '..'));
  const gone = Object.values(counts).flatMap((count) => count.gone);
  expect(gone).toEqual(GONE);
});

test('no walk is longer than before, in files, rooms and floors', () => {
  const counts = countWalks(join(import.meta.dirname, '..'));
  for (const [walk, before] of Object.entries(BEFORE)) {
    const { hops, returns, rooms, climbs } = counts[walk as keyof typeof BEFORE];
    for (const [what, now] of Object.entries({ hops, returns, rooms, climbs })) {
      expect(now, `${what} of ${walk}`).toBeLessThanOrEqual(before[what as keyof typeof before]);
    }
  }
});
