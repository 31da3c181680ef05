// Reservations that outlast the process that made them: of work that is paid for now and answered in hours.
// Promises: one id is reserved once and settled once, however often a crash makes somebody ask again; what is never
// settled stays counted whole on the day it was made.

import type { Bound } from '../../base/config/prices.ts';
import { type AppError, isAppError } from '../../base/errors.ts';
import type { Day } from '../../base/time.ts';
import type { Sql } from '../ledger/database.ts';

/** Where the day's tokens and money are counted. */
interface Days {
  settle(
    day: Day,
    spent: {
      reservedTokens: number;
      usedTokens: number;
      calls: number;
      reservedMicroUsd: number;
      usedMicroUsd: number;
    },
  ): void;
}

export class Reservations {
  readonly #sql: Sql;
  readonly #days: Days;

  constructor(sql: Sql, days: Days) {
    this.#sql = sql;
    this.#days = days;
  }

  /** Reserves by `count`, which throws `ceiling` where it does not fit; an id that is reserved already stays as it is. */
  keep(id: string, { day, tokens, microUsd, count }: Bound & { day: Day; count(): void }): void {
    const refused = this.#sql.transaction((): AppError | null => {
      if (this.#sql.get('select 1 from reservation where id = ?', id)) return null;
      try {
        count();
      } catch (error) {
        // Thrown here, it would take back what the day notes of the refusal.
        if (!isAppError(error, 'ceiling')) throw error;
        return error;
      }
      this.#sql.run(
        'insert into reservation (id, day, tokens, micro_usd) values (?, ?, ?, ?)',
        id,
        day,
        tokens,
        microUsd,
      );
      return null;
    });
    if (refused) throw refused;
  }

  /** Replaces it by what was used, and by what nobody knows, which stays counted; false where it was settled before. */
  settle(id: string, { used, unknown }: { used: Bound & { calls: number }; unknown: Bound }): boolean {
    return this.#sql.transaction((): boolean => {
      const row = this.#sql.get<Bound & { day: Day }>(
        'select day, tokens, micro_usd as microUsd from reservation where id = ?',
        id,
      );
      if (!row) return false;
      this.#sql.run('delete from reservation where id = ?', id);
      this.#days.settle(row.day, {
        reservedTokens: row.tokens - unknown.tokens,
        usedTokens: used.tokens,
        calls: used.calls,
        reservedMicroUsd: row.microUsd - unknown.microUsd,
        usedMicroUsd: used.microUsd,
      });
      return true;
    });
  }
}
