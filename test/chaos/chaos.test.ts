// `npm run chaos` as published, with less time for disturbances: it counts what docs/dev/evidence.md says.

import { expect, test } from 'vitest';
import { noOwnRedis } from '../queue/own-redis.ts';
import { isDeep } from '../support/depth.ts';
import { publishedPart, rowsIn } from '../support/evidence.ts';
import { PUBLISHED, runChaos } from './chaos.ts';

const noRedis = noOwnRedis();
const backends = ['redis', 'polling'] as const;
test.runIf(isDeep).for(backends)(
  'two workers (%s), killed and stopped with their agents and their Redis, cover every turn once and keep every entry once',
  async (backend, { skip }) => {
    skip(backend === 'redis' && noRedis !== null, noRedis ?? '');
    const plan = { ...PUBLISHED, disturbForMs: 20_000 };
    const { violations, disturbances, ...counted } = await runChaos({ ...plan, backend });
    expect(violations).toEqual([]);
    expect(counted.turns).toBeGreaterThanOrEqual(plan.sessions);
    expect(counted).toMatchObject({ entries: counted.turns, lost: 0, doubled: 0 });
    expect(Object.keys(disturbances).length).toBeGreaterThan(1);
    const { seed, sessions, directories } = PUBLISHED;
    const { turns, entries, lost, doubled } = counted;
    const published = rowsIn(publishedPart('chaos')).get(backend)?.map(Number).slice(0, 8);
    expect(published).toEqual([seed, sessions, directories, turns, entries, lost, doubled, 0]);
  },
);
