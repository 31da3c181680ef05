// The next house in a chaos run (chaos-house.ts).

import { join } from 'node:path';
import { loadConfig } from '../../src/base/config/config.ts';
import { canonicalPath } from '../../src/base/files/directories.ts';
import { enqueueExtract } from '../../src/next/cli/enqueue-command.ts';
import { lookInto } from '../../src/next/memory/commit.ts';
import { entriesWhere, isInLog } from '../../src/next/memory/entries.ts';
import type { MemoryRow } from '../../src/next/memory/memories.ts';
import { listWork } from '../../src/next/queue/waiting-work.ts';
import { openApp } from '../../src/next/worker/compose.ts';
import { putWork } from '../../src/next/worker/work-item.ts';
import type { ChaosHouse } from './chaos-house.ts';
import { rowsOfNext } from './rows-next.ts';

export const nextHouse: ChaosHouse = {
  homeIn: (root) => join(root, 'home', 'next'),
  async open(environment) {
    const app = await openApp(await loadConfig({}, environment));
    const { db } = app;
    const memories = () => db.all<MemoryRow>('select * from memory where deleted_at is null order by created_at, id');
    return {
      user: canonicalPath(join(environment.CLAUDE_CONFIG_DIR ?? '', 'memory')),
      announce: async (transcript) => void (await enqueueExtract(app, { transcript, ended: true })),
      async stores() {
        return (await memories()).map((memory) => ({
          dir: memory.dir ?? memory.id,
          entries: async () => (await entriesWhere(db, memory.id)).filter(isInLog).length,
          coverage: async () => (await rowsOfNext(app, memory)('coverage')) as never,
          async commits(tell) {
            const of = `from undo join change on change.id = undo.change where change.id in
              (select change from version where memory = ?)`;
            const twice = await db.all<{ tbl: string; key: string; commits: number }>(
              `select tbl, undo.key as key, count(distinct change) as commits ${of}
                 and (tbl = 'turn' or (tbl = 'entry' and before is null)) group by tbl, undo.key having count(distinct change) > 1`,
              memory.id,
            );
            for (const row of twice) tell(`${memory.dir}: ${row.commits} commits wrote ${row.tbl} ${row.key}.`);
            const behind = 'select path from file where memory = ? and placed <> head';
            for (const { path } of await db.all<{ path: string }>(behind, memory.id))
              tell(`${memory.dir}: ${path} is not what its head says.`);
            const all = 'select count(distinct change) as commits from version where memory = ?';
            return Number((await db.get<{ commits: number }>(all, memory.id))?.commits);
          },
        }));
      },
      async dreamEverywhere() {
        for (const memory of await memories())
          await putWork(app, { kind: 'dream', key: memory.id, memory, payload: {} });
      },
      waiting: async () => (await listWork(db)).length,
      async tidy() {
        for (const { id: memory } of await memories()) {
          await app.memories.of(memory);
          await lookInto(app.memories, { memory, paths: 'all' });
        }
      },
      close: () => app.close(),
    };
  },
};
