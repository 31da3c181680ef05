// The memory tool of the next house as test/doors/memory-tool.test.ts asks it: over a memory with a directory, on either engine.

import { fixedClock } from '../../../src/base/time.ts';
import { openDatabase } from '../../../src/next/db/open-database.ts';
import { Memories } from '../../../src/next/memory/memories.ts';
import { MemoryFiles } from '../../../src/next/memory/memory-files.ts';
import { viewMemory } from '../../../src/next/memory/memory-views.ts';
import { type MemoryToolOptions, memoryTool } from '../../../src/next/tools/memory-tool.ts';
import { ownDatabase } from '../../support/own-database.ts';
import { tempDir } from '../../support/temp.ts';

export async function subjectAt(dir: string, whenDone: (thing: { close(): unknown }) => unknown) {
  const home = tempDir();
  const database = process.env.NOCTURNE_TEST_NEXT === 'postgres' ? await ownDatabase() : undefined;
  const db = await openDatabase({ home, url: database?.url });
  const memories = new Memories({ db, home, clock: fixedClock('2026-11-20T10:00:00Z') });
  whenDone({
    async close() {
      await memories.close();
      await db.close();
      await database?.drop();
    },
  });
  const row = await memories.ofDirectory(dir, { scope: 'project', name: 'project' });
  const files = new MemoryFiles(memories, row);
  const infos = async () => (await files.list()).items.flatMap((item) => ('path' in item ? [item] : []));
  return {
    dir: row.dir as string,
    tool: (options: object) => memoryTool(files, options as MemoryToolOptions),
    view: (path: string, range?: number[]) => viewMemory(files, { path, range }),
    list: async () => (await infos()).map(({ path }) => path),
    idAt: async (path: string) => (await infos()).find((item) => item.path === path)?.id,
    async commits() {
      const by = `select distinct c.n, v.actor from version v join change c on c.id = v.change
        where v.memory = ? and v.actor_kind <> 'external' order by c.n`;
      return (await db.all<{ actor: string }>(by, row.id)).map(({ actor }) => actor);
    },
    operations: async (path: string) => (await files.versions({ path })).items.map(({ op }) => op),
  };
}
