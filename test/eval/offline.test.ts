// The offline model on the set of our own and on the one held out: the floor. It finds less than half; what it found must not get lost.

import { expect, test } from 'vitest';
import { evaluateOffline } from './in-process.ts';
import { ratio } from './score.ts';
import { HELD_OUT, OWN } from './sets.ts';

test.each([
  { set: OWN, retained: 55 },
  { set: HELD_OUT, retained: 45 },
])(
  'with the offline model on the set $set.name the dream loses no fact, says none twice and invents nothing',
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
