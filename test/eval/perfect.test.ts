// The dream alone: every fact of the set is recorded as the set words it, in six languages, with look-alikes, changes
// and things said several times. In the small size one of its three English samples is asked, and three others of five.

import { expect, test } from 'vitest';
import { sized, waysTaken } from '../support/depth.ts';
import { evaluateOffline } from './in-process.ts';
import { ratio } from './score.ts';
import { inEnglish, OWN } from './sets.ts';

const english = inEnglish(OWN).samples;
const others = OWN.samples.filter((sample) => !english.includes(sample));
const asked = new Set([0, 1, 2].flatMap((at) => waysTaken(others, at)));
const samples = [...asked, ...waysTaken(english)];

test('of everything that could be recorded the dream loses nothing, says nothing twice and invents nothing', async () => {
  const { figures, details } = await evaluateOffline({ ...OWN, samples }, { perfect: true });
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
  expect(figures.retention.of).toBeGreaterThan(sized({ quick: 50, deep: 130 }));
});
