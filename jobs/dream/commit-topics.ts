// Commits changes of topics with the index built from them and the report that tells of them: for a dream, for what is
// forgotten, and for what a person accepted of what had waited.
// Promises: it is one commit; where a person decided, nothing is changed that is not as it was shown.

import { AppError } from '../../src/base/errors.ts';
import { dayOf, timeOf } from '../../src/base/time.ts';
import { type IndexSize, indexChange } from '../../src/memory/dream/index-change.ts';
import { refreshTopics, topicCards } from '../../src/memory/dream/topic-table.ts';
import { type EntryRow, indexLines } from '../../src/memory/ledger/entries.ts';
import type { Ledger } from '../../src/memory/ledger/ledger.ts';
import type { Lease } from '../../src/memory/store/leases.ts';
import type { FileChange, Transaction } from '../../src/memory/store/store.ts';
import {
  appendJsonReport,
  appendMarkdownReport,
  type BatchSummary,
  type MemorySize,
  type ReportedRow,
  reportPath,
} from '../../src/memory/text/dream-report.ts';
import type { Place } from './fresh-index.ts';

/** What a commit is about, and what its report tells beside the changes. */
export interface ToldBatch {
  fresh: EntryRow[];
  withdrawn: EntryRow[];
  job: string;
  lease: Lease;
  /** What code refused of the model's proposals. */
  refused?: string[];
  /** Entries that wait for another night. */
  left?: { entry: string; reason: string }[];
  /** What the batch cost; none where no model was asked. */
  spend?: BatchSummary['spend'];
  /** Set where a person decided on what had waited. */
  decision?: Decision;
  /** Nothing is changed; what the commit would throw is thrown. */
  isRehearsal?: boolean;
}

/** What a person's word adds to a commit. */
export interface Decision {
  /** What files must still hold, by path (null: no file), else nothing is changed: `conflict`. */
  expected: Map<string, string | null>;
  /** Throws where a row is not as it was. */
  check(ledger: Ledger): void;
  rows(transaction: Transaction): void;
}

export interface TopicsPlan {
  /** Changes of topic files. */
  topics: FileChange[];
  /** What the report tells. */
  told: ReportedRow[];
  rows(transaction: Transaction): void;
}

/** Commits changes of topics with the index built from them and the report that tells of them. */
export async function commitTopics(
  batch: ToldBatch,
  place: Place,
  plan: (ledger: Ledger) => TopicsPlan,
): Promise<IndexSize> {
  const { decision, lease, job, isRehearsal } = batch;
  let size: IndexSize = { topics: [], lines: 0, bytes: 0 };
  const by = { actor: decision ? ('person' as const) : (`job:${job}` as const), lease, isRehearsal };
  await place.store.commit(by, (ledger) => {
    decision?.check(ledger);
    refreshTopics(ledger);
    const before = { ...sizeOf(ledger), indexLines: indexLines(ledger).size };
    const { topics, told, rows } = plan(ledger);
    const index = indexChange(place.store);
    const after = () => ({ ...sizeOf(ledger), indexLines: index.size().generated });
    const reports = told.length > 0 ? reportFiles({ ...batch, told }, place, { before, after }) : [];
    return {
      files: [...expecting(topics, decision), index.memory, ...index.overflow(), ...reports],
      rows(transaction) {
        rows(transaction);
        decision?.rows(transaction);
        size = index.finish(transaction);
      },
    };
  });
  return size;
}

/** The report of what changes no topic. */
export function reportBatch(batch: ToldBatch & { told: ReportedRow[] }, place: Place, ledger: Ledger): FileChange[] {
  const size = { ...sizeOf(ledger), indexLines: indexLines(ledger).size };
  return reportFiles(batch, place, { before: size, after: () => size });
}

/** The changes, which throw where a file does not hold what a person decided on; so do those that nothing changes. */
function expecting(changes: FileChange[], decision: Decision | undefined): FileChange[] {
  if (!decision) return changes;
  const { expected } = decision;
  const rest = [...expected.keys()].filter((path) => !changes.some((change) => change.path === path));
  return [...changes, ...rest.map((path) => ({ path, change: (current: string | null) => current }))].map(
    ({ path, change }) => ({
      path,
      change(current) {
        const isExpected = !expected.has(path) || expected.get(path) === current;
        if (!isExpected) throw new AppError('conflict', `${path} was changed just now.`);
        return change(current);
      },
    }),
  );
}

const NO_SPEND = { calls: 0, inputTokens: 0, outputTokens: 0, microUsd: 0 };

/** What topics there are, as the ledger knows them. */
export function sizeOf(ledger: Ledger): Omit<MemorySize, 'indexLines'> {
  const cards = topicCards(ledger);
  const living = cards.filter((card) => !card.isArchived);
  const lines = living.reduce((sum, card) => sum + card.lines, 0);
  return { topics: living.length, archived: cards.length - living.length, lines };
}

/** For a person an entry is told of once, in the dream that read it, or that put its line away. */
function reportFiles(
  batch: ToldBatch & { told: ReportedRow[] },
  { clock, zone }: Place,
  { before, after }: { before: MemorySize; after(): MemorySize },
): FileChange[] {
  const { job, told: rows, fresh, withdrawn, spend = NO_SPEND, refused = [], left = [] } = batch;
  const now = clock.now();
  const [day, at] = [dayOf(now, zone), timeOf(now, zone)];
  const summary = (): BatchSummary => ({
    ...{ before, after: after(), spend, refused },
    ...(left.length > 0 && { left }),
  });
  const read = new Set([...fresh, ...withdrawn].map((entry) => entry.id));
  const told = rows.filter(
    (row) => read.has(row.entry) || row.goneTexts || ['archive', 'propose', 'failed'].includes(row.op),
  );
  return [
    { path: reportPath(day, 'json'), change: (current) => appendJsonReport(current, rows, summary()) },
    {
      path: reportPath(day, 'md'),
      change: (current) => appendMarkdownReport(current, { day, at, job, rows: told, summary: summary() }),
    },
  ];
}
