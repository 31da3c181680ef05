// The home in PostgreSQL for tests: a database of the test file's own, emptied before each test; opened by turns over two
// connections, as two processes have it.

import { afterAll } from 'vitest';
import { fixedClock } from '../../../../src/base/time.ts';
import { Home } from '../../../../src/memory/home/home.ts';
import { PostgresHome } from '../../../../src/wings/fleet/home/postgres-home.ts';
import type { HomeKind, HomePlace } from '../../../support/homes.ts';
import { tempDir } from '../../../support/temp.ts';
import { noPostgres, type OwnDatabase, ownDatabase } from '../own-database.ts';

const EMPTY = `do $$ declare t text; begin
  for t in select tablename from pg_tables where schemaname = 'nocturne_home' and tablename not in ('change', 'breaker') loop
    execute 'delete from nocturne_home.' || t;
  end loop;
  update nocturne_home.breaker set failures = 0, openings = 0, until = null, code = null, reason = null, prober = null,
    probe_until = null, prober_seen_at = null, skips = 0;
end $$`;

function kind(): HomeKind {
  let own: OwnDatabase | undefined;
  let connections: PostgresHome[] = [];
  return {
    name: 'in PostgreSQL',
    isShared: true,
    setUp() {
      afterAll(async () => {
        for (const each of connections) await each.close();
        await own?.drop();
        [own, connections] = [undefined, []];
      });
    },
    async begin() {
      if (own) await own.ask(EMPTY);
      else {
        own = await ownDatabase();
        connections = [new PostgresHome(own.url), new PostgresHome(own.url)];
      }
      const { ask } = own;
      const dir = tempDir();
      let opened = 0;
      const open: HomePlace['open'] = (clock, zone = 'UTC') => {
        opened += 1;
        return new Home(dir, { database: connections[opened % 2] as PostgresHome, clock, zone });
      };
      return {
        open,
        limit: (limits) => open(fixedClock('2026-11-20T12:00:00Z')).days.setLimits(limits),
        async run(sql) {
          await ask(`set search_path = nocturne_home; ${sql}; set search_path = nocturne`);
        },
      };
    },
  };
}

export const inPostgres: HomeKind[] = noPostgres ? [] : [kind()];
