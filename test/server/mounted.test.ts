// The SDK's own mount of a store as a directory, twice over one store, while a person edits our directory by hand.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type Anthropic from '@anthropic-ai/sdk';
import { SessionMemoryStores } from '@anthropic-ai/sdk/tools/agent-toolset/node';
import { afterEach, expect, test, vi } from 'vitest';
import { sized } from '../support/depth.ts';
import { seeded } from '../support/random.ts';
import { ON_POSTGRES, tempDir } from '../support/temp.ts';
import { all, served } from './served.ts';

const FILES = sized({ quick: 9, deep: 60 });
const ROUNDS = sized({ quick: 1, deep: 5 });

/** A deletion is believed after half a minute. */
const MINUTE_MS = 60_000;

afterEach(() => {
  vi.useRealTimers();
});

/** The files under a directory with their contents, marks of the mount apart. */
function filesOf(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((item) => item.isFile());
  const paths = names.map((item) => join(item.parentPath, item.name).slice(dir.length + 1));
  const own = paths.filter((path) => !path.split('/').some((name) => name.startsWith('.')));
  return Object.fromEntries(own.sort().map((path) => [path, readFileSync(join(dir, path), 'utf8')]));
}

async function mount(sdk: Anthropic, store: string) {
  const workdir = tempDir();
  const mounted = new SessionMemoryStores(sdk, { workdir, syncIntervalMs: 5_000 });
  const resources = [{ type: 'memory_store', memory_store_id: store, name: 'notes', access: 'read_write' }];
  await mounted.download({ resources } as never);
  return { mounted, dir: mounted.roots[0] as string };
}

test('two mounts and edits by hand come to the same files, lose no text, and a file that is refused is sent once', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-21T02:00:00Z') });
  const random = seeded(17);
  const at = await served({ withProjects: true });
  const store = await at.stores.adopt(at.dir);
  const { sdk, sent } = await at.client({ stores: [store.id] }, { logLevel: 'off' });
  const { memoryStores } = sdk.beta;
  const written = new Set<string>();
  const sides = [await mount(sdk, store.id), await mount(sdk, store.id)] as const;
  // Where memory has no directory, a third mount is in its place.
  const third = ON_POSTGRES ? await mount(sdk, store.id) : null;
  const own = third?.dir ?? at.dir;
  const write = (dir: string, path: string, text: string) => {
    written.add(text);
    writeFileSync(join(dir, path), text);
  };
  for (let file = 0; file < FILES; file += 1)
    write([own, sides[0].dir, sides[1].dir][file % 3] as string, `file-${file}.md`, `file ${file}\n`);
  writeFileSync(join(sides[0].dir, 'key.txt'), `token ghp_${'a1B2'.repeat(9)}\n`);
  // As often as a deletion on one side needs until it is done on the other.
  const sync = async (times = 4) => {
    for (let time = 0; time < times; time += 1) {
      for (const { mounted } of third ? [...sides, third] : sides) {
        vi.setSystemTime(Date.now() + MINUTE_MS);
        await mounted.syncIfDue();
      }
    }
  };
  await sync();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, dir] of [own, sides[0].dir, sides[1].dir].entries()) {
      // Each side has files of its own in a round: where two change one, the SDK drops an edit itself.
      const there = Object.keys(filesOf(dir)).filter(
        (path) => path !== 'key.txt' && Number(/\d+/.exec(path)?.[0]) % 3 === at,
      );
      // A text that no sync has seen is nobody's: what is edited is not deleted in the same round.
      const edited = random.pick(there);
      const others = there.filter((path) => path !== edited);
      const [renamed, deleted] = [random.pick(others), random.pick(others)];
      write(dir, edited, `round ${round} of ${at}: ${edited}\n`);
      const text = readFileSync(join(dir, renamed), 'utf8');
      rmSync(join(dir, renamed));
      write(dir, `moved-${round}-${renamed}`, text);
      rmSync(join(dir, deleted), { force: true });
    }
    await sync();
  }
  const refusals = sent.filter(({ status }) => status === 400).length;
  sent.length = 0;
  await sync(1);
  expect(sent.map(({ method, path }) => `${method} ${path.replace(/\?.*/, '')}`)).toEqual(
    Array(sent.length).fill(`GET /v1/memory_stores/${store.id}/memories`),
  );
  for (const side of [...sides, third]) await side?.mounted.finish();
  const stood = Object.fromEntries(
    (await all(memoryStores.memories.list(store.id, { view: 'full' }))).map((item) => [
      item.path.slice(1),
      'content' in item ? item.content : null,
    ]),
  );
  expect(filesOf(own)).toEqual(stood);
  const { 'key.txt': refused, ...first } = filesOf(sides[0].dir);
  expect(first).toEqual(stood);
  expect(filesOf(sides[1].dir)).toEqual(stood);
  expect(refused).toContain('ghp_');
  expect(refusals).toBe(1);
  const versions = await all(memoryStores.memoryVersions.list(store.id, { view: 'full' }));
  const kept = new Set(versions.map(({ content }) => content));
  expect([...written].filter((text) => !kept.has(text))).toEqual([]);
});
