// A day as a person names it.

import { AppError } from '../../../base/errors.ts';
import { type Day, dayOf, isDay } from '../../../base/time.ts';

const DAY_MS = 24 * 60 * 60_000;

/** From `YYYY-MM-DD`, `today`, `yesterday` or `-N` days before today. `days` are those worth naming in an error. */
export function dayFrom(given: string, { now, zone, days }: { now: Date; zone: string; days: Day[] }): Day {
  if (isDay(given)) return given;
  const back = given === 'today' ? 0 : given === 'yesterday' ? 1 : /^-\d{1,5}$/.test(given) ? -Number(given) : null;
  if (back !== null) return daysBefore(dayOf(now, zone), back);
  throw new AppError('bad-input', `${JSON.stringify(given)} is no day.`, {
    remedy: `Use YYYY-MM-DD, today, yesterday or -1${days.length > 0 ? `; the latest is ${days.at(-1)}` : ''}.`,
  });
}

/** Counted on the calendar: a day of 23 or 25 hours is a day. */
function daysBefore(day: Day, count: number): Day {
  return new Date(Date.parse(`${day}T00:00:00Z`) - count * DAY_MS).toISOString().slice(0, 10);
}
