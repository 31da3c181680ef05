// The sizes of a fleet's chaos run: that of the deep suite, and the whole, which `main.ts` takes.

import type { FleetPlan } from './chaos.ts';

export const PLANS = {
  deep: {
    ...{ workers: 4, servers: 2, stores: 12, sessions: 45, dreams: 4, beyond: 8 },
    ...{ everyMs: 2_500, disturbForMs: 20_000, leaseMs: 3_000, restarts: 2, limitMs: 400_000 },
  },
  whole: {
    ...{ workers: 4, servers: 2, stores: 300, sessions: 1_000, dreams: 100, beyond: 60 },
    ...{ everyMs: 6_000, disturbForMs: 240_000, leaseMs: 4_000, restarts: 3, limitMs: 720_000 },
  },
} satisfies Record<string, Omit<FleetPlan, 'seed' | 'queue'>>;
