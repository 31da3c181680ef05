// The home of before is taken in once: every memory that it knew, the stores that clients have under the ids that they know, keys,
// pauses, what was spent today. The fixtures are homes that earlier versions left (test/support/before.ts).

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takeInHome } from '../../../src/next/jobs/take-in/old-home.ts';
import { entriesWhere } from '../../../src/next/memory/entries.ts';
import { MemoryFiles } from '../../../src/next/memory/memory-files.ts';
import { openProposals } from '../../../src/next/memory/proposals.ts';
import { pausesOf } from '../../../src/next/queue/pauses.ts';
import { spentOn } from '../../../src/next/queue/spend.ts';
import { ApiKeys } from '../../../src/next/server/api-keys.ts';
import { copyBefore, MADE_BY } from '../../support/before.ts';
import { ENGINES, inWorld, type World } from '../next-memory.ts';

function take({ memories }: World, home: string) {
  const describe = (dir: string) =>
    ({ scope: dir.endsWith('/.claude/memory') ? 'user' : 'project', name: 'orchard' }) as const;
  return takeInHome(home, { memories, zone: 'UTC', describe });
}

test.each(ENGINES)('a home with a memory: what is placed, what waits, what was spent today, on %s', async (engine) => {
  const { home, memory: dir } = copyBefore('ordinary');
  await inWorld(engine, async (world) => {
    const report = await take(world, home);
    expect(report).toMatchObject({ left: [], aside: join(home, 'home.db.before') });
    expect(report.taken).toContain(dir);
    const memory = await world.memories.findDirectory(dir);
    const states = (await entriesWhere(world.db, memory?.id as string)).map(({ state }) => state).sort();
    expect(states).toEqual(['new', 'placed', 'placed']);
    expect(await spentOn(world.db, '2026-11-21')).toMatchObject({ tokens: 440 });
    expect(await take(world, home)).toEqual({ taken: [], left: [], aside: null });
  });
});

test.each(ENGINES)('a home with forgotten, pinned, proposed and waiting things, on %s', async (engine) => {
  const { home, memory: dir } = copyBefore('waiting');
  await inWorld(engine, async (world) => {
    const { db } = world;
    expect((await take(world, home)).left).toEqual([]);
    const memory = (await world.memories.findDirectory(dir))?.id as string;
    const reasons = (await entriesWhere(db, memory)).map(({ state, reason }) => reason ?? state);
    expect(reasons).toContain('forgotten');
    expect(await openProposals(db, memory)).toMatchObject([{ operations: [{ kind: 'put' }] }]);
    expect(await db.all('select kind from inbox where memory = ?', memory)).toEqual([{ kind: 'extract' }]);
    expect(await pausesOf(db, new Date(MADE_BY.now))).toEqual([{ project: '/home/kim/paused', until: null }]);
    expect(await db.get("select value from setting where key = 'declined_before'")).toEqual({
      value: '2026-11-01T00:00:00.000Z',
    });
  });
});

test.each(ENGINES)('a server goes on with its keys and stores, on %s', async (engine) => {
  const { home } = copyBefore('server');
  const { key, keyId, revoked, store, memory } = MADE_BY.server;
  await inWorld(engine, async (world) => {
    const { db, memories } = world;
    expect((await take(world, home)).left).toEqual([]);
    const keys = new ApiKeys(db, memories.clock);
    expect([(await keys.find(key))?.id, await keys.find(revoked)]).toEqual([keyId, null]);
    const files = new MemoryFiles(memories, await memories.of(store));
    expect(await files.read({ id: memory })).toMatchObject({ path: 'a.md', text: 'The queue is Redis.\n' });
    expect((await files.versions({ file: memory })).items.length).toBeGreaterThan(0);
  });
});
