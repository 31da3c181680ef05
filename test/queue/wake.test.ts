// What wakes a worker: whoever rings in its process, BullMQ on a real Redis, and time, which counts where Redis is away.

import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openWake, type Ring, type Wake } from '../../src/queue/wake.ts';
import { until } from '../support/run.ts';
import { stopwatch } from './backends.ts';
import { noOwnRedis, ownRedis } from './own-redis.ts';
import { lineTo, refusedPort, silentServer } from './servers.ts';

const LONG_MS = 60_000;
const never = new AbortController().signal;
let names = 0;

interface Opened {
  wake: Wake;
  said: string[];
}

/** A wake of a process; closed with its test. */
function opened(url: string | undefined, namespace: string): Opened {
  const said: string[] = [];
  const wake = openWake({ url, namespace, now: () => new Date(), onError: (message) => said.push(message) });
  onTestFinished(() => wake.close());
  return { wake, said };
}

const ring = (key: string, of: Partial<Ring> = {}): Ring => ({ kind: 'extract', key, at: new Date(), news: 1, ...of });

/** Whether it is woken before `ms` are over. */
async function isWoken({ wake }: Opened, ms = LONG_MS): Promise<boolean> {
  const since = performance.now();
  await wake.next(ms, never);
  return performance.now() - since < ms - 1;
}

describe('without a queue', () => {
  test('a ring in this process wakes at once, also one from before; one for later does not', async () => {
    const here = opened(undefined, 'test');
    await here.wake.ring(ring('s1', { at: new Date(Date.now() + LONG_MS) }));
    expect(await isWoken(here, 50)).toBe(false);
    await here.wake.ring(ring('s1'));
    expect(await isWoken(here)).toBe(true);
    expect(await isWoken(here, 50)).toBe(false);
    const woken = isWoken(here);
    await here.wake.ring(ring('s1'));
    expect(await woken).toBe(true);
  });

  test('who stops waiting is let go at once', async () => {
    const stop = new AbortController();
    const waiting = opened(undefined, 'test').wake.next(LONG_MS, stop.signal);
    stop.abort();
    await waiting;
    await opened(undefined, 'test').wake.next(LONG_MS, stop.signal);
  });

  test.each([
    ['amqp://user:hunter2@host', 'test'],
    ['postgres://me:hunter2@host/q', 'test'],
    ['redis://:hunter%2@host', 'test'],
    ['redis://host', 'a:b'],
  ])('%s in %s is refused with what to do, and no password is shown', (url, namespace) => {
    const opening = () => openWake({ url, namespace, now: () => new Date(), onError: () => undefined });
    expect(opening).toThrow(expect.objectContaining({ code: 'bad-input', remedy: expect.any(String) }));
    expect(opening).not.toThrow(/hunter/);
  });
});

/** What it says where nothing can be rung, and how long that kept who rang waiting. */
async function toldBy(url: string): Promise<{ said: string; tookMs: number }> {
  const { wake, said } = opened(url, 'test');
  const took = stopwatch();
  await wake.ring(ring('s1'));
  return { said: said.join('\n'), tookMs: took() };
}

test('a Redis that refuses or does not answer is told soon, without its password', async () => {
  const [port, silent] = [await refusedPort(), await silentServer()];
  onTestFinished(silent.close);
  const refused = await toldBy(`redis://user:hunter2@127.0.0.1:${port}/0?password=hunter2`);
  expect(refused.said).toContain(`redis://user@127.0.0.1:${port}/0`);
  expect(refused.said).toContain('ECONNREFUSED');
  expect(refused.said).not.toContain('hunter2');
  const unanswered = await toldBy(`redis://127.0.0.1:${silent.port}`);
  expect(unanswered.said).toContain('queue');
  for (const { tookMs } of [refused, unanswered]) expect(tookMs).toBeLessThan(10_000);
});

const reason = noOwnRedis();

describe.skipIf(reason)(`on Redis${reason ? ` (${reason})` : ''}`, () => {
  let redis: Awaited<ReturnType<typeof ownRedis>>;
  beforeAll(async () => {
    redis = await ownRedis();
  });
  afterAll(() => redis.close());

  const namespace = () => `test-${++names}`;
  /** As BullMQ's own board would see it. */
  function lookInto(name: string) {
    const queue = new Queue(name, { connection: { port: redis.port }, prefix: 'nocturne' });
    onTestFinished(() => queue.close());
    return queue;
  }

  let asking: Redis;
  beforeAll(() => {
    asking = new Redis(redis.port);
  });
  afterAll(() => asking.disconnect());
  const blocked = async () => String(await asking.client('LIST')).split('cmd=bzpopmin').length;

  /** Waits once, until it listens. */
  async function listening(name: string) {
    const one = opened(redis.url, name);
    const before = await blocked();
    await one.wake.next(1, never);
    await until(async () => (await blocked()) > before);
    return one;
  }

  test('a ring in one process wakes another, and is one job of a queue, by its kind', async () => {
    const name = namespace();
    const from = opened(redis.url, name);
    await from.wake.ring(ring('s1', { kind: 'dream' }));
    const [job] = await lookInto(name).getJobs();
    expect(job).toMatchObject({ name: 'dream', data: { key: 's1' }, id: 'dream s1 1' });
    const here = opened(redis.url, name);
    expect(await isWoken(here)).toBe(true);
    await until(async () => (await lookInto(name).getJobs()).length === 0);
    const woken = isWoken(here);
    await from.wake.ring(ring('s2'));
    expect(await woken).toBe(true);
  });

  test('the same news is rung once, further news is a ring of its own, and what is due later waits in the queue', async () => {
    const name = namespace();
    const { wake } = opened(redis.url, name);
    for (let n = 0; n < 3; n += 1) await wake.ring(ring('a:b', { news: 4 }));
    await wake.ring(ring('a:b', { news: 5, at: new Date(Date.now() + LONG_MS) }));
    const queue = lookInto(name);
    expect(await queue.getJobCounts('waiting', 'delayed')).toEqual({ waiting: 1, delayed: 1 });
    const [later] = await queue.getJobs('delayed');
    expect(later?.opts.delay).toBeGreaterThan(LONG_MS - 5_000);
  });

  test('what is due later wakes then, and not before', async () => {
    const name = namespace();
    const here = await listening(name);
    const since = performance.now();
    await opened(redis.url, name).wake.ring(ring('s1', { at: new Date(Date.now() + 700) }));
    expect(await isWoken(here)).toBe(true);
    expect(performance.now() - since).toBeGreaterThan(650);
  });

  test('a worker with full hands takes no wake-ups from one that waits', async () => {
    const name = namespace();
    await listening(name);
    const free = await listening(name);
    const from = opened(redis.url, name);
    for (let n = 0; n < 4; n += 1) {
      const woken = isWoken(free);
      await from.wake.ring(ring(`s${2 * n}`));
      await from.wake.ring(ring(`s${2 * n + 1}`));
      expect(await woken).toBe(true);
    }
  });

  test('where Redis is killed nobody waits for it, which is told once; once it is back it wakes again', async () => {
    const own = await ownRedis();
    onTestFinished(() => own.close());
    const name = namespace();
    const here = opened(own.url, name);
    await here.wake.next(1, never);
    const from = opened(own.url, name);
    await from.wake.ring(ring('s1'));
    expect(await isWoken(here)).toBe(true);
    await own.kill();
    const took = stopwatch();
    await from.wake.ring(ring('s2'));
    await from.wake.ring(ring('s3'));
    expect(took()).toBeLessThan(4_000);
    expect(from.said).toHaveLength(1);
    expect(from.said[0]).toMatch(/queue at redis:.*the work waits/);
    const looked = stopwatch();
    expect(await isWoken(here, 30)).toBe(false);
    expect(looked()).toBeLessThan(1_000);
    await own.start();
    // Whatever it kept; a look is taken each second anyway.
    let n = 10;
    await until(async () => {
      const woken = isWoken(here, 300);
      await from.wake.ring(ring(`s${++n}`));
      return woken;
    });
  });

  test('one that is away from the beginning is found once it is there', async () => {
    const own = await ownRedis();
    onTestFinished(() => own.close());
    await own.kill();
    const name = namespace();
    const here = opened(own.url, name);
    expect(await isWoken(here, 20)).toBe(false);
    await until(() => here.said.length > 0);
    await own.start();
    await until(async () => {
      const { wake } = opened(own.url, name);
      const woken = isWoken(here, 500);
      await wake.ring(ring('s1', { news: ++names }));
      return woken;
    });
    expect(here.said).toHaveLength(1);
  });

  test('what it loses, whole, keeps nothing from waking that is rung afterwards', async () => {
    const own = await ownRedis();
    onTestFinished(() => own.close());
    const name = namespace();
    const here = opened(own.url, name);
    await here.wake.next(1, never);
    const from = opened(own.url, name);
    await from.wake.ring(ring('s1', { at: new Date(Date.now() + LONG_MS) }));
    expect(await own.flush()).toBeGreaterThan(0);
    const woken = isWoken(here);
    await from.wake.ring(ring('s1', { news: 2 }));
    expect(await woken).toBe(true);
  });

  test.each(['silence', 'cut'] as const)('it closes soon after a %s', async (what) => {
    const line = await lineTo({ host: '127.0.0.1', port: redis.port });
    const here = opened(`redis://127.0.0.1:${line.port}`, namespace());
    await here.wake.ring(ring('s1'));
    await here.wake.next(1, never);
    await line[what]();
    const took = stopwatch();
    await here.wake.close();
    expect(took()).toBeLessThan(10_000);
    if (what === 'silence') await line.cut();
  });
});
