// Dream: the logs' undistilled entries become topic files, and the index is rebuilt.
//
// 1. Take the directory's dream lease.
// 2. Load the entries: join the logs with the ledger. Too much missing: stop.
// 3. Write down in the ledger what the logs say.
// 4. Change what needs no model: retire what rested on withdrawn entries alone, and drop what the project's own files say, or memories that are no topics.
// 5. Slice by slice, select the topics that its entries may touch, let the model propose operations, check them, and
//    commit what code lets through: topics, index, what became of each entry, the report. What it does not is asked for
//    again, and what is left waits for another night. Where operations need approval, they wait instead (dream/approval.ts).
// 6. Archive, by code, what is past, long unused, or was seen once and never again.
// 7. Where nothing was committed, rebuild the index alone, for topics that a person added.
// 8. End the job, and report.

import { costMicroUsd, type Price } from '../src/base/config/prices.ts';
import { ERRORS, type Failure, failureOf, isAppError, onAppError } from '../src/base/errors.ts';
import { type Day, dayOf } from '../src/base/time.ts';
import { noteLeft } from '../src/memory/dream/habits.ts';
import type { IndexSize } from '../src/memory/dream/index-change.ts';
import { markHistoryRead, statHistory } from '../src/memory/history/log-items.ts';
import { Guidance } from '../src/memory/home/projects.ts';
import type { SpentTotal } from '../src/memory/home/spend.ts';
import { beginJob, endJob, type Lease, lastDreamJob } from '../src/memory/ledger/job-rows.ts';
import type { Store } from '../src/memory/store/store.ts';
import { reportPath } from '../src/memory/text/dream-report.ts';
import { entryIds, type ToldKind, toldKind } from '../src/rules/dream-context.ts';
import { estimateTokens } from '../src/transcript/excerpt/tokens.ts';
import { proposeArchiving, proposeOperations } from './dream/approval.ts';
import { type ArchiveAfterDays, commitArchiving, dropSaid, findArchivable, retireWithdrawn } from './dream/by-code.ts';
import { type Checked, type CommitAt, commitOperations, rebuildIndex, reportOnly } from './dream/commit.ts';
import { commitLoaded, type Loaded, loadEntries, readEntries } from './dream/load.ts';
import { checkedOf, type ProposeDeps, propose, proposedFor, requestFor } from './dream/propose.ts';
import { Slices, select, slicesOf } from './dream/select.ts';
import type { ShareReport } from './share.ts';

export interface DreamRequest {
  /** As which session its job is told, to whoever asked for it. */
  session?: string;
  /** Steers how memory is kept; never overrides the rules. */
  instructions?: string;
  /**
   * Take it as meant that many entries are missing from the logs, or files from the directory; a list: that the logs of
   * these days are.
   */
  acceptMissing?: boolean | Day[];
}

interface DreamDeps extends ProposeDeps {
  /** A habit that one session showed is put away after so many days without another. */
  holdDays: number;
  archiveAfterDays: ArchiveAfterDays;
  /** What would change waits for a person's word. */
  needsApproval: boolean;
  withLease<T>(store: Store, key: string, work: (lease: Lease) => Promise<T>): Promise<T | null>;
}

/** `proposed`: at least some of it waits for a person. */
type DreamEnd =
  | { outcome: 'dreamed' | 'proposed' | 'nothing-new' | 'busy'; error?: undefined }
  | { outcome: 'ceiling' | 'refused' | 'failed'; error: Failure };

export type DreamOutcome = DreamEnd['outcome'];

/** What every dream tells, however it ended. */
export interface DreamFacts {
  operations: { kind: ToldKind | 'archive'; entries: string[]; topic: string | null; reason: string }[];
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
  /** What of it went to the team, where that was asked for or set. */
  shared?: ShareReport;
}

export type DreamReport = DreamEnd & DreamFacts;

/** What one commit did, or let wait. */
type Committed = Pick<DreamReport, 'operations' | 'proposals' | 'refused' | 'left'> & { index: IndexSize | null };
type Ended = DreamEnd & { job: string | null; committed: Committed[] };

/** Contract: throws only what is not an AppError; every planned ending is the report's `outcome`. */
export async function dream(request: DreamRequest, deps: DreamDeps): Promise<DreamReport> {
  let ended: Ended = { outcome: 'busy', job: null, committed: [] };
  try {
    // 1.
    await deps.withLease(deps.store, 'dream', async (lease) => {
      ended = await dreamWithLease(request, { ...deps, lease });
      return true;
    });
  } catch (error) {
    ended = { ...ended, ...failedBy(error) };
  }
  await noteEnd(ended, deps);
  return reportOf(ended, deps);
}

type Night = DreamDeps & { lease: Lease };

async function dreamWithLease(request: DreamRequest, deps: Night): Promise<Ended> {
  const { store, clock, lease } = deps;
  // 2.
  const loaded = await loadEntries(deps, { acceptMissing: request.acceptMissing, lease });
  const { instructions, session } = request;
  const begun = { kind: 'dream', instructions, session } as const;
  const now = clock.now();
  const job = loaded.isIdle ? null : await store.enterRows((ledger) => beginJob(ledger, { ...begun, now }));
  const committed: Committed[] = [];
  let end: DreamEnd = { outcome: 'nothing-new' };
  let failure: unknown;
  try {
    // 3.
    if (job) await commitLoaded(loaded, { ...deps, job });
    markHistoryRead(store, loaded.history);
    // 4. to 6.
    if (job && loaded.hasNews) {
      const add = (done: Committed) => committed.push(done);
      await distil({ ...loaded, instructions }, { ...deps, job }, add);
      const isProposed = committed.some(({ proposals }) => proposals.length > 0);
      end = { outcome: isProposed ? 'proposed' : 'dreamed' };
    }
    // 7.
    if (!committed.some(({ index }) => index)) {
      const index = await rebuildIndex(deps, { lease, actor: job ? `job:${job}` : 'job:index' });
      committed.push({ ...NOTHING, index });
    }
  } catch (error) {
    failure = error;
    if (job) await reportFailure(error, { ...deps, job });
    end = failedBy(error);
  } finally {
    // 8.
    const result = failure ? { outcome: 'failed', error: failureOf(failure) } : { outcome: end.outcome };
    const ended = { ...result, usage: deps.spend.record(), now: clock.now() };
    if (job) await store.enterRows((ledger) => endJob(ledger, job, ended));
  }
  return { ...end, job, committed };
}

/** Works what is new into the topics. */
async function distil(
  loaded: Loaded & { instructions?: string },
  deps: Night & { job: string },
  add: (done: Committed) => void,
): Promise<void> {
  const { store, needsApproval } = deps;
  const commit = async (checked: Checked | null) => {
    if (checked) add(await commitChecked(checked, deps));
  };
  // 4.
  const retired = await retireWithdrawn(loaded.withdrawn, { store, needsApproval });
  await commit(retired.checked);
  const guidance = await Guidance.of(
    store.ledger.lists('select id, cwd from session where cwd is not null') as [string, string][],
  );
  await rehearseCommit(deps);
  const unsaid = await dropSaid(loaded.fresh, guidance, store);
  await commit(unsaid.checked);
  // 5.
  const night = { fresh: unsaid.rest, withdrawn: retired.rest, instructions: loaded.instructions };
  const slices = new Slices(night, deps.requestTokens);
  for (let slice = slices.next(); slice; slice = slices.next()) {
    const selected = await select(slice, { store, mostTokens: slices.tokens });
    const check = proposedFor(selected, deps);
    const proposed = await propose(selected, check, deps);
    if (proposed.outcome === 'oversize') slices.halve(slice, proposed.error);
    else await commit({ ...checkedOf(check, selected), spend: proposed.spend });
  }
  // 6.
  const found = await findArchivable(deps, guidance);
  if (found.length > 0) {
    const done = needsApproval
      ? { proposals: await proposeArchiving(found, deps) }
      : { index: await commitArchiving(found, deps) };
    add({ ...NOTHING, ...done, operations: found.map(toldOf) });
  }
}

/** What no topic could be committed for is found before a model is asked. */
async function rehearseCommit({ store, clock, zone, job, lease }: CommitAt): Promise<void> {
  await store.rehearse({ actor: `job:${job}`, lease }, ['MEMORY.md', reportPath(dayOf(clock.now(), zone), 'json')]);
}

const NOTHING: Committed = { operations: [], proposals: [], refused: [], left: [], index: null };

/** Commits operations, or lets them wait for approval. */
async function commitChecked(checked: Checked, deps: Night & { job: string }): Promise<Committed> {
  const { operations, refused = [], left = [] } = checked;
  const { needsApproval } = deps;
  const proposals = needsApproval ? await proposeOperations(checked, deps) : [];
  const index = needsApproval ? null : await commitOrLeave(checked, deps);
  const placed = operations.flatMap(entryIds);
  const now = deps.clock.now();
  await deps.store.enterRows((ledger) => noteLeft(ledger, { left, placed, now }));
  const changes = operations.map((each) => ({ ...each, kind: toldKind(each), entries: entryIds(each) }));
  return { operations: changes.map(toldOf), proposals, refused, left, index };
}

/** What cannot be committed as things are is left like what no operation stands for, so that it is not paid for each night. */
async function commitOrLeave(checked: Checked, deps: Night & { job: string }): Promise<IndexSize> {
  try {
    return await commitOperations(checked, deps);
  } catch (error) {
    if (isAppError(error, 'refused') || isAppError(error, 'bad-input')) {
      const entries = [...checked.fresh, ...checked.withdrawn];
      const left = entries.map(({ id: entry }) => ({ entry, reason: error.message }));
      await deps.store.enterRows((ledger) => noteLeft(ledger, { left, placed: [], now: deps.clock.now() }));
    }
    throw error;
  }
}

function toldOf<Kind>(operation: { kind: Kind; entries: string[]; topic?: string; reason: string }) {
  const { kind, entries, topic = null, reason } = operation;
  return { kind, entries, topic, reason };
}

/** Throws on what is not an AppError. */
function failedBy(error: unknown): Extract<DreamEnd, { error: Failure }> {
  if (!isAppError(error)) throw error;
  const isCeiling = ERRORS[error.code].class === 'ceiling';
  return { outcome: isCeiling ? 'ceiling' : error.code === 'refused' ? 'refused' : 'failed', error: failureOf(error) };
}

/** Tells of a dream that failed in the report of its day, where that can still be written. */
async function reportFailure(error: unknown, at: CommitAt): Promise<void> {
  if (!isAppError(error)) return;
  const row = { job: at.job, entry: '', op: 'failed', topic: null, lines: [], reason: error.message, text: '' };
  const plan = () => ({ files: reportOnly([row], { fresh: [], withdrawn: [] }, at) });
  await at.store.commit({ actor: `job:${at.job}`, lease: at.lease }, plan).catch(onAppError(() => null));
}

/**
 * A dream that was refused before it began is a job all the same, so that whoever looks finds out why; so is the next that
 * found nothing to do, so that nobody looks for long.
 */
async function noteEnd({ job, outcome, error }: Ended, deps: DreamDeps): Promise<void> {
  const { store } = deps;
  const now = deps.clock.now();
  try {
    if (job !== null || outcome === 'busy' || (!error && !lastDreamJob(store.ledger)?.error)) return;
    const end = { outcome, error, usage: deps.spend.record(), now };
    await store.enterRows((ledger) => endJob(ledger, beginJob(ledger, { kind: 'dream', now }), end));
  } catch (failure) {
    // Where the ledger cannot be written the report is all there is.
    if (!isAppError(failure)) throw failure;
  }
}

function reportOf({ job, committed, ...end }: Ended, { spend }: DreamDeps) {
  const all = <Item>(of: (each: Committed) => Item[]) => committed.flatMap(of);
  const index = committed.findLast((each) => each.index)?.index;
  return {
    ...end,
    operations: all(({ operations }) => operations),
    proposals: all(({ proposals }) => proposals),
    refused: all(({ refused }) => refused),
    left: all(({ left }) => left),
    topics: index?.topics ?? [],
    indexLines: index?.lines ?? 0,
    indexBytes: index?.bytes ?? 0,
    job,
    spend: spend.total(),
  } satisfies DreamReport;
}

export interface DreamEstimate {
  model: string;
  /** New, changed and held entries, and those that are no longer in the logs. */
  entries: number;
  withdrawn: number;
  requests: { system: string; input: string; inputTokens: number; outputTokens: number }[];
  /** Estimated on the high side, without what code refuses and the model mends. */
  inputTokens: number;
  outputTokens: number;
  /** Millionths of a dollar; null for a model without a price. */
  microUsd: number | null;
}

/** Tokens of an operation around the words of its line. */
const OPERATION_TOKENS = 120;

/** Later requests are shown the memory as it is now, before the earlier ones changed it. */
export async function estimateDream(
  request: { instructions?: string },
  deps: Pick<ProposeDeps, 'store' | 'clock' | 'zone' | 'requestTokens'> & {
    model: string;
    price?: Price;
  },
): Promise<DreamEstimate> {
  const { store, model, price, requestTokens: mostTokens } = deps;
  const { fresh, withdrawn } = await readEntries(store, await statHistory(store));
  const requests: DreamEstimate['requests'] = [];
  for (const slice of slicesOf({ ...request, fresh, withdrawn }, mostTokens)) {
    const asked = await requestFor(await select(slice, { store, mostTokens }), deps);
    const said = slice.fresh.reduce((sum, entry) => sum + estimateTokens(entry.text) + OPERATION_TOKENS, 0);
    const inputTokens = estimateTokens(asked.system) + estimateTokens(asked.input);
    requests.push({ ...asked, inputTokens, outputTokens: said + slice.withdrawn.length * OPERATION_TOKENS });
  }
  const sum = (what: 'inputTokens' | 'outputTokens') => requests.reduce((total, each) => total + each[what], 0);
  const [inputTokens, outputTokens] = [sum('inputTokens'), sum('outputTokens')];
  // One request for each slice: the prompt is written to the cache, and read from it only where something is refused.
  const used = { inputTokens, cacheWriteTokens: inputTokens, cachedInputTokens: 0, outputTokens };
  return {
    model,
    entries: fresh.length,
    withdrawn: withdrawn.length,
    requests,
    inputTokens,
    outputTokens,
    microUsd: price ? costMicroUsd(used, price) : null,
  };
}
