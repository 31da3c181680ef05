// After a restore: what is to be done to rows that came from a copy, before anything is told of them.
//
// 1. What was under way in the copy is nobody's; today's spend counts as full, and keys are off, until a person says otherwise.
// 2. What was forgotten or redacted since the copy is so again.
// 3. Look into every working copy: files are what they are by now, and entries of logs that no row knows come in.

import { isDirectory } from '../src/base/files/directories.ts';
import { dayOf } from '../src/base/time.ts';
import { insert, newId } from '../src/db/sql.ts';
import { lookInto } from '../src/memory/commit.ts';
import { beginJob, endJob } from '../src/memory/job-rows.ts';
import { takeInHistory } from '../src/memory/log-history.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import { applyMarks } from '../src/memory/redaction-marks.ts';
import { fillDay } from '../src/queue/spend.ts';

/** A row of this in `setting` turns a key off, until it is confirmed. */
export const KEY_OFF = 'key off ';

export interface Restored {
  /** Memories whose directories were looked into. */
  memories: number;
  /** Entries that came in from logs. */
  entries: number;
  /** Entries and versions that were forgotten or redacted again. */
  marked: number;
  /** Keys that are off until they are confirmed. */
  keys: number;
}

export async function afterRestore({
  memories,
  zone,
  dayTokens,
}: {
  memories: Memories;
  zone: string;
  dayTokens: number;
}): Promise<Restored> {
  const { db, clock, home, machine } = memories;
  const now = clock.now();
  // 1.
  const keys = await db.write(async (sql) => {
    await sql.run('update inbox set owner = null, until = null, fence = fence + 1000000');
    await fillDay(sql, dayOf(now, zone), { dayTokens, now });
    const rows = await sql.all<{ id: string }>('select id from api_key where revoked_at is null');
    const off = rows.map(({ id }) => ({ key: `${KEY_OFF}${id}`, value: now.toISOString() }));
    await insert(sql, 'setting', off, 'on conflict (key) do nothing');
    return rows.length;
  });
  // 2.
  const marked = await applyMarks(db, home, now);
  // 3.
  const rows = await db.all<MemoryRow>('select * from memory where machine = ? and deleted_at is null', machine);
  const report: Restored = { memories: 0, entries: 0, marked, keys };
  const job = newId('job');
  await beginJob(db, { id: job, kind: 'check', startedBy: 'person', at: now.toISOString() });
  for (const { id, dir } of rows) {
    if (dir === null || !isDirectory(dir)) continue;
    await memories.of(id);
    await lookInto(memories, { memory: id, paths: 'all' });
    report.entries += await takeInHistory(memories, id, job);
    report.memories += 1;
  }
  await endJob(db, job, { outcome: 'restored', output: report, at: clock.now().toISOString() });
  return report;
}
