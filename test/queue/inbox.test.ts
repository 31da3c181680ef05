// The inbox, on both engines: who is handed what, what news does, and what becomes of work by the table of errors.ts.

import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/base/errors.ts';
import { thisProcess } from '../../src/base/process.ts';
import type { Db } from '../../src/db/sql.ts';
import { commit } from '../../src/memory/commit.ts';
import { beginJob, type JobKind } from '../../src/memory/job-rows.ts';
import {
  announce,
  claim,
  freeClaims,
  giveBack,
  type InboxRow,
  type Item,
  type NewItem,
  nextDue,
  PRIORITY,
  put,
  renew,
  settle,
  take,
} from '../../src/queue/inbox.ts';
import { dismiss, followClock, listWork, release, retry } from '../../src/queue/waiting-work.ts';
import { ENGINES, inWorld, skipped } from '../support/memory-world.ts';

const START = Date.parse('2026-03-02T09:00:00.000Z');
/** So many seconds after the start. */
const at = (seconds: number) => new Date(START + seconds * 1000);
const ALL: JobKind[] = ['extract', 'dream'];
const HERE = 'machine_1';

const work = (key: string, of: Partial<NewItem> = {}): NewItem => ({
  ...{ kind: 'extract', key, memory: 'memory_1', payload: { size: 1 }, notBefore: at(0) },
  ...of,
});
const puts = (db: Db, item: NewItem, seconds = 0) => db.write((sql) => put(sql, item, at(seconds)));
const claims = (db: Db, seconds = 0, of: { owner?: string; machine?: string; kinds?: JobKind[] } = {}) =>
  claim(db, { owner: 'a:1:', machine: HERE, kinds: ALL, ...of, now: at(seconds) });
const failed = (code: ErrorCode, more: object = {}) => ({
  outcome: 'failed',
  error: { code, message: `It was ${code}.` },
  ...more,
});

async function claimed(db: Db, seconds = 0): Promise<Item> {
  const item = await claims(db, seconds);
  if (!item) throw new Error('nothing is due');
  return item;
}

async function rowOf(db: Db, key: string): Promise<InboxRow | undefined> {
  return (await listWork(db)).find((row) => row.key === key);
}

describe.each(ENGINES)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('what a person waits for goes first, then what is learned in the order it came, then what sorts it', () =>
    inWorld(engine, async ({ db }) => {
      await puts(db, work('memory_2', { kind: 'dream', memory: 'memory_2' }));
      await puts(db, work('first'));
      await puts(db, work('second'));
      await puts(db, work('later', { notBefore: at(1) }));
      await puts(db, work('asked', { priority: PRIORITY.person }));
      const order: string[] = [];
      for (let item = await claims(db); item; item = await claims(db)) order.push(item.key);
      expect(order).toEqual(['asked', 'first', 'second', 'memory_2']);
      expect((await claims(db, 1))?.key).toBe('later');
    }));

  it('a dream waits while an extraction of its memory is due or worked, and not for those of others or for later ones', () =>
    inWorld(engine, async ({ db }) => {
      await puts(db, work('memory_1', { kind: 'dream' }));
      await puts(db, work('s1', { notBefore: at(10) }));
      await puts(db, work('other', { memory: 'memory_2' }));
      const [other, early] = [await claimed(db), await claimed(db)];
      expect([other.key, early.key]).toEqual(['other', 'memory_1']);
      await giveBack(db, early);
      const due = await claimed(db, 10);
      expect(due.key).toBe('s1');
      expect(await claims(db, 11)).toBeNull();
      await settle(db, due, { outcome: 'extracted' }, { now: at(12) });
      expect((await claims(db, 12))?.key).toBe('memory_1');
    }));

  it('of one tenant ten thousand items stand behind one of another, and who comes late has saved up no turns', () =>
    inWorld(engine, async ({ db }) => {
      for (let n = 0; n < 50; n += 1) await puts(db, work(`many ${n}`, { tenant: 'many' }));
      // As many as it takes to see that nobody counts them.
      await db.run('update tenant set turn = 10000');
      await db.run("update inbox set turn = turn + 9950 where key <> 'many 0'");
      await puts(db, work('one', { tenant: 'one' }));
      expect([(await claimed(db)).key, (await claimed(db)).key].sort()).toEqual(['many 0', 'one']);
      const next = await claimed(db);
      await settle(db, next, { outcome: 'extracted' }, { now: at(0) });
      for (let n = 0; n < 3; n += 1) await puts(db, work(`late ${n}`, { tenant: 'late' }));
      const order = [];
      for (let n = 0; n < 4; n += 1) order.push((await claimed(db)).key.split(' ')[0]);
      expect(order).toEqual(['many', 'late', 'many', 'late']);
    }));

  it('news of what waits is merged into it, and counts from when it began to wait', () =>
    inWorld(engine, async ({ db }) => {
      await puts(db, work('s1', { payload: { size: 1, instructions: 'Only dates.' } }));
      await puts(db, work('s1', { payload: { size: 2, ended: true }, notBefore: at(40) }), 10);
      const row = await rowOf(db, 's1');
      expect(row).toMatchObject({ news: 2, since: at(0).toISOString(), not_before: at(40).toISOString() });
      expect(JSON.parse(row?.payload ?? '')).toEqual({ size: 2, ended: true, instructions: 'Only dates.' });
    }));

  it('news that came while something was worked is worked again, once, however it ended', () =>
    inWorld(engine, async ({ db }) => {
      for (const ending of [{ outcome: 'extracted' }, failed('bad-input')]) {
        await puts(db, work('s1'));
        const item = await claimed(db);
        await puts(db, work('s1', { payload: { size: 2 }, notBefore: at(30) }), 10);
        await puts(db, work('s1', { payload: { size: 3 }, notBefore: at(40) }), 20);
        expect(await settle(db, item, ending, { now: at(25) })).toMatchObject({ state: 'waits' });
        const again = await claimed(db, 200);
        expect(again).toMatchObject({ key: 's1', payload: { size: 3 }, attempts: 0, since: at(20).toISOString() });
        expect(await settle(db, again, { outcome: 'extracted' }, { now: at(201) })).toEqual({ state: 'done' });
        expect(await listWork(db)).toEqual([]);
      }
    }));

  it('tries are given back, and what was given up waits again, where there is more of it; the same again changes nothing', () =>
    inWorld(engine, async ({ db }) => {
      await puts(db, work('s1'));
      await settle(db, await claimed(db), failed('bad-reply'), { now: at(0) });
      const waits = await rowOf(db, 's1');
      await puts(db, work('s1'), 5);
      expect(await rowOf(db, 's1')).toEqual({ ...waits, news: 2 });
      await puts(db, work('s1', { payload: { size: 2 }, notBefore: at(6) }), 6);
      expect(await rowOf(db, 's1')).toMatchObject({ attempts: 0, code: null, not_before: at(6).toISOString() });
      await settle(db, await claimed(db, 6), failed('unknown-format'), { now: at(7) });
      await puts(db, work('s1', { payload: { size: 2 } }), 8);
      expect(await rowOf(db, 's1')).toMatchObject({ state: 'failed', code: 'unknown-format' });
      expect(await claims(db, 9_000)).toBeNull();
      await puts(db, work('s1', { payload: { size: 3 } }), 9);
      expect(await claims(db, 9)).toMatchObject({ key: 's1', state: 'waiting', attempts: 0 });
    }));

  it.each([
    ['bad-input', ['failed'], 0],
    ['bad-reply', ['waits', 'waits', 'failed'], 3],
    ['server-error', [...Array<string>(7).fill('waits'), 'failed'], 8],
    ['no-model', Array<string>(12).fill('waits'), 0],
    ['ceiling', Array<string>(12).fill('waits'), 0],
    ['database-unavailable', Array<string>(12).fill('waits'), 0],
  ] as [ErrorCode, string[], number][])('%s is tried as its rule says: %j', (code, states, attempts) =>
    inWorld(engine, async ({ db }) => {
      await puts(db, work('s1'));
      let seconds = 0;
      const seen: string[] = [];
      for (const _ of states) {
        const item = await claimed(db, seconds);
        const settled = await settle(db, item, failed(code), { now: at(seconds) });
        seen.push(settled.state);
        if (settled.state !== 'waits') continue;
        expect(await claims(db, seconds)).toBeNull();
        expect(Date.parse(settled.until)).toBeGreaterThan(at(seconds).getTime());
        seconds = (Date.parse(settled.until) - START) / 1000;
      }
      expect(seen).toEqual(states);
      const row = await rowOf(db, 's1');
      expect(row).toMatchObject({ code, error: `It was ${code}.`, owner: null, failures: states.length });
      expect(row?.attempts).toBe(attempts || (states.at(-1) === 'failed' ? 1 : 0));
    }),
  );

  it('progress begins the count anew, the one that tries for all uses up no try, and a job may give up by itself', () =>
    inWorld(engine, async ({ db }) => {
      await puts(db, work('s1'));
      const end = async (ending: object, isProbe = false) => {
        await retryAll(db);
        return settle(db, await claimed(db), failed('bad-reply', ending), { now: at(0), isProbe });
      };
      const retryAll = (to: Db) => to.run('update inbox set not_before = ?', at(0).toISOString());
      await end({});
      await end({});
      await end({ progress: 3 });
      expect(await rowOf(db, 's1')).toMatchObject({ attempts: 1, failures: 1 });
      await end({}, true);
      expect(await rowOf(db, 's1')).toMatchObject({ attempts: 1, failures: 2 });
      expect(await end({ isGivenUp: true })).toEqual({ state: 'failed' });
    }));

  it('a session that goes on is worked again when it says, and that is no failure', () =>
    inWorld(engine, async ({ db }) => {
      await puts(db, work('s1'));
      const settled = await settle(db, await claimed(db), { outcome: 'extracted', again: at(1800) }, { now: at(1) });
      expect(settled).toEqual({ state: 'waits', until: at(1800).toISOString(), news: 1 });
      expect(await rowOf(db, 's1')).toMatchObject({ failures: 0, code: null, owner: null });
    }));

  it('a claim that runs out is taken over; the late one renews, commits and settles nothing any more', () =>
    inWorld(engine, async ({ db, memories, store }) => {
      const { row, files } = await store();
      await puts(db, work('s1'));
      const late = await claimed(db);
      expect(await claims(db, 59)).toBeNull();
      expect(await renew(db, late, { now: at(30) })).toBe(true);
      expect(await claims(db, 89)).toBeNull();
      const other = await claimed(db, 91);
      expect(other.fence).toBe(late.fence + 1);
      expect(await renew(db, late, { now: at(92) })).toBe(false);
      const by = { job: 'job_1', actor: { kind: 'job', id: 'job_1' }, claim: late } as const;
      const writing = commit(memories, { memory: row.id, paths: ['a.md'] }, by, async () => ({
        files: [{ path: 'a.md', make: () => 'late\n' }],
      }));
      await expect(writing).rejects.toMatchObject({ code: 'fenced' });
      expect(await files.read({ path: 'a.md' })).toBeNull();
      expect(await settle(db, late, { outcome: 'extracted' }, { now: at(93) })).toEqual({ state: 'fenced' });
      await giveBack(db, late);
      expect(await renew(db, other, { now: at(94) })).toBe(true);
      expect(await settle(db, other, { outcome: 'extracted' }, { now: at(95) })).toEqual({ state: 'done' });
    }));

  it('a person’s command takes what waits, what is new and what was given up, and is told who else works on it', () =>
    inWorld(engine, async ({ db }) => {
      const takes = (key: string, owner = 'b:77:', payload = {}) =>
        take(db, { owner, item: { kind: 'extract', key, payload, memory: 'memory_1' }, now: at(1) });
      await puts(db, work('waits', { notBefore: at(900) }));
      expect(await takes('waits', 'b:77:', { ended: true })).toMatchObject({ payload: { size: 1, ended: true } });
      const made = await takes('new');
      await puts(db, work('worked'));
      await claims(db, 0, { owner: 'laptop:123:99' });
      const before = await rowOf(db, 'worked');
      const refused = takes('worked', 'b:77:', { size: 9 });
      await expect(refused).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringMatching(/123 on laptop/),
      });
      expect(await rowOf(db, 'worked')).toEqual(before);
      expect(await settle(db, made, failed('bad-input'), { now: at(2) })).toEqual({ state: 'failed' });
      expect(await takes('new')).toMatchObject({ state: 'waiting', attempts: 0, code: null });
      // Who took it was killed: once the claim runs out a worker goes on.
      expect(await claims(db, 62)).toMatchObject({ key: 'waits', priority: PRIORITY.person });
    }));

  it('what is of another machine, or of a kind that may not be worked now, is not claimed', () =>
    inWorld(engine, async ({ db }) => {
      await puts(db, work('elsewhere', { machine: 'machine_2' }));
      await puts(db, work('dreamt', { kind: 'dream', memory: 'memory_9' }));
      expect(await claims(db, 0, { kinds: ['extract'] })).toBeNull();
      expect(await claims(db, 0, { kinds: [] })).toBeNull();
      expect(await claims(db, 0, { kinds: ['extract'], machine: 'machine_2' })).toMatchObject({ key: 'elsewhere' });
    }));

  it('the next instant at which something is due is told, whatever is worked meanwhile', () =>
    inWorld(engine, async ({ db }) => {
      const next = (seconds: number, after?: Date) => nextDue(db, { machine: HERE, now: at(seconds), after });
      expect(await next(0)).toBeNull();
      await puts(db, work('s1'));
      await puts(db, work('s2', { notBefore: at(30) }));
      await puts(db, work('elsewhere', { machine: 'machine_2', notBefore: at(5) }));
      expect(await next(1)).toEqual(at(0));
      expect(await next(1, at(1))).toEqual(at(30));
      await claimed(db);
      expect(await next(1)).toEqual(at(30));
      expect(await next(61)).toEqual(at(0));
    }));

  it('news of a session waits until it is quiet, comes no more often than its pace, and a person’s ask waits for neither', () =>
    inWorld(engine, async ({ db }) => {
      const pace = { debounceMs: 30_000, throttleMs: 300_000 };
      const news = (seconds: number, more: object = {}) =>
        db.write((sql) => announce(sql, work('s1'), { now: at(seconds), ...pace, ...more }));
      const dueAfter = async (seconds: number, more: object = {}) =>
        (Date.parse((await news(seconds, more)).notBefore) - START) / 1000;
      expect(await dueAfter(0)).toBe(30);
      expect(await dueAfter(20)).toBe(50);
      expect(await dueAfter(290)).toBe(300);
      await db.run('delete from inbox');
      await beginJob(db, { kind: 'extract', session: 's1', startedBy: 'hook', at: at(0).toISOString() });
      expect(await dueAfter(60)).toBe(300);
      expect(await dueAfter(100, { isLast: true })).toBe(130);
      expect(await dueAfter(100, { debounceMs: 0, throttleMs: 0 })).toBe(100);
    }));

  it('what failed is listed, retried and dismissed, and what is dismissed while it is worked commits nothing', () =>
    inWorld(engine, async ({ db }) => {
      await puts(db, work('s1'));
      await puts(db, work('s2', { memory: 'memory_2' }));
      await settle(db, await claimed(db), failed('unknown-format'), { now: at(0) });
      expect((await listWork(db)).map(({ key, state }) => `${key} ${state}`)).toEqual(['s2 waiting', 's1 failed']);
      const [given] = await listWork(db, { memory: 'memory_1' });
      expect(await retry(db, [given?.id ?? 0], at(1))).toBe(1);
      const item = await claimed(db, 1);
      expect(item).toMatchObject({ key: 's1', attempts: 0 });
      expect(await retry(db, [item.id], at(2))).toBe(0);
      expect(await dismiss(db, item.id)).toBe(true);
      expect(await settle(db, item, { outcome: 'extracted' }, { now: at(2) })).toEqual({ state: 'fenced' });
      expect(await dismiss(db, item.id)).toBe(false);
    }));

  it('what waits for a key or a ceiling is due once that is another, and nothing else', () =>
    inWorld(engine, async ({ db }) => {
      for (const code of ['no-model', 'ceiling', 'network'] as const) {
        await puts(db, work(code));
        await settle(db, await claimed(db), failed(code), { now: at(0) });
      }
      await db.run('update inbox set not_before = ?', at(500).toISOString());
      expect(await release(db, ['ceiling'], at(1))).toBe(1);
      expect((await claims(db, 1))?.key).toBe('ceiling');
      expect(await claims(db, 1)).toBeNull();
    }));

  it('a clock that goes back an hour holds nothing up: what waited goes on waiting as long as it had to', () =>
    inWorld(engine, async ({ db }) => {
      await puts(db, work('due'), 3600);
      await puts(db, work('soon', { notBefore: at(3630) }), 3600);
      await puts(db, work('before', { notBefore: at(20) }));
      await followClock(db, at(0));
      const waits = Object.fromEntries(
        (await listWork(db)).map((row) => [row.key, Date.parse(row.not_before) - START]),
      );
      expect(waits).toEqual({ due: 0, soon: 30_000, before: 20_000 });
      await followClock(db, at(0));
      expect((await rowOf(db, 'soon'))?.not_before).toBe(at(30).toISOString());
    }));

  it('what a dead process of this machine held is free at once, whatever the clock says', () =>
    inWorld(engine, async ({ db }) => {
      await puts(db, work('s1'));
      await puts(db, work('s2'));
      await claims(db, 3600, { owner: 'here:1:' });
      await claims(db, 3600, { owner: thisProcess() });
      await freeClaims(db, (owner) => owner === 'here:1:');
      expect((await claims(db, 0))?.key).toBe('s1');
      expect(await claims(db, 0)).toBeNull();
    }));
});
