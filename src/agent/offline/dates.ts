// Makes the dates of a sentence absolute, counted from the day on which it was said: English ones, and a day and month in
// five other languages.
// It resolves what names one day and gives up on the rest ("next month", "soon"): a wrong date is worse than none.

import { addDays } from 'date-fns/addDays';
import { addYears } from 'date-fns/addYears';
import { differenceInDays } from 'date-fns/differenceInDays';
import { format } from 'date-fns/format';
import { getISODay } from 'date-fns/getISODay';
import { isValid } from 'date-fns/isValid';
import { parseISO } from 'date-fns/parseISO';
import { startOfISOWeek } from 'date-fns/startOfISOWeek';
import type { Day } from '../../base/time.ts';
import { findRelativeDate } from '../relative-dates.ts';

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** In the order of the year, without accents. */
const MONTHS_ELSEWHERE = [
  'januar|janvier|enero|gennaio',
  'februar|fevrier|febrero|febbraio',
  'marz|mars|marzo',
  'april|avril|abril|aprile',
  'mai|mayo|maggio',
  'juni|juin|junio|giugno',
  'juli|juillet|julio|luglio',
  'august|aout|agosto',
  'september|septembre|septiembre|settembre',
  'oktober|octobre|octubre|ottobre',
  'november|novembre|noviembre',
  'dezember|decembre|diciembre|dicembre',
];
const WEEKDAY = `(?:${WEEKDAYS.join('|')})`;
const MONTH =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
const YEAR = '(?:,?\\s+(?<year>\\d{4}))?';
const RECENT_DAYS = 60;
const NEXT_YEAR_DAYS = 240;
const ORDINAL = '(?:st|nd|rd|th)?';

const MONTH_DAY = new RegExp(
  `\\b(?:${WEEKDAY},?\\s+)?(?:the\\s+)?(?:(?<month>${MONTH})\\.?\\s+(?<day>\\d{1,2})${ORDINAL}|` +
    `(?<dayFirst>\\d{1,2})${ORDINAL}\\s+(?:of\\s+)?(?<monthLast>${MONTH}))\\b${YEAR}`,
  'gi',
);
const DAY_ELSEWHERE =
  /(?<![\p{L}\p{N}.,:/])(?<day>\d{1,2})(?:\.|er|º|°)?\s+(?:de\s+|di\s+)?(?<monthName>\p{L}{3,10})(?:\s+(?:de\s+)?(?<year>\d{4}))?(?![\p{L}\p{N}])/giu;
const JAPANESE_DAY = /(?:(?<year>\d{4})年)?(?<monthNumber>\d{1,2})月(?<day>\d{1,2})日/gu;
const NAMED_DAY = new RegExp(
  '\\b(?:(?:the\\s+)?(?<overmorrow>day after tomorrow)|(?<near>today|tonight|tomorrow|yesterday)|in\\s+(?<days>\\d{1,3})\\s+days?|' +
    `(?<!\\b(?:every|each|every other)\\s)(?:(?<which>this|next|last|coming)\\s+)?(?<weekday>${WEEKDAY}))\\b`,
  'gi',
);
/** What names no day and passes `findRelativeDate`, since a rule may well say it. */
const UNRESOLVED =
  /\b(?:soon|shortly|(?:next|this|last|coming) (?:sprint|release)|(?:end|start|middle) of (?:the |next |this )?(?:week|month|quarter|year|sprint)|\d{1,2}\/\d{1,2}(?:\/\d{2,4})?)\b/i;
const ABSOLUTE = /\b\d{4}-\d{2}-\d{2}\b/;

/** The text with its dates absolute, or null where one cannot be told. `said` is absent where its day is not known. */
export function resolveDates(text: string, said: Day | undefined): string | null {
  const origin = said === undefined ? null : parseISO(said);
  let isLost = false;
  const settle = (date: Date | null, phrase: string): string => {
    if (date !== null && isValid(date)) return format(date, 'yyyy-MM-dd');
    isLost = true;
    return phrase;
  };
  const resolved = text
    .replace(MONTH_DAY, (...match) => settle(calendarDate(groupsOf(match), origin), match[0]))
    .replace(DAY_ELSEWHERE, (...match) => {
      const groups = groupsOf(match);
      return monthOf(groups) === 0 ? match[0] : settle(calendarDate(groups, origin), match[0]);
    })
    .replace(JAPANESE_DAY, (...match) => settle(calendarDate(groupsOf(match), origin), match[0]))
    .replace(NAMED_DAY, (...match) => settle(origin && namedDate(groupsOf(match), origin), match[0]));
  return isLost || UNRESOLVED.test(resolved) || hasRelativeDate(resolved) ? null : resolved;
}

/** Whether the text says a day that a later reader would misread. Days of the week are rules as often as dates. */
export function hasRelativeDate(text: string): boolean {
  return findRelativeDate(text) !== null;
}

export function hasDate(text: string): boolean {
  return ABSOLUTE.test(text);
}

function calendarDate(groups: Groups, origin: Date | null): Date | null {
  const month = monthOf(groups);
  const day = groups.day ?? groups.dayFirst ?? '';
  const year = groups.year ?? (origin && format(origin, 'yyyy'));
  if (!year) return null;
  const date = parseISO(`${year}-${String(month).padStart(2, '0')}-${day.padStart(2, '0')}`);
  const daysAgo = groups.year === undefined && origin ? differenceInDays(origin, date) : 0;
  // Without a year, a day long gone is next year's: in December one speaks of the coming January. Between, who knows.
  if (daysAgo > NEXT_YEAR_DAYS) return addYears(date, 1);
  return daysAgo > RECENT_DAYS ? null : date;
}

/** From 1; 0 for what is no month. */
function monthOf({ month, monthLast, monthName, monthNumber }: Groups): number {
  if (monthNumber) return Number(monthNumber);
  const english = (month ?? monthLast)?.slice(0, 3).toLowerCase();
  if (english) return MONTHS.indexOf(english) + 1;
  const name = (monthName ?? '').normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
  return MONTHS_ELSEWHERE.findIndex((names) => names.split('|').includes(name)) + 1;
}

function namedDate(groups: Groups, origin: Date): Date | null {
  if (groups.overmorrow) return addDays(origin, 2);
  if (groups.days) return addDays(origin, Number(groups.days));
  const near = groups.near?.toLowerCase();
  if (near) return addDays(origin, near === 'tomorrow' ? 1 : near === 'yesterday' ? -1 : 0);
  const weekday = WEEKDAYS.indexOf((groups.weekday ?? '').toLowerCase()) + 1;
  const which = groups.which?.toLowerCase();
  if (which === 'next') return addDays(startOfISOWeek(origin), 6 + weekday);
  const ahead = (weekday - getISODay(origin) + 7) % 7;
  if (which === 'last') return addDays(origin, ahead - 7);
  // "Friday", said on a Friday, is today or in a week.
  return ahead === 0 ? null : addDays(origin, ahead);
}

type Groups = Record<string, string | undefined>;

function groupsOf(match: unknown[]): Groups {
  return match.at(-1) as Groups;
}
