// Clients that write at once while servers are killed in the middle, one on its files and two with homes of their own on one
// database: what was acknowledged is there, nothing is there twice, and each walk is whole. And a store that another holds.

import { APIConnectionError, ConflictError, InternalServerError } from '@anthropic-ai/sdk';
import { expect, onTestFinished, test } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import { isDeep } from '../support/depth.ts';
import { noPostgres, ownDatabase } from '../support/own-database.ts';
import { seeded } from '../support/random.ts';
import { start, until } from '../support/run.ts';
import { jsonHere, runJsonHere } from '../support/run-here.ts';
import { all, clientOf, machine } from './served.ts';

const CLIENTS = 12;
const STORES = 6;
const OPERATIONS = 400;
const STILL = 30;
const LEASE_MS = 1_000;
/** How often a server is killed. */
const KILLS = 4;

for (const servers of [1, 2]) {
  test.skipIf(!isDeep || (servers === 2 && noPostgres))(
    `of ${OPERATIONS} writes to ${servers} that are killed meanwhile each that was acknowledged is there once, no other is twice, and each walk is whole`,
    async () => {
      const database = servers === 2 ? await ownDatabase({ isNew: true }) : null;
      onTestFinished(() => database?.drop());
      const environments = await Promise.all(Array.from({ length: servers }, () => machineOf(database?.url)));
      const environment = environments[0] as Environment;
      const made = await jsonHere<{ id: string; key: string }>(['keys', 'create', '--name', 'test'], environment);
      const up = await Promise.all(environments.map(serve));
      const client = (nth: number) =>
        clientOf({ url: (up[nth % servers] as Served).url, ...made }, { maxRetries: 0 }).sdk.beta.memoryStores;
      const counters: { store: string; id: string }[] = [];
      const still = Array.from({ length: STILL }, (_, nth) => `/still/${nth}.md`);
      for (let nth = 0; nth < STORES; nth += 1) {
        const { id: store } = await client(nth).create({ name: `${nth}` });
        const { id } = await client(nth).memories.create(store, { path: '/lines.md', content: '' });
        if (nth === 0) for (const path of still) await client(nth).memories.create(store, { path, content: path });
        counters.push({ store, id });
      }
      const acknowledged = { lines: [] as string[], versions: [] as [string, string][] };

      let left = OPERATIONS;
      let kills = 0;
      let restarting: Promise<unknown> = Promise.resolve();
      const kill = () => {
        const nth = kills % servers;
        kills += 1;
        const { server } = up[nth] as Served;
        server.kill('SIGKILL');
        restarting = restarting.then(async () => {
          await server.ended;
          up[nth] = await serve(environments[nth] as Environment);
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
            if (turn % 4 === 0) {
              const store = counters[0]?.store as string;
              const listed = await all(memories.list(store, { limit: 5, path_prefix: '/still/' }));
              expect(listed.map(({ path }) => path).toSorted()).toEqual(still.toSorted());
              return;
            }
            if (turn % 4 === 1) {
              const path = `/of-${nth}/${turn}.md`;
              const created = await memories.create(store, { path, content: line });
              acknowledged.versions.push([store, created.memory_version_id]);
              const to = { memory_store_id: store, path: `/moved${path}` };
              const moved = await memories.update(created.id, to);
              acknowledged.versions.push([store, moved.memory_version_id]);
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
              if (error instanceof ConflictError && turn % 4 === 1) break;
              if (![APIConnectionError, ConflictError, InternalServerError].some((known) => error instanceof known))
                throw error;
              if (servers === 1) await restarting;
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
        // What clients keep needs no line in an index: nothing is wrong.
        const checked = await runJsonHere<{ findings: object[] }>(['check', '--store', `${nth}`], environment);
        expect([checked.code, checked.values[0]?.findings]).toEqual([0, []]);
      }
      expect(acknowledged.versions.filter(([store, id]) => !versions.has(`${store} ${id}`))).toEqual([]);
      expect(new Set(lines).size).toBe(lines.length);
      expect(acknowledged.lines.filter((line) => !lines.includes(line))).toEqual([]);
      expect(acknowledged.lines.length).toBeGreaterThan(OPERATIONS / 4);
      for (const { server } of up) server.kill('SIGTERM');
      expect(await Promise.all(up.map(async ({ server }) => (await server.ended).code))).toEqual(up.map(() => 0));
    },
  );
}

interface Served {
  server: ReturnType<typeof start>;
  url: string;
}

/** A home of its own. */
async function machineOf(databaseUrl?: string): Promise<Environment> {
  const fixed = { NOCTURNE_FIXED: JSON.stringify({ leaseMs: LEASE_MS }) };
  return machine(databaseUrl ? { ...fixed, NOCTURNE_DATABASE_URL: databaseUrl } : fixed);
}

async function serve(environment: Environment): Promise<Served> {
  const server = start(['serve', '--no-worker', '--port', '0', '--json'], environment);
  await until(() => server.stdout().includes('\n'));
  return { server, url: JSON.parse(server.stdout()).url };
}
