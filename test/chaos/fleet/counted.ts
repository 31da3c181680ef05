// What the database holds, as rows and text: asked by SQL.
// None of nocturne's code is used, for it is what is being tested.

import { setTimeout as after } from 'node:timers/promises';
import pg from 'pg';

export interface KeptStore {
  /** As its clients know it. */
  id: string;
  /** Of every file, by path. */
  texts: Map<string, string>;
  /** How many commits there are; `told` of what two of them wrote, and of what is not whole. */
  commits(tell: (violation: string) => void): number;
}

const AGAIN_MS = 200;
const GIVE_UP_MS = 60_000;

export type Looks = ReturnType<typeof looksInto>;

/** Asks again while the server is being restarted. */
function asking(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => {});
  // biome-ignore lint/suspicious/noExplicitAny: rows of whatever is asked
  async function ask(sql: string, values: unknown[] = []): Promise<any[]> {
    for (const endsAt = performance.now() + GIVE_UP_MS; ; ) {
      try {
        return (await pool.query(sql, values)).rows;
      } catch (error) {
        // While it is being restarted.
        const { code = '' } = error as { code?: string };
        if (!/^(?:ECONN|57P|08)/.test(code) && !/terminated/.test(String(error))) throw error;
        if (performance.now() > endsAt) throw error;
        await after(AGAIN_MS);
      }
    }
  }
  const count = async (sql: string) => Number((await ask(sql))[0].count);
  return { ask, count, close: () => pool.end() };
}

export function looksInto(url: string) {
  const { ask, count, close } = asking(url);
  const now = () => new Date().toISOString();
  return {
    waiting: async () => ({
      items: await count("select count(*) from inbox where state = 'waiting' and kind <> 'dream'"),
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
    async store(id: string): Promise<KeptStore> {
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
