// The short form of `npm run chaos`: the same disturbances and the same counting, over fewer sessions. The long size is the
// published run with less time for disturbances: it counts what docs/dev/evidence.md says.

import { expect, test } from 'vitest';
import { publishedPart, rowsIn } from '../compare/evidence.ts';
import { noOwnRedis } from '../queue/own-redis.ts';
import { sized, waysTaken } from '../support/depth.ts';
import { PUBLISHED, runChaos } from './chaos.ts';

const noRedis = noOwnRedis();
const backends = ['redis', 'polling'] as const;
const QUICK = {
  ...{ seed: 20_261_121, directories: 3, sessions: 6, everyMs: 500, disturbForMs: 2_000 },
  ...{ mostStopMs: 3_000, limitMs: 200_000 },
};

test.for(waysTaken(backends))(
  'two workers (%s), killed and stopped with their agents and their Redis, cover every turn once and keep every entry once',
  async (backend, { skip }) => {
    skip(backend === 'redis' && noRedis !== null, noRedis ?? '');
    const plan = sized({ quick: QUICK, deep: { ...PUBLISHED, disturbForMs: 20_000 } });
    const { violations, disturbances, ...counted } = await runChaos({ ...plan, backend });
    expect(violations).toEqual([]);
    expect(counted.turns).toBeGreaterThanOrEqual(plan.sessions);
    expect(counted).toMatchObject({ entries: counted.turns, lost: 0, doubled: 0 });
    expect(Object.keys(disturbances).length).toBeGreaterThan(1);
    if (plan === QUICK) return;
    const { seed, sessions, directories } = PUBLISHED;
    const { turns, entries, lost, doubled } = counted;
    const published = rowsIn(publishedPart('chaos')).get(backend)?.map(Number).slice(0, 8);
    expect(published).toEqual([seed, sessions, directories, turns, entries, lost, doubled, 0]);
  },
);
