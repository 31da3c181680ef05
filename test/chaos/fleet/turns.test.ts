// The turns of tenants, as a model sees them: one worker that does one job at a time, noisy tenants with work for long, and a
// quiet one that comes last. When what began is told by the model's own log.

import { expect, onTestFinished, test } from 'vitest';
import { noOwnRedis } from '../../queue/own-redis.ts';
import { sized } from '../../support/depth.ts';
import { noPostgres, ownDatabase } from '../../support/own-database.ts';
import { seeded } from '../../support/random.ts';
import type { Asked } from './model.ts';
import { standingFleet } from './standing.ts';
import { makeWorld } from './world.ts';

// Two long runs of a fleet's turns, in the deep size alone.
const lacking = sized({ quick: '(in the deep size)', deep: noPostgres || noOwnRedis() });
const JOB_MS = 400;
const SEED = 7;

for (const noisy of [1, 8]) {
  test.skipIf(lacking)(
    `a quiet tenant's job begins when the one under way ends, after at most one of each other tenant, beside ${noisy} that are noisy ${lacking ?? ''}`,
    async () => {
      const tenants = Array.from({ length: noisy + 1 }, (_, nth) => `tenant-${String(nth).padStart(3, '0')}`);
      const database = await ownDatabase();
      onTestFinished(() => database.drop());
      const fleet = await standingFleet({
        ...{ seed: SEED, queue: 'redis', workers: 1, servers: 1, tenants, settings: { concurrency: 1 } },
        databaseUrl: database.url,
        latencyMs: (kind) => (kind === 'extract' ? JOB_MS : 0),
      });
      onTestFinished(() => fleet.close({ isKept: false }));
      const { looks, model } = fleet;
      // The stores are made in the order of the tenants: the last is the quiet one's.
      const world = await makeWorld(fleet.clients, { stores: tenants.length, random: seeded(SEED) });
      const quiet = world.stores.at(-1);
      const isQuiet = ({ about }: Asked) => about?.startsWith(`station ${quiet?.nth}-`) === true;
      const jobs = () => model.asked.filter(({ kind }) => kind === 'extract');
      const sessions = Math.max(2, Math.ceil(12 / noisy));
      for (let round = 0; round < sessions; round += 1) await world.sendEach(world.stores.slice(0, -1));
      await expect.poll(() => jobs().length, { timeout: 60_000 }).toBeGreaterThan(0);
      await world.sendEach(world.stores.slice(-1));
      await expect
        .poll(async () => jobs().some(isQuiet) || (await looks.itemsOf(quiet?.id ?? '')) > 0, {
          ...{ timeout: 60_000, interval: 10 },
        })
        .toBe(true);
      const cameAtMs = performance.now();
      await expect.poll(() => jobs().some(isQuiet), { timeout: 60_000 + noisy * 4_000, interval: 20 }).toBe(true);
      const { beganAtMs } = jobs().find(isQuiet) as Asked;
      const between = jobs().filter((job) => job.beganAtMs > cameAtMs && job.beganAtMs < beganAtMs);
      const running = jobs().filter((job) => job.beganAtMs <= cameAtMs && job.endedAtMs > cameAtMs);
      const lasted = [...running, ...between].reduce((sum, job) => sum + job.endedAtMs - job.beganAtMs, 0);
      const storeOf = ({ about }: Asked) => /station (\d+)-/.exec(about ?? '')?.[1];
      // Work is left for the noisy: the quiet one waited for none of what was before it but one turn.
      expect(jobs().length).toBeLessThan(noisy * sessions);
      expect(new Set(between.map(storeOf)).size).toBe(between.length);
      expect(between.length).toBeLessThanOrEqual(noisy);
      const waitedMs = beganAtMs - cameAtMs;
      console.log(
        `${noisy} noisy: began ${Math.round(waitedMs)} ms after it came, after ${running.length} under way and ${between.length} others`,
      );
      // What a job takes besides the model is this machine's: the longest of this run.
      const inOrder = jobs().toSorted((a, b) => a.beganAtMs - b.beganAtMs);
      const pauses = inOrder.slice(1).map((job, nth) => job.beganAtMs - (inOrder[nth] as Asked).endedAtMs);
      expect(waitedMs).toBeLessThanOrEqual(lasted + 1_000 + (1 + between.length) * Math.max(0, ...pauses));
    },
  );
}
