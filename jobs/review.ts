// Review mode. A dream commits nothing then: every operation waits as a proposal, and no file of the memory changes. A person is shown
// each as a diff of the files, with why it is proposed and the words that it rests on, and accepts or rejects it. Who decides holds the
// claim of (dream, memory), so that nothing is proposed meanwhile.
//
// 1. Look at all files.
// 2. Of each proposal: read it, and what it was made for as that stands. Where that changed it is stale, and no decision makes it
//    apply to another text; the next dream lets go of it. What holds is kept from being asked about again.
// 3. Check its operations again, by themselves, in the memory as it stands.
// 4. Commit them as a dream does, as a job of the person's that can be undone. Inside the commit every file and entry must still
//    be what was checked.

import { AppError, isAppError } from '../src/base/errors.ts';
import { redact } from '../src/base/secrets/redact-text.ts';
import { newId, type Sql } from '../src/db/sql.ts';
import { type Claim, lookInto } from '../src/memory/commit.ts';
import { unifiedDiff } from '../src/memory/edit-text.ts';
import { entriesAmong, entryRow, PERSON, putEntry } from '../src/memory/entries.ts';
import { headAt } from '../src/memory/file-rows.ts';
import { enterJob } from '../src/memory/job-rows.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import {
  entryBase,
  type FileBase,
  isAsItWas,
  openProposals,
  type Proposal,
  proposalRow,
  putProposal,
  whatChanged,
} from '../src/memory/proposals.ts';
import { bundle, checkOperations, editsOf } from '../src/memory/text/operations.ts';
import type { Change } from '../src/memory/undo-rows.ts';
import { entryIds, linesIn, type Operation, toldKind, topicOfLine } from '../src/rules/dream-context.ts';
import {
  type Checked,
  changesOf,
  type DreamOutput,
  type LandAt,
  landOperations,
  landTopics,
  NOTHING_TOLD,
  settle,
} from './dream/dream-landing.ts';
import { select } from './dream/dream-slices.ts';
import {
  contextOf,
  type DraftTopic,
  goneHolding,
  type NightContext,
  type NightEntry,
  openTopic,
  type StandingFiles,
  standingFiles,
} from './dream/topic-draft.ts';

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

type ProposalPlace = { sql: Sql; memory: string; files: StandingFiles };

/** The entries and files of a proposal as they stand. */
async function contextOfProposal(
  { entries, files: bases }: Proposal,
  { sql, memory, files }: ProposalPlace,
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
function checkProposal(
  { madeBy, operations }: Pick<Proposal, 'madeBy' | 'operations'>,
  context: NightContext,
  limits: { memoryBytes: number },
): string[] {
  // Code takes out what rests on entries that are gone: whether it still does is asked of what changed.
  return madeBy === 'code' ? [] : checkOperations(operations, context, limits);
}

/** What waits and holds, by its entries; `rows` lets go of what does not, null: there is none. */
export async function waitingNow(
  place: ProposalPlace & { limits: { memoryBytes: number } },
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
    shown.push(await showProposal(proposal, { sql, memory: memory.id, files }));
  }
  return shown.sort((a, b) => (a.topic ?? '').localeCompare(b.topic ?? ''));
}

async function showProposal(proposal: Proposal, place: ProposalPlace): Promise<ShownProposal> {
  const { id, job, at, operations, files } = proposal;
  const { sql, memory } = place;
  const why = await whatChanged(sql, memory, proposal);
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
async function diffOf(proposal: Proposal, place: ProposalPlace): Promise<string> {
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

// A person's word.

export type Word = { kind: 'accept' } | { kind: 'reject'; because?: string };

export interface ReviewRequest {
  /** Default: all that wait. */
  ids?: string[];
  word: Word;
  claim?: Claim;
}

interface ReviewDeps {
  memories: Memories;
  memory: MemoryRow;
  /** Tokens of topics that operations are checked against, beside those that they touch. */
  requestTokens: number;
}

export interface Decided {
  id: string;
  /** `stale`: what it was made for changed. `refused`: code finds something wrong with it, or it would lose much. */
  outcome: 'accepted' | 'rejected' | 'stale' | 'refused' | 'unknown';
  /** What was found, where that is not simply done. */
  why: string | null;
  /** With which it can be undone; null where nothing was changed. */
  job: string | null;
}

/** Answers what became of each. Errors: those of the database and the disk alone. */
export async function review({ ids, word, claim }: ReviewRequest, deps: ReviewDeps): Promise<Decided[]> {
  const { memories, memory } = deps;
  // 1.
  await lookInto(memories, { memory: memory.id, paths: 'all' });
  const run: Run = { ...deps, claim };
  const decided = new Map<string, Decided>();
  let open = [...new Set(ids ?? (await openProposals(memories.db, memory.id)).map(({ id }) => id))];
  for (let before = Infinity; open.length > 0 && open.length < before; ) {
    before = open.length;
    for (const id of open) decided.set(id, await decide(id, word, run));
    // What was refused may be right once another one was accepted.
    open = open.filter((id) => decided.get(id)?.outcome === 'refused');
  }
  return [...decided.values()];
}

interface Run extends ReviewDeps {
  claim?: Claim;
}

async function decide(id: string, word: Word, run: Run): Promise<Decided> {
  const { memories, memory } = run;
  const ended = (outcome: Decided['outcome'], why: string | null = null, job: string | null = null): Decided => {
    return { id, outcome, why, job };
  };
  // 2.
  const proposal = await proposalRow(memories.db, memory.id, id);
  if (!proposal) return ended('unknown', `No proposal ${id} is waiting.`);
  if (proposal.state !== 'open') return ended('unknown', `${id} was ${proposal.state} before.`);
  try {
    if (word.kind === 'reject') return ended('rejected', null, await reject(proposal, word.because, run));
    const changed = await whatChanged(memories.db, memory.id, proposal);
    if (changed) return ended('stale', changed);
    return ended('accepted', null, await accept(proposal, run));
  } catch (error) {
    if (isAppError(error, 'conflict')) return ended('stale', error.message);
    if (isAppError(error, 'refused')) return ended('refused', error.message);
    throw error;
  }
}

async function placeOf({ memories: { db: sql }, memory: { id } }: Run): Promise<ProposalPlace> {
  return { sql, memory: id, files: await standingFiles(sql, id) };
}

async function accept(proposal: Proposal, run: Run): Promise<string> {
  const place = await placeOf(run);
  const { context, fresh, gone } = await contextOfProposal(proposal, place);
  // 3.
  if (proposal.madeBy === 'model') await select(fresh, { ...place, context }, run.requestTokens);
  const problems = checkProposal(proposal, context, run.memories.limits);
  if (problems.length > 0) throw new AppError('refused', problems.join('\n'));
  // 4.
  const saying = (each: Operation) => ({ ...each, reason: `A person accepted ${proposal.id}: ${each.reason}` });
  const operations = proposal.operations.map(saying);
  return land(proposal, { operations, context, fresh, gone }, { state: 'accepted' }, run);
}

/** Lands a decision as a job of the person's, where what it needs is still so; answers the job. */
async function land(
  proposal: Proposal,
  checked: Checked,
  { state, because = null, kept = [] }: { state: 'accepted' | 'rejected'; because?: string | null; kept?: string[] },
  { memories, memory, claim }: Run,
): Promise<string> {
  const job = newId('job');
  await landOperations(checked, {
    ...{ memories, memory, output: NOTHING_TOLD, by: { job, actor: { kind: 'user', id: null }, claim } },
    decision: {
      async check(sql) {
        const now = await proposalRow(sql, memory.id, proposal.id);
        const changed = state === 'rejected' ? null : await whatChanged(sql, memory.id, proposal);
        if (changed) throw new AppError('conflict', changed);
        if (now?.state !== 'open') throw new AppError('conflict', `${proposal.id} was decided just now.`);
      },
      async rows(change) {
        const request = { proposal: proposal.id };
        await enterJob(change, { kind: 'review', memory: memory.id, request, outcome: state });
        await putProposal(change, memory.id, { ...proposal, state, because, decidedAt: change.at });
        for (const row of await entriesAmong(change.sql, memory.id, { column: 'id', of: kept }))
          await putEntry(change, { ...row, by: PERSON });
      },
    },
  });
  return job;
}

/**
 * Nothing of it is done, and its entries are not asked about again; those that gave way to them are. Where they were to be left
 * out, they stay: from then on they are what the person wants remembered.
 */
async function reject(proposal: Proposal, typed: string | undefined, run: Run): Promise<string> {
  const { memories, memory } = run;
  const [head] = proposal.operations;
  const isKept = head?.kind === 'drop';
  const because = ((typed && (await redact(typed)).text) ?? '').replace(/\s+/g, ' ').trim() || null;
  const gaveWay = new Set(
    proposal.operations
      .slice(1)
      .flatMap((each) => (each.kind === 'drop' && each.because === 'gave-way' ? each.entries : [])),
  );
  const entries: Proposal['entries'] = [];
  for (const base of proposal.entries)
    if (!gaveWay.has(base.id) && isAsItWas(base, await entryRow(memories.db, memory.id, base.id))) entries.push(base);
  const left = { ...proposal, entries };
  const { context, fresh, gone } = await contextOfProposal(left, await placeOf(run));
  const reason = `A person rejected ${proposal.id}: ${because ?? 'no reason given'}`;
  const ids = fresh.map(({ id }) => id);
  const isDropped = !isKept && ids.length > 0;
  const operations: Operation[] = isDropped ? [{ kind: 'drop', entries: ids, because: 'unsupported', reason }] : [];
  const end = { state: 'rejected', because, kept: isKept ? ids : [] } as const;
  return land(left, { operations, context, fresh, gone }, end, run);
}
