// What a dream in review mode does in place of its commit: every operation waits as a proposal, and no file of the
// memory changes. The report says what waits.
// Two proposals of the same line become one that rests on the entries of both, so that they never pile up.

import {
  dropProposal,
  type Proposal,
  pinEntry,
  proposalId,
  putProposal,
  waitingProposals,
  whatChanged,
} from '../../src/memory/dream/proposals.ts';
import { refreshTopics } from '../../src/memory/dream/topic-table.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import type { Ledger, Transaction } from '../../src/memory/ledger/ledger.ts';
import type { Store } from '../../src/memory/store/store.ts';
import type { ReportedRow } from '../../src/memory/text/dream-report.ts';
import { type Archiving, bundle } from '../../src/memory/text/operations.ts';
import { archivePath, lineId } from '../../src/memory/text/topic.ts';
import { entryIds, linesIn, linesOut, type Operation, type Put, toldKind } from '../../src/rules/dream-context.ts';
import { pinTopics, type RowOf, renewProposal } from '../review/waiting-proposals.ts';
import { type Checked, type CommitAt, reportOnly, reportRows, type Told, writeStates } from './commit.ts';
import { type DraftTopic, readTopics } from './draft.ts';

export interface Pending {
  /** Entries that wait, and are not asked about again. */
  entries: Set<string>;
  /** Something of it is no longer as it was made; `write` notes what becomes of that. */
  isStale: boolean;
  write(transaction: Transaction): void;
}

/** What waits, whether tonight's operations do or not: proposals that still hold, and those that went stale and still are the same change, which are pinned anew. */
export async function pendingProposals(store: Store, rowOf: RowOf): Promise<Pending> {
  const entries = new Set<string>();
  const [renewed, outdated]: [Proposal[], Proposal[]] = [[], []];
  for (const proposal of waitingProposals(store.ledger)) {
    const isStale = (await whatChanged(store, proposal, rowOf)) !== null;
    const now = isStale ? await renewProposal(store, proposal, { rowOf }) : proposal;
    if (isStale && now) renewed.push(now);
    if (!now) outdated.push(proposal);
    for (const { id } of now?.entries ?? []) entries.add(id);
  }
  return {
    entries,
    isStale: renewed.length + outdated.length > 0,
    write(transaction) {
      for (const proposal of renewed) putProposal(transaction, proposal);
      for (const { id } of outdated) dropProposal(transaction, id);
    },
  };
}

/** Lets operations wait for a person's word; answers the ids of what waits now. */
export async function proposeOperations(checked: Checked, commitAt: CommitAt): Promise<string[]> {
  const { store, clock, job } = commitAt;
  const { context, fresh, withdrawn, operations: all } = checked;
  refreshTopics(store.ledger);
  const rows = new Map([...fresh, ...withdrawn].map((row) => [row.id, row]));
  const at = clock.now().toISOString();
  const made = bundle(all).map((bundled): Proposal => {
    const operations = bundled.map((operation) => withoutUnseenDescription(operation, context.topics));
    return {
      id: proposalId({ operations, archiving: null }),
      job,
      at,
      madeBy: checked.spend ? 'model' : 'code',
      operations,
      archiving: null,
      topics: pinTopics(operations, context),
      entries: [...new Set(operations.flatMap(entryIds))].flatMap((id) => {
        const row = rows.get(id);
        return row ? pinEntry(row, withdrawn.includes(row)) : [];
      }),
      state: 'waiting',
      because: null,
    };
  });
  // A withdrawn entry that no line rests on any more, or a pinned one alone, needs no decision.
  const proposed = new Set(made.flatMap(({ entries }) => entries.map(({ id }) => id)));
  const settled = { ...checked, operations: [], fresh: [], withdrawn: withdrawn.filter(({ id }) => !proposed.has(id)) };
  return commitWaiting({ told: checked, made, texts: rows }, commitAt, {
    told: (ledger) => reportRows(settled, { edits: [], job, ledger }),
    rows: (transaction) => writeStates(transaction, settled, { now: clock.now() }),
  });
}

/** The same for what would be put away. */
export async function proposeArchiving(archiving: Archiving[], commitAt: CommitAt): Promise<string[]> {
  const { store, clock, job } = commitAt;
  const at = clock.now().toISOString();
  const filesOf = ({ kind, topic }: Archiving) => (kind === 'archive' ? [topic, archivePath(topic)] : [topic]);
  const topics = [...(await readTopics(store, new Set(archiving.flatMap(filesOf)))).values()];
  const made = archiving.map((each): Proposal => {
    const pins = filesOf(each).map((path) => {
      const sha = topics.find((topic) => (topic.from ?? topic.path) === path)?.sha ?? null;
      return { path, sha, description: null, lines: path === each.topic ? each.lines : [] };
    });
    const change = { operations: [], archiving: each };
    const made = { job, at, madeBy: 'code', state: 'waiting', because: null } as const;
    return { ...made, ...change, id: proposalId(change), topics: pins, entries: [] };
  });
  return commitWaiting({ told: { fresh: [], withdrawn: [] }, made, texts: new Map() }, commitAt);
}

interface Waiting {
  told: Told;
  made: Proposal[];
  /** What the proposals are about, by id. */
  texts: Map<string, EntryRow>;
}

async function commitWaiting(
  { told: report, made, texts }: Waiting,
  at: CommitAt,
  settled?: { told(ledger: Ledger): ReportedRow[]; rows(transaction: Transaction): void },
): Promise<string[]> {
  let ids: string[] = [];
  await at.store.commit({ actor: `job:${at.job}`, lease: at.lease }, (ledger) => {
    const joined = made.map((proposal) => joinWaiting(proposal, waitingProposals(ledger)));
    ids = joined.map(({ proposal }) => proposal.id);
    const told = [
      ...(settled?.told(ledger) ?? []),
      ...joined.flatMap(({ proposal }) => tell(proposal, { job: at.job, texts })),
    ];
    return {
      files: told.length > 0 ? reportOnly(told, report, at) : [],
      rows(transaction) {
        settled?.rows(transaction);
        for (const { proposal, instead } of joined) {
          if (instead) dropProposal(transaction, instead);
          putProposal(transaction, proposal);
        }
      },
    };
  });
  return ids;
}

/** Words for a topic that the model had not seen would be left aside by the dream. */
function withoutUnseenDescription(operation: Operation, topics: Map<string, DraftTopic>): Operation {
  if (operation.kind !== 'put' || !topics.get(operation.topic ?? '')?.isUnseen) return operation;
  const { description: _, ...rest } = operation;
  return rest;
}

/** The proposal, resting also on the entries of one that waits and says the same; `instead` of which it waits. */
function joinWaiting(proposal: Proposal, waiting: Proposal[]): { proposal: Proposal; instead?: string } {
  const shape = shapeOf(proposal);
  const same = shape && waiting.find((other) => other.id !== proposal.id && shapeOf(other) === shape);
  const [mine, theirs] = [proposal.operations[0], same ? same.operations[0] : undefined];
  if (!same || mine?.kind !== 'put' || theirs?.kind !== 'put') return { proposal };
  const lines = linesIn(mine).map((line) => {
    const other = linesIn(theirs).find(({ text }) => lineId(text) === lineId(line.text));
    return { ...line, entries: [...new Set([...(other?.entries ?? []), ...line.entries])] };
  });
  const operations = [
    { ...mine, in: lines, entries: [...new Set([...(theirs.entries ?? []), ...(mine.entries ?? [])])] },
  ];
  const others = same.entries.filter(({ id }) => !proposal.entries.some((pin) => pin.id === id));
  const id = proposalId({ operations, archiving: null });
  return { proposal: { ...proposal, id, operations, entries: [...others, ...proposal.entries] }, instead: same.id };
}

/** The same for proposals of the same lines in the same place; null where they are not to be joined. */
function shapeOf({ operations, madeBy }: Proposal): string | null {
  const [operation, ...more] = operations;
  if (!operation || more.length > 0 || madeBy !== 'model' || linesIn(operation).length === 0) return null;
  const lines = linesIn(operation)
    .map(({ text }) => lineId(text))
    .sort();
  const { topic } = operation as Put;
  return JSON.stringify([topic, linesOut(operation).toSorted(), lines]);
}

function tell({ id, operations, archiving }: Proposal, { job, texts }: { job: string; texts: Map<string, EntryRow> }) {
  const told = operations.map((each) => ({ ...each, kind: toldKind(each), entries: entryIds(each) }));
  return (archiving ? [archiving] : told).flatMap((change) => {
    const topic = 'topic' in change && change.topic ? change.topic.replace(/(\.md)?$/, '.md') : null;
    const reason = `Waits as ${id}: ${change.kind}. ${change.reason}`;
    return change.entries.map((entry): ReportedRow => {
      const text = texts.get(entry)?.text ?? '';
      return { job, entry, op: 'propose', topic, lines: [], said: lineId(text), reason, text };
    });
  });
}
