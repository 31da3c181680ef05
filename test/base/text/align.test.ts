// Which lines of two texts are the same lines: as many as can be, in a time that grows with the texts.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { align, changesOf } from '../../../src/base/text/align.ts';
import { mergeLines, unifiedDiff } from '../../../src/memory/edit-text.ts';
import { seeded } from '../../support/random.ts';

const few = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 14 });

test('as many lines are paired as can be, each with an equal one, in the order of both', () => {
  fc.assert(
    fc.property(few, few, (from, to) => {
      expect(checked(from, to)).toBe(mostPairs(from, to));
    }),
    { numRuns: 1_000 },
  );
});

test('where more lines differ than are followed, what is paired is right all the same', () => {
  const random = seeded(7);
  for (const kinds of [1, 2, 40, 700]) {
    const lines = (count: number) => Array.from({ length: count }, () => `${random.below(kinds)}`);
    const [from, to] = [lines(2_500), lines(1_700)];
    expect(checked(from, to)).toBeGreaterThan(0);
    let text = from;
    for (const { a, b } of changesOf(from, to).toReversed())
      text = text.toSpliced(a[0], a[1], ...to.slice(b[0], b[0] + b[1]));
    expect(text).toEqual(to);
  }
});

test('a hundred kilobytes of lines that are all alike are compared, merged and taken back in seconds of CPU', () => {
  const alike = 'x\n'.repeat(50_000);
  const [first, last] = [`a\n${alike}`, `${alike}z\n`];
  const began = process.cpuUsage();
  expect(unifiedDiff({ name: 'a', text: first }, { name: 'b', text: last })).toMatch(/^-a$[\s\S]*^\+z$/m);
  expect(mergeLines(alike, { ours: first, external: last })).toEqual({ text: `a\n${alike}z\n`, collisions: 0 });
  expect(mergeLines(first, { ours: alike, external: `${first}z\n` }).text).toBe(last);
  const between = 'x\ny\n'.repeat(20_000);
  expect(mergeLines(between, { ours: 'x\n'.repeat(20_000), external: 'c\n' }).text).toBe('c\n');
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1e6).toBeLessThan(8);
});

/** How many lines are paired, once that is known to be right. */
function checked(from: string[], to: string[]): number {
  const pairs = [...align(from, to).entries()].filter(([, there]) => there >= 0);
  for (const [nth, [line, there]] of pairs.entries()) {
    expect(from[line]).toBe(to[there]);
    expect(there).toBeGreaterThan(pairs[nth - 1]?.[1] ?? -1);
  }
  return pairs.length;
}

/** Told the slow way. */
function mostPairs(from: string[], to: string[]): number {
  let below = Array<number>(to.length + 1).fill(0);
  for (const line of from.toReversed()) {
    const row = Array<number>(to.length + 1).fill(0);
    for (let at = to.length - 1; at >= 0; at -= 1)
      row[at] = line === to[at] ? (below[at + 1] as number) + 1 : Math.max(below[at] as number, row[at + 1] as number);
    below = row;
  }
  return below[0] as number;
}
