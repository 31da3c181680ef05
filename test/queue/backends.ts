// The Redis that the tests can reach, and what they measure there.

import { Queue } from 'bullmq';
import { openRedis } from '../../src/queue/redis.ts';

export const REDIS = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379';

/** Why the tests of the queue cannot run here, or null. With `CI=true` they always run, and fail where no server is. */
export async function missing(): Promise<string | null> {
  if (process.env.CI === 'true') return null;
  try {
    (await openRedis(REDIS)).close();
    return null;
  } catch (error) {
    const reason = `skipped, ${(error as Error).message}`;
    console.warn(`The queue's tests are ${reason}`);
    return reason;
  }
}

/** Takes a namespace off a server, with all that waits in it. */
export async function forget(url: string, namespace: string): Promise<void> {
  const redis = await openRedis(url);
  const queue = new Queue(namespace, { connection: redis.producer, prefix: 'nocturne', skipMetasUpdate: true });
  await queue.obliterate({ force: true });
  await queue.close();
  redis.close();
}

/**
 * Answers the milliseconds since it was made in which this process had its turn: how long others kept a busy machine
 * says nothing of how long somebody waits.
 */
export function stopwatch(): () => number {
  const tickMs = 10;
  let ownMs = 0;
  let last = performance.now();
  const count = () => {
    const now = performance.now();
    ownMs += Math.min(now - last, 2 * tickMs);
    last = now;
  };
  const timer = setInterval(count, tickMs);
  return () => {
    clearInterval(timer);
    count();
    return ownMs;
  };
}
