// What a fleet's chaos run asks of the next house (test/chaos/fleet): its rows, by SQL alone, and a key of each tenant.

import { join } from 'node:path';
import { systemClock } from '../../src/base/time.ts';
import { openDatabase } from '../../src/next/db/open-database.ts';
import { setCeilings } from '../../src/next/queue/spend.ts';
import { ApiKeys, RIGHTS } from '../../src/next/server/api-keys.ts';
import type { Asking, Looks } from '../chaos/fleet/counted.ts';
import type { FleetHome } from '../chaos/fleet/standing.ts';

export function looksIntoNext({ ask, count, close }: Asking): Looks {
  const now = () => new Date().toISOString();
  return {
    itemsOf: async (id) => (await ask('select from inbox where memory = $1', [id])).length,
    waiting: async () => ({
      items: await count("select count(*) from inbox where state = 'waiting' and kind <> 'dream'"),
      sessions: 0,
      dreams: await count("select count(*) from job where id like 'drm%' and ended_at is null"),
    }),
    async spend() {
      const [row] = await ask(
        `select coalesce(sum(tokens), 0) as spent, (select value from setting where key = 'limits') as limits
         from day where scope = ''`,
      );
      const { dayTokens } = JSON.parse(row.limits ?? '{}');
      return { spent: Number(row.spent), limit: Number(dayTokens ?? Number.POSITIVE_INFINITY) };
    },
    async hasten() {
      await ask('update inbox set not_before = $1 where not_before > $1 and owner is null', [now()]);
    },
    async dreams() {
      const rows = await ask("select id, status, error from job where id like 'drm%'");
      return new Map(rows.map(({ id, status, error }) => [id, error ? `${status}: ${error}` : status]));
    },
    async held() {
      const rows = await ask('select kind, key, owner from inbox where until > $1', [now()]);
      return rows.map(({ kind, key, owner }) => `${kind} ${key} is claimed by ${owner}.`);
    },
    async failures() {
      const rows = await ask("select kind, key, error from inbox where state = 'failed'");
      return rows.map(({ kind, key, error }) => `${kind} ${key} was given up: ${error}`);
    },
    async store(id) {
      const files = await ask(
        `select file.path, content from file join version on version.id = file.head
         where file.memory = $1 and file.path is not null`,
        [id],
      );
      const twice = await ask(
        `select tbl, undo.key, count(distinct change) as commits from undo join change on change.id = undo.change
         where change.id in (select change from version where memory = $1) and (tbl = 'turn' or (tbl = 'entry' and before is null))
         group by tbl, undo.key having count(distinct change) > 1`,
        [id],
      );
      const [row] = await ask('select count(distinct change) as n from version where memory = $1', [id]);
      return {
        id,
        texts: new Map<string, string>(files.map(({ path, content }) => [path, String(content)])),
        commits(tell) {
          for (const { tbl, key, commits } of twice) tell(`${commits} commits wrote ${tbl} ${key}.`);
          return Number(row.n);
        },
      };
    },
    close,
  };
}

export async function homeOfNext(url: string, root: string): Promise<FleetHome> {
  const db = await openDatabase({ home: join(root, 'here'), url });
  const keys = new ApiKeys(db, systemClock);
  return {
    async keyOf(tenant) {
      return (await keys.create({ name: tenant, rights: RIGHTS, memories: [], dayMicroUsd: null, tenant })).key;
    },
    limit: (dayTokens) => setCeilings(db, { dayTokens, zone: 'UTC' }),
    close: () => db.close(),
  };
}
