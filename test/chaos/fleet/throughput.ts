// How many stores 1, 2 and 4 workers of concurrency 1 work through, each a session, where the model takes two seconds:
// `node test/chaos/fleet/throughput.ts [stores] [ms]`. What counts is how near the ratio is to the number of workers.

import { setTimeout as after } from 'node:timers/promises';
import { seeded } from '../../support/random.ts';
import { standingFleet } from './standing.ts';
import { makeWorld } from './world.ts';

const stores = Number(process.argv[2] ?? 24);
const latencyMs = Number(process.argv[3] ?? 2_000);

/** From the first request to the end of the last, with so many workers. */
async function secondsBy(workers: number): Promise<number> {
  const fleet = await standingFleet({
    ...{ seed: workers, queue: 'redis', workers, servers: 1, tenants: ['one'], settings: { concurrency: 1 } },
    latencyMs: (kind) => (kind === 'extract' ? latencyMs : 0),
  });
  try {
    await fleet.fleet.allUp();
    const world = await makeWorld(fleet.clients, { stores, random: seeded(1) });
    await world.sendEach(world.stores);
    for (;;) {
      await after(100);
      const { items, sessions } = await fleet.looks.waiting();
      if (items + sessions === 0) break;
    }
    const jobs = fleet.model.asked.filter(({ kind }) => kind === 'extract');
    const from = Math.min(...jobs.map(({ beganAtMs }) => beganAtMs));
    return (Math.max(...jobs.map(({ endedAtMs }) => endedAtMs)) - from) / 1_000;
  } finally {
    await fleet.close({ isKept: false });
  }
}

let alone = 0;
for (const workers of [1, 2, 4]) {
  const seconds = await secondsBy(workers);
  if (workers === 1) alone = seconds;
  const linear = (alone / seconds / workers).toFixed(2);
  process.stdout.write(`${workers} workers: ${stores} stores in ${seconds.toFixed(1)} s, ${linear} of linear\n`);
}
