// Whether a line speaks of a date by which something is to be met, in the languages that people keep notes in. Only such
// a date can pass; one that something began on, holds from, or merely happened on never does.
// Promise: a line that it does not understand has no such date, so that nothing is put away for a word in a language that
// is not here. Dates are ISO dates, since entries hold no others (agent/relative-dates.ts).

import { type Day, isDay } from '../../base/time.ts';

/** Words, and the beginnings of words with a `*`, that make a date one to be met. */
const TO_BE_MET = [
  'deadline* due expire expires expiry freeze scheduled planned',
  'frist* fällig* geplant* stichtag',
  'échéance* date…limite expire* prévu* au…plus…tard',
  'fecha…límite plazo* vence* caduca* previst* programad*',
  'scadenza scade* previst* termine…ultimo',
  'prazo* vence* expira* agendad*',
  'uiterlijk* verloopt gepland* vervaldatum uiterste',
  'termin* wygasa* zaplanowan* najpóźniej',
  'срок* истека* дедлайн* запланирован* крайний',
  'förfaller senast planerad* tidsfrist',
  '締め切り* 締切* 期限* 截止* 到期* 限期* 마감* 기한* 만료*',
];
/** Words right before the date, at most one other between, that make it the last day. */
const UNTIL = [
  'by before until till end ends',
  'bis vor endet',
  "avant jusqu’au jusqu'au",
  'antes…del antes…de hasta hasta…el',
  'entro entro…il fino…al prima…del',
  'até até…o antes…de',
  'vóór tot',
  'do przed',
  'до к',
  'före innan till',
];
/** Behind the date, where those languages put it. */
const BEHIND = ['まで', 'までに', '之前', '以前', '前', '까지'];
/** Words by which something goes on, begins or stays open, whatever else is said. */
const GOES_ON = [
  'since from starting as…of onwards always never every open',
  'seit ab immer nie jede* offen',
  'depuis dès à…partir toujours jamais chaque',
  'desde a…partir siempre nunca cada',
  'dal dalla da…quando sempre mai ogni a…decorrere',
  'sinds vanaf altijd nooit elke',
  'od zawsze nigdy każd*',
  'с начиная всегда никогда кажд*',
  'sedan från alltid aldrig varje',
  '以来* 以降* から* いつも* 自 起 始终* 总是* 부터* 항상*',
];

const ANY_TO_BE_MET = pattern(TO_BE_MET);
const ANY_GOES_ON = pattern(GOES_ON);
const DATE = String.raw`\d{4}-\d{2}-\d{2}`;
const RIGHT_BEFORE = new RegExp(String.raw`${pattern(UNTIL).source}\s(?:[\p{L}.]+\s)?${DATE}`, 'iu');
const RIGHT_BEHIND = new RegExp(String.raw`${DATE}\s?(?:${BEHIND.join('|')})`, 'u');

/** The last date of a text that speaks of something to be met by then; null for none, or where it begins or goes on. */
export function dueDay(text: string): Day | null {
  const isToBeMet = ANY_TO_BE_MET.test(text) || RIGHT_BEFORE.test(text) || RIGHT_BEHIND.test(text);
  if (!isToBeMet || ANY_GOES_ON.test(text)) return null;
  return (text.match(new RegExp(String.raw`(?<!\d)${DATE}(?!\d)`, 'g')) ?? []).filter(isDay).sort().at(-1) ?? null;
}

/** Any of the words, as whole words; in scripts without spaces wherever they stand. */
function pattern(lists: string[]): RegExp {
  const words = lists
    .flatMap((list) => list.split(' '))
    .map((word) => {
      const plain = word.replace('*', '').replaceAll('…', String.raw`\s(?:[\p{L}]+\s){0,3}?`);
      if (/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u.test(plain)) return plain;
      return String.raw`(?<!\p{L})${plain}${word.endsWith('*') ? '' : String.raw`(?!\p{L})`}`;
    });
  return new RegExp(`(?:${words.join('|')})`, 'iu');
}
