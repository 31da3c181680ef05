// What sweeps made of the transcripts they looked at, kept in the home, so that a file is not read again while it stays
// as it is. Losing it costs time, never work.

import type { Sql } from '../ledger/database.ts';

/** What a sweep made of a transcript, so that it is not read again while it stays as it is. */
export interface Look {
  path: string;
  sizeBytes: number;
  modifiedAt: string;
  cwd: string | null;
  /** The memory directory that was asked; null: the verdict holds for any. */
  store: string | null;
  verdict: string;
}

export class Looks {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  all(): Look[] {
    const columns = 'path, size as sizeBytes, modified_at as modifiedAt, cwd, store, verdict';
    return this.#sql.all<Look>(`select ${columns} from look`);
  }

  remember(looks: Look[]): void {
    this.#sql.transaction(() => {
      for (const { path, sizeBytes, modifiedAt, cwd, store, verdict } of looks) {
        this.#sql.run(
          'insert or replace into look (path, size, modified_at, cwd, store, verdict) values (?, ?, ?, ?, ?, ?)',
          path,
          sizeBytes,
          modifiedAt,
          cwd,
          store,
          verdict,
        );
      }
    });
  }
}
