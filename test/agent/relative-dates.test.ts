import { describe, expect, it, test } from 'vitest';
import { findRelativeDate } from '../../src/rules/languages.ts';

describe('a relative date', () => {
  it.each([
    'The release is tomorrow.',
    'Freeze starts next Monday',
    'Decided last week to drop IE.',
    'Launch in two weeks.',
    'Started 3 days ago with Vite',
    'Tonight the migration runs',
    'Demo by Friday, then a break',
    'Report is due by the end of the month',
    'Die Abnahme ist nächste Woche',
    'Die Demo ist übermorgen',
    'La démo est demain',
    'Livraison la semaine prochaine',
    'La entrega es la próxima semana',
    'Se decidió hace 3 días',
    'リリースは来週の予定',
    '3日前に決めた',
  ])('is found in: %s', (text) => {
    expect(findRelativeDate(text)).not.toBeNull();
  });

  it.each([
    'Freeze starts on 2026-03-09.',
    'Freeze starts next Monday (2026-03-09).',
    'Demo by Friday 2026-03-06',
    'Reports go out by Friday every week',
    'Meets today’s accessibility rules',
    'Helpers live in src/today.ts and lib/tomorrow/index.ts',
    'The flag --since-yesterday and the field due_today exist',
    'Call `today()` and `in two days`',
    'The button is labelled "Today"',
    'Planning is on the last Friday of the month',
    'Answer within two days of the report',
    'Docs: https://example.org/next-week',
    'Prefers mañana in UI copy, and the word morgen',
    'The day-to-day work is Nighttime builds; todays and yesterdayish are names',
    '担当は今日子さんと明日香さん',
    'USA Todayish feeds',
  ])('is not found in: %s', (text) => {
    expect(findRelativeDate(text)).toBeNull();
  });
});

test.each([['"today" '], ['today ('], ['a'], ['```'], ['`'], ['x.y+z-'], [' '], ['1']])(
  'is looked for in linear time, also in a megabyte of %j',
  (unit) => {
    const long = `today${unit.repeat(1e6 / unit.length)}`;
    const cpu = process.cpuUsage();
    findRelativeDate(long);
    findRelativeDate(long.slice(5));
    expect(process.cpuUsage(cpu).user / 1e6).toBeLessThan(8);
  },
);
