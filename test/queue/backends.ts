// Which queues the tests can reach, and a queue with a namespace of its own on each of them.

import { Queue } from 'bullmq';
import { vi } from 'vitest';
import { type BackendOptions, openBackend } from '../../src/queue/backend.ts';
import { openWakeQueue, type WakeQueue, type WakeUp } from '../../src/queue/queue.ts';
import { POSTGRES } from './own-postgres.ts';

export const servers = {
  redis: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
  postgres: POSTGRES,
};

/** Why the tests of `kind` cannot run here, or null. With `CI=true` they always run, and fail where no server is. */
export async function missing(kind: 'redis' | 'postgres'): Promise<string | null> {
  if (process.env.CI === 'true') return null;
  try {
    await (await openBackend({ url: servers[kind] })).close();
    return null;
  } catch (error) {
    const reason = `skipped, ${(error as Error).message}`;
    console.warn(`The queue's tests on ${kind} are ${reason}`);
    return reason;
  }
}

/** The bells of one kind of backend. Each `namespace()` is new; `remove()` leaves nothing of them behind. */
export function workshop(kind: 'redis' | 'postgres') {
  const options: BackendOptions = { url: servers[kind] };
  const namespaces: string[] = [];
  const open = new Set<WakeQueue>();
  return {
    namespace(): string {
      const name = `test-${process.pid}-${Math.random().toString(36).slice(2)}`;
      namespaces.push(name);
      return name;
    },
    async queue(namespace: string): Promise<WakeQueue> {
      const queue = await openWakeQueue({ ...options, namespace });
      open.add(queue);
      return queue;
    },
    async close(queue: WakeQueue): Promise<void> {
      open.delete(queue);
      await queue.close({ deadlineMs: 2_000 });
    },
    async closeAll(): Promise<void> {
      for (const queue of open) await queue.close({ deadlineMs: 0 });
      open.clear();
    },
    async remove(): Promise<void> {
      for (const name of namespaces) await forget(options, name);
    },
  };
}

/** Takes a namespace off a server, with all that waits in it. */
export async function forget(options: BackendOptions, namespace: string): Promise<void> {
  const backend = await openBackend(options);
  const connection = { connection: backend.producer, prefix: 'nocturne', skipMetasUpdate: true };
  const queue = new Queue(namespace, connection, backend.factory);
  await queue.obliterate({ force: true });
  await queue.close();
  await backend.close();
}

/** A handler that notes what it was woken for, and waits where it is told to. */
export function recorder() {
  const heard: WakeUp[] = [];
  const errors: unknown[] = [];
  let hold: Promise<unknown> = Promise.resolve();
  let atOnce = 0;
  let mostAtOnce = 0;
  return {
    heard,
    errors,
    get mostAtOnce() {
      return mostAtOnce;
    },
    /** Keeps every handler from ending until the returned function is called. */
    holdAll(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      hold = promise;
      return resolve;
    },
    handler: async (wakeUp: WakeUp) => {
      heard.push(wakeUp);
      atOnce += 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      await hold;
      atOnce -= 1;
    },
    onError: (error: unknown) => {
      errors.push(error);
    },
    keys: () => heard.map((wakeUp) => wakeUp.key),
  };
}

/** Until `check` no longer throws. */
export function eventually(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: 120_000, interval: 20 });
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
