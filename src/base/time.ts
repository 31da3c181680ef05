// The only place that asks what time it is, and the only place that knows time zones.
// Instants are ISO-8601 UTC strings; a Day is a calendar day (YYYY-MM-DD) in the configured zone.

import { TZDate } from '@date-fns/tz';
// By function: the package's index is three hundred modules, which cost Node over a second to load.
import { addDays } from 'date-fns/addDays';
import { format } from 'date-fns/format';
import { isValid } from 'date-fns/isValid';
import { parseISO } from 'date-fns/parseISO';
import { startOfDay } from 'date-fns/startOfDay';

export const DAY_MS = 86_400_000;

/** A calendar day, `YYYY-MM-DD`, in the configured time zone. */
export type Day = string;

/** Contract: `now()` never throws. Tests pass a fixed one; everything else passes `systemClock`. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** A clock that stands still at `instant` (ISO-8601). */
export function fixedClock(instant: string): Clock {
  const at = parseISO(instant);
  if (!isValid(at)) throw new RangeError(`not an ISO-8601 instant: ${instant}`);
  return { now: () => new Date(at) };
}

export function isInstant(value: unknown): value is string {
  return typeof value === 'string' && isValid(parseISO(value));
}

/**
 * The instant that a record names, as ISO-8601 UTC: from text (UTC where it names no zone) or from milliseconds since
 * 1970. Undefined for anything else.
 */
export function toInstant(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const hasNoZone = typeof value === 'string' && /T[\d:.,]+$/.test(value);
  const date = typeof value === 'string' ? parseISO(hasNoZone ? `${value}Z` : value) : new Date(value);
  // A year of five digits is a number that was no time.
  return isValid(date) && date.getUTCFullYear() < 10_000 ? date.toISOString() : undefined;
}

export function isDay(value: string): value is Day {
  return /^\d{4}-\d{2}-\d{2}$/.test(value) && isValid(parseISO(value));
}

export function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/** The zone of this machine, `UTC` where it names none. */
export function machineZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
}

/** The calendar day on which `instant` fell in `zone`. */
export function dayOf(instant: string | Date, zone: string): Day {
  return localTime(instant, zone).slice(0, -' HH:mm'.length);
}

/** The wall-clock time of `instant` in `zone`, `HH:mm`. */
export function timeOf(instant: string | Date, zone: string): string {
  return localTime(instant, zone).slice(-'HH:mm'.length);
}

/** The instant in `zone`, in a pattern of date-fns: `d MMM HH:mm`. */
export function formatIn(instant: string | Date, zone: string, pattern: string): string {
  return format(inZone(instant, zone), pattern);
}

// A message's time is asked for again at each layout of an excerpt, and a zone's calendar is dear.
const lately = new Map<string, string>();
const LATELY_AT_MOST = 5_000;

/** When an instant was by the calendar and the clock in `zone`, `YYYY-MM-DD HH:mm`. */
export function localTime(instant: string | Date, zone: string): string {
  const key = `${zone} ${typeof instant === 'string' ? instant : instant.getTime()}`;
  const known = lately.get(key);
  if (known !== undefined) return known;
  if (lately.size === LATELY_AT_MOST) lately.clear();
  const time = formatIn(instant, zone, 'yyyy-MM-dd HH:mm');
  lately.set(key, time);
  return time;
}

/** When a calendar day begins in `zone`: the one after that of `instant`, or so many days after it. */
export function nextDayAt(instant: string | Date, zone: string, days = 1): Date {
  return new Date(startOfDay(addDays(inZone(instant, zone), days)).getTime());
}

function inZone(instant: string | Date, zone: string): TZDate {
  return new TZDate(typeof instant === 'string' ? parseISO(instant).getTime() : instant.getTime(), zone);
}
