// Dream: the logs' undistilled entries become topic files, and the index is rebuilt.
//
// 1. Take the directory's dream lease. Ask after what was sent as a Message Batch (dream/answers.ts); what still waits there
//    is nobody else's meanwhile.
// 2. Tell the ledger what files from elsewhere know and it does not. Join the logs with it: new entries, what a person wrote or changed, what is missing. Too much missing: stop.
// 3. Retire what rested on withdrawn entries alone, write down the habits that an older dream held back, and drop what the
//    project's own files say; that needs no model.
// 4. Carry out the answers that came, and at night, where that is set, send all else as a batch (dream/batch.ts).
//    Otherwise batch by batch, show the new entries with the topics they may touch, and let the model propose operations.
//    What code lets through stands; what it does not is asked for again, and what is left waits for another night.
// 5. Commit each batch: topics, index, what became of each entry, the report. The living files are touched only here;
//    in review mode not even here, and what would change waits for a person (dream/proposals.ts).
// 6. Put away, by code, what is past, long unused, or was seen once and never again (dream/archive.ts).
// 7. Where no batch was needed, rebuild the index alone, for topics that a person added.

import { AppError, ERRORS, type Failure, failureOf, isAppError } from '../src/base/errors.ts';
import { type Day, dayOf } from '../src/base/time.ts';
import { waitedInVain } from '../src/memory/dream/habits.ts';
import type { IndexSize } from '../src/memory/dream/index-change.ts';
import type { Operation } from '../src/memory/dream/operations.ts';
import { noteLeft, resting } from '../src/memory/dream/unplaced.ts';
import { lookAtHistory, rememberHistory } from '../src/memory/history/log-items.ts';
import { rebuildFromFiles, takeUpReturned } from '../src/memory/history/rebuild.ts';
import type { SpentTotal } from '../src/memory/home/spend.ts';
import { askAfter, lookAgainAt, type Waits, waitsOf } from '../src/memory/ledger/batches.ts';
import { type EntryRow, supportsByEntry } from '../src/memory/ledger/entries.ts';
import { beginJob, endJob, lastDreamJob } from '../src/memory/ledger/job-rows.ts';
import type { Lease } from '../src/memory/ledger/leases.ts';
import { sayMissing } from '../src/memory/store/outside.ts';
import type { Store } from '../src/memory/store/store.ts';
import { logDay, logPath } from '../src/memory/text/daily-log.ts';
import { reportPath } from '../src/memory/text/dream-report.ts';
import {
  type Answers,
  askForAnswers,
  type BatchDeps,
  type BatchMode,
  takeAnswers,
  withoutWaiting,
} from './dream/answers.ts';
import { commitForgotten, type ForgetDays, findForgotten } from './dream/archive.ts';
import { sendBatch } from './dream/batch.ts';
import { lineSeenOnce, settleMeaning } from './dream/check.ts';
import { commitDream, type DreamBatch, type Place, rebuildIndex, reportBatch } from './dream/commit.ts';
import { isShared, readTopics, retireWithdrawn } from './dream/draft.ts';
import { Guidance } from './dream/guidance.ts';
import { commitLateMarks, commitLoaded, isMassDeletion, lateMarks, loadEntries } from './dream/load.ts';
import { commitProposals, proposeForgetting } from './dream/proposals.ts';
import { type AskedParts, type Part, type Proposal, type ProposedPart, proposeParts } from './dream/propose.ts';
import { contextOf } from './dream/select.ts';
import type { ShareReport } from './share.ts';

export interface DreamRequest {
  /** Steers how memory is kept; never overrides the rules. */
  instructions?: string;
  /**
   * Take it as meant that many entries are missing from the logs, or files from the directory; a list: that the logs of
   * these days are.
   */
  acceptMissing?: boolean | Day[];
  /** For this once: whether what would change waits for a person. */
  review?: boolean;
  /** How it is with Message Batches; default: what was answered is used, and nothing is sent. */
  batch?: BatchMode;
}

/** `batchTokens`: of entries, and of topics, that one batch is shown. */
export interface DreamDeps extends BatchDeps {
  /** A habit that one session showed is put away after so many days without another. */
  holdDays: number;
  forgetDays: ForgetDays;
  /** What would change waits for a person. */
  review: boolean;
  withLease<T>(store: Store, key: string, work: (lease: Lease) => Promise<T>): Promise<T | null>;
}

/**
 * `proposed`: at least some of it waits for a person. `waiting`: it was sent as a Message Batch, or what was sent is not
 * answered yet.
 */
export type DreamOutcome =
  | 'dreamed'
  | 'proposed'
  | 'waiting'
  | 'nothing-new'
  | 'busy'
  | 'ceiling'
  | 'refused'
  | 'failed';

export interface DreamReport {
  outcome: DreamOutcome;
  operations: { kind: Operation['kind'] | 'archive'; entries: string[]; topic: string | null; reason: string }[];
  /** Of those, what waits for a person. */
  proposals: string[];
  /** What code refused of the model's proposals, and why. */
  refused: string[];
  /** Entries that wait for another night, with what stood in their way. */
  left: { entry: string; reason: string }[];
  /** The topic files after the dream. */
  topics: string[];
  indexLines: number;
  indexBytes: number;
  /** Its id in the ledger; null where there was nothing to do. */
  job: string | null;
  spend: SpentTotal;
  /** What waits to be answered. */
  waits?: Waits;
  error?: Failure;
  /** What of it went to the team, where that was asked for or set. */
  shared?: ShareReport;
}

/** Contract: throws only what is not an AppError; every planned ending is the report's `outcome`. */
export async function dream(request: DreamRequest, deps: DreamDeps): Promise<DreamReport> {
  const report: DreamReport = {
    outcome: 'nothing-new',
    operations: [],
    proposals: [],
    refused: [],
    left: [],
    topics: [],
    indexLines: 0,
    indexBytes: 0,
    job: null,
    spend: deps.spend.total(),
  };
  try {
    // 1.
    const done = await deps.withLease(deps.store, 'dream', (lease) => dreamWithLease(request, { deps, report, lease }));
    if (done === null) report.outcome = 'busy';
  } catch (error) {
    if (!isAppError(error)) throw error;
    report.outcome =
      ERRORS[error.code].class === 'ceiling' ? 'ceiling' : error.code === 'refused' ? 'refused' : 'failed';
    report.error = failureOf(error);
  }
  report.spend = deps.spend.total();
  const { ledger } = deps.store;
  report.waits = waitsOf(ledger) ?? undefined;
  noteEnd(report, deps);
  const lookAt = lookAgainAt(ledger, deps.clock.now());
  if (lookAt) askAfter(ledger, lookAt);
  return report;
}

/**
 * A dream that was refused before it began is a job all the same, so that whoever looks finds out why; so is the next that
 * found nothing to do, so that nobody looks for long.
 */
function noteEnd(report: DreamReport, { store: { ledger }, clock }: DreamDeps): void {
  const now = clock.now();
  const { job, outcome, error, spend: usage } = report;
  try {
    if (job !== null || outcome === 'busy' || (!error && !lastDreamJob(ledger)?.error)) return;
    endJob(ledger, beginJob(ledger, { kind: 'dream', now }), { outcome, error, usage, now });
  } catch (error) {
    // Where the ledger cannot be written the report is all there is.
    if (!isAppError(error)) throw error;
  }
}

interface Run {
  deps: DreamDeps;
  report: DreamReport;
  lease: Lease;
}

async function dreamWithLease(request: DreamRequest, run: Run): Promise<true> {
  const { deps, report, lease } = run;
  const { store, clock, holdDays } = deps;
  const answers = await askForAnswers(request.batch, deps);
  if (request.batch === 'collect' && answers.list.length === 0) {
    report.outcome = answers.waiting.size > 0 ? 'waiting' : 'nothing-new';
    return true;
  }
  // 2.
  const { acceptMissing } = request;
  if (acceptMissing)
    await store.acceptMissing(acceptMissing === true ? undefined : new Set(acceptMissing.map(logPath)));
  const refusal = sayMissing(await store.missing()).find(({ keepsDreams }) => keepsDreams);
  if (refusal) {
    throw new AppError('refused', `${refusal.what}.`, {
      remedy: 'Put the files back, or run nocturne dream --accept-missing if they were removed on purpose.',
    });
  }
  const history = await lookAtHistory(store);
  await rebuildFromFiles(store, history.changed);
  await takeUpReturned(store, { actor: 'tool:rebuild', lease }, history.changed.filter(logDay));
  const loaded = withoutWaiting(await loadEntries(store, history), answers, request.batch);
  if (isMassDeletion(loaded) && !acceptMissing) {
    throw new AppError('refused', `${loaded.missing} of ${loaded.known} entries are missing from the logs at once.`, {
      remedy: 'Put the log files back, or run nocturne dream --accept-missing if they were removed on purpose.',
    });
  }
  const rested = resting(store.ledger, clock.now());
  const isTried = ({ id }: EntryRow) => !rested.has(id);
  const { held, stale } = loaded;
  const [fresh, withdrawn] = [loaded.fresh.filter(isTried), loaded.withdrawn.filter(isTried)];
  const inVain = waitedInVain(store.ledger, { now: clock.now(), holdDays });
  const hasNews = fresh.length + withdrawn.length + held.length + inVain.length + answers.list.length > 0;
  const marks = await lateMarks(store);
  const isIdle = loaded.changed.length + stale.renewed.length + stale.outdated.length + marks.length === 0 && !hasNews;
  const job = isIdle
    ? null
    : beginJob(store.ledger, { kind: 'dream', instructions: request.instructions, now: clock.now() });
  report.job = job;
  let failure: unknown;
  try {
    if (job) await commitLoaded(store, { ...loaded, job, lease });
    if (job && marks.length > 0) await commitLateMarks(marks, { ...deps, job, lease });
    rememberHistory(store, history);
    if (job && hasNews) {
      report.outcome = 'dreamed';
      await retireAndDistil(request, { ...run, job, fresh, withdrawn, held, answers });
      if (report.outcome === 'dreamed' && report.proposals.length > 0) report.outcome = 'proposed';
    }
    if (report.outcome !== 'dreamed' || request.batch === 'send') {
      // 7.
      describeIndex(report, await rebuildIndex(deps, { lease, actor: job ? `job:${job}` : 'job:index' }));
    }
  } catch (error) {
    failure = error;
    if (job) await reportFailure(error, { ...run, job });
    throw error;
  } finally {
    if (job) {
      endJob(store.ledger, job, {
        outcome: failure ? 'failed' : report.outcome,
        error: failure ? failureOf(failure) : undefined,
        usage: deps.spend.total(),
        now: clock.now(),
      });
    }
  }
  return true;
}

interface Batch extends Run {
  job: string;
  fresh: EntryRow[];
  withdrawn: EntryRow[];
}

async function retireAndDistil(
  request: DreamRequest,
  all: Batch & { held: EntryRow[]; answers: Answers },
): Promise<void> {
  const { store } = all.deps;
  // 3.
  const supports = all.withdrawn.flatMap((entry) => supportsByEntry(store.ledger, entry.id));
  const topics = await readTopics(store, new Set(supports.map(({ path }) => path)));
  const retirement = retireWithdrawn(all.withdrawn, topics.values());
  const gone = new Set(all.withdrawn.map((entry) => entry.id));
  const lines = [...topics.values()].flatMap((topic) => [...topic.lines]);
  // An entry waits for a person's word once: with what goes for certain.
  const waiting = new Set(all.deps.review ? retirement.flatMap((operation) => operation.entries) : []);
  const withdrawn = all.withdrawn.filter(({ id }) => isShared(id, lines, gone) && !waiting.has(id));
  const settled = all.withdrawn.filter((entry) => !withdrawn.includes(entry));
  if (settled.length + retirement.length > 0) {
    const context = await contextOf([], all.withdrawn, topics);
    await keep(byCode(retirement), { ...all, fresh: [], withdrawn: settled, context });
  }
  if (all.held.length > 0) {
    const context = await contextOf(all.held, []);
    const reason = 'A habit that one session showed.';
    const operations: Operation[] = [];
    for (const entry of context.entries.values()) {
      operations.push(await lineSeenOnce([entry], { context, store, reason }));
    }
    const meant = await settleMeaning(operations, { context, store });
    await keep(byCode(meant), { ...all, fresh: all.held, withdrawn: [], context });
  }
  const guidance = await Guidance.read(store.ledger);
  // What no topic could be committed for is found before a model is asked.
  const day = dayOf(all.deps.clock.now(), all.deps.zone);
  await store.rehearse({ actor: `job:${all.job}`, lease: all.lease }, ['MEMORY.md', reportPath(day, 'json')]);
  const unsaid = await dropSaid(guidance, all);
  // 4. and 5.
  const keepPart = (proposal: Proposal, part: ProposedPart) => keep(proposal, { ...all, ...part });
  const rehearse: AskedParts['rehearse'] = (operations, part) => refusalOf({ ...all, ...part, operations }, all.deps);
  const { again, left } = await takeAnswers(
    all.answers,
    { fresh: unsaid, withdrawn, keep: keepPart, rehearse },
    all.deps,
  );
  const { instructions } = request;
  let rest: Part = left;
  if (request.batch === 'send') {
    rest = await sendBatch({ ...all, ...left, instructions }, all.deps);
    if (waitsOf(store.ledger)) all.report.outcome = 'waiting';
  }
  await proposeParts({ instructions, parts: [...again, rest], keep: keepPart, rehearse }, all.deps);
  // 6.
  const forgotten = await findForgotten(all.deps, { ...all.deps, guidance });
  if (forgotten.length === 0) return;
  if (all.deps.review) all.report.proposals.push(...(await proposeForgetting(forgotten, all, all.deps)));
  else describeIndex(all.report, await commitForgotten(forgotten, all, all.deps));
  all.report.operations.push(
    ...forgotten.map(({ kind, entries, topic, reason }) => ({ kind, entries, topic, reason })),
  );
}

/** Drops the entries that the project's own files say; answers the others. */
async function dropSaid(guidance: Guidance, all: Batch): Promise<EntryRow[]> {
  const fileOf = (entry: EntryRow) => (entry.by === 'person' ? undefined : guidance.saying(entry.text, entry.session));
  const said = all.fresh.filter((entry) => fileOf(entry) !== undefined);
  if (said.length === 0) return all.fresh;
  const operations = said.map(
    (entry): Operation => ({
      kind: 'drop',
      entries: [entry.id],
      because: 'in-repository',
      reason: `${fileOf(entry)} says it.`,
    }),
  );
  const context = await contextOf(said, []);
  await keep(byCode(operations), { ...all, fresh: said, withdrawn: [], context });
  return all.fresh.filter((entry) => !said.includes(entry));
}

function byCode(operations: Operation[]): Proposal {
  return { operations, refused: [], left: [] };
}

/** Why the operations could not be committed as things stand; null: they could. */
async function refusalOf(
  batch: Batch & Pick<DreamBatch, 'context' | 'operations'>,
  place: Place,
): Promise<string | null> {
  try {
    await commitDream({ ...batch, ...placed(batch.operations, batch) }, place, { isRehearsal: true });
    return null;
  } catch (error) {
    if (!isAppError(error) || !['refused', 'bad-input', 'conflict'].includes(error.code)) throw error;
    return error.message;
  }
}

/** Of a batch, what the operations are about: all else waits. */
function placed(operations: Operation[], { fresh, withdrawn }: Pick<Batch, 'fresh' | 'withdrawn'>) {
  const about = new Set(operations.flatMap(({ entries }) => entries));
  const isAbout = ({ id }: EntryRow) => about.has(id);
  return { fresh: fresh.filter(isAbout), withdrawn: withdrawn.filter(isAbout) };
}

async function keep(proposal: Proposal, batch: Batch & Pick<DreamBatch, 'context' | 'spend'>): Promise<void> {
  const { report, deps } = batch;
  const { operations, refused, left } = proposal;
  const isByCode = batch.spend === undefined;
  const about = isByCode ? batch : { ...batch, ...placed(operations, batch) };
  const told = { ...about, operations, refused, left };
  if (deps.review) report.proposals.push(...(await commitProposals(told, deps)));
  else describeIndex(report, await commitDream(told, deps));
  const settled = operations.flatMap(({ entries }) => entries);
  noteLeft(deps.store.ledger, { left, settled, now: deps.clock.now() });
  report.refused.push(...refused);
  report.left.push(...left);
  report.operations.push(
    ...operations.map((operation) => ({
      kind: operation.kind,
      entries: operation.entries,
      topic: 'topic' in operation ? operation.topic : null,
      reason: operation.reason,
    })),
  );
}

/** Tells of a dream that failed in the report of its day, where that can still be written. */
async function reportFailure(error: unknown, { deps, lease, job }: Run & { job: string }): Promise<void> {
  if (!isAppError(error)) return;
  const row = { job, entry: '', op: 'failed', topic: null, lines: [], reason: error.message, text: '' };
  try {
    await deps.store.commit({ actor: `job:${job}`, lease }, (ledger) => ({
      files: reportBatch({ fresh: [], withdrawn: [], job, lease, told: [row] }, deps, ledger),
    }));
  } catch (again) {
    if (!isAppError(again)) throw again;
  }
}

function describeIndex(report: DreamReport, index: IndexSize): void {
  report.topics = index.topics;
  report.indexLines = index.lines;
  report.indexBytes = index.bytes;
}
