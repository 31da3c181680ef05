// What a day may spend, and whose days are meant. On one machine its settings say so. Where several share the home it keeps
// one row for all of them: the first writes its own, and what the settings of the others say does not count.

import { type HomeDatabase, put, row, run, type Steps } from './database.ts';

export interface DayLimits {
  dayTokens: number;
  /** None: money is not limited. */
  dayMoneyUsd?: number;
  /** Whose days. */
  zone: string;
}

interface Row {
  dayTokens: number;
  microUsd: number | null;
  zone: string;
}

const KEPT = 'select day_tokens as "dayTokens", day_micro_usd as "microUsd", zone from limits';

/** Those that count; `own`: of this machine. */
export function* limitsFor(database: HomeDatabase, own: DayLimits): Steps<DayLimits> {
  if (database.sharedTime === null) return own;
  const before = yield* row<Row>(KEPT);
  if (before) return read(before);
  const { dayTokens, zone } = own;
  const sql =
    'insert into limits (id, day_tokens, day_micro_usd, zone) values (1, ?, ?, ?) on conflict (id) do nothing';
  yield* run(sql, dayTokens, microUsdOf(own), zone);
  return read((yield* row<Row>(KEPT)) as Row);
}

/** From now on these count on all machines; a day that had no room may have some again. */
export function* settingLimits(limits: DayLimits): Steps<void> {
  const { dayTokens: day_tokens, zone } = limits;
  yield* put('limits', { id: 1, day_tokens, day_micro_usd: microUsdOf(limits), zone }, ['id']);
  yield* run('update spend set full_from = null where full_from is not null');
}

export function microUsdOf({ dayMoneyUsd }: Pick<DayLimits, 'dayMoneyUsd'>): number | null {
  return dayMoneyUsd === undefined ? null : Math.round(dayMoneyUsd * 1e6);
}

function read({ microUsd, ...rest }: Row): DayLimits {
  return { ...rest, ...(microUsd !== null && { dayMoneyUsd: microUsd / 1e6 }) };
}

/** What this machine's settings say in vain, each as a sentence without its stop. */
export function limitDifferences(own: DayLimits, kept: DayLimits): string[] {
  const usd = ({ dayMoneyUsd }: DayLimits) => (dayMoneyUsd === undefined ? 'no limit' : String(dayMoneyUsd));
  return [
    ['dayTokens', String(own.dayTokens), String(kept.dayTokens)],
    ['dayMoneyUsd', usd(own), usd(kept)],
    ['zone', own.zone, kept.zone],
  ].flatMap(([name, mine, counts]) =>
    mine === counts ? [] : `${name} is ${mine} in the settings of this machine, but ${counts} counts, for all machines`,
  );
}
