// What changes in one store of the database without a revision (see `WorkRows`): leases on keys, what waits, what was worked,
// left out and failed.
// Promises: each call is one statement, or one that is tried again as long as another was faster; so nothing of it is left
// half done, whatever becomes of the process. A lease lasts by the database's time alone: who is dead is not known of another
// machine, so that the lease of one that died is only taken when its time is over.

import { AppError } from '../../../base/errors.ts';
import {
  type DueItem,
  dueByPace,
  type FailureRow,
  type InboxItem,
  type NewItem,
  type Pace,
  type Skip,
  type WorkRows,
  withPayload,
} from '../../../memory/ledger/inbox.ts';
import { type JobKind, type Lease, type LeaseTaking, notWanted, takenOver } from '../../../memory/ledger/job-rows.ts';
import { jsonOf } from '../../../memory/ledger/ledger.ts';
import type { Ask, SqlValue } from '../postgres.ts';

const ITEM = `id, kind, key, payload, not_before as "notBefore", attempts, failure, since`;
const FAILURE = 'kind, key, state, code, message, attempts, failures, input, at, payload';
/** Of the store, the kind, the key, the payload, and two instants: not before when, and since when. */
const PUT = `insert into work_inbox (store, kind, key, payload, not_before, since) values ($1, $2, $3, $4, $5, $6)
  on conflict (store, kind, key) do update set id = excluded.id, payload = excluded.payload, attempts = 0, failure = null,
    not_before = excluded.not_before, since = coalesce(work_inbox.since, excluded.since)`;
const UNTIL = (ms: string) => `clock_timestamp() + ${ms} * interval '1 millisecond'`;
/** What a statement fails with that would put a row beside a store that is not there. */
const NO_STORE = '23503';

export class DatabaseWorkRows implements WorkRows {
  readonly #ask: Ask;
  readonly #store: string;

  constructor(ask: Ask, store: string) {
    this.#ask = ask;
    this.#store = store;
  }

  async takeLease({ key, owner, ttlMs }: LeaseTaking): Promise<Lease | null> {
    const [taken] = await this.#rows<{ fence: number }>(
      `insert into work_lease (store, key, owner, fence, until) values ($1, $2, $3, 1, ${UNTIL('$4::float8')})
       on conflict (store, key) do update set owner = excluded.owner, fence = work_lease.fence + 1, until = ${UNTIL('$4::float8')}
       where work_lease.owner is null or work_lease.until < clock_timestamp() returning fence`,
      [key, owner, ttlMs],
    );
    return taken ? { key, owner, fence: taken.fence, isKeptElsewhere: true } : null;
  }

  renewLease({ key, owner, fence }: Lease, { ttlMs }: { ttlMs: number }): Promise<boolean> {
    return this.#changes(
      `update work_lease set until = ${UNTIL('$5::float8')} where store = $1 and key = $2 and owner = $3 and fence = $4`,
      [key, owner, fence, ttlMs],
    );
  }

  async releaseLease({ key, owner, fence }: Lease): Promise<void> {
    await this.#rows('update work_lease set owner = null where store = $1 and key = $2 and owner = $3 and fence = $4', [
      key,
      owner,
      fence,
    ]);
  }

  async requireLease(lease: Lease): Promise<void> {
    const [found] = await this.#rows<{ isHeld: boolean; isWanted: boolean }>(
      `select exists (select from work_lease where store = $1 and key = $2 and owner = $3 and fence = $4) as "isHeld",
         $5::bigint is null or exists (select from work_inbox where store = $1 and id = $5) as "isWanted"`,
      [lease.key, lease.owner, lease.fence, lease.item ?? null],
    );
    if (!found?.isHeld) throw takenOver(lease);
    if (!found.isWanted) throw notWanted(lease);
    lease.mayCommit?.();
  }

  async isLeased({ prefix }: { prefix: string }): Promise<boolean> {
    const held = await this.#rows(
      `select from work_lease where store = $1 and starts_with(key, $2) and owner is not null and until > clock_timestamp() limit 1`,
      [prefix],
    );
    return held.length === 1;
  }

  async put({ kind, key, payload, notBefore, since }: NewItem & { notBefore: string; since?: string }): Promise<void> {
    const values = [kind, key, JSON.stringify(payload), notBefore, since ?? notBefore];
    await this.#rows(PUT, values);
  }

  putIfNone({ kind, key, payload, notBefore }: NewItem & { notBefore: string }): Promise<boolean> {
    return this.#changes(
      `insert into work_inbox (store, kind, key, payload, not_before, since) values ($1, $2, $3, $4, $5, $5)
       on conflict (store, kind, key) do nothing`,
      [kind, key, JSON.stringify(payload), notBefore],
    );
  }

  async putAgain({ kind, key, payload, notBefore }: NewItem & { notBefore: string }): Promise<void> {
    await this.#rows(`with dropped as (delete from failure where store = $1 and kind = $2 and key = $3) ${PUT}`, [
      kind,
      key,
      JSON.stringify(payload),
      notBefore,
      notBefore,
    ]);
  }

  async announce({ kind, key, payload: news }: NewItem & { payload: object }, pace: Pace): Promise<string> {
    const now = pace.now.toISOString();
    // Each time it does not get through, another did.
    for (;;) {
      const [had] = await this.#rows<{
        id: number | null;
        payload: string;
        since: string | null;
        workedAt: string | null;
      }>(
        `select id, payload, since, worked.at as "workedAt"
         from (values ($1, $2, $3)) as asked (store, kind, key)
         left join work_inbox using (store, kind, key) left join worked using (store, kind, key)`,
        [kind, key],
      );
      const waiting = had?.id == null ? undefined : { ...had, payload: jsonOf<object>(had.payload) };
      const notBefore = dueByPace(pace, { since: waiting?.since, workedAt: had?.workedAt });
      const payload = JSON.stringify({ ...waiting?.payload, ...news });
      // The payload is compared, too: a redaction changes it and leaves the id.
      const isIn = waiting
        ? await this.#changes(
            `update work_inbox set id = default, payload = $5, attempts = 0, failure = null, not_before = $6,
               since = coalesce(since, $7) where store = $1 and kind = $2 and key = $3 and id = $4 and payload = $8`,
            [kind, key, waiting.id, payload, notBefore, now, had?.payload ?? null],
          )
        : await this.#changes(
            `insert into work_inbox (store, kind, key, payload, not_before, since) values ($1, $2, $3, $4, $5, $6)
             on conflict (store, kind, key) do nothing`,
            [kind, key, payload, notBefore, now],
          );
      if (isIn) return notBefore;
    }
  }

  async item(kind: JobKind, key: string): Promise<InboxItem | undefined> {
    const sql = `select ${ITEM} from work_inbox where store = $1 and kind = $2 and key = $3`;
    return (await this.#rows<InboxItem>(sql, [kind, key])).map(withPayload)[0];
  }

  async items(): Promise<InboxItem[]> {
    const sql = `select ${ITEM} from work_inbox where store = $1 order by rank, id`;
    return (await this.#rows<InboxItem>(sql)).map(withPayload);
  }

  due(now: string): Promise<DueItem[]> {
    return this.#rows(
      `select id, kind, key, not_before as "notBefore" from work_inbox
       where store = $1 and not_before <= $2 order by rank, id`,
      [now],
    );
  }

  async finish(id: number): Promise<void> {
    const done = 'delete from work_inbox where store = $1 and id = $2 returning kind, key';
    const [of] = await this.#rows<{ kind: JobKind; key: string }>(done, [id]);
    // A statement of its own, which sees what another wrote for as long as the item was there.
    const retried = "delete from failure where store = $1 and kind = $2 and key = $3 and state = 'retrying'";
    if (of) await this.#rows(retried, [of.kind, of.key]);
  }

  async postpone(id: number, to: { notBefore: string; attempts: number; failure: string | null }): Promise<void> {
    await this.#rows(
      'update work_inbox set not_before = $3, attempts = $4, failure = $5 where store = $1 and id = $2',
      [id, to.notBefore, to.attempts, to.failure],
    );
  }

  async noteWork({ kind, key, now }: { kind: JobKind; key: string; now: Date }): Promise<void> {
    await this.#rows(
      `insert into worked values ($1, $2, $3, $4) on conflict (store, kind, key) do update set at = excluded.at`,
      [kind, key, now.toISOString()],
    );
  }

  async wasWorked({ kind, key }: { kind: JobKind; key: string }): Promise<boolean> {
    const sql = 'select from worked where store = $1 and kind = $2 and key = $3';
    return (await this.#rows(sql, [kind, key])).length === 1;
  }

  async noteSkip({ kind, reason, now }: { kind: JobKind; reason: string; now: Date }): Promise<void> {
    await this.#rows(
      `insert into skip values ($1, $2, $3, 1, $4)
       on conflict (store, kind, reason) do update set times = skip.times + 1, at = excluded.at`,
      [kind, reason, now.toISOString()],
    );
  }

  skips(): Promise<Skip[]> {
    return this.#rows('select kind, reason, times, at from skip where store = $1 order by at desc');
  }

  async writeFailure(failure: FailureRow): Promise<void> {
    const { kind, key, state, code, message, attempts, failures, input, at, payload } = failure;
    await this.#rows(
      `insert into failure (store, ${FAILURE}) select store, kind, key, $4, $5, $6, $7::int, $8::int, $9, $10, $11
       from work_inbox where store = $1 and kind = $2 and key = $3 for share
       on conflict (store, kind, key) do update set (state, code, message, attempts, failures, input, at, payload) = (excluded.state,
         excluded.code, excluded.message, excluded.attempts, excluded.failures, excluded.input, excluded.at, excluded.payload)`,
      [kind, key, state, code, message, attempts, failures, input, at, JSON.stringify(payload)],
    );
  }

  async dropFailure({ kind, key }: { kind: JobKind; key: string }): Promise<void> {
    await this.#rows('delete from failure where store = $1 and kind = $2 and key = $3', [kind, key]);
  }

  async failure(kind: JobKind, key: string): Promise<FailureRow | undefined> {
    const sql = `select ${FAILURE} from failure where store = $1 and kind = $2 and key = $3`;
    return (await this.#rows<FailureRow>(sql, [kind, key])).map(withPayload)[0];
  }

  async failures(): Promise<FailureRow[]> {
    const sql = `select ${FAILURE} from failure where store = $1 order by at desc, key`;
    return (await this.#rows<FailureRow>(sql)).map(withPayload);
  }

  async #changes(sql: string, values: SqlValue[]): Promise<boolean> {
    return (await this.#rows(`${sql} returning 1 as one`, values)).length > 0;
  }

  /** Asks with the store as `$1`. */
  async #rows<Row extends object>(sql: string, values: SqlValue[] = []): Promise<Row[]> {
    // What SQLite keeps in a text and PostgreSQL does not.
    const given = values.map((value) => (typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value));
    try {
      return await this.#ask<Row>(sql, [this.#store, ...given]);
    } catch (error) {
      if (Object(error).code !== NO_STORE) throw error;
      throw new AppError('bad-input', `There is no memory store ${this.#store} in the database.`, { cause: error });
    }
  }
}
