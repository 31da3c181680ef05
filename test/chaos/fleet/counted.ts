// What the database holds, as rows and text: asked by SQL, the ledgers put together from their pages and read by SQLite alone.
// None of nocturne's code is used, for it is what is being tested.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as after } from 'node:timers/promises';
import pg from 'pg';
import { looksIntoNext } from '../../next/fleet-looks-next.ts';
import { HOUSE } from '../../support/temp.ts';

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

export type Looks = ReturnType<typeof looksIntoOld>;

export function looksInto(url: string, scratch: string): Looks {
  return HOUSE === 'next' ? looksIntoNext(asking(url)) : looksIntoOld(url, scratch);
}

export type Asking = ReturnType<typeof asking>;

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

function looksIntoOld(url: string, scratch: string) {
  const { ask, count, close } = asking(url);
  return {
    /** How many items of a store wait or are worked. */
    async itemsOf(id: string) {
      const sql = `select from nocturne.work_inbox
        where store = (select coalesce(dir, id) from nocturne_home.memory_store where id = $1)`;
      return (await ask(sql, [id])).length;
    },
    /** What waits: items, sessions that are to be extracted, and dreams that did not end. */
    waiting: async () => ({
      items: await count('select count(*) from nocturne.work_inbox'),
      sessions: await count('select count(*) from nocturne_home.sent_session where extract_at is not null'),
      dreams: await count('select count(*) from nocturne_home.dream where ended_at is null or closed_at is null'),
    }),
    async spend() {
      const [row] = await ask(
        `select coalesce(sum(reserved + used), 0) as spent, (select day_tokens from nocturne_home.limits) as "limit"
         from nocturne_home.spend`,
      );
      return { spent: Number(row.spent), limit: Number(row.limit ?? Number.POSITIVE_INFINITY) };
    },
    /** What waits for a later try is due now, and what only one does is soon another's: nobody waits out a pause. */
    async hasten() {
      const now = new Date().toISOString();
      await ask('update nocturne.work_inbox set not_before = $1 where not_before > $1', [now]);
      await ask("update nocturne.alone set until = least(until, clock_timestamp() + interval '1 second')");
    },
    /** How dreams stand, by id. */
    async dreams() {
      const rows = await ask('select id, status, error_message from nocturne_home.dream');
      return new Map(rows.map(({ id, status, error_message: why }) => [id, why ? `${status}: ${why}` : status]));
    },
    /** Leases and claims that stand by the database's time, each in words. */
    async held() {
      const stores = await ask('select id from nocturne.store where owner is not null and until > clock_timestamp()');
      const work = await ask(
        'select store, key, owner from nocturne.work_lease where owner is not null and until > clock_timestamp()',
      );
      return [
        ...stores.map(({ id }) => `Store ${id} is leased.`),
        ...work.map(({ store, key, owner }) => `${key} of ${store} is leased by ${owner}.`),
      ];
    },
    async failures() {
      const rows = await ask('select store, kind, key, state, message from nocturne.failure');
      return rows.map(({ store, kind, key, state, message }) => `${kind} ${key} of ${store} ${state}: ${message}`);
    },
    async store(id: string): Promise<KeptStore> {
      const [row] = await ask('select coalesce(dir, id) as place from nocturne_home.memory_store where id = $1', [id]);
      const files = await ask('select path, bytes from nocturne.file where store = $1', [row.place]);
      const pages = await ask('select bytes from nocturne.page where store = $1 order by number', [row.place]);
      const dir = join(scratch, id);
      mkdirSync(dir, { recursive: true });
      const path = join(dir, 'ledger.db');
      writeFileSync(path, Buffer.concat(pages.map(({ bytes }) => bytes)));
      const ledger = new DatabaseSync(path);
      const texts = new Map<string, string>(files.map(({ path: of, bytes }) => [of, String(bytes)]));
      return { id, texts, commits: (tell) => commitsOf(ledger, tell) };
    },
    async close() {
      await close();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

/** The ledger is whole, no turn was covered and no entry made by two commits, all are applied. */
function commitsOf(ledger: DatabaseSync, tell: (violation: string) => void): number {
  const [check] = ledger.prepare('pragma integrity_check').all() as { integrity_check: string }[];
  if (check?.integrity_check !== 'ok') tell(`${check?.integrity_check}`);
  const twice = ledger
    .prepare(
      `select tbl, key, count(distinct "commit") as commits from undo
       where tbl = 'coverage' or (tbl = 'entry' and before is null) group by tbl, key having commits > 1`,
    )
    .all();
  for (const row of twice) tell(`${row.commits} commits wrote ${row.tbl} ${row.key}.`);
  const [row] = ledger.prepare('select count(*) as n, sum(applied = 0) as unapplied from "commit"').all();
  if (row?.unapplied) tell(`${row.unapplied} commits are not applied.`);
  ledger.close();
  return Number(row?.n ?? 0);
}
