// The rows of work in the database, as several machines see them.

import { describe, expect, test } from 'vitest';
import { scrubOf } from '../../../../src/memory/history/redact/scrub.ts';
import { scrubWork } from '../../../../src/wings/fleet/fleet-redaction.ts';
import { testWorkRows } from '../../../support/work-rows.ts';
import { noPostgres } from '../own-database.ts';
import { world } from './world.ts';

const notBefore = '2026-11-20T10:00:00.000Z';
const pace = { now: new Date(notBefore), debounceMs: 0, throttleMs: 0 };

describe.skipIf(noPostgres)(`rows of work in the database ${noPostgres}`, () => {
  const here = world();

  testWorkRows({
    async begin(count = 1) {
      const store = await here.store();
      return [here.rows(store), ...Array.from({ length: count - 1 }, () => here.rows(store))];
    },
    cases: 8,
  });

  test('a lease is the database’s: it says so, and its owner is believed alive until its time is over', async () => {
    const rows = here.rows(await here.store());
    const taking = { key: 'dream', owner: 'another-machine:1:0/run', now: new Date(0), ttlMs: 60_000 };
    expect(await rows.takeLease(taking)).toMatchObject({ isKeptElsewhere: true, fence: 1 });
    expect(await rows.takeLease({ ...taking, now: new Date('2100-01-01') })).toBeNull();
  });

  test('stores know nothing of each other’s rows, and those of one that is removed are gone', async () => {
    const [one, other] = [await here.store(), await here.store()];
    for (const store of [one, other]) {
      const rows = here.rows(store);
      await rows.put({ kind: 'extract', key: 's', payload: { store }, notBefore });
      await rows.takeLease({ key: 'session:s', owner: store, now: new Date(), ttlMs: 60_000 });
      await rows.noteWork({ kind: 'extract', key: 's', now: new Date() });
      await rows.noteSkip({ kind: 'dream', reason: 'too soon', now: new Date() });
    }
    const item = await here.rows(one).item('extract', 's');
    await here.rows(other).finish(item?.id ?? 0);
    expect(await here.rows(one).items()).toMatchObject([{ payload: { store: one } }]);
    await here.own.ask('delete from store where id = $1', [one]);
    const left = await Promise.all(
      ['work_lease', 'work_inbox', 'worked', 'skip', 'work_turn'].map((table) =>
        here.own.ask(`select store from ${table} where store = any($1)`, [[one, other]]),
      ),
    );
    expect(left).toEqual(left.map(() => [{ store: other }]));
    await expect(here.rows(one).put({ kind: 'extract', key: 's', payload: {}, notBefore })).rejects.toMatchObject({
      code: 'bad-input',
    });
  });

  test('what a database keeps in no text is kept as a sign for it', async () => {
    const rows = here.rows(await here.store());
    await rows.put({ kind: 'extract', key: 'a\0b', payload: {}, notBefore });
    const item = await rows.item('extract', 'a\0b');
    await rows.postpone(item?.id ?? 0, { notBefore, attempts: 1, failure: 'said \0' });
    expect(await rows.item('extract', 'a\0b')).toMatchObject({ key: 'a\uFFFDb', failure: 'said \uFFFD' });
  });

  test('a redaction takes the words out of what waits and what failed, in this store alone', async () => {
    const [one, other] = [await here.store(), await here.store()];
    for (const store of [one, other]) {
      const rows = here.rows(store);
      await rows.put({ kind: 'extract', key: 's', payload: { instructions: 'use "hunter2"', n: 1 }, notBefore });
      await rows.put({ kind: 'extract', key: 't', payload: { n: 2 }, notBefore });
      const item = await rows.item('extract', 's');
      await rows.postpone(item?.id ?? 0, { notBefore, attempts: 1, failure: 'no hunter2' });
      await rows.writeFailure({
        ...{
          kind: 'extract',
          key: 's',
          state: 'failed',
          code: 'network',
          message: 'not hunter2',
          attempts: 1,
          failures: 1,
        },
        ...{ input: null, at: notBefore, payload: { instructions: 'hunter2' } },
      });
    }
    const scrub = scrubOf('hunter2');
    const ask = here.database.ask;
    expect(await scrubWork(ask, { store: one, scrub, isDry: true })).toBe(2);
    expect(await scrubWork(ask, { store: one, scrub })).toBe(2);
    expect(await scrubWork(ask, { store: one, scrub })).toBe(0);
    const text = async (store: string) =>
      JSON.stringify([await here.rows(store).items(), await here.rows(store).failures()]);
    expect(await text(one)).not.toContain('hunter2');
    expect(await here.rows(one).item('extract', 's')).toMatchObject({
      payload: { instructions: 'use "[redacted]"', n: 1 },
      attempts: 1,
    });
    expect((await text(other)).match(/hunter2/g)).toHaveLength(4);
  });

  test('news that are announced while their item is redacted bring nothing back', async () => {
    for (let round = 0; round < 10; round += 1) {
      const store = await here.store();
      const rows = here.rows(store);
      await rows.put({ kind: 'extract', key: 's', payload: { instructions: 'hunter2' }, notBefore });
      await Promise.all([
        scrubWork(here.database.ask, { store, scrub: scrubOf('hunter2') }),
        ...[1, 2, 3].map((n) => rows.announce({ kind: 'extract', key: 's', payload: { [`n${n}`]: n } }, pace)),
      ]);
      expect(await rows.items()).toMatchObject([{ payload: { instructions: '[redacted]', n1: 1, n2: 2, n3: 3 } }]);
    }
  });
});
