// A Redis of a test's own, which can be killed and started again. Loads no test runner: the chaos run has none.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { refusedPort } from './servers.ts';

/** Why no Redis of our own can be started here, or null. */
export function noOwnRedis(): string | null {
  return spawnSync('redis-server', ['--version']).error ? 'skipped, there is no redis-server on the path' : null;
}

/** A real Redis on a port of its own, as docker-compose.yml has it, which can be killed and started again with its data. */
export async function ownRedis() {
  const port = await refusedPort();
  const dir = mkdtempSync(join(tmpdir(), 'nocturne-redis-'));
  const fixed = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'yes', '--maxmemory-policy', 'noeviction'];
  let server: ChildProcess;
  const start = async () => {
    server = spawn('redis-server', ['--port', String(port), '--dir', dir, ...fixed], { stdio: 'ignore' });
    const redis = new Redis(port, { lazyConnect: true, retryStrategy: () => 20, maxRetriesPerRequest: null });
    redis.on('error', () => {});
    const ended = once(server, 'exit').then(([code]) => {
      throw new Error(`redis-server on port ${port} ended with ${code}.`);
    });
    try {
      await Promise.race([redis.ping(), ended]);
    } finally {
      ended.catch(() => {});
      redis.disconnect();
    }
  };
  const kill = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill('SIGKILL');
    await once(server, 'exit');
  };
  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    start,
    kill,
    /** Deletes everything in it; answers how many keys there were. */
    async flush(): Promise<number> {
      const redis = new Redis(port);
      const keys = await redis.dbsize();
      await redis.flushall();
      redis.disconnect();
      return keys;
    },
    /** Until `holds` answers true of what is in it. */
    async until(holds: (client: Redis) => Promise<boolean>): Promise<void> {
      const redis = new Redis(port);
      const endsAt = performance.now() + 30_000;
      while (!(await holds(redis))) {
        if (performance.now() > endsAt) throw new Error('Redis never came to hold what was waited for.');
        await after(50);
      }
      redis.disconnect();
    },
    async close(): Promise<void> {
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
