import { expect, test } from 'vitest';
import { dueDay } from '../../../src/memory/text/topic.ts';

test.each([
  'Release is due by 2026-02-01.',
  'The code freeze is on 2026-02-01.',
  'Ship it before Monday 2026-02-01.',
  'Die Frist endet am 2026-02-01.',
  'Das Angebot gilt bis 2026-02-01.',
  'Der Vertrag endet am 2026-02-01.',
  'L’échéance est le 2026-02-01.',
  'La date limite est 2026-02-01.',
  'À livrer avant le 2026-02-01.',
  'El plazo termina el 2026-02-01.',
  'Hay que entregarlo antes del 2026-02-01.',
  'La scadenza è 2026-02-01.',
  'Da consegnare entro il 2026-02-01.',
  'O prazo é 2026-02-01.',
  'Entregar até 2026-02-01.',
  'Uiterlijk 2026-02-01 opleveren.',
  'Termin oddania to 2026-02-01.',
  'Срок сдачи 2026-02-01.',
  'Сдать до 2026-02-01.',
  'Senast 2026-02-01 ska den vara klar.',
  'リリースの締め切りは2026-02-01です。',
  '2026-02-01までに出荷する。',
  '截止日期是2026-02-01。',
  '마감일은 2026-02-01입니다.',
])('a date that is to be met is one in any of these languages: %s', (text) => {
  expect(dueDay(text)).toBe('2026-02-01');
});

test.each([
  'The incident was on 2026-02-01.',
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
  'Ezt 2026-02-01 napján döntöttük el.',
  'The residue of 2026-02-01 is in the archive.',
  'The deadline is next week.',
])('what began, goes on, happened or is not understood has none: %s', (text) => {
  expect(dueDay(text)).toBeNull();
});

test('of several dates the last is the one', () => {
  expect(dueDay('Moved from the deadline… no: due 2026-02-01, then 2026-03-01.')).toBeNull();
  expect(dueDay('Due 2026-02-01, extended to 2026-03-01.')).toBe('2026-03-01');
});
