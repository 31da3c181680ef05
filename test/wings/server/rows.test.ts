// What the server keeps in the home, in each home that there is.

import { describe, expect, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { Dreams } from '../../../src/doors/clients/dreams.ts';
import { Keys, RIGHTS } from '../../../src/doors/clients/keys.ts';
import { identityOf } from '../../../src/doors/clients/rows.ts';
import { Sessions } from '../../../src/doors/clients/sessions.ts';
import { HOMES } from '../../support/homes.ts';

const clock = fixedClock('2026-11-21T02:00:00Z');
const later = fixedClock('2026-11-23T02:00:00Z');
const muchLater = fixedClock('2026-12-23T02:00:00Z');
const ofKey = { name: 'test', rights: RIGHTS, stores: ['memstore_1'], dayMicroUsd: 500 };

describe.each(HOMES)('$name', ({ isShared, setUp, begin }) => {
  setUp();

  /** Two processes, the second two days later. */
  async function processes() {
    const { open, run } = await begin();
    const [one, two] = [open(clock), open(later)];
    return { one, two, run, rows: [one.database, two.database] as const };
  }

  test('a key that one process makes another knows, with what it spent, until it is revoked', async () => {
    const { rows } = await processes();
    const [one, two] = [new Keys(rows[0], clock), new Keys(rows[1], later)];
    const { key, row } = await one.create(ofKey);
    expect(await two.find(key)).toMatchObject({
      id: row.id,
      rights: [...RIGHTS],
      stores: ['memstore_1'],
      dayMicroUsd: 500,
    });
    await Promise.all([one, two].map((keys) => keys.addSpend(row.id, '2026-11-21', 250)));
    expect([await one.isSpent(row.id, '2026-11-21'), await one.isSpent(row.id, '2026-11-22')]).toEqual([true, false]);
    expect([await two.revoke(row.id), await one.revoke(row.id)]).toEqual([true, false]);
    expect([await one.find(key), await one.isIn(row.id)]).toEqual([null, false]);
    expect(await one.all()).toMatchObject([{ id: row.id, revokedAt: '2026-11-23T02:00:00.000Z' }]);
  });

  test('processes that ask at once who the home is are told the same', async () => {
    const { rows } = await processes();
    const [one, two] = await Promise.all(rows.map((each) => identityOf(each)));
    expect(one).toEqual(two);
  });

  test('of messages that are appended at once behind the same one those of one process are kept', async () => {
    const { one, two, rows } = await processes();
    const [here, there] = [
      new Sessions(rows[0], { home: one, clock }),
      new Sessions(rows[1], { home: two, clock: later }),
    ];
    const name = { store: 'memstore_1', id: 'sesn_1' };
    const part = { after: 0, count: 2, sha: 'x', file: 'f' };
    const created = await Promise.all([here, there].map((each) => each.create({ ...name, owner: 'apikey_1' }, part)));
    expect(created.toSorted()).toEqual([false, true]);
    const more = { ...part, after: 2, file: 'g' };
    expect((await Promise.all([here, there].map((each) => each.append(name, more)))).toSorted()).toEqual([false, true]);
    expect(await there.find(name)).toMatchObject({ messages: 4, extractAt: null });
    expect((await here.parts(name)).map(({ file }) => file)).toEqual(['f', 'g']);
    await here.askToExtract(name);
    expect(await there.toExtract()).toMatchObject([{ id: 'sesn_1', extractAt: '2026-11-21T02:00:00.000Z' }]);
    expect(await there.waiting('all')).toBe(1);
    expect(await there.waiting({ owner: 'apikey_1' })).toBe(1);
    await here.noteWaiting(name);
    expect(await there.toExtract()).toEqual([]);
    await there.dropOld(5);
    expect(await here.withId('sesn_1')).toHaveLength(1);
    const inDecember = new Sessions(rows[0], { home: one, clock: muchLater });
    await inDecember.dropOld(5);
    expect(await here.withId('sesn_1')).toHaveLength(1);
    expect(await here.waitingSince(muchLater.now())).toMatchObject([name]);
    await here.noteWorked(name);
    expect(await there.waiting('all')).toBe(0);
    await inDecember.dropOld(5);
    expect([await here.withId('sesn_1'), await here.parts(name)]).toEqual([[], []]);
  });

  test('a store is the target of one dream at a time, and one process works it, until that works no more', async () => {
    const { one, rows, run } = await processes();
    const [here, there] = [new Dreams(rows[0], clock), new Dreams(rows[1], later)];
    const asked = {
      ...{ owner: 'apikey_1', input: 'memstore_1', updates: true, target: 'memstore_1', sessions: [] },
      ...{ model: 'main', speed: null, instructions: null },
    };
    const made = await Promise.all([here.create(asked), there.create(asked)]);
    const dream = made.find((each) => 'id' in each);
    if (!dream || !('id' in dream)) throw new Error('none was made');
    expect(made).toContainEqual({ heldBy: dream.id });
    expect(await here.claim(dream.id)).toBe('memstore_1');
    // A worker of another machine, which here nobody can look for, and which was seen just now.
    await one.workers.enter('redis');
    await run(`insert into worker select 'elsewhere:1:2', backend, started_at, seen_at from worker;
      update dream set process = 'elsewhere:1:2'`);
    expect(await there.claim(dream.id)).toBeNull();
    if (isShared) {
      await run(`delete from worker where process = 'elsewhere:1:2'`);
      expect(await there.claim(dream.id)).toBe('memstore_1');
    }
    expect(await there.begin(dream.id, 'memstore_1')).toBe(true);
    const spent = { calls: 1, inputTokens: 50, cachedInputTokens: 20, cacheWriteTokens: 10, outputTokens: 30 };
    await Promise.all([here, there].map((each) => each.addUsage(dream.id, spent)));
    const filter = { isSeen: async () => true, withArchived: false, limit: 5 };
    expect(await here.list({ ...filter, statuses: ['running', 'failed'] })).toMatchObject([
      { id: dream.id, updates: true, usage: { input: 80, output: 60, cacheCreation: 20, cacheRead: 40 } },
    ]);
    await there.endLate(96);
    expect(await here.find(dream.id)).toMatchObject({ status: 'running', error: null });
    await new Dreams(rows[0], muchLater).endLate(96);
    expect(await there.find(dream.id)).toMatchObject({ status: 'failed', error: { type: 'timeout' } });
    await here.cancel(dream.id);
    await here.close(dream.id);
    expect(await there.open()).toEqual([]);
    expect(await there.create(asked)).toMatchObject({ status: 'pending', target: 'memstore_1' });
  });
});
