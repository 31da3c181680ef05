// What every day spends, over all memory directories: tokens and money, against the ceilings of the day.
// Promises: an upper bound is reserved before a request is sent and settled after it; what is never settled (a killed
// process) stays counted whole on the day it was made, so a ceiling is never passed; a reservation under an id, for work
// that is paid for now and answered in hours, is made once and settled once, however often a crash makes somebody ask
// again.

import type { Bound } from '../../base/config/prices.ts';
import { AppError } from '../../base/errors.ts';
import { type Clock, type Day, dayOf } from '../../base/time.ts';
import { type HomeDatabase, insert, row, run, type Steps } from './database.ts';

export interface Spend {
  /** Tokens of requests under way, or of requests whose usage never came. */
  reservedTokens: number;
  /** Input, cached and output tokens of settled requests. */
  usedTokens: number;
  calls: number;
  /** The same of money, in millionths of a dollar; of models without a price nothing. */
  reservedMicroUsd: number;
  usedMicroUsd: number;
}

/** What a request asks the day for. */
export interface Ask extends Bound {
  ceilingTokens: number;
  /** None: money is not limited. */
  ceilingMicroUsd?: number;
  nextDayAt: Date;
}

/** As a sentence without its stop: why no model is asked on a day, and the one command that lets it go on. */
export function formatUnreadSpend(day: Day): string {
  return `what was spent on ${day} could not be read: the day counts as spent in full, and no model is asked, until nocturne retry --failed or the next day`;
}

const SPEND = `reserved as "reservedTokens", used as "usedTokens", calls, reserved_micro_usd as "reservedMicroUsd",
  used_micro_usd as "usedMicroUsd"`;

const RAISE = (setting: string) => `Raise ${setting} in config.json of the nocturne home, or wait for tomorrow.`;

export class DaySpend {
  readonly #database: HomeDatabase;
  readonly #clock: Clock;
  readonly #zone: string;

  constructor(database: HomeDatabase, clock: Clock, zone: string) {
    this.#database = database;
    this.#clock = clock;
    this.#zone = zone;
  }

  /**
   * Counts a request's bounds against the day before it is sent. Throws `ceiling` where they do not fit; with
   * `retryAfterMs` until `nextDayAt` where only another day can help, without it where requests under way may still
   * give back what they do not use. What is reserved under `id` already stays as it is.
   */
  async reserve(day: Day, ask: Ask, id?: string): Promise<void> {
    const now = this.#clock.now();
    // Thrown inside, a refusal would take back what the day notes of it.
    const refused = await this.#database.transaction(function* (): Steps<AppError | null> {
      if (id !== undefined && (yield* row('select 1 from reservation where id = ?', id))) return null;
      const refusal = yield* refusalOf(day, ask, now);
      if (refusal?.retryAfterMs !== undefined) yield* fill(day, now);
      if (refusal) return refusal;
      const { tokens, microUsd } = ask;
      yield* run(
        `insert into spend (day, reserved, used, calls, reserved_micro_usd) values (?, ?, 0, 0, ?)
         on conflict (day) do update set reserved = spend.reserved + excluded.reserved,
           reserved_micro_usd = spend.reserved_micro_usd + excluded.reserved_micro_usd`,
        day,
        tokens,
        microUsd,
      );
      if (id !== undefined) yield* insert('reservation', { id, day, tokens, micro_usd: microUsd });
      return null;
    });
    if (refused) throw refused;
  }

  /** Replaces a reservation by what was really used. */
  settle(day: Day, spent: Spend): Promise<void> {
    return this.#database.do(settling(day, spent));
  }

  /**
   * Replaces what was reserved under an id by what was used, and by what nobody knows, which stays counted; answers the
   * day that it counts for, null where it was settled before.
   */
  settleUnder(id: string, { used, unknown }: { used: Bound & { calls: number }; unknown: Bound }): Promise<Day | null> {
    return this.#database.transaction(function* (): Steps<Day | null> {
      const sql = 'select day, tokens, micro_usd as "microUsd" from reservation where id = ?';
      const kept = yield* row<Bound & { day: Day }>(sql, id);
      if (!kept) return null;
      yield* run('delete from reservation where id = ?', id);
      yield* settling(kept.day, {
        reservedTokens: kept.tokens - unknown.tokens,
        usedTokens: used.tokens,
        calls: used.calls,
        reservedMicroUsd: kept.microUsd - unknown.microUsd,
        usedMicroUsd: used.microUsd,
      });
      return kept.day;
    });
  }

  spendOf(day: Day): Promise<Spend> {
    return this.#database.do(spentOn(day));
  }

  /** The days on which anything was spent, from the first day of these on. */
  since(first: Day): Promise<(Spend & { day: Day })[]> {
    return this.#database.all<Spend & { day: Day }>(
      `select day, ${SPEND} from spend where day >= ? and (used > 0 or reserved > 0 or calls > 0) order by day`,
      first,
    );
  }

  /** Since when the day has no room for another request; null: it may have. */
  async fullFrom(day: Day): Promise<string | null> {
    const sql = 'select full_from as "fullFrom" from spend where day = ?';
    return (await this.#database.get<{ fullFrom: string | null }>(sql, day))?.fullFrom ?? null;
  }

  /** Counts work that was turned away because the day was full. */
  async countSkip(day: Day): Promise<void> {
    await this.#database.run('update spend set skips = skips + 1 where day = ?', day);
  }

  async skipsOf(day: Day): Promise<number> {
    return (await this.#database.get<{ skips: number }>('select skips from spend where day = ?', day))?.skips ?? 0;
  }

  /** Today, where what was spent on it could not be read; null: it is known. */
  async unreadDay(): Promise<Day | null> {
    const today = dayOf(this.#clock.now(), this.#zone);
    return (await this.#database.do(isUnread(today))) ? today : null;
  }

  /** A person says that the day has room again, for example with a higher ceiling. */
  async reopen(day: Day): Promise<void> {
    await this.#database.run('update spend set full_from = null, unreadable = 0 where day = ?', day);
  }
}

function* refusalOf(
  day: Day,
  { tokens, microUsd, ceilingTokens, ceilingMicroUsd = Infinity, nextDayAt }: Ask,
  now: Date,
): Steps<AppError | null> {
  const retryAfterMs = nextDayAt.getTime() - now.getTime();
  if (yield* isUnread(day)) {
    const message = `What was spent on ${day} cannot be read since home.db was damaged: the day counts as spent in full.`;
    const remedy = 'Run nocturne retry --failed, which lets the day begin anew, or wait for tomorrow.';
    return new AppError('ceiling', message, { remedy, retryAfterMs });
  }
  const spent = yield* spentOn(day);
  if (spent.reservedTokens + spent.usedTokens + tokens > ceilingTokens) {
    const found = `${spent.usedTokens} used, ${spent.reservedTokens} reserved, ${tokens} asked for`;
    const message = `The daily ceiling of ${ceilingTokens} tokens would be passed: ${found}.`;
    const isForToday = spent.usedTokens + tokens > ceilingTokens;
    return new AppError('ceiling', message, {
      remedy: RAISE('dayTokens'),
      retryAfterMs: isForToday ? retryAfterMs : undefined,
    });
  }
  if (microUsd > 0 && spent.reservedMicroUsd + spent.usedMicroUsd + microUsd > ceilingMicroUsd) {
    const usd = (micro: number) => `$${(micro / 1e6).toFixed(4)}`;
    const found = `${usd(spent.usedMicroUsd)} used, ${usd(spent.reservedMicroUsd)} reserved, ${usd(microUsd)} asked for`;
    const message = `The daily ceiling of ${usd(ceilingMicroUsd)} would be passed: ${found}.`;
    const isForToday = spent.usedMicroUsd + microUsd > ceilingMicroUsd;
    return new AppError('ceiling', message, {
      remedy: RAISE('dayMoneyUsd'),
      retryAfterMs: isForToday ? retryAfterMs : undefined,
    });
  }
  return null;
}

function* isUnread(day: Day): Steps<boolean> {
  return (yield* row('select 1 from spend where day = ? and unreadable = 1', day)) !== undefined;
}

function* spentOn(day: Day): Steps<Spend> {
  const found = yield* row<Spend>(`select ${SPEND} from spend where day = ?`, day);
  return found ?? { reservedTokens: 0, usedTokens: 0, calls: 0, reservedMicroUsd: 0, usedMicroUsd: 0 };
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
       reserved_micro_usd = reserved_micro_usd - ?, used_micro_usd = used_micro_usd + ? where day = ?`,
    spent.reservedTokens,
    spent.usedTokens,
    spent.calls,
    spent.reservedMicroUsd,
    spent.usedMicroUsd,
    day,
  );
}
