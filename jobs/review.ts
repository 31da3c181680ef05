// Review: a person's word on what a dream proposed: accepted, rejected, or put in the person's own words. Who calls it holds the claim
// of (dream, memory), so that nothing is proposed meanwhile.
//
// 1. Look at all files.
// 2. Of each proposal: read it, and what it was made for as that stands. Where that changed it is stale, and no decision makes it
//    apply to another text.
// 3. Check its operations again, by themselves, in the memory as it stands.
// 4. Commit them as a dream does, as a job of the person's that can be undone. Inside the commit every file and entry must still
//    be what was checked.
//
// In a person's own words a line is the person's, and rests on nothing. What a dream would leave out can be kept this way.

import { AppError, isAppError } from '../src/base/errors.ts';
import { redact } from '../src/base/secrets/redact-text.ts';
import { newId } from '../src/db/sql.ts';
import { type Claim, lookInto } from '../src/memory/commit.ts';
import { entriesAmong, entryRow, PERSON, putEntry } from '../src/memory/entries.ts';
import { enterJob } from '../src/memory/job-rows.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import {
  isAsItWas,
  openProposals,
  type Proposal,
  proposalRow,
  putProposal,
  whatChanged,
} from '../src/memory/proposals.ts';
import { proposalSchema } from '../src/memory/text/operations.ts';
import { lineId } from '../src/memory/text/topic.ts';
import { entryIds, linesIn, linesOut, type Operation, type Put, topicOfLine } from '../src/rules/dream-context.ts';
import { checkProposal, contextOfProposal, type ProposalPlace } from './dream/dream-approval.ts';
import { type Checked, type LandAt, landOperations, NOTHING_TOLD } from './dream/dream-landing.ts';
import { select } from './dream/dream-slices.ts';
import { type NightContext, openNamed, standingFiles } from './dream/topic-draft.ts';

export type Word =
  | { kind: 'accept' }
  | { kind: 'reject'; because?: string }
  /** `text`: a line each. `topic`: the name of where it goes, where a drop is to be kept after all. */
  | { kind: 'edit'; text: string; topic?: string };

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
  outcome: 'accepted' | 'edited' | 'rejected' | 'stale' | 'refused' | 'unknown';
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
    return ended(word.kind === 'edit' ? 'edited' : 'accepted', null, await accept(proposal, word, run));
  } catch (error) {
    if (isAppError(error, 'conflict')) return ended('stale', error.message);
    if (isAppError(error, 'refused')) return ended('refused', error.message);
    throw error;
  }
}

async function placeOf({ memories, memory }: Pick<ReviewDeps, 'memories' | 'memory'>): Promise<ProposalPlace> {
  const { db: sql, limits } = memories;
  return { sql, memory: memory.id, limits, files: await standingFiles(sql, memory.id) };
}

async function accept(proposal: Proposal, word: Exclude<Word, { kind: 'reject' }>, run: Run): Promise<string> {
  const place = await placeOf(run);
  const { context, fresh, gone } = await contextOfProposal(proposal, place);
  const did = word.kind === 'edit' ? 'edited' : 'accepted';
  // 3.
  if (proposal.madeBy === 'model') await select(fresh, { ...place, context }, run.requestTokens);
  const operations = word.kind === 'edit' ? await inWords(proposal, word, { context, place }) : proposal.operations;
  const problems = word.kind === 'edit' ? [] : checkProposal(proposal, context, place.limits);
  if (problems.length > 0) throw new AppError('refused', problems.join('\n'));
  // 4.
  const at = landingOf(proposal, run, { outcome: did, state: 'accepted', because: null });
  const saying = <Told extends { reason: string }>(each: Told): Told => {
    return { ...each, reason: `A person ${did === 'edited' ? 'reworded' : 'accepted'} ${proposal.id}: ${each.reason}` };
  };
  await landOperations({ operations: operations.map(saying), context, fresh, gone }, at);
  return at.by.job;
}

/** How a decision is landed: its job, what must still be so, and what becomes of the proposal. */
function landingOf(
  proposal: Proposal,
  { memories, memory, claim }: Run,
  end: { outcome: string; state: Proposal['state']; because: string | null; isAnyway?: boolean; kept?: string[] },
): LandAt {
  const job = newId('job');
  const at = memories.clock.now().toISOString();
  const { outcome, state, because, isAnyway = false, kept = [] } = end;
  return {
    ...{ memories, memory, output: NOTHING_TOLD, by: { job, actor: { kind: 'user', id: null }, claim } },
    decision: {
      async check(sql) {
        const now = await proposalRow(sql, memory.id, proposal.id);
        const changed = isAnyway ? null : await whatChanged(sql, memory.id, proposal);
        if (changed) throw new AppError('conflict', changed);
        if (now?.state !== 'open') throw new AppError('conflict', `${proposal.id} was decided just now.`);
      },
      async rows(change) {
        const of = { id: job, kind: 'review', memory: memory.id, request: { proposal: proposal.id } } as const;
        await enterJob(change.sql, { ...of, startedBy: 'person', outcome, at });
        await putProposal(change, memory.id, { ...proposal, state, because, decidedAt: at });
        for (const row of await entriesAmong(change.sql, memory.id, { column: 'id', of: kept }))
          await putEntry(change, { ...row, by: PERSON });
      },
    },
  };
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
  const checked: Checked = { operations, context, fresh, gone };
  const kept = isKept ? ids : [];
  const at = landingOf(left, run, { outcome: 'rejected', state: 'rejected', because, isAnyway: true, kept });
  await landOperations(checked, at);
  return at.by.job;
}

/** A person's words rest on no entry. Errors: `refused` for what cannot be a line there. */
async function inWords(
  proposal: Proposal,
  { text: typed, topic: name }: { text: string; topic?: string },
  at: { context: NightContext; place: ProposalPlace },
): Promise<Operation[]> {
  const [head, ...rest] = proposal.operations;
  if (!head) throw new AppError('refused', 'It has no words to edit.');
  const { text } = await redact(typed);
  const texts = text.split(/\r?\n/).flatMap((line) => line.trim().replace(/^[-*+]\s+/, '') || []);
  if (texts.length === 0) throw new AppError('refused', 'No text was given. To leave it out, reject it.');
  const lines = texts.map((each) => ({ text: each, entries: [] }));
  const written: Put = { ...(await placeOfWords(head, { name, ...at })), in: lines, entries: entryIds(head) };
  const parsed = proposalSchema.safeParse({ operations: [written] });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const what = issue?.path.includes('topic') ? `${JSON.stringify(name)} cannot be a topic` : 'That cannot be a line';
    throw new AppError('refused', `${what}: it ${issue?.message ?? 'is not one'}.`);
  }
  const topic = at.context.topics.get(written.topic ?? '');
  if (topic?.isPinned) throw new AppError('refused', `The topic ${topic.name} is pinned.`);
  const replaced = new Set(linesOut(written));
  const isSaid = texts.map(lineId).some((id) => topic?.lines.has(id) && !replaced.has(id));
  if (isSaid) throw new AppError('refused', `${topic?.name} says that already.`);
  return [written, ...rest];
}

/** Where a person's words go: in the place of the proposed ones, or into a topic where it was to be left out. */
async function placeOfWords(
  head: Operation,
  { name: given, context, place }: { name?: string; context: NightContext; place: ProposalPlace },
): Promise<Put> {
  if (head.kind === 'put' && linesIn(head).length > 0) return head;
  if (head.kind !== 'drop') throw new AppError('refused', 'It takes lines out and has no words to edit.');
  const name = given ?? (head.of === undefined ? undefined : topicOfLine(head.of, context)?.name);
  if (name === undefined)
    throw new AppError('refused', 'It would be left out. To keep it, name the topic that it goes into: --topic NAME.');
  await openNamed([name], { ...place, context });
  const type = context.entries.get(head.entries[0] ?? '')?.type ?? 'project';
  const begin = context.topics.has(name) ? {} : { description: name.replaceAll('-', ' '), type };
  return { kind: 'put', reason: head.reason, topic: name, ...begin };
}
