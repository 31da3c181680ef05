// A fleet that stands: engines of its own, workers and servers with homes of their own, a model, and a client for each tenant.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../../src/base/config/config.ts';
import { systemClock } from '../../../src/base/time.ts';
import { openDatabase } from '../../../src/db/open-database.ts';
import { setCeilings } from '../../../src/queue/spend.ts';
import { ApiKeys, RIGHTS } from '../../../src/server/api-keys.ts';
import { noOwnRedis, ownRedis } from '../../queue/own-redis.ts';
import { apart } from '../../support/app.ts';
import { seeded } from '../../support/random.ts';
import { type Client, clientOf } from './client.ts';
import { looksInto } from './counted.ts';
import { startModel } from './model.ts';
import { noOwnServer, ownServer } from './own-postgres.ts';
import { startFleet } from './processes.ts';
import { MODEL } from './world.ts';

interface StandingOptions {
  seed: number;
  /** What wakes workers up: a Redis of its own, or their own look each second. */
  queue: 'redis' | 'polling';
  workers: number;
  servers: number;
  tenants: string[];
  settings?: object;
}

export type Standing = Awaited<ReturnType<typeof standingFleet>>;

/** Why no fleet of our own can be started here, or null. */
export const noFleet = () => noOwnServer() ?? noOwnRedis();

/** Tokens of a day: far more than is needed. */
const PLENTY = 2_000_000_000;

export async function standingFleet(options: StandingOptions) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'nocturne-fleet-')));
  const ends: (() => Promise<unknown>)[] = [];
  /** Ends everything; what was written stays where it `isKept`. */
  const close = async ({ isKept }: { isKept: boolean }) => {
    for (const end of ends.reverse()) await end();
    if (!isKept) rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const postgres = await ownServer();
    ends.push(() => postgres.close());
    const redis = options.queue === 'redis' ? await ownRedis() : null;
    if (redis) ends.push(() => redis.close());
    const model = await startModel();
    ends.push(() => model.close());
    const environment: Environment = {
      ...{ NOCTURNE_DATABASE_URL: postgres.url, NOCTURNE_MODEL: MODEL, NOCTURNE_ZONE: 'UTC' },
      ...{ ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url },
      ...(redis && { NOCTURNE_QUEUE_URL: redis.url }),
    };
    const { fixed, settings } = apart({
      ...{ dayTokens: PLENTY, breakerAfter: 1_000, requestMs: 15_000, maxOutputTokens: 2_000 },
      ...{ debounceMs: 0, throttleMs: 0, ...options.settings },
    });
    environment.NOCTURNE_FIXED = JSON.stringify(fixed);
    const home = await homeOf(postgres.url, root);
    ends.push(() => home.close());
    const keys: string[] = [];
    for (const tenant of options.tenants) keys.push(await home.keyOf(tenant));
    const fleet = await startFleet({ ...options, root, environment, settings });
    ends.push(() => fleet.stop());
    const looks = looksInto(postgres.url);
    ends.push(() => looks.close());
    await fleet.ready();
    /** How often clients asked again, by why. */
    const retries: Record<string, number> = {};
    const onRetry = (why: string) => {
      retries[why] = (retries[why] ?? 0) + 1;
    };
    const clients = options.tenants.map((tenant, nth): Client => {
      const random = seeded(options.seed + 1 + nth);
      return clientOf({ tenant, key: keys[nth] as string, urls: fleet.urls, random, onRetry });
    });
    return { root, postgres, redis, model, fleet, looks, clients, retries, limit: home.limit, close };
  } catch (error) {
    await close({ isKept: false });
    throw error;
  }
}

/** What is asked of all machines' home. */
async function homeOf(url: string, root: string) {
  const db = await openDatabase({ home: join(root, 'here'), url });
  const keys = new ApiKeys(db, systemClock);
  return {
    /** A key of a tenant with every right. */
    async keyOf(tenant: string) {
      return (await keys.create({ name: tenant, rights: RIGHTS, memories: [], dayMicroUsd: null, tenant })).key;
    },
    /** Sets the day's ceiling, as a machine without a worker does. */
    limit: (dayTokens: number) => setCeilings(db, { dayTokens, zone: 'UTC' }),
    close: () => db.close(),
  };
}
