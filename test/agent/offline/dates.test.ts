import { expect, test } from 'vitest';
import { resolveDates } from '../../../src/agent/offline/statements.ts';

/** 2026-10-07 is a Wednesday. */
test.each([
  ['today', '2026-10-07'],
  ['the day after tomorrow', '2026-10-09'],
  ['in 3 days', '2026-10-10'],
  ['on Friday', 'on 2026-10-09'],
  ['last Friday', '2026-10-02'],
  ['this Sunday', '2026-10-11'],
  ['next Friday', '2026-10-16'],
  ['next Monday', '2026-10-12'],
  ['by Oct. 3rd', 'by 2026-10-03'],
  ['Sunday, October 11', '2026-10-11'],
  ['the 3rd of November 2027', '2027-11-03'],
  ['12 January', '2027-01-12'],
  ['every Friday', 'every Friday'],
  ['on Fridays', 'on Fridays'],
  ['on 2026-10-09', 'on 2026-10-09'],
])('%s, said on 2026-10-07, is %s', (phrase, expected) => {
  expect(resolveDates(phrase, '2026-10-07')).toBe(expected);
});

test.each([
  'on Wednesday',
  'next week',
  'in two weeks',
  'end of the month',
  'by 10/12',
  'soon',
  'February 30',
  'on May 5',
])('%s, said on 2026-10-07, names no one day', (phrase) => {
  expect(resolveDates(phrase, '2026-10-07')).toBeNull();
});

test('where the day of the message is not known, only whole dates hold', () => {
  expect(resolveDates('on Friday', undefined)).toBeNull();
  expect(resolveDates('on October 9', undefined)).toBeNull();
  expect(resolveDates('on October 9, 2026', undefined)).toBe('on 2026-10-09');
});
