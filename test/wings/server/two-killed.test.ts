// Servers with homes of their own on one database: a store that another holds; and one of two killed in the middle of writes, where
// the other answers, what was acknowledged is there, and nothing is there twice.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { APIConnectionError, ConflictError, InternalServerError } from '@anthropic-ai/sdk';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Environment } from '../../../src/base/config/config.ts';
import { sized } from '../../support/depth.ts';
import { noPostgres, ownDatabase } from '../../support/own-database.ts';
import { seeded } from '../../support/random.ts';
import { start, until } from '../../support/run.ts';
import { jsonHere } from '../../support/run-here.ts';
import { tempDir } from '../../support/temp.ts';
import { all, clientOf, refusal, served } from './served.ts';

const CLIENTS = sized({ quick: 4, deep: 12 });
const STORES = sized({ quick: 2, deep: 6 });
const OPERATIONS = sized({ quick: 36, deep: 1_200 });
const LEASE_MS = 1_000;
/** How often one of the two is killed. */
const KILLS = sized({ quick: 1, deep: 6 });

describe.skipIf(noPostgres)(`two servers ${noPostgres}`, () => {
  test('where another holds a store, a write is 503 with when to come again, within three seconds; a read is answered', async () => {
    const database = await ownDatabase();
    onTestFinished(() => database.drop());
    const at = await served({ app: { settings: { databaseUrl: database.url, leaseMs: LEASE_MS } } });
    const { memoryStores } = (await at.client({}, { maxRetries: 0 })).sdk.beta;
    const { id: store } = await memoryStores.create({ name: 'held' });
    const { id } = await memoryStores.memories.create(store, { path: '/a.md', content: 'one' });
    const hold = (until: string) =>
      database.ask(
        `update store set owner = 'other', fence = fence + 1, until = clock_timestamp() + $2::interval where id = $1`,
        [store, until],
      );
    await hold('1 hour');
    const began = performance.now();
    const refused = await refusal(memoryStores.memories.update(id, { memory_store_id: store, content: 'two' }));
    expect(performance.now() - began).toBeLessThan(3_000);
    expect([refused.status, refused.headers?.get('x-should-retry'), refused.headers?.get('retry-after')]).toEqual([
      503,
      'true',
      '1',
    ]);
    expect((await memoryStores.memories.retrieve(id, { memory_store_id: store })).content).toBe('one');
    await hold('-1 second');
    expect(
      (await memoryStores.memories.update(id, { memory_store_id: store, content: 'two', view: 'full' })).content,
    ).toBe('two');
  });

  test(`of ${OPERATIONS} writes while one of the two is killed each that was acknowledged is there once, and no other is twice`, async () => {
    const database = await ownDatabase({ isNew: true });
    onTestFinished(() => database.drop());
    const environments = [machine(database.url), machine(database.url)];
    const made = await jsonHere<{ id: string; key: string }>(
      ['keys', 'create', '--name', 'test'],
      environments[0] as Environment,
    );
    const servers = await Promise.all(environments.map(serve));
    const client = (nth: number) =>
      clientOf({ url: (servers[nth % 2] as Served).url, ...made }, { maxRetries: 0 }).sdk.beta.memoryStores;
    const stores: string[] = [];
    for (let nth = 0; nth < STORES; nth += 1) stores.push((await client(nth).create({ name: `${nth}` })).id);
    const counters = await Promise.all(
      stores.map(async (store, nth) => ({
        store,
        id: (await client(nth).memories.create(store, { path: '/lines.md', content: '' })).id,
      })),
    );
    const acknowledged = { lines: [] as string[], versions: [] as [string, string][] };

    let left = OPERATIONS;
    let kills = 0;
    let restarting: Promise<unknown> = Promise.resolve();
    const kill = () => {
      const nth = kills % 2;
      kills += 1;
      const { server } = servers[nth] as Served;
      server.kill('SIGKILL');
      restarting = restarting.then(async () => {
        await server.ended;
        servers[nth] = await serve(environments[nth] as Environment);
      });
    };
    const work = async (nth: number) => {
      const random = seeded(nth);
      for (let turn = 0; left > 0; turn += 1) {
        left -= 1;
        if (kills < KILLS && left < OPERATIONS - ((kills + 1) * OPERATIONS) / (KILLS + 1)) kill();
        const { store, id } = random.pick(counters);
        const line = `${nth}.${turn}\n`;
        const write = async (at: number) => {
          const { memories } = client(at);
          if (turn % 3 === 0) {
            const path = `/of-${nth}/${turn}.md`;
            const { memory_version_id } = await memories.create(store, { path, content: line });
            acknowledged.versions.push([store, memory_version_id]);
            return;
          }
          const found = await memories.retrieve(id, { memory_store_id: store });
          // What was tried before, without an answer, was kept after all.
          if (found.content?.split(/(?<=\n)/).includes(line)) return;
          const changed = await memories.update(id, {
            memory_store_id: store,
            content: `${found.content}${line}`,
            precondition: { type: 'content_sha256', content_sha256: found.content_sha256 },
          });
          acknowledged.versions.push([store, changed.memory_version_id]);
          acknowledged.lines.push(line);
        };
        for (let tries = 0; ; tries += 1) {
          try {
            await write(nth + turn + tries);
            break;
          } catch (error) {
            // A path that is occupied was made by a try whose answer was lost.
            if (error instanceof ConflictError && turn % 3 === 0) break;
            if (![APIConnectionError, ConflictError, InternalServerError].some((known) => error instanceof known))
              throw error;
          }
        }
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, nth) => work(nth)));
    await restarting;
    expect(kills).toBe(KILLS);

    const versions = new Set<string>();
    const lines: string[] = [];
    for (const [nth, { store, id }] of counters.entries()) {
      const { memoryVersions, memories } = client(nth);
      for (const version of await all(memoryVersions.list(store, { limit: 100 })))
        versions.add(`${store} ${version.id}`);
      const content = (await memories.retrieve(id, { memory_store_id: store })).content ?? '';
      expect((await client(nth + 1).memories.retrieve(id, { memory_store_id: store })).content).toBe(content);
      lines.push(...content.split(/(?<=\n)/).filter(Boolean));
    }
    expect(acknowledged.versions.filter(([store, id]) => !versions.has(`${store} ${id}`))).toEqual([]);
    expect(new Set(lines).size).toBe(lines.length);
    expect(acknowledged.lines.filter((line) => !lines.includes(line))).toEqual([]);
    expect(acknowledged.lines.length).toBeGreaterThan(OPERATIONS / 3);
    // As the tables have it: each store at the revision that its check-ins made, and none held.
    const rows = await database.ask<{ revision: number; checkins: number; owner: string | null }>(
      `select revision, owner, (select count(*)::int from checkin where store = store.id) as checkins from store
       where id = any($1) order by id`,
      [stores],
    );
    expect(rows.every(({ revision, checkins }) => checkins === Math.min(revision, 1_001))).toBe(true);
    for (const { server } of servers) server.kill('SIGTERM');
    expect(await Promise.all(servers.map(async ({ server }) => (await server.ended).code))).toEqual([0, 0]);
  });
});

interface Served {
  server: ReturnType<typeof start>;
  url: string;
}

/** A home of its own. */
function machine(databaseUrl: string): Environment {
  const home = tempDir();
  writeFileSync(join(home, 'config.json'), JSON.stringify({ leaseMs: LEASE_MS }));
  return {
    ...{ PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, NOCTURNE_MODEL: 'offline', NOCTURNE_QUEUE_URL: '' },
    NOCTURNE_DATABASE_URL: databaseUrl,
  };
}

async function serve(environment: Environment): Promise<Served> {
  const limits = ['--creates', '0', '--reads', '0'];
  const server = start(['serve', '--no-worker', '--port', '0', '--json', ...limits], environment);
  await until(() => server.stdout().includes('\n'));
  return { server, url: JSON.parse(server.stdout()).url };
}
