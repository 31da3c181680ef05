// A chaos run: workers on one queue work through hundreds of sessions while they, their agents and the queue's server
// are killed, stopped and restarted at random; sessions grow and are announced again meanwhile. It ends when nothing
// waits any more, and then everything is counted. A run can be repeated by its seed, as far as a machine repeats itself.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { ownRedis } from '../queue/own-redis.ts';
import { agentsOf } from '../support/processes.ts';
import { seeded } from '../support/random.ts';
import { type Verdict, verify } from './verify.ts';
import { startWorkers } from './workers.ts';
import { makeWorld, type World } from './world.ts';

export interface ChaosPlan {
  seed: number;
  /** `redis` starts a server of its own; `polling` has none. */
  backend: 'redis' | 'polling';
  directories: number;
  sessions: number;
  /** Disturbances come about so often. */
  everyMs: number;
  /** A worker is stopped for at most about so long. */
  mostStopMs: number;
  /** After so long nothing is disturbed any more. */
  disturbForMs: number;
  /** After so long the run has failed. */
  limitMs: number;
}

export interface ChaosReport extends Verdict {
  seed: number;
  seconds: number;
  /** How often what was done. */
  disturbances: Record<string, number>;
}

/** What docs/dev/evidence.md is made of, and made again by its test. */
export const PUBLISHED = {
  ...{ seed: 20, sessions: 120, directories: 10 },
  ...{ everyMs: 1_200, mostStopMs: 14_000, disturbForMs: 40_000, limitMs: 300_000 },
};
const CONCURRENCY = 4;

/** Runs the plan in a temporary directory; what breaks a promise is in the report's `violations`. */
export async function runChaos(plan: ChaosPlan, say: (line: string) => void = () => {}): Promise<ChaosReport> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'nocturne-chaos-')));
  const startedAt = performance.now();
  const random = seeded(plan.seed);
  const redis = plan.backend === 'redis' ? await ownRedis() : null;
  const world = await makeWorld({ root, queueUrl: redis?.url ?? '', concurrency: CONCURRENCY, ...plan }, random);
  const workers = startWorkers(2, world);
  const disturbances = workers.counts;
  const elapsed = () => performance.now() - startedAt;
  const isDisturbed = () => elapsed() < plan.disturbForMs || Object.keys(disturbances).length < 2;
  let isKept = true;
  try {
    // Announced while the first already work; some of them are grown and announced again.
    let isAnnounced = false;
    const growth = seeded(plan.seed + 1);
    const announcing = announceAll(world, () => growth.below(4) === 0).finally(() => {
      isAnnounced = true;
    });
    let wasDreamt = false;
    for (;;) {
      await after(plan.everyMs / 2 + random.below(plan.everyMs));
      if (elapsed() > plan.limitMs) break;
      if (isDisturbed()) {
        if (redis && random.below(12) === 0) {
          disturbances['kill redis'] = (disturbances['kill redis'] ?? 0) + 1;
          await redis.kill();
          await after(random.below(3_000));
          await redis.start();
        } else workers.disturb(random, plan.mostStopMs);
      }
      if (!wasDreamt && elapsed() > plan.disturbForMs / 2) {
        wasDreamt = true;
        await world.dreamEverywhere();
      }
      const waiting = await world.waiting();
      say(`${Math.round(elapsed() / 1000)} s: ${waiting} wait; ${JSON.stringify(disturbances)}`);
      if (waiting === 0 && isAnnounced && wasDreamt && Object.keys(disturbances).length > 1) break;
    }
    await announcing;
    const stopped = await workers.stop();
    const verdict = await judge(world, { stopped, deaths: workers.deaths });
    isKept = verdict.violations.length > 0;
    if (isKept) verdict.violations.push(`Everything is kept in ${root}.`);
    return { seed: plan.seed, seconds: Math.round(elapsed() / 1000), disturbances, ...verdict };
  } finally {
    await workers.stop();
    await redis?.close();
    await world.close();
    if (!isKept) rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function announceAll(world: World, isGrown: () => boolean): Promise<void> {
  for (const [index, session] of world.sessions.entries()) {
    await world.announce(session);
    const earlier = world.sessions[index - 20];
    if (!earlier || !isGrown()) continue;
    world.grow(earlier);
    await world.announce(earlier);
    await after(5);
  }
}

async function judge(
  world: World,
  ends: { stopped: { code: number | null; said: string }[]; deaths: string[] },
): Promise<Verdict> {
  await world.tidy();
  const verdict = await verify(world);
  const waiting = await world.waiting();
  if (waiting > 0) verdict.violations.push(`${waiting} items still wait.`);
  const orphans = agentsOf(world.home);
  if (orphans.length > 0) verdict.violations.push(`Agents without a worker: ${orphans.join(', ')}.`);
  for (const { code, said } of ends.stopped)
    if (code !== 0) verdict.violations.push(`A worker ended SIGTERM with ${code}: ${said}`);
  verdict.violations.push(...ends.deaths);
  return verdict;
}
