import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  announceInInbox,
  finishInboxItem,
  inboxItem,
  inboxItems,
  noteSkip,
  noteWork,
  postponeInboxItem,
  putInInbox,
  skips,
} from '../../../src/memory/ledger/inbox.ts';
import { openLedger } from '../../../src/memory/ledger/ledger.ts';
import { tempDir } from '../../support/temp.ts';

const notBefore = '2026-11-20T10:00:00.000Z';
const put = (ledger: ReturnType<typeof openLedger>, payload: object) =>
  putInInbox(ledger, { kind: 'extract', key: 's', payload, notBefore });

test('new input for a key that waits replaces it and gives its attempts back', () => {
  const ledger = openLedger(tempDir());
  put(ledger, { n: 1 });
  const first = inboxItem(ledger, 'extract', 's');
  postponeInboxItem(ledger, first?.id ?? 0, { notBefore, attempts: 2, failure: 'refused' });
  expect(inboxItem(ledger, 'extract', 's')).toMatchObject({ attempts: 2, failure: 'refused' });
  put(ledger, { n: 2 });
  expect(inboxItems(ledger)).toMatchObject([{ payload: { n: 2 }, attempts: 0, failure: null }]);
});

test('input that comes while the key is worked survives the end of that work', () => {
  const ledger = openLedger(tempDir());
  put(ledger, { n: 1 });
  const working = inboxItem(ledger, 'extract', 's');
  put(ledger, { n: 2 });
  finishInboxItem(ledger, working?.id ?? 0);
  expect(inboxItem(ledger, 'extract', 's')).toMatchObject({ payload: { n: 2 } });
});

test('extractions come before what builds on them', () => {
  const ledger = openLedger(tempDir());
  for (const kind of ['dream', 'reprocess', 'extract'] as const)
    putInInbox(ledger, { kind, key: 'k', payload: {}, notBefore });
  expect(inboxItems(ledger).map((item) => item.kind)).toEqual(['extract', 'reprocess', 'dream']);
});

const minute = (n: number) => new Date(Date.parse('2026-11-20T10:00:00Z') + n * 60_000);
const news = (ledger: ReturnType<typeof openLedger>, atMinute: number, payload: object = {}) =>
  announceInInbox(
    ledger,
    { kind: 'extract', key: 's', payload },
    { now: minute(atMinute), debounceMs: 60_000, throttleMs: 5 * 60_000 },
  );
const work = (ledger: ReturnType<typeof openLedger>, atMinute: number) =>
  noteWork(ledger, { kind: 'extract', key: 's', now: minute(atMinute) });

test('work that a clock ahead of its time began holds no news back', () => {
  const ledger = openLedger(tempDir());
  work(ledger, 500_000);
  const pace = { now: minute(0), clockAt: minute(0.1), debounceMs: 60_000, throttleMs: 5 * 60_000 };
  const dueAt = announceInInbox(ledger, { kind: 'extract', key: 's', payload: {} }, pace);
  expect(dueAt).toBe(minute(1).toISOString());
});

test('news wait until no more came for a while, but not for ever', () => {
  const ledger = openLedger(tempDir());
  const due = [0, 0.5, 1, 1.9, 2.8, 3.7, 4.5, 4.9].map((at) => news(ledger, at));
  const expected = [1, 1.5, 2, 2.9, 3.8, 4.7, 5, 5];
  expect(due).toEqual(expected.map((at) => minute(at).toISOString()));
  expect(inboxItems(ledger)).toHaveLength(1);
});

test('a session that was just worked is not worked again before its time', () => {
  const ledger = openLedger(tempDir());
  news(ledger, 0);
  work(ledger, 1);
  finishInboxItem(ledger, inboxItem(ledger, 'extract', 's')?.id ?? 0);
  expect(news(ledger, 2)).toBe(minute(6).toISOString());
  expect(news(ledger, 4.9)).toBe(minute(6).toISOString());
  expect(news(ledger, 5.9)).toBe(minute(6.9).toISOString());
  expect(news(ledger, 30)).toBe(minute(30).toISOString());
});

test('news give attempts back and keep what a person asked for', () => {
  const ledger = openLedger(tempDir());
  put(ledger, { instructions: 'Only facts.', ended: true });
  const asked = inboxItem(ledger, 'extract', 's');
  postponeInboxItem(ledger, asked?.id ?? 0, { notBefore: minute(90).toISOString(), attempts: 2, failure: 'refused' });
  news(ledger, 10, { ended: false });
  expect(inboxItems(ledger)).toMatchObject([
    { attempts: 0, failure: null, payload: { instructions: 'Only facts.', ended: false } },
  ]);
});

test('whatever comes when: never twice within the throttle, never held back longer than the longer span', () => {
  const step = fc.record({ waitMs: fc.integer({ min: 0, max: 200_000 }), isWork: fc.boolean() });
  const spans = fc.record({
    debounceMs: fc.integer({ min: 0, max: 120_000 }),
    throttleMs: fc.integer({ min: 0, max: 300_000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), spans, (steps, { debounceMs, throttleMs }) => {
      const ledger = openLedger(tempDir());
      let now = minute(0).getTime();
      let workedAt = Number.NEGATIVE_INFINITY;
      let firstNewsAt: number | undefined;
      let lastNewsAt = 0;
      for (const { waitMs, isWork } of steps) {
        now += waitMs;
        const item = inboxItem(ledger, 'extract', 's');
        if (isWork && item && Date.parse(item.notBefore) <= now) {
          expect(now - workedAt).toBeGreaterThanOrEqual(throttleMs);
          const patience = (firstNewsAt ?? 0) + Math.max(debounceMs, throttleMs);
          expect(Date.parse(item.notBefore)).toBeLessThanOrEqual(Math.max(patience, lastNewsAt));
          noteWork(ledger, { kind: 'extract', key: 's', now: new Date(now) });
          finishInboxItem(ledger, item.id);
          workedAt = now;
          firstNewsAt = undefined;
        } else {
          firstNewsAt ??= now;
          lastNewsAt = now;
          const pace = { now: new Date(now), debounceMs, throttleMs };
          announceInInbox(ledger, { kind: 'extract', key: 's', payload: {} }, pace);
        }
      }
      ledger.close();
    }),
    { numRuns: 60 },
  );
});

test('what is left out on purpose is counted by its reason', () => {
  const ledger = openLedger(tempDir());
  for (const at of [1, 2]) noteSkip(ledger, { kind: 'dream', reason: 'too soon', now: minute(at) });
  noteSkip(ledger, { kind: 'dream', reason: 'too few', now: minute(3) });
  expect(skips(ledger)).toEqual([
    { kind: 'dream', reason: 'too few', times: 1, at: minute(3).toISOString() },
    { kind: 'dream', reason: 'too soon', times: 2, at: minute(2).toISOString() },
  ]);
});
