// Which nights were, and what a night puts into the inbox. Promises: of all processes one begins it, in one transaction, so that
// who dies in it leaves a night that is still due; a dream that a person asked for stays as asked.

import { type Db, insert, type Sql, settingOf } from '../db/sql.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { put } from './inbox.ts';

/** When the last night began; a database that had none begins with now, and so does one whose clock was ahead. */
export async function lastNight(db: Db, now: Date): Promise<string> {
  const at = now.toISOString();
  const last = await settingOf(db, 'night');
  if (last !== undefined && last <= at) return last;
  if (last !== undefined) await db.run("update setting set value = ? where key = 'night' and value > ?", at, at);
  else await insert(db, 'setting', [{ key: 'night', value: at }], 'on conflict (key) do nothing');
  return (await settingOf(db, 'night')) ?? at;
}

/** Memories that a night is about: not those of clients, who ask for their dreams. */
export function nightlyMemories(sql: Sql): Promise<MemoryRow[]> {
  return sql.all<MemoryRow>(
    "select * from memory where scope <> 'store' and deleted_at is null and archived_at is null order by created_at, id",
  );
}

/** Puts a dream of each of these into the inbox, unless another process was faster since `last`; answers whether it did. */
export async function beginNight(
  db: Db,
  { last, memories, now }: { last: string; memories: readonly string[]; now: Date },
): Promise<boolean> {
  return db.write(async (sql) => {
    const set = "update setting set value = ? where key = 'night' and value = ?";
    // In one instant there is one night, but what is asked for again is done again.
    if ((await sql.run(set, now.toISOString(), last)) === 0) return false;
    for (const memory of memories) {
      const waits = await sql.get("select 1 from inbox where kind = 'dream' and key = ?", memory);
      if (!waits)
        await put(sql, { kind: 'dream', key: memory, memory, payload: { isNightly: true }, notBefore: now }, now);
    }
    return true;
  });
}

/** Why nights passed a memory by, the latest first, and how often. */
export async function skippedNights(sql: Sql, memory: string) {
  const rows = await sql.all<{ output: string; at: string }>(
    "select output, ended_at as at from job where memory = ? and kind = 'dream' and outcome = 'skipped' order by ended_at desc",
    memory,
  );
  const reasons = Map.groupBy(rows, ({ output }) => (JSON.parse(output) as { reason: string }).reason);
  return [...reasons].map(([reason, of]) => ({ kind: 'dream', reason, times: of.length, at: of[0]?.at ?? '' }));
}

/** When a memory was dreamed over last, and how many entries wait for a dream. */
export async function dreamedLast(sql: Sql, memory: string, now: Date): Promise<{ at: string | null; news: number }> {
  const last = await sql.get<{ at: string | null }>(
    `select max(ended_at) as at from job where memory = ? and kind = 'dream' and outcome in ('dreamed', 'proposed') and ended_at <= ?`,
    ...[memory, now.toISOString()],
  );
  const waiting = await sql.get<{ count: number }>(
    "select count(*) as count from entry where memory = ? and state = 'new'",
    memory,
  );
  return { at: last?.at ?? null, news: waiting?.count ?? 0 };
}
