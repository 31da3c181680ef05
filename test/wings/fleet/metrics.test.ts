// What metrics tell of memory in the database.

import { describe, expect, onTestFinished, test } from 'vitest';
import { workFigures } from '../../../src/wings/fleet/figures.ts';
import { checkedInCounter } from '../../../src/wings/fleet/fleet-keeping.ts';
import { metricReader } from '../../support/metric-reader.ts';
import { noPostgres, openStores, putStore } from './own-database.ts';
import { world } from './work/world.ts';

describe.skipIf(noPostgres)(`in a database ${noPostgres}`, () => {
  const here = world();
  const reader = metricReader();

  test('what waits in all stores, since when, and what is worked on by the database’s time', async () => {
    expect(await workFigures(here.database.ask)).toEqual({ waiting: 0, oldestSince: null, leases: 0 });
    const [one, other] = [here.rows(await here.store('acme')), here.rows(await here.store())];
    const item = { kind: 'extract', payload: {}, notBefore: '2026-11-21T02:05:00.000Z' } as const;
    await one.put({ ...item, key: 'one', since: '2026-11-21T01:59:00.000Z' });
    await other.put({ ...item, key: 'two', since: '2026-11-21T01:58:30.000Z' });
    const now = new Date('2026-11-21T02:00:00Z');
    expect(await one.takeLease({ key: 'session:one', owner: 'elsewhere:1:/job', now, ttlMs: 60_000 })).not.toBeNull();
    await other.takeLease({ key: 'session:over', owner: 'elsewhere:1:/job', now, ttlMs: 0 });
    const found = { waiting: 2, oldestSince: '2026-11-21T01:58:30.000Z', leases: 1 };
    expect(await workFigures(here.database.ask)).toEqual(found);
  });

  test('bytes that commits send to it are counted, and nothing is without telemetry', async () => {
    expect(checkedInCounter(false)).toBeUndefined();
    const count = checkedInCounter(true);
    const sent: number[] = [];
    const counted: (Promise<void> | undefined)[] = [];
    const onSent = (bytes: number) => {
      sent.push(bytes);
      counted.push(count?.(bytes));
    };
    const stores = await openStores(here.own.url, { onSent });
    onTestFinished(() => stores.close());
    const notes = await stores.open(await putStore(stores, {}));
    onTestFinished(() => notes.close());
    for (const text of ['one\n', 'two\n']) {
      await notes.commit({ actor: 'tool:test' }, () => ({ files: [{ path: 'notes.md', change: () => text }] }));
    }
    await Promise.all(counted);
    expect(sent).toHaveLength(2);
    const total = sent.reduce((sum, bytes) => sum + bytes, 0);
    expect(await reader.collect()).toEqual({ 'nocturne.fleet.checked_in': total });
  });
});
