// Commits operations: the topics, the index built from them, what became of each entry, and the report, in one commit;
// for a dream, for what is archived, and for what a person accepted of what had waited. Also the index alone.
// Promises: the operations are applied to the files as they are at that moment, so that an edit made while the model was
// thinking survives; where a person decided, nothing is changed that is not as it was shown.

import { AppError } from '../../src/base/errors.ts';
import { type Clock, dayOf, timeOf } from '../../src/base/time.ts';
import { updateHeld, writeHeld } from '../../src/memory/dream/habits.ts';
import { type IndexSize, indexChange } from '../../src/memory/dream/index-change.ts';
import { refreshTopics, topicCards } from '../../src/memory/dream/topic-table.ts';
import {
  addSupport,
  dropSupport,
  type EntryRow,
  type EntryState,
  entryRow,
  indexLines,
  moveSupports,
  supportsOf,
  writeEntry,
} from '../../src/memory/ledger/entries.ts';
import type { Lease } from '../../src/memory/ledger/job-rows.ts';
import type { Ledger, Transaction } from '../../src/memory/ledger/ledger.ts';
import type { FileChange, Store } from '../../src/memory/store/store.ts';
import {
  appendJsonReport,
  appendMarkdownReport,
  type MemorySize,
  type ReportedRow,
  reportPath,
  type SliceSummary,
} from '../../src/memory/text/dream-report.ts';
import { lineId, withoutMark } from '../../src/memory/text/topic.ts';
import { applyEdit, editsOf, renamed, type TopicEdit } from '../../src/memory/text/topic-edits.ts';
import {
  type DreamContext,
  entryIds,
  linesIn,
  linesOut,
  type Operation,
  toldKind,
  topicOfLine,
} from '../../src/rules/dream-context.ts';
import { type DraftTopic, otherPaths, relinked } from './draft.ts';

/** Operations that code lets through, with the rows and topics that they are about. */
export interface Checked extends Told {
  operations: Operation[];
  context: DreamContext<DraftTopic>;
}

/** Commits operations. */
export async function commitOperations(checked: Checked, at: CommitAt): Promise<IndexSize> {
  const { store, job, clock } = at;
  const edits = editsOf(checked.operations, checked.context);
  const links = await relinked(edits, store);
  return commitTopics(checked, at, (ledger) => ({
    topics: [...edits.flatMap(changesOf), ...links.files],
    told: reportRows(checked, { edits, job, ledger }),
    rows(transaction) {
      for (const { from, path } of edits) if (from) moveSupports(transaction, { from, to: path });
      const gone = writeSupports(transaction, edits);
      links.rows(transaction);
      const lines = edits.flatMap(({ add }) => add);
      const marked = lines.flatMap(({ seenOnce, entries }) => (seenOnce ? entries : []));
      writeStates(transaction, checked, { now: clock.now(), seenOnce: new Set(marked) });
      updateHeld(transaction, { lines, gone, now: clock.now() });
    },
  }));
}

/** What an edit does to files: of an archived topic that comes back, its file there goes. */
export function changesOf(edit: TopicEdit): FileChange[] {
  const { path, from, renamedFrom } = edit;
  if (renamedFrom !== undefined) {
    return [{ path, from: renamedFrom, change: (current) => renamed(applyEdit(current, edit), edit.name) }];
  }
  if (from === undefined) return [{ path, change: (current) => applyEdit(current, edit) }];
  let archived: string | null = null;
  const take = (current: string | null) => {
    archived = current;
    return null;
  };
  return [
    { path: from, change: take },
    { path, change: (current) => applyEdit(current ?? archived, edit) },
  ];
}

/** Answers the entries that lines rested on which were taken out. */
function writeSupports(transaction: Transaction, edits: TopicEdit[]): string[] {
  const gone: string[] = [];
  for (const edit of edits) {
    for (const support of supportsOf(transaction.ledger, edit.path)) {
      if (!edit.remove.has(support.line)) continue;
      dropSupport(transaction, support);
      gone.push(support.entry);
    }
    for (const line of edit.add) {
      for (const entry of line.entries) addSupport(transaction, { path: edit.path, line: lineId(line.text), entry });
    }
  }
  return gone;
}

/** What became of the entries; of withdrawn ones no line rests any more. */
export function writeStates(
  transaction: Transaction,
  { operations, fresh, withdrawn }: Pick<Checked, 'operations' | 'fresh' | 'withdrawn'>,
  { now, seenOnce = new Set() }: { now: Date /** Entries of lines that are marked so. */; seenOnce?: Set<string> },
): void {
  const stateOf = new Map<string, EntryState>();
  for (const operation of operations) {
    for (const id of entryIds(operation)) stateOf.set(id, seenOnce.has(id) ? 'held' : 'distilled');
  }
  for (const entry of fresh) {
    const state = stateOf.get(entry.id) ?? entry.state;
    writeEntry(transaction, { ...entry, state });
    if (state !== 'held') writeHeld(transaction, { entry: entry.id, isHeld: false, now });
  }
  for (const entry of withdrawn) {
    writeEntry(transaction, { ...entry, state: 'withdrawn' });
    for (const support of transaction.ledger.all('select path, line, entry from support where entry = ?', entry.id)) {
      dropSupport(transaction, { path: support.path as string, line: support.line as string, entry: entry.id });
    }
  }
}

/** What became of each entry, and of those whose lines a merge took over: it says them on their behalf. */
export function reportRows(
  { operations, context, fresh, withdrawn }: Checked,
  { edits, job, ledger }: { edits: TopicEdit[]; job: string; ledger: Ledger },
) {
  const texts = new Map([...fresh, ...withdrawn].map((entry) => [entry.id, entry.text]));
  const textOf = (entry: string) => texts.get(entry) ?? entryRow(ledger, entry)?.text ?? '';
  return operations.flatMap((operation, number): ReportedRow[] => {
    const { reason } = operation;
    const op = toldKind(operation);
    const known = 'topic' in operation ? context.topics.get(operation.topic ?? '') : undefined;
    if (operation.kind === 'rename') {
      const topic = `${operation.to}.md`;
      const text = `${operation.topic} is ${operation.to} now.`;
      return [{ job, entry: '', op, topic, lines: [], reason, operation: number, text }];
    }
    const path = 'topic' in operation && operation.topic ? (known?.path ?? `${operation.topic}.md`) : null;
    const moved = edits.find(({ renamedFrom }) => renamedFrom !== undefined && renamedFrom === path);
    const topic = moved?.path ?? path;
    const own = new Set(linesIn(operation).map((line) => line.text));
    const added = (edits.find((each) => each.path === topic)?.add ?? []).filter((line) =>
      own.has(withoutMark(line.text)),
    );
    const entries = new Set([...entryIds(operation), ...added.flatMap((line) => line.entries)]);
    const gone = linesOut(operation);
    const over = ('over' in operation && operation.over) || [];
    const untold = new Set(added);
    return [...entries].map((entry, at) => {
      const lines = added.filter((line) => line.entries.includes(entry)).map((line) => lineId(line.text));
      const said = lineId(textOf(entry));
      const text = context.entries.get(entry)?.text ?? '';
      const about = { ...(over.length > 0 && { over }), text };
      const row = { job, entry, op, topic, lines, said, reason, operation: number, ...about };
      // Each line is told once: one that went with the operation's first entry, one that came with its own.
      const came = [...untold].filter((line) => line.entries.includes(entry));
      for (const line of came) untold.delete(line);
      return {
        ...row,
        ...(at === 0 &&
          gone.length > 0 && {
            gone,
            goneTexts: gone.map((line) => topicOfLine(line, context)?.lines.get(line)?.text ?? line),
          }),
        ...(came.length > 0 && { cameTexts: came.map((line) => line.text) }),
      };
    });
  });
}

/** What a report tells apart from the changes. */
export interface Told {
  fresh: EntryRow[];
  withdrawn: EntryRow[];
  /** What code refused of the model's proposals. */
  refused?: string[];
  /** Entries that wait for another night. */
  left?: { entry: string; reason: string }[];
  /** What asking cost; none where no model was asked. */
  spend?: SliceSummary['spend'];
}

/** Where a commit is made, and as which job's. */
export interface CommitAt extends CommitDeps {
  job: string;
  lease: Lease;
  /** Set where a person decided on what had waited. */
  decision?: Decision;
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
export async function commitTopics(told: Told, at: CommitAt, plan: (ledger: Ledger) => TopicsPlan): Promise<IndexSize> {
  const { decision, lease, job, store } = at;
  let size: IndexSize = { topics: [], lines: 0, bytes: 0 };
  const by = { actor: decision ? ('person' as const) : (`job:${job}` as const), lease };
  await store.commit(by, (ledger) => {
    decision?.check(ledger);
    refreshTopics(ledger);
    const before = { ...sizeOf(ledger), indexLines: indexLines(ledger).size };
    const { topics, told: changes, rows } = plan(ledger);
    const index = indexChange(store);
    const after = () => ({ ...sizeOf(ledger), indexLines: index.size().generated });
    const reports = changes.length > 0 ? reportFiles(changes, told, { at, before, after }) : [];
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
export function reportOnly(rows: ReportedRow[], told: Told, at: CommitAt): FileChange[] {
  const { ledger } = at.store;
  const size = { ...sizeOf(ledger), indexLines: indexLines(ledger).size };
  return reportFiles(rows, told, { at, before: size, after: () => size });
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

/** What others wrote, of which the first so many are told. */
const MOST_CALLERS = 1_000;

function callersOf(ledger: Ledger): NonNullable<SliceSummary['callers']> {
  const topics = ledger.all<{ path: string; lines: number }>(
    `select path, count(*) as lines from topic_line where line <> '' and path not like 'archive/%' and not exists
       (select 1 from support where support.path = topic_line.path and support.line = topic_line.line)
     group by path order by path`,
  );
  return [...otherPaths(ledger).map((path) => ({ path })), ...topics].slice(0, MOST_CALLERS);
}

/** For a person an entry is told of once, in the dream that read it, or that put its line away. */
function reportFiles(
  rows: ReportedRow[],
  { fresh, withdrawn, spend = NO_SPEND, refused = [], left = [] }: Told,
  { at, before, after }: { at: CommitAt; before: MemorySize; after(): MemorySize },
): FileChange[] {
  const { clock, zone, job, store } = at;
  const callers = callersOf(store.ledger);
  const now = clock.now();
  const [day, time] = [dayOf(now, zone), timeOf(now, zone)];
  const summary = (): SliceSummary => ({
    ...{ before, after: after(), spend, refused },
    ...(left.length > 0 && { left }),
    ...(callers.length > 0 && { callers }),
  });
  const read = new Set([...fresh, ...withdrawn].map((entry) => entry.id));
  const told = rows.filter(
    (row) => read.has(row.entry) || row.goneTexts || ['archive', 'propose', 'failed'].includes(row.op),
  );
  return [
    { path: reportPath(day, 'json'), change: (current) => appendJsonReport(current, rows, summary()) },
    {
      path: reportPath(day, 'md'),
      change: (current) => appendMarkdownReport(current, { day, at: time, job, rows: told, summary: summary() }),
    },
  ];
}

export interface CommitDeps {
  store: Store;
  clock: Clock;
  zone: string;
}

/** Brings the index up to date with the topic files, for what a person added, renamed or removed. */
export async function rebuildIndex(place: CommitDeps, by: { lease: Lease; actor: string }): Promise<IndexSize> {
  const { store } = place;
  const index = indexChange(store);
  const current = await store.read('MEMORY.md');
  const wanted = index.memory.change(current);
  let size: IndexSize = index.size();
  if (wanted === current || size.topics.length === 0) return size;
  await store.commit({ actor: by.actor, lease: by.lease }, () => ({
    files: [index.memory, ...index.overflow()],
    rows: (transaction) => {
      size = index.finish(transaction);
    },
  }));
  return size;
}
