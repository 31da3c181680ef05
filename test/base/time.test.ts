import { expect, test } from 'vitest';
import { dayOf, fixedClock, isDay, timeOf } from '../../src/base/time.ts';

test('a day is the calendar day of the zone, also where its clock changes', () => {
  expect(dayOf('2026-11-20T23:30:00Z', 'Europe/Berlin')).toBe('2026-11-21');
  expect(dayOf('2026-11-20T23:30:00Z', 'America/New_York')).toBe('2026-11-20');
  // The day of 25 hours: 00:30 twice, on one day.
  expect(
    ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z', '2026-10-25T22:59:00Z'].map((at) => dayOf(at, 'Europe/Berlin')),
  ).toEqual(Array(3).fill('2026-10-25'));
  expect(timeOf('2026-10-25T01:30:00Z', 'Europe/Berlin')).toBe('02:30');
});

test('a fixed clock stands still and cannot be moved by who reads it', () => {
  const clock = fixedClock('2026-11-20T10:00:00Z');
  clock.now().setFullYear(1999);
  expect(clock.now().toISOString()).toBe('2026-11-20T10:00:00.000Z');
});

test.each(['2026-02-30', '2026-1-1', 'yesterday', ''])('%j is no day', (text) => {
  expect(isDay(text)).toBe(false);
});
