// What every day spends, over all memory directories: tokens and money, against the ceilings of the day.
// Promises: an upper bound is reserved, and the request counted, before it is sent, and settled after it; what is never
// settled (a killed process, no answer) stays counted whole on the day it was made, so a ceiling is never passed.
// Its ceilings: on one machine the settings say them. Where several share the home it keeps one row for all of them: the
// first writes its own, and what the settings of the others say does not count.

import type { Bound } from '../../base/config/prices.ts';
import { AppError } from '../../base/errors.ts';
import { type Clock, type Day, dayOf, nextDayAt } from '../../base/time.ts';
import { type HomeDatabase, HomePart, put, row, run, type Steps } from './home-database.ts';

export interface DayLimits {
  dayTokens: number;
  /** None: money is not limited. */
  dayMoneyUsd?: number;
  /** Requests that agents' programs may send on plans, which cost no money; default: as many as tokens allow. */
  planRequests?: number;
  /** Whose days. */
  zone: string;
}

/** All of them but the zone. */
export const CEILINGS = ['dayTokens', 'dayMoneyUsd', 'planRequests'] as const satisfies (keyof DayLimits)[];

interface Row {
  dayTokens: number;
  microUsd: number | null;
  zone: string;
}

const KEPT = 'select day_tokens as "dayTokens", day_micro_usd as "microUsd", zone from limits';

/** Those that count; `own`: of this machine. */
function* limitsFor(database: HomeDatabase, own: DayLimits): Steps<DayLimits> {
  if (database.sharedTime === null) return own;
  const { dayTokens, zone, planRequests } = own;
  const before = yield* row<Row>(KEPT);
  if (before) return { ...read(before), planRequests };
  const sql =
    'insert into limits (id, day_tokens, day_micro_usd, zone) values (1, ?, ?, ?) on conflict (id) do nothing';
  yield* run(sql, dayTokens, microUsdOf(own), zone);
  return { ...read((yield* row<Row>(KEPT)) as Row), planRequests };
}

function microUsdOf({ dayMoneyUsd }: Pick<DayLimits, 'dayMoneyUsd'>): number | null {
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

export interface Spend {
  /** Tokens of requests under way, or of requests whose usage never came. */
  reservedTokens: number;
  /** Input, cached and output tokens of settled requests. */
  usedTokens: number;
  /** Requests, also those under way or without an answer. */
  calls: number;
  /** The same of money, in millionths of a dollar; of models without a price nothing. */
  reservedMicroUsd: number;
  usedMicroUsd: number;
  /** Requests on plans; where it is settled: -1 for one that never left. */
  planRequests?: number;
}

/** What a request asks the day for. */
interface Ask extends Bound {
  /** It goes out on a plan. */
  isOnPlan?: boolean;
  at: Date;
  /** Of this machine; those count that the home keeps, where it keeps any. */
  limits: DayLimits;
}

/** As a sentence without its stop: why no model is asked on a day, and the one command that lets it go on. */
export function formatUnreadSpend(day: Day): string {
  return `what was spent on ${day} could not be read: the day counts as spent in full, and no model is asked, until nocturne retry --failed or the next day`;
}

const SPEND = `reserved as "reservedTokens", used as "usedTokens", calls, reserved_micro_usd as "reservedMicroUsd",
  used_micro_usd as "usedMicroUsd", plan_requests as "planRequests"`;

/** More than any day has: money is not limited. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

export class DaySpend extends HomePart {
  readonly #zone: string;
  /** Those that all machines have, as they were when they were asked for last. */
  #shared: DayLimits | undefined;

  constructor(database: HomeDatabase, clock: Clock, zone: string) {
    super(database, clock);
    this.#zone = zone;
  }

  /** What counts where this machine's settings say these. */
  async limits(own: DayLimits): Promise<DayLimits> {
    return this.#note(await this.database.do(limitsFor(this.database, own)));
  }

  /** From now on these count on all machines, where several share the home; a day that had no room may have some again. */
  setLimits(limits: DayLimits): Promise<void> {
    const { dayTokens: day_tokens, zone } = limits;
    return this.database.transaction(function* (): Steps<void> {
      yield* put('limits', { id: 1, day_tokens, day_micro_usd: microUsdOf(limits), zone }, ['id']);
      yield* run('update spend set full_from = null where full_from is not null');
    });
  }

  #note(limits: DayLimits): DayLimits {
    if (this.database.sharedTime !== null) this.#shared = limits;
    return limits;
  }

  /**
   * Counts a request's bounds against its day before it is sent; answers the day. Throws `ceiling` where they do not fit;
   * with `retryAfterMs` until the next day where only another day can help, without it where requests under way may still
   * give back what they do not use.
   */
  async reserve(ask: Ask): Promise<Day> {
    const { database } = this;
    const limits = this.#shared ?? (await this.limits(ask.limits));
    const day = dayOf(ask.at, limits.zone);
    if (await database.do(counting(day, ask, limits))) return day;
    const found = await database.transaction(() => reserving(database, ask));
    this.#note(found.limits);
    // Thrown inside, a refusal would take back what the day notes of it.
    if (found.refusal) throw found.refusal;
    return found.day;
  }

  /** Replaces a reservation by what was really used; `calls` is 0 where the request never left. */
  settle(day: Day, spent: Spend): Promise<void> {
    return this.database.do(settling(day, { ...spent, calls: spent.calls - 1 }));
  }

  spendOf(day: Day): Promise<Spend> {
    return this.database.do(spentOn(day));
  }

  /** The days on which anything was spent, from the first day of these on. */
  since(first: Day): Promise<(Spend & { day: Day })[]> {
    return this.database.all<Spend & { day: Day }>(
      `select day, ${SPEND} from spend where day >= ? and (used > 0 or reserved > 0 or calls > 0) order by day`,
      first,
    );
  }

  /** Since when the day has no room for another request; null: it may have. */
  async fullFrom(day: Day): Promise<string | null> {
    const sql = 'select full_from as "fullFrom" from spend where day = ?';
    return (await this.database.get<{ fullFrom: string | null }>(sql, day))?.fullFrom ?? null;
  }

  /** Counts work that was turned away because the day was full. */
  async countSkip(day: Day): Promise<void> {
    await this.database.run('update spend set skips = skips + 1 where day = ?', day);
  }

  async skipsOf(day: Day): Promise<number> {
    return (await this.database.get<{ skips: number }>('select skips from spend where day = ?', day))?.skips ?? 0;
  }

  /** Today, where what was spent on it could not be read; null: it is known. */
  async unreadDay(): Promise<Day | null> {
    const today = dayOf(this.clock.now(), this.#shared?.zone ?? this.#zone);
    return (await this.database.do(isUnread(today))) ? today : null;
  }

  /** What was spent on a day is not known any more: it has no room until a person says so. */
  forget(day: Day): Promise<void> {
    const now = this.clock.now();
    return this.database.transaction(function* (): Steps<void> {
      yield* fill(day, now);
      yield* run('update spend set unreadable = 1 where day = ?', day);
    });
  }

  /** With another ceiling the day may have room again; where what was spent on it is not known it has none. */
  async release(day: Day): Promise<void> {
    await this.database.run('update spend set full_from = null where day = ? and unreadable = 0', day);
  }

  /** A person says that the day has room again. */
  async reopen(day: Day): Promise<void> {
    await this.database.run('update spend set full_from = null, unreadable = 0 where day = ?', day);
  }
}

/**
 * Counts what is asked where the day has room, by one statement; false where it has none, or where the home keeps another
 * zone by now, whose day may be another.
 */
function* counting(day: Day, { tokens, microUsd, isOnPlan }: Ask, limits: DayLimits): Steps<boolean> {
  // Whatever the home keeps counts; where it keeps nothing, what this machine says.
  const fits = (ofTokens: string, ofMoney: string) =>
    `${ofTokens} <= coalesce((select day_tokens from limits), cast(? as bigint))${
      microUsd > 0
        ? ` and ${ofMoney} <= coalesce((select coalesce(day_micro_usd, ${NO_LIMIT}) from limits), cast(? as bigint))`
        : ''
    }`;
  const ofMoney = microUsd > 0 ? [microUsdOf(limits) ?? NO_LIMIT] : [];
  const ceilings = [limits.dayTokens, ...ofMoney];
  const alone = [tokens, limits.dayTokens, ...ofMoney.flatMap((ceiling) => [microUsd, ceiling])];
  const onPlan = isOnPlan ? 1 : 0;
  const mostOnPlan = isOnPlan ? (limits.planRequests ?? NO_LIMIT) : NO_LIMIT;
  const counted = yield* run(
    `insert into spend (day, reserved, used, calls, reserved_micro_usd, plan_requests)
     select cast(? as text), cast(? as bigint), 0, 1, cast(? as bigint), cast(? as bigint)
       where not exists (select 1 from limits where zone <> ?) and cast(? as bigint) <= cast(? as bigint)
         and ${fits('cast(? as bigint)', 'cast(? as bigint)')}
     on conflict (day) do update set reserved = spend.reserved + excluded.reserved,
         calls = spend.calls + excluded.calls, reserved_micro_usd = spend.reserved_micro_usd + excluded.reserved_micro_usd,
         plan_requests = spend.plan_requests + excluded.plan_requests
       where spend.unreadable = 0 and spend.plan_requests + excluded.plan_requests <= cast(? as bigint) and ${fits(
         'spend.reserved + spend.used + excluded.reserved',
         'spend.reserved_micro_usd + spend.used_micro_usd + excluded.reserved_micro_usd',
       )}`,
    ...[day, tokens, microUsd, onPlan, limits.zone, onPlan, mostOnPlan, ...alone, mostOnPlan, ...ceilings],
  );
  return counted > 0;
}

/** The same, or why not. */
function* reserving(
  database: HomeDatabase,
  ask: Ask,
): Steps<{ day: Day; limits: DayLimits; refusal: AppError | null }> {
  const limits = yield* limitsFor(database, ask.limits);
  const day = dayOf(ask.at, limits.zone);
  if (yield* counting(day, ask, limits)) return { day, limits, refusal: null };
  const refusal = yield* refusalOf(day, { ...ask, limits }, database.limitsPlace);
  if (refusal.retryAfterMs !== undefined) yield* fill(day, ask.at);
  return { day, limits, refusal };
}

function* refusalOf(day: Day, { at, tokens, microUsd, isOnPlan, limits }: Ask, place: string): Steps<AppError> {
  const retryAfterMs = nextDayAt(at, limits.zone).getTime() - at.getTime();
  const remedy = (setting: string) => `Raise ${setting} ${place}, or wait for tomorrow.`;
  if (yield* isUnread(day)) {
    const message = `What was spent on ${day} cannot be read since home.db was damaged or its database restored: the day counts as spent in full.`;
    const remedy = 'Run nocturne retry --failed, which lets the day start over, or wait for tomorrow.';
    return new AppError('ceiling', message, { remedy, retryAfterMs });
  }
  const { dayTokens, planRequests } = limits;
  const spent = yield* spentOn(day);
  if (isOnPlan && planRequests !== undefined && (spent.planRequests ?? 0) >= planRequests) {
    const message = `The daily ceiling of ${planRequests} requests on your plan is reached.`;
    return new AppError('ceiling', message, { remedy: remedy('planRequests'), retryAfterMs });
  }
  if (spent.reservedTokens + spent.usedTokens + tokens > dayTokens) {
    const found = `${spent.usedTokens} used, ${spent.reservedTokens} reserved, ${tokens} asked for`;
    const message = `The daily ceiling of ${dayTokens} tokens would be passed: ${found}.`;
    const isForToday = spent.usedTokens + tokens > dayTokens;
    return new AppError('ceiling', message, {
      remedy: remedy('dayTokens'),
      retryAfterMs: isForToday ? retryAfterMs : undefined,
    });
  }
  const ceiling = microUsdOf(limits) ?? NO_LIMIT;
  const usd = (micro: number) => `$${(micro / 1e6).toFixed(4)}`;
  const found = `${usd(spent.usedMicroUsd)} used, ${usd(spent.reservedMicroUsd)} reserved, ${usd(microUsd)} asked for`;
  return new AppError('ceiling', `The daily ceiling of ${usd(ceiling)} would be passed: ${found}.`, {
    remedy: remedy('dayMoneyUsd'),
    retryAfterMs: spent.usedMicroUsd + microUsd > ceiling ? retryAfterMs : undefined,
  });
}

function* isUnread(day: Day): Steps<boolean> {
  return (yield* row('select 1 from spend where day = ? and unreadable = 1', day)) !== undefined;
}

function* spentOn(day: Day): Steps<Spend> {
  const found = yield* row<Spend>(`select ${SPEND} from spend where day = ?`, day);
  return found ?? { reservedTokens: 0, usedTokens: 0, calls: 0, reservedMicroUsd: 0, usedMicroUsd: 0, planRequests: 0 };
}

function* fill(day: Day, now: Date): Steps<void> {
  yield* run(
    `insert into spend (day, reserved, used, calls, full_from) values (?, 0, 0, 0, ?)
       on conflict (day) do update set full_from = coalesce(spend.full_from, excluded.full_from)`,
    day,
    now.toISOString(),
  );
}

function* settling(day: Day, spent: Spend): Steps<void> {
  yield* run(
    `update spend set reserved = reserved - ?, used = used + ?, calls = calls + ?,
       reserved_micro_usd = reserved_micro_usd - ?, used_micro_usd = used_micro_usd + ?,
       plan_requests = plan_requests + ? where day = ?`,
    spent.reservedTokens,
    spent.usedTokens,
    spent.calls,
    spent.reservedMicroUsd,
    spent.usedMicroUsd,
    spent.planRequests ?? 0,
    day,
  );
}
