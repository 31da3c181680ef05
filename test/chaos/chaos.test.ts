// The short form of `npm run chaos`: the same disturbances and the same counting, over fewer sessions.

import { expect, test } from 'vitest';
import { noOwnRedis } from '../queue/own-redis.ts';
import { sized, waysTaken } from '../support/depth.ts';
import { runChaos } from './chaos.ts';

const noRedis = noOwnRedis();
const backends = ['redis', 'polling'] as const;

test.for(waysTaken(backends))(
  'two workers (%s), killed and stopped with their agents and their Redis, cover every turn once and keep every entry once',
  async (backend, { skip }) => {
    skip(backend === 'redis' && noRedis !== null, noRedis ?? '');
    const { violations, turns, entries, disturbances } = await runChaos({
      seed: 20_261_121,
      backend,
      directories: 4,
      sessions: sized({ quick: 8, deep: 60 }),
      everyMs: 600,
      disturbForMs: sized({ quick: 3_000, deep: 20_000 }),
      limitMs: 200_000,
    });
    expect(violations).toEqual([]);
    expect(turns).toBeGreaterThanOrEqual(sized({ quick: 8, deep: 60 }));
    expect(entries).toBe(turns);
    expect(Object.keys(disturbances).length).toBeGreaterThan(1);
  },
);
