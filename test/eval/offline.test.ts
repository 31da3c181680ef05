// The offline model on the set of our own: the floor. It finds less than half; what it found must not get lost.

import { expect, test } from 'vitest';
import { evaluateOffline } from './in-process.ts';
import { ratio } from './score.ts';

test('with the offline model the dream loses no fact, says none twice and invents nothing', async () => {
  const { figures, details } = await evaluateOffline({ perfect: false });
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
  expect(figures.retention.of).toBeGreaterThan(55);
  expect(figures.sessions).toBeGreaterThanOrEqual(30);
  expect(figures.facts).toBeGreaterThanOrEqual(150);
});
