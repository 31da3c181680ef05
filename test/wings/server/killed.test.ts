// Many clients at once on one store, and the server killed in the middle: what was acknowledged is there.

import type Anthropic from '@anthropic-ai/sdk';
import { APIConnectionError, ConflictError, InternalServerError, NotFoundError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import type { Environment } from '../../../src/base/config/config.ts';
import { sized } from '../../support/depth.ts';
import { seeded } from '../../support/random.ts';
import { type Running, start, until } from '../../support/run.ts';
import { runJsonHere } from '../../support/run-here.ts';
import { tempDir } from '../../support/temp.ts';
import { all, clientOf, keyIn } from './served.ts';

const CLIENTS = 16;
const OPERATIONS = sized({ quick: 112, deep: 10_000 });
const STILL = sized({ quick: 12, deep: 200 });

interface Acknowledged {
  versions: Set<string>;
  /** Lines that were added under a precondition, by memory. */
  lines: Map<string, string[]>;
}

async function startServer(environment: Environment): Promise<{ server: Running; url: string }> {
  const server = start(
    ['serve', '--no-worker', '--port', '0', '--creates', '0', '--reads', '0', '--json'],
    environment,
  );
  await until(() => server.stdout().includes('\n'));
  return { server, url: JSON.parse(server.stdout()).url };
}

test('with 16 clients and a kill -9 every acknowledged write is a version, no update is lost, and each walk is whole', async () => {
  const home = tempDir();
  const environment = { PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, NOCTURNE_MODEL: 'offline' };
  const made = await keyIn(home);
  let { server, url } = await startServer(environment);
  const connect = () => clientOf({ url, ...made }, { maxRetries: 0 }).sdk;
  const { id: store } = await connect().beta.memoryStores.create({ name: 'notes' });
  const at = { memory_store_id: store };
  const { memories } = connect().beta.memoryStores;
  const still: string[] = [];
  for (let nth = 0; nth < STILL; nth += 1) {
    still.push((await memories.create(store, { path: `/still/${nth}.md`, content: `${nth}` })).path);
  }
  const counters = [await memories.create(store, { path: '/one.md', content: '' })];
  counters.push(await memories.create(store, { path: '/two.md', content: '' }));
  const acknowledged: Acknowledged = { versions: new Set(), lines: new Map(counters.map(({ id }) => [id, []])) };

  let left = OPERATIONS;
  let isKilled = false;
  let restarted: Promise<void> = Promise.resolve();
  const kill = async () => {
    server.kill('SIGKILL');
    await server.ended;
    ({ server, url } = await startServer(environment));
  };
  const work = async (client: number) => {
    const random = seeded(client);
    let sdk: Anthropic = connect();
    for (let turn = 0; left > 0; turn += 1) {
      left -= 1;
      if (left < OPERATIONS / 2 && !isKilled) {
        isKilled = true;
        restarted = kill();
      }
      try {
        await one(sdk.beta.memoryStores.memories, { client, turn, pick: random.below(4) });
      } catch (error) {
        if (error instanceof APIConnectionError) {
          await restarted;
          sdk = connect();
        } else if (![ConflictError, NotFoundError, InternalServerError].some((known) => error instanceof known)) {
          throw error;
        }
      }
    }
  };
  const one = async (
    api: Anthropic['beta']['memoryStores']['memories'],
    { client, turn, pick }: { client: number; turn: number; pick: number },
  ) => {
    if (pick === 0) {
      const listed = new Set(
        (await all(api.list(store, { limit: 100, path_prefix: '/still/' }))).map(({ path }) => path),
      );
      expect(still.filter((path) => !listed.has(path))).toEqual([]);
    } else if (pick === 1) {
      const created = await api.create(store, { path: `/of-${client}/${turn}.md`, content: `${client} ${turn}` });
      acknowledged.versions.add(created.memory_version_id);
      if (turn % 3 === 0) await api.delete(created.id, at);
      else {
        const moved = await api.update(created.id, { ...at, path: `/of-${client}/moved-${turn}.md` });
        acknowledged.versions.add(moved.memory_version_id);
      }
    } else {
      const { id } = counters[turn % 2] as { id: string };
      const found = await api.retrieve(id, at);
      const line = `${client}.${turn}\n`;
      const changed = await api.update(id, {
        ...at,
        content: `${found.content}${line}`,
        precondition: { type: 'content_sha256', content_sha256: found.content_sha256 },
      });
      acknowledged.versions.add(changed.memory_version_id);
      acknowledged.lines.get(id)?.push(line);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, client) => work(client)));
  await restarted;
  expect(isKilled).toBe(true);

  const after = connect().beta.memoryStores;
  const versions = new Set((await all(after.memoryVersions.list(store, { limit: 100 }))).map(({ id }) => id));
  expect([...acknowledged.versions].filter((id) => !versions.has(id))).toEqual([]);
  expect(acknowledged.versions.size).toBeGreaterThan(OPERATIONS / 10);
  for (const [id, lines] of acknowledged.lines) {
    const { content } = await after.memories.retrieve(id, at);
    const kept = new Set(content?.split(/(?<=\n)/));
    expect(lines.filter((line) => !kept.has(line))).toEqual([]);
    expect(lines).not.toEqual([]);
  }
  // What clients keep needs no line in an index: nothing is wrong.
  const checked = await runJsonHere<{ findings: object[] }>(['check', '--store', 'notes'], environment);
  expect([checked.code, checked.values[0]?.findings]).toEqual([0, []]);
});
