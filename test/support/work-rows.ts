// What holds of the rows of work wherever they are kept: called by the tests of a ledger and of the database.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { thisProcess } from '../../src/base/process.ts';
import type { FailureRow, WorkRows } from '../../src/memory/ledger/inbox.ts';

export interface WorkRowsKind {
  /** The rows of a new store, as so many see them who work on it at once; they are closed when the test is over. */
  begin(count?: number): Promise<[WorkRows, ...WorkRows[]]>;
  /** How many random cases are looked at. */
  cases: number;
}

const notBefore = '2026-11-20T10:00:00.000Z';
const minute = (n: number) => new Date(Date.parse(notBefore) + n * 60_000);
const SPAN = { now: new Date(), ttlMs: 60_000 };
const owner = (name: string | number) => `${thisProcess()}/${name}`;

const put = (rows: WorkRows, payload: object, key = 's') => rows.put({ kind: 'extract', key, payload, notBefore });

const news = (rows: WorkRows, atMinute: number, payload: object = {}) =>
  rows.announce(
    { kind: 'extract', key: 's', payload },
    { now: minute(atMinute), debounceMs: 60_000, throttleMs: 5 * 60_000 },
  );

async function idOf(rows: WorkRows, key = 's'): Promise<number> {
  return (await rows.item('extract', key))?.id as number;
}

export function testWorkRows({ begin, cases }: WorkRowsKind): void {
  test('of eight who take a lease at once one gets it, and its number grows each time', async () => {
    const all = await begin(8);
    let last = 0;
    for (let round = 0; round < 10; round += 1) {
      const asked = all.map((rows, n) => rows.takeLease({ key: 'session:a', owner: owner(n), ...SPAN }));
      const [lease, ...others] = (await Promise.all(asked)).filter((lease) => lease !== null);
      expect(others).toEqual([]);
      expect(lease?.fence).toBeGreaterThan(last);
      last = lease?.fence ?? 0;
      if (lease) await all[round % 8]?.releaseLease(lease);
    }
  });

  test('a lease is held while it lasts, and lost where another took it after its time', async () => {
    const [rows, other] = await begin(2);
    const lease = await rows.takeLease({ key: 'session:a', owner: owner(1), ...SPAN });
    expect(await other?.takeLease({ key: 'session:a', owner: owner(2), ...SPAN })).toBeNull();
    expect(await rows.takeLease({ key: 'session:b', owner: owner(1), ...SPAN })).not.toBeNull();
    if (!lease) throw new Error('it was held by nobody');
    expect(await rows.renewLease(lease, { now: SPAN.now, ttlMs: -1 })).toBe(true);
    expect(await rows.isLeased({ prefix: 'session:a', now: SPAN.now })).toBe(false);
    expect(await other?.takeLease({ key: 'session:a', owner: owner(2), ...SPAN })).toMatchObject({ fence: 2 });
    expect(await rows.renewLease(lease, SPAN)).toBe(false);
    await rows.releaseLease(lease);
    expect(await rows.isLeased({ prefix: 'session:a', now: SPAN.now })).toBe(true);
  });

  test('a commit is refused whose lease was taken over, or whose item is gone, or that says so itself', async () => {
    const [rows] = await begin();
    await put(rows, {});
    const lease = await rows.takeLease({ key: 'dream', owner: owner(1), ...SPAN });
    if (!lease) throw new Error('it was held by nobody');
    const item = await idOf(rows);
    await rows.requireLease({ ...lease, item });
    const no = () => {
      throw new RangeError('not now');
    };
    await expect(rows.requireLease({ ...lease, mayCommit: no })).rejects.toThrow('not now');
    await put(rows, {});
    const fenced = { code: 'fenced' };
    await expect(rows.requireLease({ ...lease, item })).rejects.toMatchObject(fenced);
    await rows.requireLease(lease);
    await rows.releaseLease(lease);
    await rows.takeLease({ key: 'dream', owner: owner(1), ...SPAN });
    await expect(rows.requireLease(lease)).rejects.toMatchObject(fenced);
  });

  test('a lease is found by how its key begins, letter by letter', async () => {
    const [rows] = await begin();
    const lease = await rows.takeLease({ key: 'session:a_b', owner: owner(1), ...SPAN });
    const asked = ['session:', 'session:a_b', 'session:a%', 'session:axb', 'dream'];
    const found = await Promise.all(asked.map((prefix) => rows.isLeased({ prefix, now: SPAN.now })));
    expect(found).toEqual([true, true, false, false, false]);
    if (lease) await rows.releaseLease(lease);
    expect(await rows.isLeased({ prefix: 'session:', now: SPAN.now })).toBe(false);
  });

  test('new input for a key that waits replaces it and gives its attempts back', async () => {
    const [rows] = await begin();
    await put(rows, { n: 1 });
    await rows.postpone(await idOf(rows), { notBefore, attempts: 2, failure: 'refused' });
    expect(await rows.item('extract', 's')).toMatchObject({ attempts: 2, failure: 'refused' });
    await put(rows, { n: 2 });
    expect(await rows.items()).toMatchObject([{ payload: { n: 2 }, attempts: 0, failure: null, since: notBefore }]);
  });

  test('input that comes while the key is worked survives the end of that work, and its postponing', async () => {
    const [rows] = await begin();
    await put(rows, { n: 1 });
    const working = await idOf(rows);
    await put(rows, { n: 2 });
    await rows.postpone(working, { notBefore: minute(9).toISOString(), attempts: 1, failure: 'refused' });
    await rows.finish(working);
    expect(await rows.item('extract', 's')).toMatchObject({ payload: { n: 2 }, notBefore, failure: null });
  });

  test('input that comes at the very moment the work ends is never lost', async () => {
    const [rows, other] = await begin(2);
    for (let n = 0; n < 20; n += 1) {
      await put(rows, { n: 'old' });
      const working = await idOf(rows);
      await Promise.all([rows.finish(working), other && put(other, { n })]);
      expect(await rows.item('extract', 's')).toMatchObject({ payload: { n } });
    }
  });

  test('of eight who put something in where nothing waits, one does', async () => {
    const all = await begin(8);
    const asked = all.map((rows, n) => rows.putIfNone({ kind: 'dream', key: 'dream', payload: { n }, notBefore }));
    const isPut = await Promise.all(asked);
    expect(isPut.filter(Boolean)).toHaveLength(1);
    expect(await all[0].items()).toMatchObject([{ payload: { n: isPut.indexOf(true) } }]);
  });

  test('news that eight announce at once are one item, with what each of them said', async () => {
    const all = await begin(8);
    for (const waits of [false, true]) {
      const before = waits ? await idOf(all[0]) : 0;
      const due = await Promise.all(all.map((rows, n) => news(rows, n / 100, { [`${waits} ${n}`]: n })));
      const items = await all[0].items();
      expect(items).toHaveLength(1);
      expect(items[0]?.id).not.toBe(before);
      expect(due).toContain(items[0]?.notBefore);
      expect(Object.keys(items[0]?.payload as object)).toHaveLength(waits ? 16 : 8);
    }
  });

  test('extractions come before what builds on them, each in the order it came', async () => {
    const [rows] = await begin();
    for (const kind of ['dream', 'reprocess', 'extract'] as const) {
      for (const key of ['k', 'B', 'a']) await rows.put({ kind, key, payload: {}, notBefore });
    }
    await rows.put({ kind: 'extract', key: 'later', payload: {}, notBefore: minute(1).toISOString() });
    const inOrder = ['extract', 'reprocess', 'dream'].flatMap((kind) => ['k', 'B', 'a'].map((key) => `${kind} ${key}`));
    expect((await rows.due(notBefore)).map(({ kind, key }) => `${kind} ${key}`)).toEqual(inOrder);
    expect((await rows.items()).map(({ kind, key }) => `${kind} ${key}`)).toEqual(
      inOrder.toSpliced(3, 0, 'extract later'),
    );
  });

  test('work that a clock ahead of its time began holds no news back', async () => {
    const [rows] = await begin();
    await rows.noteWork({ kind: 'extract', key: 's', now: minute(500_000) });
    const pace = { now: minute(0), clockAt: minute(0.1), debounceMs: 60_000, throttleMs: 5 * 60_000 };
    expect(await rows.announce({ kind: 'extract', key: 's', payload: {} }, pace)).toBe(minute(1).toISOString());
  });

  test('news wait until no more came for a while, but not for ever', async () => {
    const [rows] = await begin();
    const due: string[] = [];
    for (const at of [0, 0.5, 1, 1.9, 2.8, 3.7, 4.5, 4.9]) due.push(await news(rows, at));
    expect(due).toEqual([1, 1.5, 2, 2.9, 3.8, 4.7, 5, 5].map((at) => minute(at).toISOString()));
    expect(await rows.items()).toHaveLength(1);
  });

  test('a session that was just worked is not worked again before its time', async () => {
    const [rows] = await begin();
    await news(rows, 0);
    expect(await rows.wasWorked({ kind: 'extract', key: 's' })).toBe(false);
    await rows.noteWork({ kind: 'extract', key: 's', now: minute(1) });
    expect(await rows.wasWorked({ kind: 'extract', key: 's' })).toBe(true);
    await rows.finish(await idOf(rows));
    const due: string[] = [];
    for (const at of [2, 4.9, 5.9, 30]) due.push(await news(rows, at));
    expect(due).toEqual([6, 6, 6.9, 30].map((at) => minute(at).toISOString()));
  });

  test('news give attempts back and keep what a person asked for', async () => {
    const [rows] = await begin();
    await put(rows, { instructions: 'Only facts.', ended: true });
    await rows.postpone(await idOf(rows), { notBefore: minute(90).toISOString(), attempts: 2, failure: 'refused' });
    await news(rows, 10, { ended: false });
    expect(await rows.items()).toMatchObject([
      { attempts: 0, failure: null, payload: { instructions: 'Only facts.', ended: false } },
    ]);
  });

  test('whatever comes when: never twice within the throttle, never held back longer than the longer span', async () => {
    const [rows] = await begin();
    const step = fc.record({ waitMs: fc.integer({ min: 0, max: 200_000 }), isWork: fc.boolean() });
    const spans = fc.record({
      debounceMs: fc.integer({ min: 0, max: 120_000 }),
      throttleMs: fc.integer({ min: 0, max: 300_000 }),
    });
    let count = 0;
    const holds = async (
      steps: { waitMs: number; isWork: boolean }[],
      pace: { debounceMs: number; throttleMs: number },
    ) => {
      count += 1;
      const of = { kind: 'extract', key: `s${count}` } as const;
      let now = minute(0).getTime();
      let workedAt = Number.NEGATIVE_INFINITY;
      let firstNewsAt: number | undefined;
      let lastNewsAt = 0;
      for (const { waitMs, isWork } of steps) {
        now += waitMs;
        const item = isWork && (await rows.item(of.kind, of.key));
        if (item && Date.parse(item.notBefore) <= now) {
          expect(now - workedAt).toBeGreaterThanOrEqual(pace.throttleMs);
          const patience = (firstNewsAt ?? 0) + Math.max(pace.debounceMs, pace.throttleMs);
          expect(Date.parse(item.notBefore)).toBeLessThanOrEqual(Math.max(patience, lastNewsAt));
          await rows.noteWork({ ...of, now: new Date(now) });
          await rows.finish(item.id);
          workedAt = now;
          firstNewsAt = undefined;
        } else {
          firstNewsAt ??= now;
          lastNewsAt = now;
          await rows.announce({ ...of, payload: {} }, { now: new Date(now), ...pace });
        }
      }
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), spans, holds), { numRuns: cases });
  });

  test('what is left out on purpose is counted by its reason, whoever counts', async () => {
    const all = await begin(8);
    await Promise.all(all.map((rows) => rows.noteSkip({ kind: 'dream', reason: 'too soon', now: minute(2) })));
    await all[0].noteSkip({ kind: 'dream', reason: 'too few', now: minute(3) });
    expect(await all[0].skips()).toEqual([
      { kind: 'dream', reason: 'too few', times: 1, at: minute(3).toISOString() },
      { kind: 'dream', reason: 'too soon', times: 8, at: minute(2).toISOString() },
    ]);
  });

  test('a failure is kept as it was written last, the latest first, until it is dropped, or put in again', async () => {
    const [rows] = await begin();
    const failed = (key: string, at: number): FailureRow => ({
      ...{ kind: 'extract', key, state: 'retrying', code: 'network', message: `of ${key}`, attempts: 1, failures: 2 },
      ...{ input: at > 1 ? '12' : null, at: minute(at).toISOString(), payload: { transcript: key } },
    });
    for (const [key, at] of [
      ['a', 0],
      ['b', 2],
      ['a', 3],
      ['B', 2],
    ] as const) {
      await rows.put({ kind: 'extract', key, payload: {}, notBefore });
      await rows.writeFailure(failed(key, at));
    }
    expect(await rows.failures()).toEqual([failed('a', 3), failed('B', 2), failed('b', 2)]);
    await rows.dropFailure({ kind: 'extract', key: 'a' });
    expect(await rows.failure('extract', 'a')).toBeUndefined();
    expect(await rows.failure('dream', 'b')).toBeUndefined();
    expect(await rows.failure('extract', 'b')).toEqual(failed('b', 2));
    await rows.putAgain({ kind: 'extract', key: 'b', payload: { n: 1 }, notBefore });
    expect(await rows.failures()).toEqual([failed('B', 2)]);
    expect(await rows.item('extract', 'b')).toMatchObject({ payload: { n: 1 }, notBefore });
  });

  test('what another finished has not failed: its failure is not written, and goes where it was', async () => {
    const [rows] = await begin();
    const failed: FailureRow = {
      ...{ kind: 'extract', key: 's', state: 'retrying', code: 'fenced', message: 'taken over', attempts: 0 },
      ...{ failures: 1, input: null, at: minute(1).toISOString(), payload: {} },
    };
    await rows.put({ kind: 'extract', key: 's', payload: {}, notBefore });
    await rows.writeFailure(failed);
    const id = await idOf(rows);
    await rows.put({ kind: 'extract', key: 's', payload: {}, notBefore });
    await rows.finish(id);
    expect(await rows.failures()).toEqual([failed]);
    await rows.finish(await idOf(rows));
    await rows.writeFailure(failed);
    expect(await rows.failures()).toEqual([]);
    await rows.put({ kind: 'extract', key: 's', payload: {}, notBefore });
    await rows.writeFailure({ ...failed, state: 'failed' });
    await rows.finish(await idOf(rows));
    expect(await rows.failures()).toEqual([{ ...failed, state: 'failed' }]);
  });

  test('what a payload says comes back as it was said', async () => {
    const [rows] = await begin();
    const payload = { b: 'é\0\u{1f300}\ud800', a: [1.5, null, { '': '"\\' }], instructions: "'; drop table" };
    await put(rows, payload);
    await news(rows, 1, { ended: true });
    const item = await rows.item('extract', 's');
    expect(JSON.stringify(item?.payload)).toBe(JSON.stringify({ ...payload, ended: true }));
  });
}
