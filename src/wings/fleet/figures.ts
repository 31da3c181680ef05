// What all machines see of the database: how much waits and is worked on, for metrics; how many stores there are and what failed,
// for who asks how it is; and what doctor looks at. The times of leases are the database's.

import { sayCount } from '../../base/text/wording.ts';
import { type Checked, ok, warn } from '../../doors/doctor/checked.ts';
import type { SharedOverview, WorkFigures } from '../../doors/keeping.ts';
import type { Home } from '../../memory/home/home.ts';
import type { Ask, Database } from './postgres.ts';
import { waiting } from './work/due.ts';

/** Of what was given up so many are named, the newest. */
const MOST_FAILED = 20;
/** By which a clock may differ. */
const CLOCK_MS = 10_000;
/** What is due for so long has nobody who works it. */
const LATE_MS = 10 * 60_000;

/** One statement. */
export async function workFigures(ask: Ask): Promise<WorkFigures> {
  const [found] = await ask<WorkFigures>(
    `select count(*)::int as waiting, min(coalesce(since, not_before)) as "oldestSince",
       (select count(*)::int from work_lease where owner is not null and until > clock_timestamp()) as leases
     from work_inbox`,
  );
  return found as WorkFigures;
}

export async function overviewOf({
  id,
  server,
  ask,
}: Pick<Database, 'id' | 'server' | 'ask'>): Promise<SharedOverview> {
  const states = await ask<{ state: string; count: number }>(
    'select state, count(*) as count from store group by state',
  );
  const codes = await ask<{ code: string; count: number }>(
    'select code, count(*) as count from failure group by code order by count desc, code',
  );
  const failed = await ask<SharedOverview['failed'][number]>(
    `select store.id as store, store.name, kind, key, code, at, message from failure join store on store.id = failure.store
     where failure.state = 'failed' order by at desc, store.id, key limit ${MOST_FAILED}`,
  );
  const [given] = await ask<{ count: number }>("select count(*) as count from failure where state = 'failed'");
  const counts = Object.fromEntries(states.map(({ state, count }) => [state, count]));
  return {
    ...{ id, server, stores: { ready: 0, arriving: 0, ...counts }, waiting: await waiting(ask) },
    leases: (await workFigures(ask)).leases,
    failures: Object.fromEntries(codes.map(({ code, count }) => [code, count])),
    ...{ givenUp: given?.count ?? 0, failed },
  };
}

/** The stores that can be worked in, by name; one statement. */
export async function eachStore(ask: Ask) {
  return ask<{ id: string; name: string; source: string | null; waiting: number; givenUp: number }>(
    `select id, name, source, (select count(*)::int from work_inbox where store = store.id) as waiting,
       (select count(*)::int from failure where failure.store = store.id and failure.state = 'failed') as "givenUp"
     from store where state = 'ready' order by name, id`,
  );
}

/** How the database is, its tables and ledgers, the clock of this machine by its own, and whether its work is done. */
export async function checkDatabase(
  { server, ask }: Pick<Database, 'server' | 'ask'>,
  { home, now }: { home: Home; now(): Date },
): Promise<Checked[]> {
  const [beganAt, began] = [performance.now(), now()];
  const [found] = await ask<{ now: Date; version: string; stores: number }>(
    `select clock_timestamp() as now, split_part(current_setting('server_version'), ' ', 1) as version,
       (select count(*) from store where state = 'ready') as stores`,
  );
  const tookMs = performance.now() - beganAt;
  if (!found) return [];
  const how = `${server} answers in ${Math.ceil(tookMs)} ms; PostgreSQL ${found.version}, ${sayCount(found.stores, 'store')}`;
  const aheadMs = began.getTime() + tookMs / 2 - found.now.getTime();
  return [ok('database', how), ...checkClock(aheadMs), ...(await checkWaiting(ask, { home, now: now() }))];
}

function checkClock(aheadMs: number): Checked[] {
  if (Math.abs(aheadMs) < CLOCK_MS) return [ok('clock', "as the database's")];
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  const how = `${sayCount(seconds, 'second')} ${aheadMs > 0 ? 'ahead of' : 'behind'} the database's`;
  return [warn('clock', how, 'Set the clock of this machine: by it is told what is due, and which day is spent on.')];
}

async function checkWaiting(ask: Ask, { home, now }: { home: Home; now: Date }): Promise<Checked[]> {
  const { waiting: count, leases } = await workFigures(ask);
  const [due] = await ask<{ at: string | null }>(
    'select min(not_before) as at from work_inbox where not_before <= $1',
    [now.toISOString()],
  );
  const says = `${count} waiting in all stores, ${leases} under way`;
  const isLate = due?.at != null && now.getTime() - Date.parse(due.at) > LATE_MS;
  if (!isLate || (await home.workers.all()).length > 0) return [ok('work', says)];
  return [
    warn('work', `${says}; due since ${due.at}, and no worker was seen`, 'Start nocturne worker on some machine.'),
  ];
}
