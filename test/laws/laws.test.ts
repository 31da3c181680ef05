// Laws of a memory, after plans of at least fifteen steps by people, programs and jobs, on both engines. `npm run laws` asks them of a
// thousand plans each; a plan that breaks one is made smaller, and its steps are printed.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SEED, sized } from '../support/depth.ts';
import { ENGINES, openWorld, skipped } from '../support/memory-world.ts';
import { broken } from './laws.ts';
import { type Lived, type Step, type StepKind, step } from './lived-plan.ts';

const CASES = Number(process.env.LAWS ?? sized({ quick: 2, deep: 25 }));
const KINDS: StepKind[] = [
  ...(['learn', 'learn', 'learn', 'dream', 'dream', 'write-by-hand', 'reword-by-hand', 'move-by-hand'] as const),
  ...(['delete-by-hand', 'branch', 'switch', 'undo', 'undo', 'undo-the-undo', 'forget', 'redact', 'restore'] as const),
  ...(['other-process', 'clock-back', 'next-day'] as const),
];
const plans = fc.array(fc.record<Step>({ kind: fc.constantFrom(...KINDS), pick: fc.nat({ max: 11 }) }), {
  minLength: 15,
  maxLength: 24,
});

test.each(ENGINES.filter((engine) => skipped(engine) === ''))(
  'nothing is lost, doubled, left without a ground, or there after it was redacted, on %s',
  async (engine) => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        expect(await live(engine, plan)).toEqual([]);
      }),
      { numRuns: CASES, seed: SEED, endOnFailure: CASES < 100 },
    );
  },
  240_000 + CASES * 4_000,
);

async function live(engine: (typeof ENGINES)[number], plan: readonly Step[]): Promise<string[]> {
  // The day on which summer time begins in Europe.
  const clock = { at: Date.parse('2026-03-28T21:00:00.000Z') };
  const { world, close } = await openWorld(engine, { clock: { now: () => new Date(clock.at) } });
  try {
    const { dir, row } = await world.withDirectory();
    const others = [world.memories, await world.again()];
    const lived: Lived = {
      ...{ world, dir, row, clock, others, memories: world.memories, branch: null, steps: 0 },
      ...{ said: [], byHand: new Set<string>(), redacted: [], forgotten: [], done: [], wrong: [] },
    };
    for (const each of [{ kind: 'learn', pick: 0 } as const, { kind: 'dream', pick: 0 } as const, ...plan])
      await step(lived, each);
    return await broken(lived);
  } finally {
    await close();
  }
}
