// A fleet under chaos, on both queues, in the deep size alone.

import { expect, test } from 'vitest';
import { SEED, sized } from '../../support/depth.ts';
import { PLAN, runFleetChaos } from './chaos.ts';
import { noFleet } from './standing.ts';

const lacking = sized({ quick: '(in the deep size)', deep: noFleet() });

for (const queue of ['redis', 'polling'] as const) {
  test.skipIf(lacking)(
    `workers and servers that die, hang and lose PostgreSQL and the queue (${queue}) keep everything once and stay below the ceiling ${lacking ?? ''}`,
    { timeout: 900_000 },
    async () => {
      const { violations, ...report } = await runFleetChaos({ ...PLAN, ...{ seed: SEED % 1_000_000, queue } });
      console.log(`${queue}: ${JSON.stringify(report)}`);
      expect(violations).toEqual([]);
      expect(report).toMatchObject({ lost: 0, doubled: 0, entries: report.turns });
      expect(report.disturbances['restart postgres']).toBe(PLAN.restarts);
    },
  );
}
