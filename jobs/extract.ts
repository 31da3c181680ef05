// Extract: a session's pending turns become entries in the daily logs.
//
// 1. Open the transcript, once for all that follow, its memory directory, and take the session's lease.
// 2. Sort its turns by what the ledger says of them: covered, private, written by the main agent, pending.
// 3. Cover the private turns, those in which the main agent wrote memory, those that a rebuilt ledger assumes, and
//    what was declined at set-up, without a model.
// 4. Show the pending turns, redacted, within the token budget: one excerpt, or several for a long session; or, where
//    that is asked for, continue the request that the transcript holds.
// 5. For each excerpt let the forked extractor propose entries, each checked by code, and
// 6. commit its entries and its coverage together.
// 7. What fails leaves nothing behind and stays pending; but what cannot be continued is shown as an excerpt, what is too
//    long is split smaller, and what failed too often is given up, so that the rest is not held up: again from 2.
// 8. End the job, and report.

import type { RecordedEntry } from '../src/agent/tools.ts';
import { type AppError, ERRORS, type Failure, failureOf, isAppError, isGivenUp } from '../src/base/errors.ts';
import type { SpentTotal } from '../src/memory/home/spend.ts';
import { hasCovered, sessionRow } from '../src/memory/ledger/coverage.ts';
import { beginJob, endJob, type Lease } from '../src/memory/ledger/job-rows.ts';
import type { Store, WithLease } from '../src/memory/store/store.ts';
import type { Disposition } from '../src/memory/types.ts';
import { openSession, type ReadPoint, type Session } from '../src/transcript/session.ts';
import {
  type CommitAt,
  type CommitDeps,
  commitExcerpt,
  coverTurns,
  type ReportedEntry,
  rehearseCommit,
  sessionRows,
} from './extract/commit.ts';
import { type CitedMessages, type ProposeDeps, type Proposed, propose } from './extract/propose.ts';
import { type Fork, type Offered, offerPending, type ShownBy } from './extract/show.ts';
import {
  type CoveredTurns,
  coverageRanges,
  type PendingTurn,
  type SortedTurns,
  sortTurns,
} from './extract/sort-turns.ts';

export interface ExtractRequest {
  transcript: string;
  /** Where a snapshot of it is, for when it is gone. */
  snapshot?: string;
  /** The session's id, for formats whose files hold none. */
  session?: string;
  /** The transcript, where the caller opened it already, or why it could not. */
  opened?: Session | AppError;
  /** Take the session as ended, so that its last turn is settled too. */
  ended: boolean;
  /** Steers what to keep; never overrides the rules. */
  instructions?: string;
  /** Turns to be extracted again; what they gave before is replaced. */
  reopen?: Set<string>;
  /** Asked for by a person: take up again what was undone. Hooks and sweeps leave it alone. */
  reopenUndone?: boolean;
  /** Asked for by a person: take what was declined at set-up, too. */
  takeDeclined?: boolean;
  /** Take up again what was given up: there is new input, or a person asks. */
  reopenGivenUp?: boolean;
  /** Default: `fork` of the deps. */
  fork?: Fork;
  /** Tries that failed before this one. What fails for the last time is covered as `gave-up`; without it nothing is. */
  attempts?: number;
}

export interface ExtractDeps extends ProposeDeps, CommitDeps {
  /** Opens a transcript; default: a file. */
  openSession?: typeof openSession;
  /** The memory directory that a session belongs to. */
  storeFor(session: { cwd?: string }): Promise<Store>;
  /** The memory directories on this disk that a session's agent may write to. Default: the session's alone. */
  memoriesOf?(session: { cwd?: string }, memory: string): readonly string[];
  /** How long a transcript must not have changed for its last turn to be settled. */
  quietMs: number;
  excerptTokens: number;
  /** How much text of pending turns is held at a time. Default: 64 MB. */
  heldCharacters?: number;
  /** What the extractor continues: an excerpt of the transcript, or the request that it holds. Default: `excerpt`. */
  fork?: Fork;
  /** What was said before this instant was declined; ISO-8601. */
  declinedBefore?: string;
  withLease: WithLease;
}

type ExtractEnd =
  | { outcome: 'recorded' | 'nothing-new' | 'nothing-worth-keeping' | 'turn-limit' | 'busy'; error?: undefined }
  /** Why it failed, or what was given up, and which class of failure it is. */
  | { outcome: 'ceiling' | 'transcript-gone' | 'unknown-format' | 'failed'; error: Failure };

export type ExtractOutcome = ExtractEnd['outcome'];

export type ExtractReport = ExtractEnd &
  Done & {
    session: string;
    transcript: string;
    /** The memory directory that it belongs to; null where the session could not be read. */
    memory: string | null;
    spend: SpentTotal;
  };

/** What an extraction did of a session, as far as it came. */
interface Done {
  entries: ReportedEntry[];
  /** What the ledger says of the session's turns; consecutive ones of one kind in one row. */
  coverage: CoveredTurns[];
  /** Turns that may still go on: they wait until the session ends or is quiet. */
  unsettledTurns: number;
  unreadableLines: number;
  /** Its id in the ledger; null where there was nothing to do. */
  job: string | null;
  /** Turns that a failure left to be extracted. */
  pendingTurns: number;
  /** Turns that this run covered, those that it gave up apart. */
  coveredTurns: number;
  /** How the model was shown the session, where it was asked. */
  fork?: ShownBy;
}

const NOTHING_DONE: Done = {
  entries: [],
  coverage: [],
  unsettledTurns: 0,
  unreadableLines: 0,
  job: null,
  pendingTurns: 0,
  coveredTurns: 0,
};

/** An excerpt that a model finds too long is split down to this. */
const SMALLEST_EXCERPT_TOKENS = 500;

/** A session that this job alone works on. */
interface Opened {
  session: Session;
  store: Store;
  lease: Lease;
}

/** Contract: throws only what is not an AppError; every planned ending is the report's `outcome`. */
export async function extract(request: ExtractRequest, deps: ExtractDeps): Promise<ExtractReport> {
  const { transcript, session: id, ended, snapshot } = request;
  let [session, memory]: [string, string | null] = [id ?? '', null];
  let done: ExtractEnd & Done = { outcome: 'busy', ...NOTHING_DONE };
  let opened: Session | undefined;
  try {
    // 1.
    const given = request.opened;
    if (isAppError(given)) throw given;
    const found = given ?? (await (deps.openSession ?? openSession)(transcript, { id, isLive: !ended, snapshot }));
    opened = found;
    session = found.id;
    const store = await deps.storeFor(found);
    memory = store.id;
    await deps.withLease(store, `session:${session}`, async (lease) => {
      done = await extractOpened({ session: found, store, lease }, request, deps);
      return true;
    });
  } catch (error) {
    done = { ...done, ...failedBy(error) };
  } finally {
    opened?.discard?.();
  }
  return { session, transcript, memory, ...done, spend: deps.spend.total() };
}

async function extractOpened(opened: Opened, request: ExtractRequest, deps: ExtractDeps): Promise<ExtractEnd & Done> {
  const { session, store } = opened;
  const again = takenAgain(opened, request);
  const wanted = { by: request.fork ?? deps.fork ?? 'excerpt' };
  let plan: Plan = { wanted, excerptTokens: deps.excerptTokens, attempts: request.attempts, gaveUp: [] };
  const extracted: Extracted[] = [];
  const covered = new Set<string>();
  let sorted: SortedTurns | undefined;
  let shown: ShownBy | undefined;
  let job: string | null = null;
  let unreadableLines = 0;
  let pendingTurns = 0;
  let end: ExtractEnd = { outcome: 'nothing-new' };
  let failure: unknown;
  try {
    for (;;) {
      // 2.
      sorted = await sortPending(opened, { request, again, job }, deps);
      unreadableLines = session.unreadableLines;
      const { pending, private: hidden, mainAgent, assumed, declined } = sorted;
      const byCode = [...hidden, ...mainAgent, ...assumed, ...declined];
      if (byCode.length + pending.size === 0) break;
      const kind = request.reopen ? 'reprocess' : 'extract';
      const begun = { kind, session: session.id, instructions: request.instructions, now: deps.clock.now() } as const;
      job ??= await store.enterRows((ledger) => beginJob(ledger, begun));
      const at: CommitAt = { ...opened, job, rows: await sessionRows(opened, sorted) };
      // 3.
      if (byCode.length > 0) {
        const isLast = pending.size + sorted.later === 0;
        await coverTurns({ private: hidden, 'main-agent': mainAgent, assumed, declined }, { ...at, isLast }, deps);
        // Of a turn whose other part is pending, what it gave before is replaced with that.
        for (const { turn } of byCode) if (!pending.has(turn.id)) again.reopened.delete(turn.id);
        for (const { turn } of byCode) covered.add(turn.id);
      }
      if (pending.size === 0 && sorted.later > 0) continue;
      if (pending.size === 0) break;
      end = { outcome: 'nothing-worth-keeping' };
      // 4. to 6.
      let failed: Failed | undefined;
      const { instructions } = request;
      for await (const each of extractPending({ ...at, sorted, reopened: again.reopened, instructions }, plan, deps)) {
        shown = each.shown;
        if (each.outcome === 'failed') {
          failed = each;
          break;
        }
        extracted.push(each);
        for (const { turn } of each.turns) {
          again.reopened.delete(turn.id);
          covered.add(turn.id);
        }
      }
      if (!failed && sorted.later > 0) continue;
      if (!failed) break;
      // 7.
      pendingTurns = failed.left;
      plan = await planAgain(failed, { plan, at }, deps);
      pendingTurns = 0;
      for (const { turn } of plan.gaveUp) again.reopened.delete(turn.id);
    }
    if (plan.error) throw plan.error;
  } catch (error) {
    failure = error;
  }
  // 8.
  const entries = extracted.flatMap((each) => each.entries);
  if (extracted.some(({ ending }) => ending === 'turn-limit')) end = { outcome: 'turn-limit' };
  else if (entries.length > 0) end = { outcome: 'recorded' };
  const coverage = sorted ? coverageRanges(store.ledger, session.id, sorted) : [];
  if (job) {
    const id = job;
    const how = failure === undefined ? { outcome: end.outcome } : rowFailure(failure, deps);
    const ended = { ...how, usage: deps.spend.record(), now: deps.clock.now() };
    await store.enterRows((ledger) => endJob(ledger, id, ended));
  }
  if (failure !== undefined) end = failedBy(failure);
  const counts = { unsettledTurns: sorted?.unsettled ?? 0, unreadableLines, pendingTurns, coveredTurns: covered.size };
  return { ...end, entries, coverage, ...counts, job, ...(shown && { fork: shown }) };
}

/** What is taken up again although it was covered. */
interface Again {
  /** Turns that a person asks for by name; each until it is extracted. */
  reopened: Set<string>;
  /** What no longer counts as covered. */
  dispositions: Set<Disposition>;
}

function takenAgain({ session, store: { ledger } }: Opened, request: ExtractRequest): Again {
  const dispositions = new Set<Disposition>();
  if (request.reopenUndone && hasCovered(ledger, 'undone')) dispositions.add('undone');
  if (request.takeDeclined && hasCovered(ledger, 'declined')) dispositions.add('declined');
  if (request.reopenGivenUp && hasCovered(ledger, 'gave-up', session.id)) dispositions.add('gave-up');
  return { reopened: new Set(request.reopen), dispositions };
}

/** Reads on where the last extraction left off, unless something before that is taken up again. */
async function sortPending(
  { session, store }: Opened,
  { request, again, job }: { request: ExtractRequest; again: Again; job: string | null },
  deps: ExtractDeps,
): Promise<SortedTurns> {
  const { reopened, dispositions } = again;
  const { ledger, dir } = store;
  const sort = (from?: ReadPoint) =>
    sortTurns(session, {
      ledger,
      memories: deps.memoriesOf?.(session, dir) ?? [dir],
      ended: request.ended,
      now: deps.clock.now(),
      quietMs: deps.quietMs,
      reopened,
      heldCharacters: deps.heldCharacters,
      declinedBefore: request.takeDeclined ? undefined : deps.declinedBefore,
      // What this job itself gives up stays so.
      isRetaken: ({ disposition, session: of, job: by }) =>
        dispositions.has(disposition) && (disposition !== 'gave-up' || (of === session.id && by !== job)),
      from,
    });
  const isContinued = reopened.size + dispositions.size === 0;
  const from = isContinued ? sessionRow(ledger, session.id)?.readPoint : undefined;
  const sorted = await sort(from);
  // What the agent wrote down before is read again, so that it is known, and that no later call passes for its writer.
  const isOpen = sorted.pending.size + sorted.mainAgent.length > 0;
  return from && isOpen && hasCovered(ledger, 'main-agent', session.id) ? sort() : sorted;
}

/** How the pending turns are shown this time. */
interface Plan {
  wanted: ShownBy;
  excerptTokens: number;
  /** Tries that failed before. */
  attempts: number | undefined;
  /** Turns that failed too often, and what the last of them failed with. */
  gaveUp: PendingTurn[];
  error?: AppError;
}

interface Pending extends CommitAt {
  sorted: SortedTurns;
  reopened: ReadonlySet<string>;
  instructions: string | undefined;
}

type Extracted = Pick<Proposed, 'shown' | 'turns' | 'ending'> & { outcome: 'committed'; entries: ReportedEntry[] };
type Failed = Offered & { outcome: 'failed'; error: unknown };

/** Excerpt after excerpt, until one fails. What was committed before stays. */
async function* extractPending(
  pending: Pending,
  plan: Plan,
  deps: ExtractDeps,
): AsyncGenerator<Extracted | Failed, void, void> {
  const { session, store, sorted, reopened, instructions } = pending;
  let waiting: RecordedEntry[] = [];
  let cited: CitedMessages = new Map();
  // 4.
  for await (const offered of offerPending(pending, { ...deps, ...plan })) {
    let extracted: Extracted | Failed;
    try {
      await rehearseCommit(offered.touched, pending, deps);
      // 5.
      const known = { session, store, instructions, reopened, written: sorted.written, waiting };
      const proposed = await propose(offered, known, deps);
      // 6.
      cited = new Map([...cited, ...proposed.cited]);
      const entries = await commitExcerpt({ ...proposed, cited }, pending, deps);
      waiting = proposed.waiting;
      extracted = { ...proposed, outcome: 'committed', entries };
    } catch (error) {
      extracted = { ...offered, outcome: 'failed', error };
    }
    yield extracted;
    if (extracted.outcome === 'failed') return;
  }
}

/** How it is tried again at once; throws the error where it is not. */
async function planAgain(
  { error, continues, touched }: Failed,
  { plan, at }: { plan: Plan; at: CommitAt },
  deps: ExtractDeps,
): Promise<Plan> {
  if (!isAppError(error)) throw error;
  const { attempts, excerptTokens, gaveUp } = plan;
  // What failed as a continuation may well pass as an excerpt.
  if (continues && ERRORS[error.code].tries !== null) return { ...plan, wanted: { by: 'excerpt', why: error.message } };
  if (error.code === 'oversize' && excerptTokens >= 2 * SMALLEST_EXCERPT_TOKENS) {
    return { ...plan, excerptTokens: Math.floor(excerptTokens / 2) };
  }
  const isLastTry = attempts !== undefined && isGivenUp(error.code, attempts + 1);
  if (!isLastTry || touched.length === 0) throw error;
  await coverTurns({ 'gave-up': touched }, { ...at, isLast: false }, deps);
  return { ...plan, attempts: 0, gaveUp: [...gaveUp, ...touched], error };
}

/** How a job failed, for its row: one that was stopped did not. */
function rowFailure(failure: unknown, { signal }: ExtractDeps): { outcome: string; error?: Failure } {
  if (isAppError(failure)) return failedBy(failure);
  return signal?.aborted ? { outcome: 'interrupted' } : { outcome: 'failed', error: failureOf(failure) };
}

/** Throws on what is not an AppError. */
export function failedBy(error: unknown): Extract<ExtractEnd, { error: Failure }> {
  if (!isAppError(error)) throw error;
  const { code } = error;
  const isGone = code === 'transcript-gone' || code === 'unknown-format';
  const outcome = isGone ? code : ERRORS[code].class === 'ceiling' ? 'ceiling' : 'failed';
  return { outcome, error: failureOf(error) };
}
