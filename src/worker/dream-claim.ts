// What a person does that no dream may run beside: under the claim of the memory's dream, which a worker takes, too.

import { thisProcess } from '../base/process.ts';
import type { Claim } from '../memory/commit.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { giveBack, settle, take } from '../queue/inbox.ts';
import type { App } from './compose.ts';

/** Errors: `conflict`, which says who dreams there. A dream that waits goes on waiting. */
export async function withoutDreams<Done>(
  { db, clock, config }: App,
  memory: MemoryRow,
  work: (claim: Claim) => Promise<Done>,
): Promise<Done> {
  const item = { kind: 'dream', key: memory.id, memory: memory.id, payload: {} } as const;
  const claim = await take(db, { owner: thisProcess(), item, now: clock.now(), forMs: config.leaseMs });
  try {
    return await work(claim);
  } finally {
    if (claim.news === 1) await settle(db, claim, { outcome: 'done' }, { now: clock.now() });
    else await giveBack(db, claim);
  }
}
