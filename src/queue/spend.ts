// What requests to the model may use: each is reserved before it is sent, by its upper bound, and settled after it.
// Promises: the ceilings of a day (tokens, money, requests on a plan; of all, and of a key) are never passed, however many
// processes ask at once; what is not settled, of a killed process or without an answer, stays counted whole on its day.
// Every request is a row of `call`; a row of `day` is the sum of those of its day, and decides alone.

import { NO_USAGE } from '../agent/agent-types.ts';
import type { Spend } from '../agent/tools.ts';
import { boundMicroUsd, costMicroUsd, type Price, priceOf, type Settled, type Usage } from '../base/config/prices.ts';
import { AppError } from '../base/errors.ts';
import { type Clock, type Day, dayOf, nextDayAt } from '../base/time.ts';
import { type Db, insert, keepSetting, newId, type Sql, settingOf } from '../db/sql.ts';

export interface Ceilings {
  /** Tokens that one job may use, all its requests together. */
  jobTokens: number;
  dayTokens: number;
  /** None: money is not limited. */
  dayMoneyUsd?: number;
  /** Requests a day that agents' programs may send on plans, which cost no money; default: as many as tokens allow. */
  planRequests?: number;
  /** Whose days. */
  zone: string;
}

/** Who has asked for the job, where a ceiling of its own holds for that. */
export interface KeyCeiling {
  /** `apikey_…` */
  key: string;
  dayMoneyUsd: number;
}

export interface SpendDeps {
  db: Db;
  clock: Clock;
  /** Those of this machine's settings; where several share the database, those that it keeps count. */
  ceilings: Ceilings;
  /** The model that is asked; one without a price is counted in tokens alone. */
  model: string;
  /** In addition to the list prices. */
  prices?: Record<string, Price>;
  key?: KeyCeiling;
}

type Sent = { call: string; tokens: number; price: Price | undefined; isOnPlan: boolean };

/** More than any day has. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
const PLAN = 'plan';

/**
 * Counts what the requests of one job use. Errors: `job-ceiling` where the job has no room for a request, `ceiling` where the day
 * has none.
 */
export function spendOf(deps: SpendDeps, job: string): Spend & { total(): Usage } {
  const { db, clock, model, prices } = deps;
  const open = new Map<number, Sent>();
  const total = { ...NO_USAGE };
  let last = 0;
  const priceFor = (name: string | undefined) => (name === undefined ? undefined : priceOf(name, prices));

  const reserve: Spend['reserve'] = async (tokens, outputTokens, paid) => {
    const isOnPlan = paid?.by === 'plan';
    const price = isOnPlan ? undefined : priceFor(paid ? paid.model : model);
    const microUsd = price ? boundMicroUsd({ inputTokens: tokens - outputTokens, outputTokens }, price) : 0;
    const ceilings = await ceilingsOf(db, deps.ceilings);
    const reserved = [...open.values()].reduce((sum, each) => sum + each.tokens, 0);
    const used = tokensOf(total);
    if (used + reserved + tokens > ceilings.jobTokens) throw beyondJob(ceilings, { used, reserved, tokens });
    last += 1;
    const id = last;
    // Counted against the job before the day is asked: another request of it may be made meanwhile.
    const call = newId('call');
    open.set(id, { call, tokens, price, isOnPlan });
    try {
      // On a plan the program is told, whatever model it chose.
      const name = isOnPlan ? model : (paid?.model ?? model);
      const asked = { call, job, model: name, tokens, microUsd, isOnPlan, key: deps.key };
      await reserveDay(db, asked, clock.now(), ceilings);
    } catch (error) {
      open.delete(id);
      throw error;
    }
    return id;
  };

  const settle: Spend['settle'] = async (reservation, { answeredBy, ...usage }) => {
    const sent = open.get(reservation);
    if (!sent) return;
    open.delete(reservation);
    for (const name of ['calls', 'inputTokens', 'cachedInputTokens', 'cacheWriteTokens', 'outputTokens'] as const)
      total[name] += usage[name];
    // The model that a program chose itself is known only now.
    const price = sent.price && (priceFor(answeredBy) ?? sent.price);
    const microUsd = price ? costMicroUsd(usage, price) : 0;
    await settleCall(db, sent.call, { ...usage, microUsd, model: sent.isOnPlan ? undefined : answeredBy }, clock.now());
  };

  // Of a request without an answer nothing but that it was made is known.
  return { reserve, settle, total: () => ({ ...total, calls: total.calls + open.size }) };
}

const tokensOf = ({ inputTokens, cachedInputTokens, outputTokens }: Usage) =>
  inputTokens + cachedInputTokens + outputTokens;

interface Asked {
  call: string;
  job: string;
  model: string;
  tokens: number;
  microUsd: number;
  isOnPlan: boolean;
  key?: KeyCeiling;
}

/** What a request counts against: a row of its day, and how far that may go. */
interface Scope {
  scope: string;
  /** Whose it is, where it is no setting. */
  whose?: string;
  tokens: number;
  microUsd: number;
  calls: number;
}

function scopesOf({ isOnPlan, key, microUsd }: Asked, { dayTokens, dayMoneyUsd, planRequests }: Ceilings): Scope[] {
  // What costs nothing is let through where money is used up.
  const limit = (usd: number | undefined) => (usd === undefined || microUsd === 0 ? NO_LIMIT : Math.round(usd * 1e6));
  const none = { tokens: NO_LIMIT, microUsd: NO_LIMIT, calls: NO_LIMIT };
  return [
    { ...none, scope: '', tokens: dayTokens, microUsd: limit(dayMoneyUsd) },
    ...(isOnPlan ? [{ ...none, scope: PLAN, calls: planRequests ?? NO_LIMIT }] : []),
    ...(key ? [{ ...none, scope: key.key, whose: "the key's limit", microUsd: limit(key.dayMoneyUsd) }] : []),
  ];
}

/** Counts a request against its day, by one statement for each ceiling, or throws `ceiling`. */
async function reserveDay(db: Db, asked: Asked, now: Date, ceilings: Ceilings): Promise<void> {
  const day = dayOf(now, ceilings.zone);
  const { call: id, job, model, tokens, microUsd } = asked;
  const scopes = scopesOf(asked, ceilings);
  let over: Scope | undefined;
  try {
    await db.write(async (sql) => {
      for (const scope of scopes) {
        if (await countIn(sql, day, asked, scope)) continue;
        over = scope;
        throw new Error('over');
      }
      const names = scopes.slice(1).map(({ scope }) => scope);
      const row = { id, day, scope: names.join(' '), job, model, at: now.toISOString() };
      await insert(sql, 'call', [{ ...row, reserved_tokens: tokens, reserved_usd: microUsd }]);
    });
  } catch (error) {
    if (!over) throw error;
    const refusal = await refusalOf(db, { day, asked, scope: over, now, zone: ceilings.zone });
    // Where a day is too small for this one, it may have room for others.
    const isFull = refusal.retryAfterMs !== undefined && !isTooSmall(refusal.message);
    if (isFull && over.whose === undefined) await noteFull(db, day, now);
    throw refusal;
  }
}

async function countIn(sql: Sql, day: Day, { tokens, microUsd }: Asked, most: Scope): Promise<boolean> {
  if (tokens > most.tokens || microUsd > most.microUsd || most.calls < 1) return false;
  const counted = await sql.run(
    `insert into day (day, scope, tokens, micro_usd, calls) values (?, ?, ?, ?, 1)
     on conflict (day, scope) do update set tokens = day.tokens + excluded.tokens,
       micro_usd = day.micro_usd + excluded.micro_usd, calls = day.calls + 1
     where day.tokens + excluded.tokens <= ? and day.micro_usd + excluded.micro_usd <= ? and day.calls + 1 <= ?`,
    ...[day, most.scope, tokens, microUsd, most.tokens, most.microUsd, most.calls],
  );
  return counted === 1;
}

/** Replaces what was reserved by what was used; once. `calls` is 0 where the request never left. */
async function settleCall(
  db: Db,
  id: string,
  used: Settled & { microUsd: number; model?: string },
  now: Date,
): Promise<void> {
  const { inputTokens: input, cachedInputTokens: cached, cacheWriteTokens: written, outputTokens: output } = used;
  const { microUsd, model = null, calls } = used;
  await db.write(async (sql) => {
    const call = await sql.get<{ day: Day; scope: string; tokens: number; microUsd: number }>(
      `update call set settled_at = ?, input = ?, cached = ?, written = ?, output = ?, micro_usd = ?, model = coalesce(?, model)
       where id = ? and settled_at is null returning day, scope, reserved_tokens as tokens, reserved_usd as "microUsd"`,
      ...[now.toISOString(), input, cached, written, output, microUsd, model, id],
    );
    if (!call) return;
    const rest = [call.tokens - input - cached - output, call.microUsd - microUsd, 1 - calls];
    const back = 'update day set tokens = tokens - ?, micro_usd = micro_usd - ?, calls = calls - ?';
    const scopes = ['', ...call.scope.split(' ').filter(Boolean)];
    for (const scope of scopes) await sql.run(`${back} where day = ? and scope = ?`, ...rest, call.day, scope);
    if (calls === 0) await sql.run('delete from call where id = ?', id);
  });
}

function beyondJob({ jobTokens }: Ceilings, is: { used: number; reserved: number; tokens: number }): AppError {
  const found = `${is.used} used, ${is.reserved} set aside, ${is.tokens} more needed`;
  return new AppError('job-ceiling', `The job's limit of ${jobTokens} tokens would be exceeded: ${found}.`, {
    remedy: 'What was learned until then stays, and the rest waits.',
  });
}

const TOO_SMALL = 'is too small for a single request';

/** Whether what a job failed with is that no day has room for its request, so that only another limit helps. */
export function isTooSmall(error: string | null): boolean {
  return error?.includes(TOO_SMALL) ?? false;
}

/** Why a request does not fit; with `retryAfterMs` where only another day helps, without it where requests under way may. */
async function refusalOf(
  sql: Sql,
  { day, asked, scope, now, zone }: { day: Day; asked: Asked; scope: Scope; now: Date; zone: string },
): Promise<AppError> {
  const spent = await spentOn(sql, day, scope.scope);
  const usd = (micro: number) => `$${(micro / 1e6).toFixed(4)}`;
  const tokens = (count: number) => `${count} tokens`;
  const requests = (count: number) => `${count} requests on your plan`;
  // How it is said, where it is raised, how far it may go, what counts, what of that is not settled, what is asked for.
  const measures = [
    [requests, 'planRequests', scope.calls, spent.calls, 0, 1],
    [tokens, 'dayTokens', scope.tokens, spent.tokens, spent.reservedTokens, asked.tokens],
    [usd, 'dayMoneyUsd', scope.microUsd, spent.microUsd, spent.reservedMicroUsd, asked.microUsd],
  ] as const;
  const passed = measures.find(([, , most, all, , more]) => all + more > most);
  const [is, setting, most, all, open, more] = passed ?? measures[1];
  const used = all - open;
  const found = `${is(used)} used, ${is(open)} set aside, ${is(more)} more needed`;
  const isForToday = used + more > most;
  const retryAfterMs = isForToday ? nextDayAt(now, zone).getTime() - now.getTime() : undefined;
  if (more > most) {
    const least = setting === 'dayMoneyUsd' ? (Math.ceil(more / 1e4) / 100).toFixed(2) : more;
    const where = scope.whose ? `Raising ${scope.whose} to ${least}` : `nocturne config ${setting} ${least}`;
    return new AppError('ceiling', `The daily limit of ${is(most)} ${TOO_SMALL}, which may take up to ${is(more)}.`, {
      remedy: `${where} is enough for that one; another day does not help.`,
      retryAfterMs,
    });
  }
  return new AppError('ceiling', `The daily limit of ${is(most)} would be exceeded: ${found}.`, {
    remedy: `Raise ${scope.whose ?? `${setting} in config.json`}, or wait for tomorrow.`,
    retryAfterMs,
  });
}

export interface Spent {
  /** Of all requests, those that are not settled by their bounds. */
  tokens: number;
  microUsd: number;
  calls: number;
  /** Of that, what is not settled. */
  reservedTokens: number;
  reservedMicroUsd: number;
}

/** What counts for a day, of all or of a scope. */
export async function spentOn(sql: Sql, day: Day, scope = ''): Promise<Spent> {
  const row = await sql.get<Spent>(
    `select tokens, micro_usd as "microUsd", calls from day where day = ? and scope = ?`,
    ...[day, scope],
  );
  const only = scope === '' ? '' : "and replace(scope, ?, '') <> scope";
  const open = await sql.get<Spent>(
    `select cast(coalesce(sum(reserved_tokens), 0) as bigint) as "reservedTokens",
       cast(coalesce(sum(reserved_usd), 0) as bigint) as "reservedMicroUsd"
     from call where day = ? and settled_at is null ${only}`,
    ...[day, ...(scope === '' ? [] : [scope])],
  );
  return { tokens: 0, microUsd: 0, calls: 0, reservedTokens: 0, reservedMicroUsd: 0, ...row, ...open };
}

const FULL = 'full';

/** Notes that a day has no room for what was asked, so that nobody else asks before another. */
async function noteFull(sql: Sql, day: Day, now: Date): Promise<void> {
  const only = `on conflict (key) do update set value = excluded.value where setting.value < ?`;
  await sql.run(`insert into setting (key, value) values ('${FULL}', ?) ${only}`, `${day} ${now.toISOString()}`, day);
}

/** Since when a day has no room; null: it may have. */
export async function fullSince(sql: Sql, day: Day): Promise<string | null> {
  const full = await settingOf(sql, FULL);
  return full?.startsWith(`${day} `) ? full.slice(day.length + 1) : null;
}

/** A day may have room again: its ceilings are others, or a person says so. */
export async function reopenDay(sql: Sql): Promise<void> {
  await sql.run(`delete from setting where key = '${FULL}'`);
}

const RESTORED = 'restored';

/** What was spent since the copy, or ever where there was none, is not known. */
export function noteRestored(sql: Sql, now: Date): Promise<void> {
  return keepSetting(sql, RESTORED, now.toISOString());
}

/** When the database was restored in a month (`YYYY-MM`), so that not all is known of what was spent before; null: it was not. */
export async function restoredIn(sql: Sql, month: string, zone: string): Promise<string | null> {
  const at = await settingOf(sql, RESTORED);
  return at !== undefined && dayOf(new Date(at), zone).startsWith(month) ? at : null;
}

/** Those that count: of this machine, or where several share the database, those that it keeps for all (`setCeilings`). */
export async function ceilingsOf(db: Db, own: Ceilings): Promise<Ceilings> {
  if (db.engine === 'sqlite') return own;
  if ((await settingOf(db, LIMITS)) === undefined) {
    const made = { key: LIMITS, value: limitsOf(own) };
    await insert(db, 'setting', [made], 'on conflict (key) do nothing');
  }
  return { ...own, dayMoneyUsd: undefined, ...JSON.parse((await settingOf(db, LIMITS)) ?? '{}') };
}

/** From now on these count on all machines. */
export function setCeilings(sql: Sql, ceilings: Omit<Ceilings, 'jobTokens'>): Promise<void> {
  return keepSetting(sql, LIMITS, limitsOf(ceilings));
}

const LIMITS = 'limits';
const limitsOf = ({ dayTokens, dayMoneyUsd, zone }: Omit<Ceilings, 'jobTokens'>) =>
  JSON.stringify({ dayTokens, dayMoneyUsd, zone });
