// The home: `$NOCTURNE_HOME/home.db`, what is known over all memory directories of this user: which there are, what
// was spent, which workers run. An upper bound is reserved before every request and settled after it; what is never
// settled (a killed process) stays counted whole, so a ceiling is never passed.

import { join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { isDead, type ProcessName, thisProcess } from '../../base/process.ts';
import { type Clock, type Day, dayOf } from '../../base/time.ts';
import { Sql } from '../ledger/database.ts';
import { Breaker } from './breaker.ts';
import { Looks } from './looks.ts';
import { openSoundHome } from './mend-home.ts';
import { Pauses } from './pauses.ts';
import { Reservations } from './reservations.ts';

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
export interface Ask {
  tokens: number;
  ceilingTokens: number;
  microUsd?: number;
  /** None: money is not limited. */
  ceilingMicroUsd?: number;
}

export interface WorkerRow {
  process: ProcessName;
  /** `embedded`, `redis` or `postgres`. */
  backend: string;
  startedAt: string;
  /** When it last said that it lives, about every half minute. */
  seenAt: string;
}

/** That the database was made anew is told for so long. */
const DAMAGE_TOLD_MS = 7 * 86_400_000;
const IF_DAMAGED =
  'Run the same command again: the file is kept aside and made anew. No memory is lost, only which directories are known, what was spent today, and pauses.';

/** `zone`: whose days spend is counted by. */
export function openHome(dir: string, clock: Clock, zone = 'UTC'): Home {
  return new Home(dir, clock, zone);
}

/** That the database of the home was damaged and made anew. */
export interface HomeDamage {
  at: string;
  /** Where the damaged one is. */
  kept: string;
  /** The tables of which not all could be read. */
  lost: string[];
}

/** As a sentence without its stop. */
export function sayDamage({ at, kept, lost }: HomeDamage): string {
  const pauses = lost.includes('pause') ? ', nothing is done unasked until nocturne resume' : '';
  return `home.db was damaged, kept as ${kept} and made anew at ${at}${pauses}`;
}

/** As a sentence without its stop: why no model is asked on a day, and the one command that lets it go on. */
export function sayUnreadSpend(day: Day): string {
  return `what was spent on ${day} could not be read: the day counts as spent in full, and no model is asked, until nocturne retry --failed or the next day`;
}

export class Home {
  readonly dir: string;
  /** Whether models may be asked at all. */
  readonly breaker: Breaker;
  readonly looks: Looks;
  readonly pauses: Pauses;
  /** Upper bounds that outlast the process which asked for them. */
  readonly reservations: Reservations;
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #zone: string;

  constructor(dir: string, clock: Clock, zone: string) {
    this.dir = dir;
    this.#clock = clock;
    this.#zone = zone;
    const now = clock.now();
    const file = { path: join(dir, 'home.db'), ifDamaged: IF_DAMAGED, now, today: dayOf(now, zone) };
    this.#sql = new Sql(openSoundHome(file), IF_DAMAGED);
    this.breaker = new Breaker(this.#sql, clock);
    this.looks = new Looks(this.#sql);
    this.pauses = new Pauses(this.#sql, clock);
    this.reservations = new Reservations(this.#sql, this);
  }

  /** Set for a week after the database was made anew, or until somebody resumes. */
  damage(): HomeDamage | null {
    const row = this.#sql.get<{ at: string; kept: string; lost: string }>('select at, kept, lost from damage');
    const isOver = !row || this.#clock.now().getTime() - Date.parse(row.at) > DAMAGE_TOLD_MS;
    return isOver ? null : { ...row, lost: row.lost.split(' ').filter(Boolean) };
  }

  /** Remembers the directories that `look` finds, once after the database was made anew. */
  lookAround(look: () => string[]): void {
    if (!this.#sql.get('select 1 from damage where looked = 0')) return;
    for (const dir of look()) this.addStore(dir);
    this.#sql.run('update damage set looked = 1');
  }

  /** A person has seen that the database was made anew. */
  forgetDamage(): void {
    this.#sql.run('delete from damage');
  }

  /** Remembers a memory directory, so that workers look into its inbox. */
  addStore(path: string): void {
    // Looked up first: who only asks waits for nobody that writes.
    if (this.#sql.get('select 1 from store where path = ?', path)) return;
    this.#sql.run('insert or ignore into store (path, added_at) values (?, ?)', path, this.#now());
  }

  stores(): string[] {
    return this.#sql.all<{ path: string }>('select path from store order by path').map(({ path }) => path);
  }

  /**
   * Counts a request's bounds against the day before it is sent. Throws `ceiling` where they do not fit; with
   * `retryAfterMs` until `nextDayAt` where only another day can help, without it where requests under way may still
   * give back what they do not use.
   */
  reserve(day: Day, ask: Ask & { nextDayAt: Date }): void {
    const refusal = this.#sql.transaction(() => {
      const refused = this.#refusal(day, ask);
      if (refused) {
        if (refused.isForToday) this.#fill(day);
        return refused;
      }
      this.#sql.run(
        `insert into spend (day, reserved, used, calls, reserved_micro_usd) values (?, ?, 0, 0, ?)
             on conflict (day) do update set reserved = reserved + excluded.reserved,
               reserved_micro_usd = reserved_micro_usd + excluded.reserved_micro_usd`,
        day,
        ask.tokens,
        ask.microUsd ?? 0,
      );
      return null;
    });
    if (!refusal) return;
    throw new AppError('ceiling', refusal.message, {
      remedy: refusal.setting
        ? `Raise ${refusal.setting} in config.json of the nocturne home, or wait for tomorrow.`
        : 'Run nocturne retry --failed, which lets the day begin anew, or wait for tomorrow.',
      retryAfterMs: refusal.isForToday ? ask.nextDayAt.getTime() - this.#clock.now().getTime() : undefined,
    });
  }

  #refusal(day: Day, ask: Ask): { message: string; setting: string | null; isForToday: boolean } | null {
    const spend = this.spendOf(day);
    if (this.#isUnread(day)) {
      const message = `What was spent on ${day} cannot be read since home.db was damaged: the day counts as spent in full.`;
      return { message, setting: null, isForToday: true };
    }
    const { ceilingTokens, ceilingMicroUsd, microUsd = 0 } = ask;
    if (spend.reservedTokens + spend.usedTokens + ask.tokens > ceilingTokens) {
      const found = `${spend.usedTokens} used, ${spend.reservedTokens} reserved, ${ask.tokens} asked for`;
      return {
        message: `The daily ceiling of ${ceilingTokens} tokens would be passed: ${found}.`,
        setting: 'dayTokens',
        isForToday: spend.usedTokens + ask.tokens > ceilingTokens,
      };
    }
    if (
      ceilingMicroUsd !== undefined &&
      microUsd > 0 &&
      spend.reservedMicroUsd + spend.usedMicroUsd + microUsd > ceilingMicroUsd
    ) {
      const usd = (micro: number) => `$${(micro / 1e6).toFixed(4)}`;
      const found = `${usd(spend.usedMicroUsd)} used, ${usd(spend.reservedMicroUsd)} reserved, ${usd(microUsd)} asked for`;
      return {
        message: `The daily ceiling of ${usd(ceilingMicroUsd)} would be passed: ${found}.`,
        setting: 'dayMoneyUsd',
        isForToday: spend.usedMicroUsd + microUsd > ceilingMicroUsd,
      };
    }
    return null;
  }

  #fill(day: Day): void {
    this.#sql.run(
      `insert into spend (day, reserved, used, calls, full_from) values (?, 0, 0, 0, ?)
         on conflict (day) do update set full_from = coalesce(full_from, excluded.full_from)`,
      day,
      this.#now(),
    );
  }

  /** Since when the day has no room for another request; null: it may have. */
  fullFrom(day: Day): string | null {
    return (
      this.#sql.get<{ from: string | null }>('select full_from as "from" from spend where day = ?', day)?.from ?? null
    );
  }

  /** Counts work that was turned away because the day was full. */
  countSkip(day: Day): void {
    this.#sql.run('update spend set skips = skips + 1 where day = ?', day);
  }

  skipsOf(day: Day): number {
    return this.#sql.get<{ skips: number }>('select skips from spend where day = ?', day)?.skips ?? 0;
  }

  /** Today, where what was spent on it could not be read; null: it is known. */
  unreadSpend(): Day | null {
    const today = dayOf(this.#clock.now(), this.#zone);
    return this.#isUnread(today) ? today : null;
  }

  #isUnread(day: Day): boolean {
    return this.#sql.get('select 1 from spend where day = ? and unreadable = 1', day) !== undefined;
  }

  /** A person says that the day has room again, for example with a higher ceiling. */
  reopenDay(day: Day): void {
    this.#sql.run('update spend set full_from = null, unreadable = 0 where day = ?', day);
  }

  /** Replaces a reservation by what was really used. */
  settle(
    day: Day,
    spent: {
      reservedTokens: number;
      usedTokens: number;
      calls: number;
      reservedMicroUsd?: number;
      usedMicroUsd?: number;
    },
  ): void {
    this.#sql.run(
      `update spend set reserved = reserved - ?, used = used + ?, calls = calls + ?,
         reserved_micro_usd = reserved_micro_usd - ?, used_micro_usd = used_micro_usd + ? where day = ?`,
      spent.reservedTokens,
      spent.usedTokens,
      spent.calls,
      spent.reservedMicroUsd ?? 0,
      spent.usedMicroUsd ?? 0,
      day,
    );
  }

  spendOf(day: Day): Spend {
    const row = this.#sql.get<Spend>(
      `select reserved as reservedTokens, used as usedTokens, calls, reserved_micro_usd as reservedMicroUsd,
         used_micro_usd as usedMicroUsd from spend where day = ?`,
      day,
    );
    return row ?? { reservedTokens: 0, usedTokens: 0, calls: 0, reservedMicroUsd: 0, usedMicroUsd: 0 };
  }

  /** Enters this process as a worker. Only one embedded worker may run on a home: a second is refused by name. */
  enterWorker(backend: string): void {
    this.#sql.transaction(() => {
      const other = this.workers().find((worker) => worker.backend === 'embedded' && worker.process !== thisProcess());
      if (backend === 'embedded' && other) {
        throw new AppError('queue-unavailable', `A worker with the embedded queue runs already: ${other.process}.`, {
          remedy: 'Let it work, stop it, or set NOCTURNE_QUEUE_URL to a Redis or Postgres that several workers share.',
        });
      }
      this.#sql.run(
        'insert or replace into worker (process, backend, started_at, seen_at) values (?, ?, ?, ?)',
        thisProcess(),
        backend,
        this.#now(),
        this.#now(),
      );
    });
  }

  /** This process's worker lives. */
  seeWorker(): void {
    this.#sql.run('update worker set seen_at = ? where process = ?', this.#now(), thisProcess());
  }

  leaveWorker(): void {
    this.#sql.run('delete from worker where process = ?', thisProcess());
  }

  /** The workers that run; the rows of dead ones are removed. */
  workers(): WorkerRow[] {
    const rows =
      this.#sql.all<WorkerRow>(`select process, backend, started_at as startedAt, coalesce(seen_at, started_at) as seenAt
         from worker order by started_at`);
    for (const row of rows.filter((row) => isDead(row.process))) {
      this.#sql.run('delete from worker where process = ?', row.process);
    }
    return rows.filter((row) => !isDead(row.process));
  }

  /**
   * When the nightly round was done last. The first to ask is told, and noted for good, that it was just now; so is who
   * asks after a clock that was ahead, which would keep the nights away until then.
   */
  nightlyAt(): Date {
    const lastAt = this.lastNightAt();
    if (lastAt !== null && lastAt <= this.#now()) return new Date(lastAt);
    this.#sql.run(
      `insert into nightly (id, at) values (1, ?) on conflict (id) do update set at = excluded.at
         where at > excluded.at`,
      this.#now(),
    );
    return new Date(this.lastNightAt() as string);
  }

  /** Does the nightly round unless one was done since `dueAt`; of processes that ask at once, one does it. */
  nightlyRound(dueAt: Date | undefined, round: () => void): void {
    this.#sql.transaction(() => {
      const lastAt = this.nightlyAt();
      if (dueAt && lastAt >= dueAt) return;
      round();
      this.#sql.run('update nightly set at = ?', this.#now());
    });
  }

  /** When the last nightly round was done; null: none was, here. */
  lastNightAt(): string | null {
    return this.#sql.get<{ at: string }>('select at from nightly')?.at ?? null;
  }

  close(): void {
    this.#sql.close();
  }

  #now(): string {
    return this.#clock.now().toISOString();
  }
}
