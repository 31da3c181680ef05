// The offline model on the English sessions of both sets: the floor. It finds about half; what it found must not get lost.
// In the small size of one of them.

import { expect, test } from 'vitest';
import { waysTaken } from '../support/depth.ts';
import { evaluateOffline } from './in-process.ts';
import { ratio } from './score.ts';
import { HELD_OUT, inEnglish, OWN } from './sets.ts';

const SETS = [
  { set: inEnglish(OWN), retained: 33 },
  { set: inEnglish(HELD_OUT), retained: 20 },
];

test.each(waysTaken(SETS))(
  'with the offline model on the English sessions of the set $set.name the dream loses no fact, says none twice and invents nothing',
  async ({ set, retained }) => {
    const { figures, details } = await evaluateOffline(set, { perfect: false });
    const { lost, duplicates, unsupported, traps, failures } = details;
    expect({ lost, duplicates, unsupported, traps, failures }).toEqual({
      lost: [],
      duplicates: [],
      unsupported: [],
      traps: [],
      failures: [],
    });
    expect(ratio(figures.retention)).toBe(1);
    // It knows explicit statements and no more. That it finds some is what makes the rest worth saying.
    expect(figures.retention.of).toBeGreaterThan(retained);
    expect(ratio(figures.extraction.precision)).toBeGreaterThanOrEqual(0.95);
  },
);
