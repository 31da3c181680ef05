// The homes that there are, for tests that hold for each: in a file, and in PostgreSQL.

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/base/time.ts';
import type { DayLimits } from '../../src/memory/home/day-spend.ts';
import { type Home, openHome } from '../../src/memory/home/home.ts';
import { inPostgres } from '../wings/fleet/home/postgres-home.ts';
import { tempDir } from './temp.ts';

export interface HomeKind {
  name: string;
  /** Several machines have it. */
  isShared: boolean;
  /** Called where its tests are described. */
  setUp(): void;
  /** A new home. */
  begin(): Promise<HomePlace>;
}

export interface HomePlace {
  /** As another process opens it, at another time; closed when the test is over. */
  open(clock: Clock, zone?: string): Home;
  /** Says what counts, where a home says that itself. */
  limit(limits: DayLimits): Promise<void>;
  /** Asks as nobody of nocturne's. */
  run(sql: string): Promise<void>;
}

const inFile: HomeKind = {
  name: 'in a file',
  isShared: false,
  setUp() {},
  async begin() {
    const dir = tempDir();
    return {
      open(clock, zone) {
        const home = openHome(dir, clock, zone);
        onTestFinished(() => home.close());
        return home;
      },
      limit: async () => {},
      async run(sql) {
        const db = new Database(join(dir, 'home.db'));
        db.exec(sql);
        db.close();
      },
    };
  },
};

export const HOMES: HomeKind[] = [inFile, ...inPostgres];
