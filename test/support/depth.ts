// Two sizes of the long tests: a seeded, smaller one in `npm test`, the long one in `npm run test:deep`, which runs only
// the files that use this one. Both sizes test the same sentence.

/** Set by vitest.deep.config.ts. */
const isDeep = process.env.NOCTURNE_TEST_DEPTH === 'deep';

export function sized<T>({ quick, deep }: { quick: T; deep: T }): T {
  return isDeep ? deep : quick;
}
