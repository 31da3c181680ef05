// Makes the dates of an English sentence absolute, counted from the day on which it was said.
// It resolves what names one day and gives up on the rest ("next month", "soon"): a wrong date is worse than none.

import { addDays } from 'date-fns/addDays';
import { differenceInDays } from 'date-fns/differenceInDays';
import { format } from 'date-fns/format';
import { isValid } from 'date-fns/isValid';
import { parseISO } from 'date-fns/parseISO';
import type { Day } from '../../base/time.ts';
import { findRelativeDate } from '../relative-dates.ts';
import { NO_ONE_DAY } from './lexicon.ts';

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAY = `(?:${WEEKDAYS.join('|')})`;
const MONTH = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`;
const ORDINAL = '(?:st|nd|rd|th)?';
const DATE = new RegExp(
  `\\b(?:${WEEKDAY},?\\s+)?(?:the\\s+)?(?:(?<month>${MONTH})\\.?\\s+(?<day>\\d{1,2})${ORDINAL}|` +
    `(?<dayFirst>\\d{1,2})${ORDINAL}\\s+(?:of\\s+)?(?<monthLast>${MONTH}))\\b(?:,?\\s+(?<year>\\d{4}))?|` +
    '\\b(?:(?:the\\s+)?(?<near>day after tomorrow|today|tonight|tomorrow|yesterday)|in\\s+(?<days>\\d{1,3})\\s+days?|' +
    `(?<!\\b(?:every|each|every other)\\s)(?:(?<which>this|next|last|coming)\\s+)?(?<weekday>${WEEKDAY}))\\b`,
  'gi',
);
const DAYS_AHEAD: Record<string, number> = { yesterday: -1, tomorrow: 1, 'day after tomorrow': 2 };
const RECENT_DAYS = 60;
const NEXT_YEAR_DAYS = 240;

type Groups = Record<string, string | undefined>;

/** The text with its dates absolute, or null where one cannot be told. `said` is absent where its day is not known. */
export function resolveDates(text: string, said: Day | undefined): string | null {
  const origin = said === undefined ? null : parseISO(said);
  let isLost = false;
  const resolved = text.replace(DATE, (...match) => {
    const groups = match.at(-1) as Groups;
    const date = groups.day || groups.dayFirst ? calendarDate(groups, origin) : origin && namedDate(groups, origin);
    if (date !== null && isValid(date)) return format(date, 'yyyy-MM-dd');
    isLost = true;
    return String(match[0]);
  });
  return isLost || NO_ONE_DAY.test(resolved) || findRelativeDate(resolved) !== null ? null : resolved;
}

function calendarDate({ month, monthLast = '', day, dayFirst = '', year }: Groups, origin: Date | null): Date | null {
  const number = String(MONTHS.indexOf((month ?? monthLast).slice(0, 3).toLowerCase()) + 1);
  const inYear = (of: number) => parseISO(`${of}-${number.padStart(2, '0')}-${(day ?? dayFirst).padStart(2, '0')}`);
  if (year !== undefined || origin === null) return year === undefined ? null : inYear(Number(year));
  const date = inYear(origin.getFullYear());
  const daysAgo = differenceInDays(origin, date);
  // Without a year, a day long gone is next year's: in December one speaks of the coming January. Between, who knows.
  if (daysAgo > NEXT_YEAR_DAYS) return inYear(origin.getFullYear() + 1);
  return daysAgo > RECENT_DAYS ? null : date;
}

function namedDate({ near, days, which = '', weekday = '' }: Groups, origin: Date): Date | null {
  if (days) return addDays(origin, Number(days));
  if (near) return addDays(origin, DAYS_AHEAD[near.toLowerCase()] ?? 0);
  // Weeks begin on Monday.
  const ahead = WEEKDAYS.indexOf(weekday.toLowerCase()) - ((origin.getDay() + 6) % 7);
  if (/next/i.test(which)) return addDays(origin, ahead + 7);
  if (/last/i.test(which)) return addDays(origin, ahead < 0 ? ahead : ahead - 7);
  // "Friday", said on a Friday, is today or in a week.
  return ahead === 0 ? null : addDays(origin, ahead < 0 ? ahead + 7 : ahead);
}
