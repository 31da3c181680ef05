// What a chaos run asks of the house itself: its app, its memories, what waits, and how commits stand.

import { join } from 'node:path';
import { type Environment, loadConfig } from '../../src/base/config/config.ts';
import { canonicalPath } from '../../src/base/files/directories.ts';
import { enqueueExtract } from '../../src/cli/learn-command.ts';
import { lookInto } from '../../src/memory/commit.ts';
import { entriesWhere, isInLog } from '../../src/memory/entries.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import { listWork } from '../../src/queue/waiting-work.ts';
import { openApp } from '../../src/worker/compose.ts';
import { putWork } from '../../src/worker/work-item.ts';
import { rowsOf } from '../support/rows.ts';

export interface ChaosStore {
  dir: string;
  /** Of the memory, as the ledger or the rows have it. */
  entries(): Promise<number>;
  coverage(): Promise<{ session: string; turn: string; disposition: string }[]>;
  /** How many commits there are; `told` of each turn or entry that two of them wrote, and of what is not finished. */
  commits(tell: (violation: string) => void): Promise<number>;
}

export interface ChaosHouse {
  /** The home in a directory. */
  homeIn(root: string): string;
  open(environment: Environment): Promise<ChaosApp>;
}

export interface ChaosApp {
  user: string;
  announce(transcript: string): Promise<void>;
  stores(): Promise<ChaosStore[]>;
  dreamEverywhere(): Promise<void>;
  waiting(): Promise<number>;
  /** Looks at what a swap keeps for a minute, as of `now`, and removes it. */
  tidy(now: string): Promise<void>;
  close(): Promise<void>;
}

/** What a memory directory may hold. */
export const KEPT =
  /^(?:[^/]+\.md|index\/[^/]+\.md|logs\/\d{4}\/\d{2}\/[\d-]+\.md|\.nocturne\/(?:\.gitignore|id|aside\/mem_\w+\.[0-9a-f]{64}\.\d+|(?:ledger|lock)\.db(?:-wal|-shm|-journal)?|dreams\/[\d-]+\.(?:md|json)))$/;

export const chaosHouse: ChaosHouse = {
  homeIn: (root) => join(root, 'home'),
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
          coverage: async () => (await rowsOf(app, memory)('coverage')) as never,
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
