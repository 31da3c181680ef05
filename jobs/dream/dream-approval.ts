// What a dream in review mode does in place of its commits: every operation waits as a proposal, and no file of the memory changes. And
// what becomes of what waits: it is kept from being asked about again, and let go of where it does not hold any more. A person is shown
// each as a diff of the files, with why it is proposed and the words that it rests on.

import { newId, type Sql } from '../../src/db/sql.ts';
import { unifiedDiff } from '../../src/memory/edit-text.ts';
import { entriesAmong } from '../../src/memory/entries.ts';
import { headAt } from '../../src/memory/file-rows.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import {
  entryBase,
  type FileBase,
  openProposals,
  type Proposal,
  putProposal,
  whatChanged,
} from '../../src/memory/proposals.ts';
import { bundle, checkOperations, editsOf } from '../../src/memory/text/operations.ts';
import type { Change } from '../../src/memory/undo-rows.ts';
import { entryIds, linesIn, type Operation, toldKind, topicOfLine } from '../../src/rules/dream-context.ts';
import { type Checked, changesOf, type DreamOutput, type LandAt, landTopics, settle } from './dream-landing.ts';
import {
  contextOf,
  type DraftTopic,
  goneHolding,
  type NightContext,
  type NightEntry,
  openTopic,
  type StandingFiles,
  standingFiles,
} from './topic-draft.ts';

/** Lets operations wait for a person's word; answers what the job tells by then. */
export function proposeOperations(checked: Checked, at: LandAt, madeBy: Proposal['madeBy']): Promise<DreamOutput> {
  const { context, fresh, gone = [], operations: all, refused, left } = checked;
  const memory = at.memory.id;
  const now = at.memories.clock.now().toISOString();
  const known = new Map([...fresh, ...gone].map((entry) => [entry.id, entry]));
  const made = bundle(all).map((operations): Proposal => {
    const entries = [...new Set(operations.flatMap(entryIds))].flatMap((id) => known.get(id) ?? []);
    return {
      ...{ id: newId('prop').slice(0, 'prop_'.length + 12), job: at.by.job, at: now, madeBy },
      ...{ state: 'open', decidedAt: null, because: null, operations, files: basesOf(operations, context) },
      entries: entries.map((entry) => entryBase(entry, gone.includes(entry))),
    };
  });
  // A gone entry on which no line rests that may go needs no decision.
  const proposed = new Set(made.flatMap(({ entries }) => entries.map(({ id }) => id)));
  const settled = { operations: [], fresh: [], gone: gone.filter(({ id }) => !proposed.has(id)) };
  return landTopics(at, [], async () => ({
    files: [],
    more: { proposals: made.map(({ id }) => id), refused, left },
    async rows(change) {
      await settle(change, memory, { checked: settled, lost: new Set() });
      for (const proposal of made) await putProposal(change, memory, proposal);
    },
  }));
}

/** The files that operations touch or rest on, as the context has them. */
function basesOf(operations: Operation[], context: NightContext): FileBase[] {
  const bases = new Map<string, FileBase>();
  const add = (path: string, topic: DraftTopic | undefined, lines: Iterable<string>) => {
    const known = bases.get(path);
    const all = [...new Set([...(known?.lines ?? []), ...lines])].sort();
    bases.set(path, { path, file: topic?.file ?? null, lines: all });
  };
  for (const { path, from, renamedFrom, remove } of editsOf(operations, context)) {
    const topic = [...context.topics.values()].find((each) => each.path === (renamedFrom ?? path));
    add(from ?? renamedFrom ?? path, topic, remove);
    if (from || renamedFrom !== undefined) add(path, undefined, []);
  }
  for (const operation of operations) {
    const line = operation.kind === 'drop' ? operation.of : undefined;
    const topic = line === undefined ? undefined : topicOfLine(line, context);
    if (line !== undefined && topic) add(topic.from ?? topic.path, topic, [line]);
  }
  return [...bases.values()];
}

export type ProposalPlace = { sql: Sql; memory: string; files: StandingFiles; limits: { memoryBytes: number } };

/** The entries and files of a proposal as they stand. */
export async function contextOfProposal(
  { entries, files: bases }: Proposal,
  { sql, memory, files }: Pick<ProposalPlace, 'sql' | 'memory' | 'files'>,
): Promise<{ context: NightContext; fresh: NightEntry[]; gone: NightEntry[] }> {
  const { fresh: waiting = [], gone: lost = [] } = Object.groupBy(entries, ({ isGone }) => (isGone ? 'gone' : 'fresh'));
  const fresh = await entriesAmong(sql, memory, { column: 'id', of: waiting.map(({ id }) => id) });
  const ids = new Set(lost.map(({ id }) => id));
  const gone = ids.size > 0 ? (await goneHolding(sql, memory, files)).filter(({ id }) => ids.has(id)) : [];
  const context = await contextOf(fresh, files);
  for (const { path } of bases) await openTopic(path, { sql, memory, files, context });
  return { context, fresh, gone };
}

/** What is wrong with a proposal by itself, in the context as it stands; empty where it may be carried out. */
export function checkProposal(
  { madeBy, operations }: Pick<Proposal, 'madeBy' | 'operations'>,
  context: NightContext,
  limits: { memoryBytes: number },
): string[] {
  // Code takes out what rests on entries that are gone: whether it still does is asked of what changed.
  return madeBy === 'code' ? [] : checkOperations(operations, context, limits);
}

/** What waits and holds, by its entries; `rows` lets go of what does not, null: there is none. */
export async function waitingNow(
  place: ProposalPlace,
): Promise<{ entries: Set<string>; rows: ((change: Change) => Promise<void>) | null }> {
  const { sql, memory, limits } = place;
  const drop: Proposal[] = [];
  const entries = new Set<string>();
  for (const proposal of await openProposals(sql, memory)) {
    const { context } = await contextOfProposal(proposal, place);
    const isWhole = checkProposal(proposal, context, limits).length === 0;
    if (!isWhole || (await whatChanged(sql, memory, proposal)) !== null) drop.push(proposal);
    else for (const { id } of proposal.entries) entries.add(id);
  }
  const rows = async (change: Change) => {
    for (const { id } of drop) await change.drop('proposal', { id });
  };
  return { entries, rows: drop.length > 0 ? rows : null };
}

export interface ShownProposal {
  id: string;
  kind: string;
  /** Path of the topic; null where none is touched. */
  topic: string | null;
  reason: string;
  /** The dream that proposed it, and when. */
  job: string;
  at: string;
  /** `stale`: nobody can accept it; the next dream makes it again. */
  state: 'waiting' | 'stale';
  /** What changed since. */
  why: string | null;
  /** The lines it would write. */
  lines: string[];
  /** `speakers`: who said each quote. */
  entries: (Record<'id' | 'type' | 'text' | 'by' | 'at' | 'session', string> &
    Record<'quotes' | 'speakers', string[]>)[];
  /** Of the files as they are; empty where none changes, or where it is stale. */
  diff: string;
}

/** All that wait, or those of `ids`, topic by topic. */
export async function shownProposals(sql: Sql, memory: MemoryRow, ids?: readonly string[]): Promise<ShownProposal[]> {
  const files = await standingFiles(sql, memory.id);
  const shown: ShownProposal[] = [];
  for (const proposal of await openProposals(sql, memory.id)) {
    if (ids && !ids.includes(proposal.id)) continue;
    const why = await whatChanged(sql, memory.id, proposal);
    shown.push(await showProposal(proposal, { sql, memory: memory.id, files, why }));
  }
  return shown.sort((a, b) => (a.topic ?? '').localeCompare(b.topic ?? ''));
}

type Place = { sql: Sql; memory: string; files: StandingFiles; why: string | null };

async function showProposal(proposal: Proposal, place: Place): Promise<ShownProposal> {
  const { id, job, at, operations, files } = proposal;
  const { sql, memory, why } = place;
  const [first] = operations;
  const named = first && 'topic' in first && first.topic ? `${first.topic}.md` : (files[0]?.path ?? null);
  const entries = await entriesAmong(sql, memory, { column: 'id', of: proposal.entries.map((base) => base.id) });
  return {
    ...{ id, job, at, why, state: why ? 'stale' : 'waiting' },
    kind: first ? toldKind(first) : '',
    topic: named,
    reason: first?.reason ?? '',
    lines: operations.flatMap(linesIn).map(({ text }) => text),
    entries: entries.map(({ id: entry, type, text, by, at: saidAt, name, evidence }) => {
      const quotes = evidence.map(({ quote }) => quote);
      const speakers = evidence.map(({ by: speaker = by }) => speaker);
      return { id: entry, type, text, by, at: saidAt, session: name ?? '', quotes, speakers };
    }),
    diff: why ? '' : await diffOf(proposal, place),
  };
}

/** What a proposal would change in the files as they are. */
async function diffOf(proposal: Proposal, place: Place): Promise<string> {
  const { sql, memory } = place;
  const { operations } = proposal;
  const { context } = await contextOfProposal(proposal, place);
  const changes = await changesOf(sql, memory, operations, context);
  let diff = '';
  for (const { path, from = path, make } of changes) {
    const before = (await headAt(sql, memory, from))?.content?.toString() ?? null;
    const side = (text: string | null, name: string) => ({
      name: text === null ? '/dev/null' : name,
      text: text ?? '',
    });
    diff += unifiedDiff(side(before, from), side(await make(before), path));
  }
  return diff;
}
