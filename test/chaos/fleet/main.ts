// node test/chaos/fleet/main.ts [--seed N] [--queue redis|polling] [--plan deep|whole] …: a chaos run of a fleet; ends with 1
// where a promise was broken. `nocturne` is run as it was built.

import { parseArgs } from 'node:util';
import type { FleetPlan } from './chaos.ts';
import { PLANS } from './plans.ts';

const { runFleetChaos } = await import('./chaos.ts');

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    queue: { type: 'string', default: 'redis' },
    plan: { type: 'string', default: 'whole' },
    stores: { type: 'string' },
    sessions: { type: 'string' },
    seconds: { type: 'string' },
  },
});
const plan: FleetPlan = {
  ...PLANS[values.plan as keyof typeof PLANS],
  ...{ seed: Number(values.seed), queue: values.queue as FleetPlan['queue'] },
  ...(values.stores && { stores: Number(values.stores) }),
  ...(values.sessions && { sessions: Number(values.sessions) }),
  ...(values.seconds && { disturbForMs: 1_000 * Number(values.seconds) }),
};
const { violations, ...report } = await runFleetChaos(plan, (line) => process.stderr.write(`${line}\n`));
process.stdout.write(`${plan.queue}: ${JSON.stringify(report)}\n`);
for (const violation of violations) process.stdout.write(`  ${violation}\n`);
if (violations.length > 0) process.exitCode = 1;
