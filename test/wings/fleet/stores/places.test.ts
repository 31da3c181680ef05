// The stores in the database that clients of the server make: made, copied, put aside, brought back, dropped.

import { beforeAll, describe, expect, test } from 'vitest';
import type { Ledger } from '../../../../src/memory/ledger/ledger.ts';
import { DatabasePlaces } from '../../../../src/wings/fleet/stores/database-places.ts';
import type { FleetStores } from '../../../../src/wings/fleet/stores/fleet-stores.ts';
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
});
