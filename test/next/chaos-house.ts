// What a chaos run asks of the house itself: its app, its memories, what waits, and how commits stand.

import { join } from 'node:path';
import type { Environment } from '../../src/base/config/config.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { put } from '../../src/doors/cli/commands/enqueue.ts';
import { compose } from '../../src/doors/compose.ts';
import { coverageWhere } from '../../src/memory/ledger/coverage.ts';
import { allEntries, isInLog, outboxRows } from '../../src/memory/ledger/entries.ts';
import { inboxItems } from '../../src/memory/ledger/inbox.ts';
import { openStore } from '../../src/memory/open.ts';
import { enqueueExtract } from '../support/doors.ts';
import { HOUSE } from '../support/temp.ts';

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

const oldHouse: ChaosHouse = {
  homeIn: (root) => join(root, 'home'),
  async open(environment) {
    const app = compose(await loadConfig({}, environment));
    const open = async () => Promise.all((await app.home.stores()).map((dir) => app.store(dir)));
    return {
      user: app.userScope.dir,
      announce: async (transcript) => void (await enqueueExtract(app, { transcript, ended: true })),
      async stores() {
        return (await open()).map(({ dir, ledger }) => ({
          dir,
          entries: async () => allEntries(ledger).filter(isInLog).length,
          coverage: async () => coverageWhere(ledger),
          async commits(tell) {
            const twice = ledger.all(
              `select tbl, key, count(distinct "commit") as commits from undo
               where tbl = 'coverage' or (tbl = 'entry' and before is null) group by tbl, key having commits > 1`,
            );
            for (const row of twice) tell(`${dir}: ${row.commits} commits wrote ${row.tbl} ${row.key}.`);
            const [row] = ledger.all('select count(*) as commits, sum(applied = 0) as unapplied from "commit"');
            if (row?.unapplied) tell(`${dir}: ${row.unapplied} commits are not applied.`);
            return Number(row?.commits ?? 0);
          },
        }));
      },
      async dreamEverywhere() {
        for (const store of await open()) await put(app, { store, kind: 'dream', key: 'dream' }, {});
      },
      async waiting() {
        const count = (await open()).map(({ ledger }) => inboxItems(ledger).length + outboxRows(ledger).length);
        return count.reduce((sum, each) => sum + each, 0);
      },
      async tidy(now) {
        const { clock } = await loadConfig({}, { ...environment, NOCTURNE_NOW: now });
        for (const dir of await app.home.stores()) (await openStore(dir, { clock })).close();
      },
      close: () => app.close(),
    };
  },
};

export const chaosHouse: ChaosHouse = HOUSE === 'old' ? oldHouse : (await import('./chaos-house-next.ts')).nextHouse;
