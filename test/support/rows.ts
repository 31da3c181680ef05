// What is kept beside the files, as tests of the doors look at it: the one place among them that knows how it is kept.

import { coverageWhere } from '../../src/memory/ledger/coverage.ts';
import { allEntries, outboxRows } from '../../src/memory/ledger/entries.ts';
import { type FailureRow, inboxItems } from '../../src/memory/ledger/inbox.ts';
import { lastJobs } from '../../src/memory/ledger/job-rows.ts';
import type { Ledger } from '../../src/memory/ledger/ledger.ts';
import { topicUses } from '../../src/memory/recall/recall-uses.ts';
import type { Store } from '../../src/memory/store/store.ts';

const QUERIES = {
  coverage: (ledger: Ledger) => coverageWhere(ledger),
  /** What became of each turn. */
  fates: (ledger: Ledger) => coverageWhere(ledger).map(({ disposition }) => disposition),
  entries: allEntries,
  /** What waits to be worked. */
  waiting: inboxItems,
  /** The latest first. */
  jobs: (ledger: Ledger) => lastJobs(ledger, 1_000),
  /** What failed, the latest first, without its words. */
  failures(ledger: Ledger): Omit<FailureRow, 'payload' | 'message' | 'key' | 'at'>[] {
    const rows = ledger.all<FailureRow>('select * from failure order by at desc, key');
    return rows.map(({ payload: _, message: __, key: ___, at: ____, ...row }) => row);
  },
  outbox: outboxRows,
  /** Every state that a file was in, the earliest first, with who made it and in which commit. */
  versions: (ledger: Ledger) =>
    ledger.all<{ content: unknown; actor: string; commit: number }>(
      'select content, actor, "commit" from version order by id',
    ),
  /** What each line of a topic rests on. */
  support: (ledger: Ledger) => ledger.all('select * from support order by path, line, entry'),
  leases: (ledger: Ledger) => ledger.all<{ until: string }>('select until from lease where owner is not null'),
  /** How often each topic was shown and used, by its path. */
  uses: topicUses,
};

export type Rows = <Query extends keyof typeof QUERIES>(query: Query) => Promise<ReturnType<(typeof QUERIES)[Query]>>;

export function rowsOf({ ledger }: Store): Rows {
  return async (query) => QUERIES[query](ledger) as ReturnType<(typeof QUERIES)[typeof query]>;
}
