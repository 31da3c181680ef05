// Work over all stores of the database: what is due, which item is the next, and how the night begins.
// Promises: tenants take turns, the one that was served longest ago first, and so do the stores of a tenant; within a store
// the order is the inbox's, and a dream is only claimed while no extraction of its store is due or under way. An item is one
// worker's for as long as its claim lasts, by the database's time; the claim of one that died ends by itself. A claim saves
// work from being done twice, no more: what is written is kept apart by the leases of jobs.

import type { DueItem } from '../../../memory/ledger/inbox.ts';
import { isOpenAt } from '../fleet-schema.ts';
import { HOME_SCHEMA } from '../home/dialect.ts';
import type { Ask } from '../postgres.ts';

/** An item of a store's inbox that may be worked. */
export interface DueWork extends DueItem {
  store: string;
}

/** An item that is one worker's. It is on the key: what replaces the item while it is worked is the same worker's. */
export interface Claim extends DueWork {
  owner: string;
  /** Another at each claim. */
  number: number;
}

const DUE = `id, store, kind, key, not_before as "notBefore"`;

/** What may be worked and nobody works on, what came due first at the beginning. */
export function dueWork(ask: Ask, { now, limit }: { now: Date; limit: number }): Promise<DueWork[]> {
  return ask<DueWork>(
    `select ${DUE} from work_inbox where not_before <= $1 and ${isOpenAt('$1')} order by not_before, id limit $2`,
    [now.toISOString(), limit],
  );
}

/** The item that is due next. */
export async function nextDue(ask: Ask, now: Date): Promise<DueWork | undefined> {
  const sql = `select ${DUE} from work_inbox where not_before > $1 order by not_before limit 1`;
  return (await ask<DueWork>(sql, [now.toISOString()]))[0];
}

/** Claims the next item for `ttlMs`; null where there is none to work. */
export async function takeNext(
  ask: Ask,
  { owner, ttlMs, now }: { owner: string; ttlMs: number; now: Date },
): Promise<Claim | null> {
  const [taken] = await ask<DueWork & { number: number }>(
    `select ${DUE}, claim as number from take_work($1, $2::float8, $3)`,
    [owner, ttlMs, now.toISOString()],
  );
  return taken ? { ...taken, owner } : null;
}

/** Makes the claim last longer; false where it is another's by now, or the work is done. */
export async function renewClaim(ask: Ask, { store, kind, key, number }: Claim, ttlMs: number): Promise<boolean> {
  const renewed = await ask(
    `update work_inbox set claimed_until = clock_timestamp() + $5::float8 * interval '1 millisecond'
     where store = $1 and kind = $2 and key = $3 and claim = $4 returning 1 as one`,
    [store, kind, key, number, ttlMs],
  );
  return renewed.length === 1;
}

/** Lets the item go, if it still waits. `restMs`: for so long nobody shall claim it, as where another process works on its session. */
export async function releaseClaim(
  ask: Ask,
  { store, kind, key, number }: Claim,
  { restMs = 0 }: { restMs?: number } = {},
): Promise<void> {
  await ask(
    `update work_inbox set claimed_by = null, claim = null,
       claimed_until = case when $5::float8 > 0 then clock_timestamp() + $5::float8 * interval '1 millisecond' end
     where store = $1 and kind = $2 and key = $3 and claim = $4`,
    [store, kind, key, number, restMs],
  );
}

/**
 * Puts the nightly dream into the inbox of every store that has none waiting, unless that was done since `dueAt`, which the
 * home was asked for; answers whether it did. Of those that ask at once, one does it.
 */
export async function beginNight(ask: Ask, { dueAt, now }: { dueAt?: Date; now: Date }): Promise<boolean> {
  const begun = await ask(
    `with begun as (
       update ${HOME_SCHEMA}.nightly set at = $1 where $2::text is null or at < $2 returning at),
     put as (
       insert into work_inbox (store, kind, key, payload, not_before, since)
       select id, 'dream', 'dream', '{"isNightly":true}', begun.at, begun.at from store, begun where state = 'ready'
       on conflict (store, kind, key) do nothing)
     select from begun`,
    [now.toISOString(), dueAt?.toISOString() ?? null],
  );
  return begun.length === 1;
}

export interface Waiting {
  /** Items in all inboxes, due or not. */
  count: number;
  /** Since when the oldest of them waits; null: nothing does. */
  oldest: string | null;
  /** The same for each tenant that has any, the longest line first; null: the stores of none. */
  tenants: { tenant: string | null; count: number; oldest: string }[];
}

/** How much waits, for who decides whether to take in more. */
export async function waiting(ask: Ask): Promise<Waiting> {
  const tenants = await ask<Waiting['tenants'][number]>(
    `select tenant, count(*)::int as count, min(coalesce(since, not_before)) as oldest
     from work_inbox join store on store.id = work_inbox.store group by tenant order by count desc, tenant`,
  );
  return {
    count: tenants.reduce((sum, { count }) => sum + count, 0),
    oldest: tenants.map(({ oldest }) => oldest).sort()[0] ?? null,
    tenants,
  };
}
