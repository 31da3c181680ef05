// How much waits and is worked on in all stores of the database, for metrics. One statement; the times are the database's.

import type { WorkFigures } from '../../doors/wing.ts';
import type { Ask } from './database.ts';

export async function workFigures(ask: Ask): Promise<WorkFigures> {
  const [found] = await ask<WorkFigures>(
    `select count(*)::int as waiting, min(coalesce(since, not_before)) as "oldestSince",
       (select count(*)::int from work_lease where owner is not null and until > clock_timestamp()) as leases
     from work_inbox`,
  );
  return found as WorkFigures;
}
