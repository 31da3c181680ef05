// The only place where the parts are wired: settings in, jobs that can be run out. Every door uses it.
// `openNocturne`: the same for programs, without what only the command line and the worker need.
// A job is loaded when it is first run: the rules for secrets and what else it loads cost more than most commands need.

import { join, resolve } from 'node:path';
import type { CheckReport } from '../../jobs/check-memory.ts';
import type { DreamEstimate, DreamRequest as DreamJobRequest, DreamReport } from '../../jobs/dream.ts';
import type { ExtractDeps, ExtractReport, ExtractRequest } from '../../jobs/extract.ts';
import type { ForgetReport, ForgetRequest } from '../../jobs/forget.ts';
import type { RememberReport, RememberRequest } from '../../jobs/remember.ts';
import type { ReprocessRequest } from '../../jobs/reprocess.ts';
import type { ShownProposal } from '../../jobs/review/waiting-proposals.ts';
import type { ReviewReport, ReviewRequest } from '../../jobs/review.ts';
import type { ShareReport, ShareRequest } from '../../jobs/share.ts';
import type { UndoReport, UndoRequest } from '../../jobs/undo.ts';
import { forkAgent } from '../agent/forked.ts';
import { requireAccess } from '../agent/types.ts';
import { type Config, loadConfig } from '../base/config/config.ts';
import { priceOf } from '../base/config/prices.ts';
import { AppError } from '../base/errors.ts';
import { isDirectory } from '../base/files/directories.ts';
import { keySource } from '../base/key.ts';
import { type Log, openLog } from '../base/logger.ts';
import { limitDifferences } from '../memory/home/day-spend.ts';
import type { Home } from '../memory/home/home.ts';
import type { Enablement } from '../memory/home/paths.ts';
import { JobSpend, type SpentTokens } from '../memory/home/spend.ts';
import { sessionDirs } from '../memory/ledger/coverage.ts';
import type { Lease } from '../memory/ledger/job-rows.ts';
import type { Store, WithLease } from '../memory/store/store.ts';
import { boundDecompression } from '../transcript/records.ts';
import { boundRun, lanesFor, type Parts, wallOf, withUsage } from './job-bounds.ts';
import { homeOf, type Keeping, keepingOf, withLease } from './keeping.ts';
import { enablementFor, foundDirectories, memoriesOf, memoryDirFor } from './places.ts';
import type { Shared } from './shared.ts';
import { tracing } from './telemetry.ts';
import { type TranscriptPlace, transcriptFiles } from './transcripts.ts';
import { UserScope } from './user-scope.ts';
import { type Desk, localDesk } from './worker/desk.ts';

/** What may be asked for with a job. */
export interface JobOptions {
  /** Ends the job; what it did not commit is lost. */
  signal?: AbortSignal;
  /** The directory to work in, where it is known already. */
  store?: Store;
  onReport?(report: ExtractReport): void;
  /** Default: the configured one. */
  model?: string;
  /** The id of the inbox item that it works, where it commits nothing once that is gone or was replaced. */
  item?: number;
  /** Asked inside each commit of the job: throws where it is wanted no more. */
  mayCommit?(): void;
  /** Told what each request used as soon as that is known. */
  onUsage?(usage: SpentTokens): void | Promise<void>;
  /** What is learned of the user stays in the store, whatever the settings. */
  keepsUserMemory?: boolean;
  /** A dream shares what it changed with the team whose working tree holds this directory. */
  shareFrom?: string;
}

export interface App {
  config: Config;
  home: Home;
  /** Where the transcripts of sessions are. */
  transcripts: TranscriptPlace;
  /** What several machines share; null: this one has all of it. */
  shared: Shared | null;
  /** Where memory is kept, where that is elsewhere; null: all is on this machine. */
  keeping: Keeping | null;
  /** Where the memory of a project, default the one here, is kept, or would be: nothing is opened or made. */
  memoryDirOf(session?: { cwd?: string }): string;
  /** Whether anything is kept of it; nothing is made. */
  hasMemory(session?: { cwd?: string }): Promise<boolean>;
  /** Whether nocturne may work unasked for a session that ran in `cwd`; without one, whether it may anywhere. */
  standing(session?: { cwd?: string }): Promise<Enablement>;
  /** Opens a memory directory; one that is open already is not opened twice. */
  store(dir: string): Promise<Store>;
  /** The same, which the nightly dream knows from then on. */
  knownStore(dir: string): Promise<Store>;
  /** Runs `work` while no other process works on the key in the store; null where one does. */
  withLease: WithLease;
  /** The same for all sessions that a memory directory has seen: off where every one of their projects is. */
  standingOf(store: Store): Promise<Enablement>;
  /** The memory directory of a project, default the one here, or, where one is set, the one for all; it is remembered in the home. */
  storeFor(session?: { cwd?: string }): Promise<Store>;
  /** The same for a job that asks a model: without a key it throws `no-model` rather than make a directory for nothing. */
  storeForWork(session?: { cwd?: string }): Promise<Store>;
  /** The memory of the user in all projects, and the delivery of what is sent there. */
  userScope: UserScope;
  /** Verifies the memory directory of a project, or the one for all, without making it. */
  check(session: { cwd?: string }, request: { repair: boolean }): Promise<CheckReport>;
  extract(request: ExtractRequest, options?: JobOptions): Promise<ExtractReport>;
  dream(store: Store, request: DreamRequest, options?: JobOptions): Promise<DreamReport>;
  /** The entries that a dream tonight would be about. */
  dreamNews(store: Store): Promise<Set<string>>;
  /** What a dream would send now, and about what it would cost. */
  estimateDream(store: Store, request: DreamRequest): Promise<DreamEstimate>;
  reprocess(store: Store, request: ReprocessRequest, options?: JobOptions): Promise<ExtractReport[]>;
  undo(store: Store, request: UndoRequest): Promise<UndoReport>;
  /** Keeps what a person says, without a model. */
  remember(store: Store, request: RememberRequest): Promise<RememberReport>;
  /** What a dream proposed and waits for a person, as a person is shown it. */
  listProposals(store: Store, ids?: string[]): Promise<ShownProposal[]>;
  /** Does, or leaves for good, what was proposed, as a person says. */
  review(store: Store, request: ReviewRequest): Promise<ReviewReport>;
  /** Puts statements of one's own memory into that of the team whose working tree holds `cwd`. */
  share(own: Store, request: ShareRequest, by: { cwd: string; withEmail?: boolean }): Promise<ShareReport>;
  /** Takes something out of the memory and does not learn it again from the same source. */
  forget(store: Store, request: ForgetRequest): Promise<ForgetReport>;
  /** What a worker sees of all memory directories. */
  desk: Desk;
  /** Writes a line into the log of the home. */
  log: Log;
  /** What the settings of this machine say in vain, since several machines share the home; each a sentence without its stop. */
  overruled: string[];
  close(): Promise<void>;
}

export interface DreamRequest extends DreamJobRequest {
  /** For this once: whether what would change waits for a person. */
  review?: boolean;
}

/** The app of whoever can wait: where several machines share the home, with the limits and the zone that it keeps for all. */
export async function openApp(config: Config, parts: Parts = {}): Promise<App> {
  const keeping = keepingOf(config, parts);
  if (!keeping) return compose(config, parts);
  try {
    const kept = await homeOf(config, { keeping }).days.limits(config);
    const app = compose({ ...config, dayMoneyUsd: undefined, ...kept }, parts, keeping);
    return { ...app, overruled: limitDifferences(config, kept) };
  } catch (error) {
    await keeping.close();
    throw error;
  }
}

export function compose(config: Config, parts: Parts = {}, keeping = keepingOf(config, parts)): App {
  boundDecompression(config.decompressedBytes);
  const home = homeOf(config, { keeping, look: () => foundDirectories(config) });
  const transcripts = keeping?.transcripts ?? transcriptFiles;
  const stores = new Map<string, Promise<Store>>();
  const limits = { memoryBytes: config.memoryBytes, memories: config.maxMemories, totalBytes: config.totalMemoryBytes };
  const moved: Store[] = [];
  const open = (dir: string) => {
    // Where the user's own directory is a repository, memory in it is the user's all the same.
    const isCheckedIn = dir === join(config.claudeDir, 'memory') ? false : undefined;
    const opened = import('../memory/open.ts').then(async ({ openStore, refuseSentLedger }) => {
      await refuseSentLedger(dir, { config, home, isCheckedIn });
      return openStore(dir, { clock: config.clock, limits, isCheckedIn, startedBy: parts.startedBy });
    });
    stores.set(dir, opened);
    // What could not be opened is tried again the next time.
    opened.catch(() => stores.delete(dir));
    return opened;
  };
  const store = async (dir: string): Promise<Store> => {
    if (keeping) return keeping.openStore(dir);
    const before = stores.get(dir);
    const opened = await (before ?? open(dir));
    if (!before || opened.isInPlace()) return opened;
    // Another work may still hold it.
    if (stores.get(dir) === before && stores.delete(dir)) moved.push(opened);
    return store(dir);
  };
  const closeBut = async (kept: readonly Store[]) => {
    const closed = Array.from(stores, async ([dir, opened]) => {
      const each = await opened.catch(() => null);
      if (each === null || kept.includes(each) || stores.get(dir) !== opened) return;
      stores.delete(dir);
      each.close();
    });
    await Promise.all(closed);
  };
  const standing = async ({ cwd }: { cwd?: string } = {}) =>
    enablementFor(config, { pauses: await home.pauses.all(), cwd });
  const knownStore = async (dir: string) => {
    const opened = await store(dir);
    if (!keeping) await home.addStore(opened.id);
    return opened;
  };
  const storeFor = (session: { cwd?: string } = {}) => knownStore(memoryDirFor(config, session));
  const storeForWork = async (session: { cwd?: string } = {}) => {
    const isNew = !keeping && !isDirectory(join(memoryDirFor(config, session), '.nocturne'));
    if (isNew && keySource(config) === 'none') requireAccess(config);
    return storeFor(session);
  };
  const leased = <T>(at: Store, key: string, work: (lease: Lease) => Promise<T>) =>
    withLease(at, { key, config, work });
  const spans = tracing(config.telemetry);
  const forked = forkAgent({ ...config, memoryLimitMb: config.childMemoryMb, maxIdle: lanesFor(config.concurrency) });
  const log = openLog({ home: config.home, maxBytes: config.logBytes, clock: config.clock });
  const runAgent = boundRun(config, spans.run(parts.runAgent ?? forked), parts.onRequest, log);
  const job = ({ model = config.model, item, mayCommit, onUsage, signal }: JobOptions) => ({
    clock: config.clock,
    zone: config.zone,
    agent: {
      model,
      access: config.access,
      maxTurns: config.maxTurns,
      maxOutputTokens: config.maxOutputTokens,
      requestMs: config.requestMs,
    },
    runAgent: withUsage(runAgent, onUsage),
    spend: new JobSpend(home, { ...config, model }),
    withLease: <T>(at: Store, key: string, work: (lease: Lease) => Promise<T>) =>
      leased(at, key, (lease) => work({ ...lease, item, mayCommit })),
    signal: AbortSignal.any([wallOf(config.jobWallMs), ...(signal ? [signal] : [])]),
  });
  const shareAfter = async (job: string | null, own: Store, shareFrom?: string) => {
    if (job === null || (config.team !== 'write' && shareFrom === undefined)) return undefined;
    return (await import('./team.ts')).shareChanged(job, { app: { config, knownStore }, own, cwd: shareFrom });
  };
  const extraction = async (options: JobOptions): Promise<Omit<ExtractDeps, 'storeFor'>> => ({
    ...job(options),
    quietMs: config.quietMs,
    excerptTokens: config.excerptTokens,
    fork: config.fork,
    declinedBefore: await home.declinedBefore(),
    openSession: (path, options) => transcripts.open(path, options),
    memoriesOf: ({ cwd }, memory) => memoriesOf(config, { cwd, memory }),
    userMemoryOf: config.userScope && !options.keepsUserMemory ? (at) => userScope.beside(at) : undefined,
  });
  const userScope = new UserScope({ config, home, keeping, store: knownStore, withLease: leased, log });
  /** A job with its span and its line in the log. */
  const observed = async <T extends ExtractReport | DreamReport>(
    kind: string,
    at: { id?: string },
    work: () => Promise<T>,
  ) => {
    const report = await spans.job(kind, at, work);
    const { outcome, error, spend, job } = report;
    const found = 'session' in report ? { session: report.session, entries: report.entries.length } : {};
    const failed = error && { code: error.code, error: error.message };
    await log(error ? 'warn' : 'info', { event: 'job', kind, job, ...found, store: at.id, outcome, ...failed, spend });
    return report;
  };
  const standingOf = async (at: Store) => {
    const pauses = await home.pauses.all();
    const overall = await enablementFor(config, { pauses });
    if (!overall.enabled) return overall;
    const each = await Promise.all(sessionDirs(at.ledger).map((cwd) => enablementFor(config, { pauses, cwd })));
    return (each.every(({ enabled }) => !enabled) && each[0]) || overall;
  };
  const deskParts = { config, home, store, closeBut, standingOf, deliver: (at: Store) => userScope.deliver(at) };
  return {
    config,
    home,
    shared: keeping?.shared ?? null,
    transcripts,
    memoryDirOf: (session = {}) => memoryDirFor(config, session),
    async hasMemory(session = {}) {
      const place = memoryDirFor(config, session);
      return keeping ? (await keeping.findStore(place)) !== null : isDirectory(place);
    },
    standing,
    store,
    knownStore,
    withLease: leased,
    keeping,
    log,
    overruled: [],
    userScope,
    standingOf,
    desk: keeping?.desk(deskParts) ?? localDesk(deskParts),
    storeFor,
    storeForWork,
    check: async (session, { repair }) => {
      const { checkCopy, checkMemory } = await import('../../jobs/check-memory.ts');
      if (keeping) {
        const place = memoryDirFor(config, session);
        const kept = await keeping.findStore(place);
        if (!kept) throw new AppError('bad-input', `There is no memory of ${place} in the database.`);
        if (!repair) return checkCopy(kept);
        throw new AppError('refused', 'Memory is kept in a database, and only the files of a directory are mended.', {
          remedy:
            'nocturne check without --repair looks at it. A copy that is broken is made again by itself; nocturne move --to-directory ' +
            'brings the memory where it can be mended.',
        });
      }
      const deps = { clock: config.clock, openStore: store, withLease: leased };
      return checkMemory({ dir: memoryDirFor(config, session), repair }, deps);
    },
    extract: async (request, options = {}) => {
      const { extract } = await import('../../jobs/extract.ts');
      const at: { id?: string; store?: Store } = { id: options.store?.id };
      const find = async (session: { cwd?: string }) => {
        at.store = options.store ?? (await storeForWork(session));
        at.id = at.store.id;
        return at.store;
      };
      const job = async () => extract(request, { ...(await extraction(options)), storeFor: find });
      if (request.takeDeclined) await home.swept.forget(resolve(request.transcript));
      return userScope.deliverAfter(observed('extract', at, job), () => at.store);
    },
    dream: async (at, request, options = {}) => {
      const common = job(options);
      const { dream } = await import('../../jobs/dream.ts');
      await userScope.deliverBeforeDream(at);
      const needsApproval = request.review ?? config.review;
      const { excerptTokens: requestTokens, holdDays, forgetDays: archiveAfterDays } = config;
      const report = await observed('dream', at, () =>
        dream(request, { ...common, needsApproval, store: at, requestTokens, holdDays, archiveAfterDays }),
      );
      const shared = await shareAfter(report.job, at, options.shareFrom);
      const { dropOldVersions } = await import('../memory/history/versions.ts');
      const kept = { now: config.clock.now(), days: config.versionDays, kept: config.versionsKept };
      await at.enterRows((ledger) => dropOldVersions(ledger, kept));
      return shared ? { ...report, shared } : report;
    },
    estimateDream: async (at, request) => {
      const { estimateDream } = await import('../../jobs/dream.ts');
      const price = priceOf(config.model, config.prices);
      return estimateDream(request, { ...config, store: at, requestTokens: config.excerptTokens, price });
    },
    dreamNews: async (at) => (await import('../../jobs/dream/load.ts')).newsOf(at),
    reprocess: async (at, request, options = {}) => {
      const { extract } = await import('../../jobs/extract.ts');
      const { reprocess } = await import('../../jobs/reprocess.ts');
      return reprocess(request, {
        store: at,
        extract: (each) => {
          const job = async () => extract(each, { ...(await extraction(options)), storeFor: async () => at });
          return userScope.deliverAfter(observed('reprocess', at, job), () => at);
        },
        onReport: options.onReport,
      });
    },
    undo: async (at, request) => {
      const { undo } = await import('../../jobs/undo.ts');
      return userScope.deliverAfter(undo(request, { ...config, withLease: leased, store: at }), () => at);
    },
    remember: async (at, request) =>
      (await import('../../jobs/remember.ts')).remember(request, { ...config, store: at }),
    forget: async (at, request) => {
      const { forget } = await import('../../jobs/forget.ts');
      return userScope.deliverAfter(forget(request, { ...config, store: at, withLease: leased }), () => at);
    },
    listProposals: async (at, ids) => (await import('../../jobs/review/waiting-proposals.ts')).listProposals(at, ids),
    review: async (at, request) => {
      const { review } = await import('../../jobs/review.ts');
      const { clock, zone, excerptTokens: requestTokens } = config;
      const report = await review(request, { clock, zone, withLease: leased, store: at, requestTokens });
      for (const { job } of report.decided) await shareAfter(job, at);
      return report;
    },
    share: async (own, request, by) =>
      (await import('./team.ts')).shareWithTeam(request, { app: { config, knownStore }, own, ...by }),
    async close() {
      forked.close();
      for (const gone of moved) gone.close();
      for (const opened of stores.values()) opened.then((each) => each.close(), ignoreUnopened);
      await (keeping ?? home).close();
    },
  };
}

/** A store that could not be opened has told so to whoever opened it. */
function ignoreUnopened(): void {}

/**
 * The jobs, and the memory directories they work on. Every job asks for its lease, and ends with a report.
 */
export interface Nocturne
  extends Pick<
    App,
    | 'config'
    | 'standing'
    | 'memoryDirOf'
    | 'storeFor'
    | 'store'
    | 'extract'
    | 'dream'
    | 'estimateDream'
    | 'reprocess'
    | 'undo'
    | 'remember'
    | 'forget'
    | 'listProposals'
    | 'review'
    | 'share'
    | 'check'
    | 'close'
  > {}

/**
 * Opens nocturne with the settings of this machine's user, or with others: `{ ...(await loadConfig()), model: 'offline' }`.
 * The home is made where it is missing. Throws `bad-input` for settings that cannot be read, `storage` where the home
 * cannot be used. Call `close()` when done: it closes the stores, too.
 */
export async function openNocturne(config?: Config): Promise<Nocturne> {
  return openApp(config ?? (await loadConfig()));
}
