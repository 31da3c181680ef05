import { expect, test } from 'vitest';
import { dueDay } from '../../../src/memory/text/topic.ts';

test.each([
  'Release is due by 2026-02-01.',
  'Der Vertrag endet am 2026-02-01.',
  'Hay que entregarlo antes del 2026-02-01.',
  '2026-02-01までに出荷する。',
  'A határidő 2026-02-01.',
])('a date that lay ahead is one to be met, in any language, and none once it is past: %s', (text) => {
  expect(dueDay(text, '2026-01-10')).toBe('2026-02-01');
  expect(dueDay(text, '2026-02-01')).toBeNull();
});

test.each([
  'Since 2026-02-01 the deadline is daily.',
  'Seit 2026-02-01 gilt die Frist jede Woche.',
  'À partir du 2026-02-01 la date limite est le lundi.',
  'Desde 2026-02-01 el plazo es de dos días.',
  'Dal 2026-02-01 la scadenza è mensile.',
  'Od 2026-02-01 termin jest co tydzień.',
  'С 2026-02-01 срок две недели.',
  '2026-02-01から締め切りは毎週です。',
  '2026-02-01起截止时间是周一。',
  '2026-02-01부터 마감은 월요일입니다.',
  'Always name the deadline, such as 2026-02-01.',
  'The deadline is next week.',
])('what begins or goes on, or has no date, is never over: %s', (text) => {
  expect(dueDay(text, '2026-01-10')).toBeNull();
});

test('of several dates the last is the one', () => {
  expect(dueDay('Due 2026-02-01, extended to 2026-03-01.', '2026-01-10')).toBe('2026-03-01');
});
