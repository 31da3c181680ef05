// A chaos run of a fleet: workers and servers with homes of their own on one database and one queue, clients that send sessions
// and ask for dreams, while processes are killed and stopped past their leases, PostgreSQL is restarted and Redis emptied. It ends
// when nothing waits any more; then everything is counted. At last the day's ceiling is set to little more than what was spent,
// and more is sent than it has room for. A run can be repeated by its seed, as far as a machine repeats itself.

import { setTimeout as after } from 'node:timers/promises';
import { seeded } from '../../support/random.ts';
import { type Standing, standingFleet } from './standing.ts';
import { type Verdict, verify } from './verify.ts';
import { makeWorld, type World } from './world.ts';

export interface FleetPlan {
  seed: number;
  /** What wakes workers up: a Redis of the run's own, or their own look each second. */
  queue: 'redis' | 'polling';
  workers: number;
  servers: number;
  stores: number;
  sessions: number;
  dreams: number;
  /** Processes are disturbed about so often, */
  everyMs: number;
  /** for so long. */
  disturbForMs: number;
  leaseMs: number;
  /** How often PostgreSQL is restarted, spread over that time. */
  restarts: number;
  /** Sessions that are sent when the day has room for few. */
  beyond: number;
  /** After so long the run has failed. */
  limitMs: number;
}

export interface FleetReport extends Verdict {
  seed: number;
  seconds: number;
  /** How often what was done, and how often clients asked again why. */
  disturbances: Record<string, number>;
  retries: Record<string, number>;
  /** Requests that the model was sent. */
  requests: number;
  ceiling: { limit: number; mostSpent: number; refused: number } | null;
}

/** A size that takes minutes. */
export const PLAN = {
  ...{ workers: 4, servers: 2, stores: 12, sessions: 45, dreams: 4, beyond: 8 },
  ...{ everyMs: 2_500, disturbForMs: 20_000, leaseMs: 3_000, restarts: 2, limitMs: 400_000 },
} satisfies Omit<FleetPlan, 'seed' | 'queue'>;
const TENANTS = ['acme', 'globex'];
const LOOK_MS = 250;
/** Leases of the killed end by time. */
const LEASES_END = 3;

interface Run extends Standing {
  plan: FleetPlan;
  world: World;
  violations: string[];
  elapsed(): number;
  say(line: string): void;
}

/** Runs the plan in a temporary directory; what breaks a promise is in the report's `violations`. */
export async function runFleetChaos(plan: FleetPlan, say: (line: string) => void = () => {}): Promise<FleetReport> {
  const startedAt = performance.now();
  const elapsed = () => performance.now() - startedAt;
  const { leaseMs } = plan;
  const standing = await standingFleet({ ...plan, tenants: TENANTS, settings: { leaseMs } });
  let isKept = true;
  try {
    say(`${Math.round(elapsed() / 1000)} s: all servers answer`);
    const { looks, fleet, model, clients, retries, root } = standing;
    const random = seeded(plan.seed);
    const world = await makeWorld(clients, { stores: plan.stores, random: seeded(plan.seed + 9) });
    say(`${Math.round(elapsed() / 1000)} s: ${plan.stores} stores`);
    const run: Run = { ...standing, plan, world, violations: [], elapsed, say };
    await work(run, random);
    // The leases of those that were killed last.
    await after(leaseMs);
    run.violations.push(...(await looks.held()));
    const verdict = await verify(world, looks);
    // Only where nothing is under way is it known what was spent before.
    const isAtRest = run.violations.length === 0;
    const ceiling = isAtRest ? await reachCeiling(run, random) : null;
    for (const { name, code } of await fleet.stop())
      if (code !== 0) run.violations.push(`${name} ended SIGTERM with ${code}.`);
    const violations = [...verdict.violations, ...run.violations, ...fleet.deaths];
    isKept = violations.length > 0;
    if (isKept) violations.push(`Everything is kept in ${root}.`);
    const seconds = Math.round(elapsed() / 1000);
    const requests = model.replies();
    return { seed: plan.seed, seconds, disturbances: fleet.counts, retries, requests, ceiling, ...verdict, violations };
  } finally {
    await standing.close({ isKept });
  }
}

/** Clients ask, workers work, chance disturbs, until nothing waits. */
async function work(run: Run, random: ReturnType<typeof seeded>): Promise<void> {
  const { plan, world, looks, fleet, model, elapsed, say } = run;
  const from = elapsed();
  let isAsked = false;
  const asking = world
    .send(plan.sessions)
    .then(() => world.dream(plan.dreams))
    .finally(() => {
      isAsked = true;
    });
  // Noticed where it is waited for.
  asking.catch(() => {});
  const outages = Array.from({ length: plan.restarts }, (_, nth) => ({
    atMs: ((nth + 0.5) / plan.restarts) * plan.disturbForMs,
    work: () => restartPostgres(run, random),
  }));
  if (run.redis) outages.push({ atMs: plan.disturbForMs / 4, work: () => emptyRedis(run, random) });
  outages.sort((a, b) => a.atMs - b.atMs);
  let nextAt = from + random.below(plan.everyMs);
  for (let saidAt = 0; ; await after(LOOK_MS)) {
    await lookAtSpend(run);
    const disturbedFor = elapsed() - from;
    const isDisturbed = disturbedFor < plan.disturbForMs;
    if (outages[0] && disturbedFor > outages[0].atMs) await outages.shift()?.work();
    else if (isDisturbed && elapsed() > nextAt) {
      fleet.disturb(random, LEASES_END * plan.leaseMs);
      nextAt = elapsed() + plan.everyMs / 2 + random.below(plan.everyMs);
    }
    await looks.hasten();
    const waiting = await looks.waiting();
    if (elapsed() - saidAt > 5_000) {
      saidAt = elapsed();
      const { items, dreams } = waiting;
      say(
        `${Math.round(elapsed() / 1000)} s: ${items} items, ${dreams} dreams wait; ${model.replies()} requests; ${JSON.stringify(fleet.counts)}`,
      );
    }
    const isDone = Object.values(waiting).every((count) => count === 0);
    if (isAsked && isDone && outages.length === 0 && !isDisturbed) break;
    if (elapsed() > plan.limitMs) {
      run.violations.push(`After ${Math.round(elapsed() / 1000)} s there wait ${JSON.stringify(waiting)}.`);
      break;
    }
  }
  if (isAsked) await asking;
}

async function restartPostgres({ postgres, fleet }: Run, random: ReturnType<typeof seeded>): Promise<void> {
  fleet.counts['restart postgres'] = (fleet.counts['restart postgres'] ?? 0) + 1;
  await postgres.end(random.pick(['SIGINT', 'SIGQUIT'] as const));
  await after(random.below(2_000));
  await postgres.start();
}

async function emptyRedis({ redis, fleet }: Run, random: ReturnType<typeof seeded>): Promise<void> {
  fleet.counts['empty redis'] = (fleet.counts['empty redis'] ?? 0) + 1;
  await redis?.flush();
  await redis?.kill();
  await after(random.below(2_000));
  await redis?.start();
}

async function lookAtSpend({ looks, model, violations }: Pick<Run, 'looks' | 'model' | 'violations'>): Promise<number> {
  const heard = model.tokens();
  const { spent, limit } = await looks.spend();
  if (spent > limit) violations.push(`${spent} tokens are counted, of ${limit}.`);
  if (heard > limit) violations.push(`The model used ${heard} tokens, of ${limit}.`);
  return spent;
}

/** With room for a few requests, more is sent than fits while processes die: nothing may pass it, and what does not fit waits. */
async function reachCeiling(run: Run, random: ReturnType<typeof seeded>): Promise<FleetReport['ceiling']> {
  const { plan, world, looks, fleet } = run;
  const before = await looks.spend();
  const limit = before.spent + LEAST_ROOM + plan.beyond * ROOM_EACH;
  await run.limit(limit);
  const asked = run.model.replies();
  await world.send(plan.beyond, { growth: 0 });
  let mostSpent = before.spent;
  const from = run.elapsed();
  const isAsked = () => mostSpent > before.spent && run.elapsed() - from > CEILING_MS;
  for (let looked = 0; !isAsked() && run.elapsed() - from < CEILING_LIMIT_MS; looked += 1) {
    mostSpent = Math.max(mostSpent, await lookAtSpend(run));
    if (looked === 1) fleet.disturb(random, plan.leaseMs);
    await looks.hasten();
    await after(LOOK_MS);
  }
  const { items } = await looks.waiting();
  if (mostSpent === before.spent) run.violations.push('Nothing was asked below the ceiling.');
  if (items === 0) run.violations.push(`The ceiling held nothing back: ${run.model.replies() - asked} requests.`);
  return { limit, mostSpent, refused: items };
}

/** Tokens: one request as it is reserved, and half of what the model says that a session took. */
const LEAST_ROOM = 10_000;
const ROOM_EACH = 1_400;
const CEILING_MS = 3_000;
const CEILING_LIMIT_MS = 60_000;
