// After an older state of the database was restored: what still runs somewhere from before must not pass for what is there.
// Promises: whoever checked something out, holds a lease or claimed an item before finds that it is another's; no copy is
// brought on from a revision that is gone; what today spent after the backup is not spent again unasked.

import { type Day, dayOf } from '../../base/time.ts';
import type { Home } from '../../memory/home/home.ts';
import { HOME_SCHEMA } from './home/dialect.ts';
import type { Database } from './postgres.ts';

/** More than a database makes between a backup and its restoring. */
const RAISE = 1_000_000;

/** What is done to each table. */
const STATEMENTS: [table: string, sql: string][] = [
  [
    'store',
    `update store set lineage = gen_random_uuid()::text, revision = revision + ${RAISE}, fence = fence + ${RAISE}, owner = null,
       until = null`,
  ],
  ['member', 'delete from member'],
  ['work_lease', `update work_lease set fence = fence + ${RAISE}, owner = null, until = clock_timestamp()`],
  ['work_inbox', `update work_inbox set id = id + ${RAISE}, claimed_by = null, claimed_until = null, claim = null`],
  ['transcript', `update transcript set fence = fence + ${RAISE}, until = null`],
  ['alone', 'delete from alone'],
  ['work_inbox_id_seq', `select setval('work_inbox_id_seq', nextval('work_inbox_id_seq') + ${RAISE})`],
  ['work_served', `select setval('work_served', nextval('work_served') + ${RAISE})`],
  [`${HOME_SCHEMA}.worker`, `delete from ${HOME_SCHEMA}.worker`],
  [
    `${HOME_SCHEMA}.breaker`,
    `update ${HOME_SCHEMA}.breaker set prober = null, probe_until = null, prober_seen_at = null`,
  ],
];

/** Answers how many stores there are, and the day that counts as spent in full. */
export async function noteRestored(
  database: Database,
  { home, zone, now }: { home: Home; zone: string; now: Date },
): Promise<{ stores: number; day: Day }> {
  const day = dayOf(now, zone);
  // First: whoever reserves meanwhile does so on the day that counts as full.
  await home.days.forget(day);
  const stores = await database.transaction('begin', async (_, run) => {
    let changed = 0;
    for (const [table, sql] of STATEMENTS) {
      const count = await run(sql);
      if (table === 'store') changed = count;
    }
    return changed;
  });
  return { stores, day };
}
