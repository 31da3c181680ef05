// The pauses that a person made, of a project or of everything: kept in the home, for all who work unasked.

import type { Clock } from '../../base/time.ts';
import type { Sql } from '../ledger/database.ts';

export interface Pause {
  /** The root of a project; null: everything. */
  project: string | null;
  /** ISO-8601; null: until it is resumed. */
  until: string | null;
  /** Nobody made it: the pauses that there were could not be read. */
  isAssumed?: boolean;
}

const EVERYWHERE = '';

export class Pauses {
  readonly #sql: Sql;
  readonly #clock: Clock;

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /** Pauses a project, or everything, for now without end or until an instant. A pause that was there is replaced. */
  begin({ project, until }: Pause): void {
    this.#sql.run('delete from pause where until <= ?', this.#now());
    this.#sql.run(
      'insert or replace into pause (project, until, at) values (?, ?, ?)',
      project ?? EVERYWHERE,
      until,
      this.#now(),
    );
  }

  /** Ends the pause of a project, or of everything; false where there was none. */
  end(project: string | null): boolean {
    const lasted = this.all().some((pause) => pause.project === project);
    this.#sql.run('delete from pause where project = ?', project ?? EVERYWHERE);
    return lasted;
  }

  /** The pauses that last. */
  all(): Pause[] {
    const rows = this.#sql.all<Pause>(
      'select project, until, assumed as isAssumed from pause where until is null or until > ? order by project',
      this.#now(),
    );
    return rows.map(({ project, until, isAssumed }) => ({
      project: project === EVERYWHERE ? null : project,
      until,
      ...(isAssumed && { isAssumed: true }),
    }));
  }

  #now(): string {
    return this.#clock.now().toISOString();
  }
}
