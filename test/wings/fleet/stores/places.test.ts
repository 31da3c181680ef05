// The stores in the database that clients of the server make: made, copied, put aside, brought back, dropped.

import { beforeAll, describe, expect, test } from 'vitest';
import type { Ledger } from '../../../../src/memory/ledger/ledger.ts';
import { DatabasePlaces } from '../../../../src/wings/fleet/stores/places.ts';
import type { FleetStores } from '../../../../src/wings/fleet/stores/stores.ts';
import { dueWork, takeNext } from '../../../../src/wings/fleet/work/due.ts';
import { noPostgres, textsOf, withStores } from '../own-database.ts';

const by = { actor: 'tool:test' } as const;
const now = new Date('2026-11-20T12:00:00Z');

describe.skipIf(noPostgres)(`places of stores ${noPostgres}`, () => {
  const own = withStores({ here: {}, there: { waitMs: 0 } });
  let places: DatabasePlaces;
  beforeAll(() => {
    places = new DatabasePlaces(own.here);
  });
  const write = async (stores: FleetStores, id: string, path: string, text: string) => {
    const store = await stores.open(id);
    await store.write(by, { path, text }).finally(() => store.close());
  };

  test('a store that is made is empty, of its tenant, and stays as it is when it is made again', async () => {
    await places.make('memstore_made', { tenant: 'acme' });
    expect(await textsOf(own.there, 'memstore_made')).toEqual({});
    await write(own.there, 'memstore_made', 'a.md', 'one\n');
    await places.make('memstore_made', { tenant: null });
    expect(await textsOf(own.here, 'memstore_made')).toEqual({ 'a.md': 'one\n' });
    expect(await own.database.ask("select tenant from store where id = 'memstore_made'")).toEqual([{ tenant: 'acme' }]);
  });

  test('a copy holds the files, ids and versions of one revision, without what waits; what others write meanwhile goes to the first alone', async () => {
    await places.make('memstore_first', { tenant: null });
    await write(own.here, 'memstore_first', 'a.md', 'one\n');
    const first = await own.here.open('memstore_first');
    const idOf = async (path: string) => (await first.lookUp(path))?.id;
    await first.enterRows((ledger) =>
      ledger.insert('skip', { kind: 'dream', reason: 'no', times: 1, at: now.toISOString() }),
    );
    let writes = 0;
    const asked = { tenant: 'acme', leaveOut: (ledger: Ledger) => void ledger.run('delete from skip') };
    const others = (async () => {
      for (; writes < 3; writes += 1) await write(own.there, 'memstore_first', 'b.md', `${writes}\n`).catch(() => {});
    })();
    await places.copy(first, 'memstore_second', asked);
    await others;
    await places.copy(first, 'memstore_second', asked);
    const copied = await textsOf(own.there, 'memstore_second');
    expect(copied['a.md']).toBe('one\n');
    const second = await own.there.open('memstore_second');
    expect((await second.lookUp('a.md'))?.id).toBe(await idOf('a.md'));
    expect(second.ledger.all('select * from skip')).toEqual([]);
    expect(
      second.ledger.all('select path from memory where path is not null order by path').map(({ path }) => path),
    ).toEqual(Object.keys(copied).sort());
    await write(own.there, 'memstore_second', 'c.md', 'mine\n');
    expect(Object.keys(await textsOf(own.here, 'memstore_first'))).not.toContain('c.md');
    first.close();
    second.close();
  });

  test('to a store that was put aside nothing is written, nothing of it is worked, and it comes back as it was; dropped, no row is left of it', async () => {
    await places.make('memstore_aside', { tenant: null });
    await write(own.there, 'memstore_aside', 'a.md', 'one\n');
    const store = await own.there.open('memstore_aside');
    await store.work.put({ kind: 'dream', key: 'dream', payload: {}, notBefore: now.toISOString() });
    const late = store.asOne(async (at) => {
      await places.remove('memstore_aside');
      await at.write(by, { path: 'a.md', text: 'late\n' });
    });
    await expect(late).rejects.toMatchObject({ code: 'fenced' });
    await expect(store.write(by, { path: 'a.md', text: 'later\n' })).rejects.toMatchObject({ code: 'conflict' });
    const { ask } = own.here.database;
    expect((await dueWork(ask, { now, limit: 9 })).filter((due) => due.store === 'memstore_aside')).toEqual([]);
    expect(await takeNext(ask, { owner: 'w', ttlMs: 1_000, now })).toBeNull();

    expect(await places.restore('memstore_aside')).toBe(true);
    expect(await textsOf(own.here, 'memstore_aside')).toEqual({ 'a.md': 'one\n' });
    expect(await takeNext(ask, { owner: 'w', ttlMs: 1_000, now })).toMatchObject({ store: 'memstore_aside' });
    await places.remove('memstore_aside');
    await places.drop('memstore_aside');
    expect(await places.restore('memstore_aside')).toBe(false);
    store.close();
    for (const table of ['page', 'file', 'checkin', 'work_inbox', 'work_turn'])
      expect(await own.database.ask(`select from ${table} where store = 'memstore_aside'`)).toEqual([]);
  });
});
