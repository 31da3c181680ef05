// The dream alone: every fact of the set is recorded as the set words it, in six languages, with look-alikes, changes
// and things said several times.

import { expect, test } from 'vitest';
import { evaluateOffline } from './in-process.ts';
import { ratio } from './score.ts';
import { OWN } from './sets.ts';

test('of everything that could be recorded the dream loses nothing, says nothing twice and invents nothing', async () => {
  const { figures, details } = await evaluateOffline(OWN, { perfect: true });
  const { missed, lost, duplicates, unsupported, traps, failures } = details;
  expect({ missed, lost, duplicates, unsupported, traps, failures }).toEqual({
    missed: [],
    lost: [],
    duplicates: [],
    unsupported: [],
    traps: [],
    failures: [],
  });
  expect(ratio(figures.extraction.evidence)).toBe(1);
  expect(ratio(figures.retention)).toBe(1);
  expect(ratio(figures.memory.beside)).toBe(1);
  expect(figures.retention.of).toBeGreaterThan(130);
});
