// The spend of one job: every request is reserved against the job's ceiling and the day's before it is sent, and
// settled after it. What the day allows over all directories is the home's business; this adds the job's own bound,
// and what the tokens cost.

import {
  type Bound,
  boundMicroUsd,
  costMicroUsd,
  type Paid,
  type Price,
  priceOf,
  type Settled,
  type Usage,
} from '../../base/config/prices.ts';
import { AppError } from '../../base/errors.ts';
import { type Clock, type Day, dayOf } from '../../base/time.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { DayLimits } from './day-spend.ts';
import type { Home } from './home.ts';

export type SpentTokens = Usage;

/** What a job spent, with its input tokens summed up in the two ways in which they are compared. */
export interface SpentTotal extends SpentTokens {
  /** All input tokens, cached or not. */
  rawInputTokens: number;
  /** The same as they are paid for: what is read from the cache at 0.1, what is written to it at 1.25 or 2. */
  weightedInputTokens: number;
  /** What they cost, in millionths of a dollar; null where a model without a price is among those that were asked. */
  microUsd: number | null;
  /** Of `calls`, those on a plan, which cost no money; default: none. */
  onPlan?: number;
}

/** What a job spent on one day with one model, as its row keeps it. */
export interface SpentPart extends SpentTokens {
  /** The day that it is counted against. */
  day: Day;
  /** Null where nobody said which. */
  model: string | null;
  /** Per million tokens, as it was then; null where the model had none. */
  price: Price | null;
  /** Null where the model had no price, and on a plan. */
  microUsd: number | null;
  /** By an agent's program, on the person's plan; default: by a key. */
  isOnPlan?: true;
}

/** What the row of a job keeps of its spend. */
export type RecordedSpend = SpentTotal & { parts: SpentPart[] };

const READ_WEIGHT = 0.1;
const WRITE_WEIGHT = 1.25;
const HOUR_WRITE_WEIGHT = 2;

export interface SpendLimits extends DayLimits {
  jobTokens: number;
  /** The model that is asked; one without a price is counted in tokens only. */
  model?: string;
  /** In addition to the list prices. */
  prices?: Record<string, Price>;
  clock: Clock;
}

/** A request under way, or what was settled of it. */
interface Sent {
  day: Day;
  model?: string;
  price?: Price;
  isOnPlan?: boolean;
}

interface HowSent {
  continued?: string;
  paid?: Paid;
}

const NOTHING_SPENT: SpentTokens = {
  calls: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  hourCacheWriteTokens: 0,
  outputTokens: 0,
};

export class JobSpend {
  readonly #home: Home;
  readonly #limits: SpendLimits;
  readonly #open = new Map<number, Bound & Sent>();
  readonly #parts = new Map<string, SpentPart>();
  #lastId = 0;
  #total = NOTHING_SPENT;
  #onPlan = 0;
  #microUsd = 0;
  #isPriced = true;

  constructor(home: Home, limits: SpendLimits) {
    this.#home = home;
    this.#limits = limits;
  }

  /**
   * Counts an upper bound before a request, of which `outputTokens` may be output. Throws `job-ceiling` where the job
   * has no room for it, and `ceiling` where the day has none. `continued`: the model of a request that is another
   * program's, which may keep its cache for an hour. `paid`: how an agent's program pays that stands as the model.
   */
  async reserve(tokens: number, outputTokens = 0, { continued, paid }: HowSent = {}): Promise<number> {
    const model = continued ?? this.#limits.model;
    const isOnPlan = paid?.by === 'plan';
    const price = isOnPlan ? undefined : this.#priceOf(paid ? paid.model : model);
    const bound = { inputTokens: tokens - outputTokens, outputTokens, forAnHour: continued !== undefined };
    const microUsd = price ? boundMicroUsd(bound, price) : 0;
    this.#refuseBeyondJob(tokens);
    this.#lastId += 1;
    const id = this.#lastId;
    // Counted against the job before the day is asked: another request of it may be made meanwhile.
    const sent = { tokens, microUsd, model, price, isOnPlan };
    this.#open.set(id, { day: '', ...sent });
    try {
      const { clock } = this.#limits;
      const day = await this.#home.days.reserve({ tokens, microUsd, isOnPlan, at: clock.now(), limits: this.#limits });
      this.#open.set(id, { day, ...sent });
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
    return id;
  }

  #priceOf(model = this.#limits.model): Price | undefined {
    return model === undefined ? undefined : priceOf(model, this.#limits.prices);
  }

  #refuseBeyondJob(tokens: number): void {
    const open = [...this.#open.values()].reduce((sum, item) => sum + item.tokens, 0);
    const used = tokensOf(this.#total);
    const { jobTokens } = this.#limits;
    if (used + open + tokens <= jobTokens) return;
    throw new AppError(
      'job-ceiling',
      `The job's ceiling of ${jobTokens} tokens would be passed: ${used} used, ${open} reserved, ${tokens} asked for.`,
      { remedy: 'Raise jobTokens in config.json of the nocturne home.' },
    );
  }

  /** Replaces a reservation by what was used; an unknown or settled one changes nothing. */
  async settle(reservation: number, { answeredBy, ...usage }: Settled): Promise<void> {
    const item = this.#open.get(reservation);
    if (!item) return;
    this.#open.delete(reservation);
    // The model that a program chose itself is known only now.
    const price = item.price && answeredBy ? (this.#priceOf(answeredBy) ?? item.price) : item.price;
    const usedMicroUsd = price ? costMicroUsd(usage, price) : 0;
    this.#count(usage, { ...item, price, microUsd: usedMicroUsd });
    await this.#home.days.settle(item.day, {
      reservedTokens: item.tokens,
      usedTokens: tokensOf(usage),
      calls: usage.calls,
      reservedMicroUsd: item.microUsd,
      usedMicroUsd,
      planRequests: item.isOnPlan && usage.calls === 0 ? -1 : 0,
    });
  }

  /** Adds what a request used to the job's own count. */
  #count(usage: SpentTokens, at: Sent & { microUsd: number }): void {
    this.#total = addTokens(this.#total, usage);
    if (at.isOnPlan) this.#onPlan += usage.calls;
    this.#microUsd += at.microUsd;
    this.#isPriced &&= at.price !== undefined;
    if (usage.calls === 0) return;
    const { day, model = null, price = null, isOnPlan } = at;
    const key = JSON.stringify([day, model, price, isOnPlan]);
    const before = this.#parts.get(key);
    const microUsd = price && (before?.microUsd ?? 0) + at.microUsd;
    const used = addTokens(before ?? NOTHING_SPENT, usage);
    this.#parts.set(key, { day, model, price, ...used, microUsd, ...(isOnPlan && { isOnPlan }) });
  }

  /** What was settled so far, for the job's row. */
  record(): RecordedSpend {
    return { ...this.total(), parts: [...this.#parts.values()] };
  }

  /** What was settled so far; of a request without an answer nothing but that it was made is known. */
  total(): SpentTotal {
    const unanswered = [...this.#open.values()].filter(({ day }) => day !== '').length;
    const { hourCacheWriteTokens = 0, ...settled } = this.#total;
    const total = { ...settled, calls: settled.calls + unanswered };
    const { inputTokens, cachedInputTokens, cacheWriteTokens } = total;
    const writes = cacheWriteTokens * (WRITE_WEIGHT - 1) + hourCacheWriteTokens * (HOUR_WRITE_WEIGHT - WRITE_WEIGHT);
    const weighted = inputTokens + cachedInputTokens * READ_WEIGHT + writes;
    const isPriced = this.#isPriced && (settled.calls > 0 || this.#priceOf() !== undefined);
    return {
      ...total,
      rawInputTokens: inputTokens + cachedInputTokens,
      weightedInputTokens: Math.round(weighted),
      microUsd: isPriced ? this.#microUsd : null,
      ...(this.#onPlan > 0 && { onPlan: this.#onPlan }),
    };
  }
}

function addTokens(a: SpentTokens, b: SpentTokens): SpentTokens {
  return {
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    hourCacheWriteTokens: (a.hourCacheWriteTokens ?? 0) + (b.hourCacheWriteTokens ?? 0),
    outputTokens: a.outputTokens + b.outputTokens,
  };
}

/** What a job says that it spent. */
export interface JobSpent {
  id: string;
  kind: string;
  session: string | null;
  endedAt: string;
  parts: SpentPart[];
}

/**
 * What the jobs of a directory say that they spent on these days, of models that cost nothing apart. What an earlier
 * version noted is one part, without a model, on the day on which the job ended.
 */
export function spentJobs(ledger: Ledger, { first, last, zone }: { first: Day; last: Day; zone: string }): JobSpent[] {
  const sql = `select id, kind, session, ended_at as endedAt, usage from job
    where json_extract(usage, '$.calls') > 0 and ended_at >= date(?, '-1 day') order by ended_at`;
  const rows = ledger.all<Omit<JobSpent, 'parts'> & { usage: string }>(sql, first);
  return rows.flatMap(({ usage, ...job }) => {
    const { parts, ...total } = JSON.parse(usage) as SpentTotal & { parts?: SpentPart[] };
    const whole = { ...total, day: dayOf(job.endedAt, zone), model: null, price: null };
    const found = (parts ?? [whole]).filter((part) => part.day >= first && part.day <= last && tokensOf(part) > 0);
    return found.length > 0 ? [{ ...job, parts: found }] : [];
  });
}

/** All tokens, as the day counts them. */
export function tokensOf({ inputTokens, cachedInputTokens, outputTokens }: SpentTokens): number {
  return inputTokens + cachedInputTokens + outputTokens;
}
