// Review: a person's word on what a dream proposed: accepted, rejected, or put in the person's own words.
//
// 1. Hold the dream's lease: nothing is proposed or renewed meanwhile.
// 2. Read the proposal, and what it was made against as that stands. Where that changed it is stale, and no decision
//    makes it apply to another text.
// 3. Check its operations again, by themselves, in the memory as it stands.
// 4. Commit them as a dream does, as a job of the person's that can be undone. Inside the commit every file and entry must
//    still be what was checked.
// 5. Pin those that go on waiting for the same files to what is there now, where they still are the same change.
//
// In a person's own words (`inWords`) a line keeps what it rests on where code finds support for the words in the
// entries; else it is the person's, and rests on none. What a dream would leave out can be kept this way.

import { AppError, isAppError } from '../src/base/errors.ts';
import { redact } from '../src/base/text/redact.ts';
import {
  dropProposal,
  isPinned,
  type Proposal,
  proposalRow,
  putProposal,
  repinProposal,
  waitingProposals,
  whatChanged,
} from '../src/memory/dream/proposals.ts';
import { entryRow } from '../src/memory/ledger/entries.ts';
import { enterPersonsJob, type Lease } from '../src/memory/ledger/job-rows.ts';
import { newId, type Transaction } from '../src/memory/ledger/ledger.ts';
import { shaOf } from '../src/memory/ledger/version-rows.ts';
import type { Store, WithLease } from '../src/memory/store/store.ts';
import { checkOperations, proposalSchema } from '../src/memory/text/operations.ts';
import { lineId } from '../src/memory/text/topic.ts';
import {
  type DreamContext,
  entryIds,
  isOthers,
  linesIn,
  linesOut,
  type Operation,
  type Put,
  topicOfLine,
} from '../src/rules/dream-context.ts';
import { commitArchiving } from './dream/by-code.ts';
import { type CommitDeps, commitOperations, type Decision } from './dream/commit.ts';
import { type DraftTopic, readNamed } from './dream/draft.ts';
import { contextOf, select } from './dream/select.ts';
import {
  checkProposal,
  contextOfProposal,
  type Logged,
  OwnWrites,
  pinTopics,
  readLogged,
} from './review/waiting-proposals.ts';

export type Word =
  | { kind: 'accept' }
  | { kind: 'reject'; because?: string }
  /** `text`: a line each. `topic`: the name of where it goes, where a drop is to be kept after all. */
  | { kind: 'edit'; text: string; topic?: string };

export interface ReviewRequest {
  /** Default: all that wait. */
  ids?: string[];
  word: Word;
}

interface ReviewDeps extends CommitDeps {
  /** Tokens of topics that operations are checked against, beside those that they touch. */
  requestTokens: number;
  withLease: WithLease;
}

export interface Decided {
  id: string;
  /** `stale`: what it was made against changed. `refused`: code finds something wrong with it, or it would lose much. */
  outcome: 'accepted' | 'edited' | 'rejected' | 'stale' | 'refused' | 'unknown';
  /** What was found, where that is not simply done. */
  why: string | null;
  /** With which it can be undone; null where nothing was changed. */
  job: string | null;
}

export interface ReviewReport {
  outcome: 'reviewed' | 'busy';
  decided: Decided[];
}

/** Contract: every planned ending is an `outcome`. */
export async function review({ ids, word }: ReviewRequest, deps: ReviewDeps): Promise<ReviewReport> {
  const report: ReviewReport = { outcome: 'busy', decided: [] };
  // 1.
  await deps.withLease(deps.store, 'dream', async (lease) => {
    const decided = new Map<string, Decided>();
    const own = new OwnWrites(deps.store);
    let open = [...new Set(ids ?? waitingProposals(deps.store.ledger).map(({ id }) => id))];
    for (let before = Infinity; open.length > 0 && open.length < before; ) {
      before = open.length;
      for (const id of open) decided.set(id, await decide(id, word, { ...deps, lease, own }));
      // What was refused may be right once another one was accepted.
      open = open.filter((id) => decided.get(id)?.outcome === 'refused');
    }
    // 5.
    await own.renewWaiting(lease);
    report.decided = [...decided.values()];
    report.outcome = 'reviewed';
    return true;
  });
  return report;
}

type Run = ReviewDeps & { lease: Lease; own: OwnWrites };

async function decide(id: string, word: Word, run: Run): Promise<Decided> {
  const ended = (outcome: Decided['outcome'], why: string | null = null, job: string | null = null): Decided => {
    return { id, outcome, why, job };
  };
  // 2.
  const { store, own } = run;
  const found = proposalRow(store.ledger, id);
  if (!found) return ended('unknown', `Nothing waits as ${id}.`);
  if (found.state === 'rejected') return ended('unknown', `${id} was rejected before.`);
  const logged = await readLogged(store, found.entries);
  const proposal = await own.renewed(found, logged);
  try {
    if (word.kind === 'reject') return ended('rejected', null, await reject(proposal, { ...word, logged }, run));
    const changed = await whatChanged(store, proposal, logged.rowOf);
    if (changed) return ended('stale', changed);
    const { note, job } = await accept(proposal, { word, logged }, run);
    return ended(word.kind === 'edit' ? 'edited' : 'accepted', note, job);
  } catch (error) {
    if (isAppError(error, 'conflict')) return ended('stale', error.message);
    if (isAppError(error, 'refused')) return ended('refused', error.message);
    throw error;
  }
}

async function accept(
  proposal: Proposal,
  { word, logged }: { word: Exclude<Word, { kind: 'reject' }>; logged: Logged },
  run: Run,
): Promise<{ job: string; note: string | null }> {
  const { store, clock, own } = run;
  const { context, fresh, withdrawn } = await contextOfProposal(store, proposal, logged);
  const did = word.kind === 'edit' ? 'edited' : 'accepted';
  // 3.
  if (proposal.madeBy === 'model')
    await select({ fresh, withdrawn }, { store, mostTokens: run.requestTokens, context });
  const { archiving, operations, note } = await wordingOf(proposal, word, { context, store });
  // 4.
  const job = newId('job');
  let noteWritten = () => {};
  const rows = (transaction: Transaction) => {
    repinProposal(transaction, proposal);
    dropProposal(transaction, proposal.id);
    enterPersonsJob(transaction, { id: job, kind: 'review', outcome: did, now: clock.now() });
    noteWritten = own.read(transaction);
  };
  const topics = [...proposal.topics, ...pinTopics(operations, context)];
  const decision = await decisionOn(proposal, { topics, logged, rows }, run);
  const at = { ...run, job, decision };
  const told = <Change extends { reason: string }>(change: Change): Change => {
    return { ...change, reason: saidBy(did, proposal, change.reason) };
  };
  if (archiving) await commitArchiving([told(archiving)], at, { fresh, withdrawn });
  else await commitOperations({ fresh, withdrawn, operations: operations.map(told), context }, at);
  noteWritten();
  return { job, note };
}

/** What is to be done, as a person says it, where code lets it through; throws `refused` where not. */
async function wordingOf(
  proposal: Proposal,
  word: Exclude<Word, { kind: 'reject' }>,
  { context, store }: { context: DreamContext<DraftTopic>; store: Store },
): Promise<Wording & Pick<Proposal, 'archiving'>> {
  const { archiving, operations } = proposal;
  if (word.kind === 'edit') {
    const text = (await redact(word.text)).text;
    return { ...(await inWords(proposal, { ...word, text }, { context, store })), archiving: null };
  }
  const topic = [...context.topics.values()].find(({ path, from }) => (from ?? path) === archiving?.topic);
  const isFree =
    !topic?.isPinned &&
    archiving?.lines.every((id) => {
      const line = topic?.lines.get(id);
      return line && !isOthers(line);
    });
  if (archiving && !isFree) throw new AppError('refused', 'It would put away what a person keeps.');
  const problems = archiving ? [] : checkProposal(proposal, context, store);
  if (problems.length > 0) throw new AppError('refused', problems.join('\n'));
  return { archiving, operations, note: null };
}

/** Nothing of it is done, and its entries are not asked about again; those that gave way to them are. */
async function reject(
  proposal: Proposal,
  { because: typed, logged }: { because?: string; logged: Logged },
  run: Run,
): Promise<string> {
  const { store, clock, lease } = run;
  const because = typed === undefined ? null : (await redact(typed)).text.replace(/\s+/g, ' ').trim() || null;
  const gaveWay = new Set(
    proposal.operations.slice(1).flatMap((each) => {
      return each.kind === 'drop' && each.because === 'gave-way' ? each.entries : [];
    }),
  );
  const pins = proposal.entries.filter((pin) => !gaveWay.has(pin.id) && isPinned(pin, logged.rowOf(pin.id)));
  const left = { ...proposal, entries: pins };
  const { fresh, withdrawn } = await contextOfProposal(store, left, logged);
  const job = newId('job');
  const rows = (transaction: Transaction) => {
    putProposal(transaction, { ...left, state: 'rejected', because });
    enterPersonsJob(transaction, { id: job, kind: 'review', outcome: 'rejected', now: clock.now() });
  };
  const decision = await decisionOn(left, { topics: [], logged, rows }, run);
  const reason = saidBy('rejected', proposal, because ?? 'no reason given');
  const drop = (entries: string[], why: 'unsupported' | 'withdrawn'): Operation[] =>
    entries.length > 0 ? [{ kind: 'drop', entries, because: why, reason }] : [];
  const idsOf = (each: { id: string }[]) => each.map(({ id }) => id);
  const operations = [...drop(idsOf(fresh), 'unsupported'), ...drop(idsOf(withdrawn), 'withdrawn')];
  const context = await contextOf(fresh, withdrawn);
  if (operations.length > 0)
    await commitOperations({ operations, context, fresh, withdrawn }, { ...run, job, decision });
  else await store.commit({ actor: 'person', lease }, () => ({ files: [], rows }));
  return job;
}

/** What must still be so inside the commit: the proposal, its entries, in the ledger and in the logs, and its files. */
async function decisionOn(
  proposal: Proposal,
  { topics, logged, rows }: { topics: Proposal['topics']; logged: Logged; rows: Decision['rows'] },
  { store }: Run,
): Promise<Decision> {
  const expected = new Map(logged.logs);
  for (const { path, sha } of topics) {
    const text = await store.read(path);
    const isSame = (text === null ? null : shaOf(text)) === sha;
    if (!isSame) throw new AppError('conflict', `${path} was changed just now.`);
    expected.set(path, text);
  }
  return {
    expected,
    check(ledger) {
      const isWaiting = proposalRow(ledger, proposal.id)?.state === 'waiting';
      const isSame = proposal.entries.every((pin) => isPinned(pin, entryRow(ledger, pin.id)));
      if (!isWaiting || !isSame) throw new AppError('conflict', `${proposal.id} was changed just now.`);
    },
    rows,
  };
}

function saidBy(how: 'accepted' | 'edited' | 'rejected', { id }: Proposal, reason: string): string {
  const did = { accepted: 'A person accepted', edited: 'A person reworded', rejected: 'A person rejected' }[how];
  return `${did} ${id}: ${reason}`;
}

interface Wording {
  operations: Operation[];
  /** Where the line rests on no entry. */
  note: string | null;
}

/** Throws `refused` for what cannot be a line there. */
async function inWords(
  proposal: Proposal,
  { text, topic }: { text: string; topic?: string },
  { context, store }: { context: DreamContext<DraftTopic>; store: Store },
): Promise<Wording> {
  const [head, ...rest] = proposal.operations;
  if (!head) throw new AppError('refused', 'It has no words to edit.');
  const texts = text.split(/\r?\n/).flatMap((line) => line.trim() || []);
  if (texts.length === 0) throw new AppError('refused', 'There are no words. To leave it out, reject it.');
  const written = await writingOf(head, { texts, topic, context, store });
  const parsed = proposalSchema.safeParse({ operations: [written] });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const what = issue?.path.includes('topic') ? `${JSON.stringify(topic)} cannot be a topic` : 'That cannot be a line';
    throw new AppError('refused', `${what}: it ${issue?.message ?? 'is not one'}.`);
  }
  const operations = [written, ...rest];
  const problems = checkOperations(operations, context, store.limits);
  if (problems.length === 0) return { operations, note: null };
  refuseWhatIsNotAboutWords(written, { proposal, head, context, store });
  const lines = linesIn(written).map(({ text }) => ({ text, entries: [] }));
  const persons = { ...written, in: lines, entries: entryIds(written) };
  return { operations: [persons, ...rest], note: 'The line is yours: no entry supports it in these words.' };
}

async function writingOf(
  head: Operation,
  {
    texts,
    topic,
    context,
    store,
  }: { texts: string[]; topic?: string; context: DreamContext<DraftTopic>; store: Store },
): Promise<Put> {
  const entries = entryIds(head);
  const before = linesIn(head);
  if (head.kind === 'put' && before.length > 0) {
    const isSameCount = texts.length === before.length;
    const lines = texts.map((text, at) => ({ text, entries: (isSameCount && before[at]?.entries) || entries }));
    return { ...head, in: lines };
  }
  if (head.kind !== 'drop') throw new AppError('refused', 'It takes lines out and has no words to edit.');
  const name = topic ?? (head.of === undefined ? undefined : topicOfLine(head.of, context)?.name);
  if (name === undefined) {
    throw new AppError('refused', 'It would be left out. To keep it, name the topic that it goes into: --topic NAME.');
  }
  await readNamed(store, [name], context.topics);
  const type = context.entries.get(entries[0] ?? '')?.type ?? 'project';
  const begin = context.topics.has(name) ? {} : { description: name.replaceAll('-', ' '), type };
  const lines = texts.map((text) => ({ text, entries }));
  return { kind: 'put', reason: head.reason, topic: name, ...begin, in: lines };
}

/** What a person's words cannot mend: the proposal itself, a pinned topic, a line that stands there already. */
function refuseWhatIsNotAboutWords(
  written: Put,
  at: { proposal: Proposal; head: Operation; context: DreamContext<DraftTopic>; store: Store },
): void {
  const { proposal, head, context, store } = at;
  const before = head.kind === 'put' ? checkProposal(proposal, context, store) : [];
  const topic = context.topics.get(written.topic ?? '');
  if (topic?.isPinned) before.push(`The topic ${topic.name} is pinned.`);
  const replaced = new Set(linesOut(written));
  for (const { text } of linesIn(written)) {
    const id = lineId(text);
    if (topic?.lines.has(id) && !replaced.has(id)) before.push(`${topic.name} says that already.`);
  }
  if (before.length > 0) throw new AppError('refused', before.join('\n'));
}
