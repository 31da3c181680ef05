// Jobs a second through the inbox with a job that does nothing, beside bare BullMQ on the same Redis, in one run:
// `node test/bench/queue.bench.ts --redis URL`.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Queue, Worker } from 'bullmq';
import { loadConfig } from '../../src/base/config/config.ts';
import { thisProcess } from '../../src/base/process.ts';
import { claim, put, settle } from '../../src/queue/inbox.ts';
import { openRedis } from '../../src/queue/redis.ts';
import { openWake } from '../../src/queue/wake.ts';
import { queueNamespace } from '../../src/queue/workers.ts';
import { type App, openApp } from '../../src/worker/compose.ts';

const { values: given } = parseArgs({
  options: {
    redis: { type: 'string', default: 'redis://127.0.0.1:6379' },
    jobs: { type: 'string', default: '1000' },
  },
});

const dir = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
const say = (line: string) => process.stdout.write(`${line}\n`);
say(`load ${loadavg()[0]?.toFixed(1)} before`);

/** An app on a home of its own. */
async function app(name: string) {
  const home = join(dir, name);
  mkdirSync(home);
  const own = { NOCTURNE_HOME: home, NOCTURNE_MEMORY_DIR: join(home, 'memory'), NOCTURNE_QUEUE_URL: given.redis };
  return openApp(await loadConfig({}, { ...process.env, ...own, NOCTURNE_MODEL: 'offline' }));
}

/** A bare queue of BullMQ. */
async function bareQueue(name: string) {
  const redis = await openRedis(given.redis);
  const at = <Connection>(connection: Connection) => ({ connection, prefix: 'nocturne' });
  const queue = new Queue(name, at(redis.producer));
  return {
    queue,
    work: (job: () => Promise<void>, concurrency: number) =>
      new Worker(name, job, { ...at(redis.consumer()), concurrency }),
    /** Leaves nothing of it behind. */
    async remove() {
      await queue.obliterate({ force: true });
      await queue.close();
      redis.close();
    },
  };
}

/** Ends an app and leaves nothing of its queue behind. */
async function closeWhole(app: App): Promise<void> {
  const name = await queueNamespace(app.db, app.config.home);
  await app.close();
  await (await bareQueue(name)).remove();
}

/** Bare BullMQ: `count` jobs added one by one, then worked. Jobs a second of both together. */
async function bareBull(count: number, concurrency: number): Promise<number> {
  const bare = await bareQueue(`bench-bare-${process.pid}`);
  const began = performance.now();
  for (let n = 0; n < count; n += 1) await bare.queue.add('x', { n });
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let left = count;
  const worker = bare.work(async () => {
    left -= 1;
    if (left === 0) resolve();
  }, concurrency);
  await done;
  const tookMs = performance.now() - began;
  await worker.close();
  await bare.remove();
  return (count / tookMs) * 1_000;
}

/** The same through the inbox: put in, rung for, heard, claimed, settled. */
async function throughInbox(count: number, concurrency: number): Promise<number> {
  const made = await app(`inbox-${concurrency}`);
  const { db, clock, machine, config } = made;
  const { id: memory } = await made.memoryFor();
  const now = () => clock.now();
  const namespace = await queueNamespace(db, config.home);
  const wake = openWake({ url: given.redis, namespace, now, onError: say });
  const began = performance.now();
  for (let n = 0; n < count; n += 1) {
    const item = { kind: 'extract', key: `s${n}`, memory, payload: { n } } as const;
    const { news } = await db.write((sql) => put(sql, { ...item, notBefore: now() }, now()));
    await wake.ring({ ...item, at: now(), news });
  }
  let left = count;
  const ending = new AbortController();
  const work = async () => {
    while (left > 0) {
      const item = await claim(db, { owner: thisProcess(), machine, kinds: ['extract'], now: now() });
      if (!item) break;
      await settle(db, item, { outcome: 'recorded' }, { now: now() });
      left -= 1;
    }
  };
  await wake.next(1_000, ending.signal);
  await Promise.all(Array.from({ length: concurrency }, work));
  const tookMs = performance.now() - began;
  if (left > 0) throw new Error(`${left} were not worked`);
  await wake.close();
  await closeWhole(made);
  return (count / tookMs) * 1_000;
}

async function noOpJobs(count: number): Promise<void> {
  for (const concurrency of [1, 10]) {
    const bare = await bareBull(count, concurrency);
    const inbox = await throughInbox(count, concurrency);
    say(
      `no-op jobs, concurrency ${concurrency}: ${inbox.toFixed(0)} a second through the inbox, ${bare.toFixed(0)} bare BullMQ: ${(inbox / bare).toFixed(2)} of it`,
    );
  }
}

try {
  await noOpJobs(Number(given.jobs));
  say(`load ${loadavg()[0]?.toFixed(1)} after`);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit();
