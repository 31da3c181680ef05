// Work over all stores: whose turn it is, what one worker has claimed, and what the night begins.

import { afterEach, describe, expect, test } from 'vitest';
import { fixedClock } from '../../../../src/base/time.ts';
import type { JobKind } from '../../../../src/memory/ledger/job-rows.ts';
import type { Ask } from '../../../../src/wings/fleet/postgres.ts';
import {
  beginNight,
  type Claim,
  dueWork,
  nextDue,
  releaseClaim,
  renewClaim,
  takeNext,
  waiting,
} from '../../../../src/wings/fleet/work/due.ts';
import { DatabaseWorkRows } from '../../../../src/wings/fleet/work/work-rows.ts';
import { seeded } from '../../../support/random.ts';
import { noPostgres, openHomeAt } from '../own-database.ts';
import { world } from './world.ts';

const now = new Date('2026-11-20T10:00:00.000Z');
const LATER = new Date('2026-11-20T11:00:00.000Z');
const ttlMs = 60_000;

describe.skipIf(noPostgres)(`work over all stores ${noPostgres}`, () => {
  const here = world();
  const ask: Ask = (sql, values) => here.database.ask(sql, values);

  afterEach(async () => {
    await here.own.ask('delete from store');
    await here.own.ask('delete from tenant_turn');
  });

  const put = (store: string, key: string, { kind = 'extract', at = now }: { kind?: JobKind; at?: Date } = {}) =>
    here.rows(store).put({ kind, key, payload: {}, notBefore: at.toISOString() });

  const take = (owner = 'w') => takeNext(ask, { owner, ttlMs, now });

  async function taken(): Promise<Claim> {
    const claim = await take();
    if (!claim) throw new Error('nothing was there to take');
    return claim;
  }

  /** Takes everything and ends it at once; answers in which order. */
  async function workAll(): Promise<Claim[]> {
    const claims: Claim[] = [];
    for (let claim = await take(); claim; claim = await take()) {
      claims.push(claim);
      await here.rows(claim.store).finish(claim.id);
    }
    return claims;
  }

  test('tenants take turns, and within a tenant its stores, however much each has', async () => {
    const [a1, a2, b1, none] = [
      await here.store('a'),
      await here.store('a'),
      await here.store('b'),
      await here.store(),
    ];
    for (const key of ['1', '2', '3', '4']) for (const store of [a1, a2]) await put(store, key);
    for (const key of ['1', '2']) await put(b1, key);
    await put(none, '1');
    expect((await workAll()).map(({ store, key }) => `${store} ${key}`)).toEqual([
      ...[`${none} 1`, `${a1} 1`, `${b1} 1`, `${a2} 1`, `${b1} 2`],
      ...[`${a1} 2`, `${a2} 2`, `${a1} 3`, `${a2} 3`, `${a1} 4`, `${a2} 4`],
    ]);
  });

  test('what a quiet tenant puts in is the next once each other had a turn, with 1, 10 and 100 noisy ones', async () => {
    const quiet = await here.store('quiet');
    let noisy = 0;
    for (const count of [1, 10, 100]) {
      await here.own.ask(
        `insert into store (id, name, state, revision, pages, page_bytes, tenant)
         select n, n, 'ready', 0, 0, 4096, n from (select $1 || ' of ' || generate_series(1, $1::int) as n) as noisy`,
        [String(count)],
      );
      await here.own.ask(
        `insert into work_inbox (store, kind, key, payload, not_before)
         select id, 'extract', n, '{}', $1 from store, generate_series(1, 12) as n where id like $2`,
        [now.toISOString(), `${count} of %`],
      );
      noisy += count;
      for (let n = 0; n < noisy; n += 1) await taken();
      await put(quiet, `after ${count}`);
      expect(await take()).toMatchObject({ store: quiet, key: `after ${count}` });
    }
  });

  test('an item that was claimed is passed over, until it is let go or its time is over', async () => {
    const store = await here.store();
    await put(store, '1');
    await put(store, '2');
    const first = await taken();
    expect(first).toMatchObject({ store, kind: 'extract', key: '1', notBefore: now.toISOString(), owner: 'w' });
    expect(await dueWork(ask, { now, limit: 9 })).toMatchObject([{ store, key: '2' }]);
    expect(await take('x')).toMatchObject({ key: '2' });
    expect(await take('x')).toBeNull();
    await releaseClaim(ask, first);
    expect(await renewClaim(ask, first, ttlMs)).toBe(false);
    const again = await taken();
    expect(again).toMatchObject({ id: first.id });
    // As after its worker died.
    expect(await renewClaim(ask, again, -1)).toBe(true);
    const other = await take('x');
    expect(other).toMatchObject({ id: first.id, owner: 'x' });
    expect(await renewClaim(ask, again, ttlMs)).toBe(false);
    await releaseClaim(ask, again);
    expect(await take()).toBeNull();
    expect(other && (await renewClaim(ask, other, ttlMs))).toBe(true);
  });

  test('an item that is let go to rest is nobody’s for so long', async () => {
    const store = await here.store();
    await put(store, '1');
    await releaseClaim(ask, await taken(), { restMs: 60_000 });
    expect(await take()).toBeNull();
    await here.own.ask(`update work_inbox set claimed_until = clock_timestamp() - interval '1 ms'`);
    expect(await take()).toMatchObject({ key: '1' });
  });

  test('new input for an item that is worked stays its worker’s until the work ends', async () => {
    const store = await here.store();
    await put(store, '1');
    const claim = await taken();
    await put(store, '1');
    expect(await take('x')).toBeNull();
    await here.rows(store).finish(claim.id);
    await releaseClaim(ask, claim);
    expect(await take('x')).toMatchObject({ key: '1' });
  });

  test('a dream waits while an extraction of its store is due or under way, and keeps no other store waiting', async () => {
    const [store, other] = [await here.store('a'), await here.store('a')];
    await put(store, 'dream', { kind: 'dream' });
    await put(other, 'dream', { kind: 'dream' });
    await put(store, 's', { kind: 'reprocess' });
    const source = await taken();
    expect(source).toMatchObject({ store, kind: 'reprocess' });
    expect(await take()).toMatchObject({ store: other, kind: 'dream' });
    expect([await take(), await dueWork(ask, { now, limit: 9 })]).toEqual([null, []]);
    const lease = await here.rows(store).takeLease({ key: 'session:s', owner: 'w', now, ttlMs });
    await here.rows(store).finish(source.id);
    expect(await take()).toBeNull();
    if (lease) await here.rows(store).releaseLease(lease);
    expect(await take()).toMatchObject({ store, kind: 'dream' });
  });

  test('a dream does not wait for an extraction that is due later', async () => {
    const store = await here.store();
    await put(store, 'dream', { kind: 'dream' });
    await put(store, 's', { at: LATER });
    expect(await take()).toMatchObject({ kind: 'dream' });
  });

  test('what is not due is not taken, and found when it is, also where it was put back to an earlier instant', async () => {
    const [store, other] = [await here.store(), await here.store('a')];
    await put(store, '1', { at: LATER });
    await put(other, '2', { at: new Date(LATER.getTime() + 1) });
    expect([await take(), await dueWork(ask, { now, limit: 9 })]).toEqual([null, []]);
    expect(await nextDue(ask, now)).toMatchObject({ store, notBefore: LATER.toISOString() });
    expect(await nextDue(ask, LATER)).toMatchObject({ store: other, notBefore: '2026-11-20T11:00:00.001Z' });
    expect(await takeNext(ask, { owner: 'w', ttlMs, now: LATER })).toMatchObject({ store });
    expect(await takeNext(ask, { owner: 'w', ttlMs, now: LATER })).toBeNull();
    const item = await here.rows(other).item('extract', '2');
    await here.rows(other).postpone(item?.id ?? 0, { notBefore: now.toISOString(), attempts: 0, failure: null });
    expect(await take()).toMatchObject({ store: other });
  });

  test('whatever is put in and ended meanwhile, by eight at once: nothing is left lying, and nothing taken twice', async () => {
    const random = seeded(20_261_122);
    const stores = await Promise.all(Array.from({ length: 12 }, (_, n) => here.store(n % 3 ? `t${n % 3}` : null)));
    const put = new Set<string>();
    const worked: string[] = [];
    const worker = async (name: number) => {
      for (let n = 0; n < 12; n += 1) {
        const [store, key] = [random.pick(stores), `${name} ${n}`];
        put.add(`${store} ${key}`);
        await here.rows(store).put({ kind: 'extract', key, payload: {}, notBefore: now.toISOString() });
        const claim = await take(String(name));
        if (!claim) continue;
        worked.push(`${claim.store} ${claim.key}`);
        await here.rows(claim.store).finish(claim.id);
      }
    };
    await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(worker));
    worked.push(...(await workAll()).map(({ store, key }) => `${store} ${key}`));
    expect(worked.toSorted()).toEqual([...put].sort());
    expect(await here.own.ask('select store from work_turn where due_from > $1', [now.toISOString()])).toEqual([]);
  });

  test('what is put in while a worker finds nothing in its store is found when it is there', async () => {
    const store = await here.store();
    await put(store, 'later', { at: LATER });
    await here.own.ask('update work_turn set due_from = $1', [now.toISOString()]);
    await here.database.transaction('begin', async (ask) => {
      await new DatabaseWorkRows(ask, store).put({
        kind: 'extract',
        key: '1',
        payload: {},
        notBefore: now.toISOString(),
      });
      expect(await take()).toBeNull();
    });
    expect(await take()).toMatchObject({ key: '1' });
    expect(await take()).toBeNull();
    expect(await here.own.ask('select due_from from work_turn')).toEqual([{ due_from: now.toISOString() }]);
  });

  test('a night is begun once, with a dream for each store that has none waiting', async () => {
    const [asked, quiet] = [await here.store('a'), await here.store()];
    const arriving = await here.store();
    await here.own.ask(`update store set state = 'arriving' where id = $1`, [arriving]);
    await here
      .rows(asked)
      .put({ kind: 'dream', key: 'dream', payload: { instructions: 'mine' }, notBefore: now.toISOString() });
    const home = openHomeAt(here.own.url, fixedClock('2026-11-19T03:30:00.000Z'));
    expect(await home.nightlyAt()).toEqual(new Date('2026-11-19T03:30:00.000Z'));
    const dueAt = new Date('2026-11-20T03:30:00.000Z');
    const begun = await Promise.all(Array.from({ length: 8 }, () => beginNight(ask, { dueAt, now })));
    expect(begun.filter(Boolean)).toHaveLength(1);
    const items = await Promise.all([asked, quiet, arriving].map((store) => here.rows(store).items()));
    expect(items).toMatchObject([
      [{ payload: { instructions: 'mine' } }],
      [{ kind: 'dream', key: 'dream', payload: { isNightly: true }, notBefore: now.toISOString() }],
      [],
    ]);
    expect(await home.lastNightAt()).toBe(now.toISOString());
    await home.close();
    expect((await workAll()).map(({ store }) => store)).toEqual([quiet, asked]);
    // Asked for by a person.
    expect(await beginNight(ask, { now: LATER })).toBe(true);
    expect(await here.rows(asked).items()).toHaveLength(1);
  });

  test('it is told how much waits, since when, and whose it is', async () => {
    expect(await waiting(ask)).toEqual({ count: 0, oldest: null, tenants: [] });
    const [a, none] = [await here.store('a'), await here.store()];
    await put(none, '1', { at: LATER });
    await put(a, '1', { at: LATER });
    await put(a, '2');
    expect(await waiting(ask)).toEqual({
      count: 3,
      oldest: now.toISOString(),
      tenants: [
        { tenant: 'a', count: 2, oldest: now.toISOString() },
        { tenant: null, count: 1, oldest: LATER.toISOString() },
      ],
    });
  });
});
