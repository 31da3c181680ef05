// Dream: the entries that wait become topic files, and the index is rebuilt. Who calls it holds the claim of (dream, memory), which is
// the lease: each commit asks for it.
//
// 1. Look at all files: what a person made of the logs is taken at their word.
// 2. Too much missing: stop. Nothing new, nothing gone, nothing over: the index alone.
// 3. By code: lines go that rest on what is gone; what else they rested on is read again.
// 4. Slice by slice: the entries, and the topics near them.
// 5. A model proposes what becomes of each entry; code checks it, and asks once more for what it refuses.
// 6. One commit per slice: topics, index, what lines rest on, what became of each entry. What is left waits for another night.
// 7. Put away what is past, long unused, or was seen once and never again.
// 8. End the job, whose row tells what was done, refused and left.

import type { Spend } from '../src/agent/tools.ts';
import { AppError, ERRORS, type Failure, failureOf, isAppError, onAppError } from '../src/base/errors.ts';
import { newId, type Sql } from '../src/db/sql.ts';
import { type By, type Claim, commit, lookInto } from '../src/memory/commit.ts';
import { entriesWhere } from '../src/memory/entries.ts';
import { missingFiles } from '../src/memory/file-rows.ts';
import { beginJob, endJob, type StartedBy } from '../src/memory/job-rows.ts';
import { INDEX } from '../src/memory/memory-index.ts';
import { Guidance } from '../src/memory/projects.ts';
import { logDay } from '../src/memory/text/daily-log.ts';
import {
  type ArchiveAfterDays,
  agedLines,
  findArchivable,
  landAged,
  landArchiving,
  retire,
} from './dream/archiving.ts';
import {
  type Checked,
  type DreamOutput,
  isIndexCurrent,
  type LandAt,
  landOperations,
  landTopics,
  NOTHING_TOLD,
  toldMore,
} from './dream/dream-landing.ts';
import { nothingStands, type ProposeDeps, propose } from './dream/dream-proposal.ts';
import { halved, select, slicesOf } from './dream/dream-slices.ts';
import {
  contextOf,
  goneHolding,
  isResting,
  type NightEntry,
  type StandingFiles,
  standingFiles,
  unplacedOf,
} from './dream/topic-draft.ts';
import { proposeOperations, waitingNow } from './review.ts';

export interface DreamRequest {
  startedBy: StartedBy;
  /** Id of a job that was entered before; default: a new one, where there is something to do. */
  job?: string;
  /** Who asks begins and ends that job. */
  isPart?: boolean;
  claim?: Claim;
  /** Steers how memory is kept; never overrides the rules. */
  instructions?: string;
}

export interface DreamDeps extends Omit<ProposeDeps, 'clock' | 'spend'> {
  /** Counts what a job uses. */
  spendOf(job: string): Spend;
  /** Tokens of entries, and of topics, that one request is shown. */
  requestTokens: number;
  /** A habit that one session showed is put away after so many days without another. */
  holdDays: number;
  archiveAfterDays: ArchiveAfterDays;
  /** What would change waits for a person's word. */
  needsApproval: boolean;
}

interface DreamEnd {
  /** `busy`: another process is at work on it. */
  outcome: 'dreamed' | 'proposed' | 'nothing-new' | 'ceiling' | 'refused' | 'failed' | 'busy';
  error?: Failure;
}

/** What every dream tells, however it ended; `job`: null where there was nothing to do. */
export type DreamReport = DreamEnd & DreamOutput & { job: string | null };

/** Contract: throws only what is not an AppError; every planned ending is the report's `outcome`. */
export async function dream(request: DreamRequest, deps: DreamDeps): Promise<DreamReport> {
  const { memories, memory } = deps;
  const { db, clock } = memories;
  const job = request.job ?? newId('job');
  let isBegun = request.isPart ?? false;
  const begin = async () => {
    if (isBegun) return;
    const { startedBy, instructions } = request;
    const at = clock.now().toISOString();
    await beginJob(db, { id: job, kind: 'dream', memory: memory.id, startedBy, request: { instructions }, at });
    isBegun = true;
  };
  const night: Night = { request, deps, job, begin, output: NOTHING_TOLD };
  let end: DreamEnd = { outcome: 'nothing-new' };
  let failure: unknown;
  try {
    if (request.job !== undefined) await begin();
    // 1. and 2.
    let news = await newsOf(night);
    const isIdle = !news && (await isIndexCurrent(deps));
    // Who looks finds out that what failed before does not any more.
    if (!isIdle || (await hasFailed(deps))) await begin();
    // 3.
    if (news && news.gone.length > 0) {
      const { db: sql } = memories;
      await landChecked(await retire(news.gone, { sql, memory: memory.id, files: news.files }), night, 'code');
      end = { outcome: night.output.proposals.length > 0 ? 'proposed' : 'dreamed' };
      news = await newsOf(night);
    }
    // 4. to 7.
    if (news) {
      await distil(news, night);
      end = { outcome: night.output.proposals.length > 0 ? 'proposed' : 'dreamed' };
    } else if (!isIdle && night.output.index === null)
      await land(night, (at) => landTopics(at, [], async () => ({ files: [], more: {}, rows: async () => {} })));
  } catch (error) {
    failure = error;
    // Who was refused before it began is a job all the same, so that whoever looks finds out why.
    await begin().catch(onAppError(() => {}));
    end = failedBy(error);
  } finally {
    // 8.
    const { outcome, error } = failure && !end.error ? { outcome: 'failed', error: failureOf(failure) } : end;
    const progress = night.output.operations.length + night.output.proposals.length;
    const ended = { outcome, error, output: night.output, progress, at: clock.now().toISOString() };
    if (isBegun && !request.isPart) await endJob(db, job, ended).catch(onAppError(() => {}));
  }
  return { ...end, ...night.output, job: isBegun ? job : null };
}

interface Night {
  request: DreamRequest;
  deps: DreamDeps;
  job: string;
  /** Enters the job, once. */
  begin(): Promise<void>;
  /** What was done so far. */
  output: DreamOutput;
}

interface News {
  /** Entries that wait, and those that are gone although lines rest on them. */
  fresh: NightEntry[];
  gone: NightEntry[];
  files: StandingFiles;
  /** What stood in the way of these in earlier nights. */
  before: Map<string, string>;
}

/** Looks at the memory; null where nothing is new. Errors: `refused` where so much is missing that it looks like an accident. */
async function newsOf(night: Night): Promise<News | null> {
  const { deps } = night;
  const { memories, memory } = deps;
  const { db, clock } = memories;
  await lookInto(memories, { memory: memory.id, paths: 'all' });
  // What no topic could be committed for is found before a model is asked.
  await lookInto(memories, { memory: memory.id, paths: [INDEX] });
  await refuseMissing(deps);
  const files = await standingFiles(db, memory.id);
  const waits = await keepWaiting(night, files);
  const waiting = await entriesWhere(db, memory.id, "and state = 'new'");
  const gone = (await goneHolding(db, memory.id, files)).filter(({ id }) => !waits.has(id));
  const unplaced = await unplacedOf(db, memory.id, waiting);
  const rests = new Set(unplaced.flatMap((each) => (isResting(each, clock.now()) ? each.entry : [])));
  const fresh = waiting.filter(({ id }) => !rests.has(id) && !waits.has(id));
  const before = new Map(unplaced.map(({ entry, reason, check = reason }) => [entry, `${entry}: ${check}`]));
  const over = await overIn(night, files);
  const isNew = [fresh, gone, over.found, over.due].some(({ length }) => length > 0);
  return isNew ? { fresh, gone, files, before } : null;
}

/** What is to be put away, and what is to be marked: this asks no model, and in review mode it waits until that is off. */
async function overIn({ deps }: Night, files: StandingFiles) {
  if (deps.needsApproval) return { found: [], due: [] };
  const place = { sql: deps.memories.db, memory: deps.memory.id, files };
  const when = { ...deps, clock: deps.memories.clock };
  const due = (await agedLines(place, when)).filter(({ isMarked }) => isMarked);
  return { found: await findArchivable(place, when, await guidanceOf(place)), due };
}

/** Whether the last dream came to no end. */
async function hasFailed({ memories, memory }: DreamDeps): Promise<boolean> {
  const last = await memories.db.get<{ code: string | null }>(
    `select code from job where memory = ? and kind = 'dream' and ended_at is not null order by ended_at desc limit 1`,
    memory.id,
  );
  return typeof last?.code === 'string';
}

async function refuseMissing({ memories, memory }: DreamDeps): Promise<void> {
  const gone = await missingFiles(memories.db, memory.id);
  // A lost log takes no memory with it.
  const [first, ...others] = gone.filter(({ path }) => logDay(path) === null);
  if (!first) return;
  const what = `${others.length + 1} files are missing at once, ${first.path} among them.`;
  throw new AppError('refused', what, {
    remedy:
      'Put the files back, or run nocturne check --restore; if they were removed on purpose, nocturne check --accept-missing.',
  });
}

/** Looks at what waits for a person; answers its entries, which are not asked about again. */
async function keepWaiting(night: Night, files: StandingFiles): Promise<Set<string>> {
  const { memories, memory } = night.deps;
  const place = { sql: memories.db, memory: memory.id, files, limits: memories.limits };
  const { entries, rows } = await waitingNow(place);
  if (rows) {
    await night.begin();
    await commit(memories, { memory: memory.id, paths: [] }, byOf(night), async () => ({ files: [], rows }));
  }
  return entries;
}

/** Works what is new into the topics. */
async function distil(news: News, night: Night): Promise<void> {
  const { memories, memory } = night.deps;
  // 4. to 6.
  const files = await dreamSlices(news, night);
  // 7.
  const { found } = await overIn(night, await standingFiles(memories.db, memory.id, files));
  if (found.length > 0) await land(night, (at) => landArchiving(found, at));
  const { due } = await overIn(night, await standingFiles(memories.db, memory.id, files));
  if (due.length > 0) await land(night, (at) => landAged(due, at));
}

async function dreamSlices(news: News, night: Night): Promise<StandingFiles> {
  const { deps, request, job } = night;
  const { memories, memory } = deps;
  const { db: sql, clock } = memories;
  const spend = deps.spendOf(job);
  let { files } = news;
  let tokens = deps.requestTokens;
  let slices = slicesOf(news.fresh, tokens);
  for (let slice = slices.shift(); slice; slice = slices.shift()) {
    files = await standingFiles(sql, memory.id, files);
    const context = await contextOf(slice, files);
    const drafts = { sql, memory: memory.id, files, context };
    const shown = await select(slice, drafts, tokens);
    const before = [...context.entries.keys()].flatMap((id) => news.before.get(id) ?? []);
    const asked = { fresh: slice, place: drafts, shown, before, instructions: request.instructions };
    const proposed = await propose(asked, { ...deps, clock, spend }).catch(
      onAppError((tooLong) => tooLong, 'oversize'),
    );
    if (isAppError(proposed)) {
      ({ slices, tokens } = halved([slice, ...slices], tokens, proposed));
      continue;
    }
    const { standing: operations, refused, left } = proposed;
    if (operations.length === 0) {
      night.output = toldMore(night.output, { refused, left });
      throw nothingStands(asked);
    }
    const open = new Set(left.map(({ entry }) => entry));
    const placed = slice.filter(({ id }) => !open.has(id));
    await landChecked({ operations, context, fresh: placed, refused, left }, night, 'model');
  }
  return files;
}

/** What cannot be committed as things are is left like what no operation stands for, so that it is not paid for each night. */
async function landChecked(checked: Checked, night: Night, madeBy: 'code' | 'model'): Promise<void> {
  const { needsApproval } = night.deps;
  try {
    await land(night, (at) => (needsApproval ? proposeOperations(checked, at, madeBy) : landOperations(checked, at)));
  } catch (error) {
    if (isAppError(error, 'refused') || isAppError(error, 'bad-input')) {
      const left = checked.fresh.map(({ id: entry }) => ({ entry, reason: error.message }));
      night.output = toldMore(night.output, { left });
    }
    throw error;
  }
}

async function land(night: Night, work: (at: LandAt) => Promise<DreamOutput>): Promise<void> {
  const { deps, output } = night;
  night.output = await work({ memories: deps.memories, memory: deps.memory, by: byOf(night), output });
}

function byOf({ job, request: { claim } }: Night): By {
  return { job, actor: { kind: 'job', id: job }, claim };
}

/** What the projects say whose sessions said something here. */
async function guidanceOf({ sql, memory }: { sql: Sql; memory: string }): Promise<Guidance> {
  const rows = await sql.all<{ name: string; cwd: string }>(
    `select distinct s.name, s.cwd from entry e join session s on s.id = e.session
     where e.memory = ? and s.cwd is not null order by s.name`,
    memory,
  );
  return Guidance.of(rows.map(({ name, cwd }) => [name, cwd]));
}

/** Throws on what is not an AppError. */
function failedBy(error: unknown): DreamEnd {
  if (!isAppError(error)) throw error;
  const isCeiling = ERRORS[error.code].class === 'ceiling';
  return { outcome: isCeiling ? 'ceiling' : error.code === 'refused' ? 'refused' : 'failed', error: failureOf(error) };
}
