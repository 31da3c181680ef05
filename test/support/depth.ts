// Two sizes of the long tests: a seeded, smaller one in `npm test`, the long one in `npm run test:deep`, which runs only
// the files that use this one. Both sizes test the same sentence.

/** Set by vitest.deep.config.ts. What costs much beside what else tests its sentence is asked in the long size alone. */
export const isDeep = process.env.NOCTURNE_TEST_DEPTH === 'deep';

export function sized<T>({ quick, deep }: { quick: T; deep: T }): T {
  return isDeep ? deep : quick;
}

/** Every run looks at the same random cases; PROPERTY_SEED=random, or a number, at others. */
export const SEED =
  process.env.PROPERTY_SEED === 'random' ? Date.now() : Number(process.env.PROPERTY_SEED ?? 20_261_121);

/**
 * Of the ways that a sentence can be tested on (three queues, three kinds of damage) the quick size takes one, by the
 * seed, and the deep one all; what is not taken is listed as skipped. `sentence`: sentences of different numbers take
 * different ways, so that the quick size sees each way too. `every`: where more than one is taken, each so many.
 */
export function waysTaken<T>(ways: readonly T[], sentence = 0, every = ways.length): T[] {
  return isDeep ? [...ways] : ways.filter((_, at) => at % every === (SEED + sentence) % every);
}
