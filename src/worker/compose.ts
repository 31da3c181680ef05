// The only place where the parts are wired: settings in, memories and the jobs on them out. Every face uses it.
// Opening opens the database, and no memory; a job is loaded when it is first run.

import { basename } from 'node:path';
import type { DreamReport, DreamRequest } from '../../jobs/dream.ts';
import type { edit, editInPlace, pin, RememberRequest, restore } from '../../jobs/edit.ts';
import type { ExtractDeps, ExtractReport, ExtractRequest, LearnAgainRequest } from '../../jobs/extract.ts';
import type { ForgetRequest } from '../../jobs/forget.ts';
import type { RedactRequest } from '../../jobs/redact.ts';
import type { ReviewRequest } from '../../jobs/review.ts';
import type { ShareReport } from '../../jobs/share.ts';
import type { UndoRequest } from '../../jobs/undo.ts';
import { aroundRequests, requireAccess } from '../agent/agent-types.ts';
import { forkAgent } from '../agent/forked.ts';
import { tracing } from '../agent/telemetry.ts';
import { type Config, configOfSession } from '../base/config/config.ts';
import { priceOf, type Usage } from '../base/config/prices.ts';
import { type AppError, failureOf, isAppError, onAppError } from '../base/errors.ts';
import { canonicalPath, isStoreId } from '../base/files/directories.ts';
import { statNow } from '../base/files/files.ts';
import { keySource } from '../base/key.ts';
import { openLog } from '../base/logger.ts';
import { type Clock, systemClock } from '../base/time.ts';
import { databasePath, openDatabase } from '../db/open-database.ts';
import type { Db } from '../db/sql.ts';
import type { Claim } from '../memory/commit.ts';
import type { Actor } from '../memory/file-rows.ts';
import { type JobUsage, type StartedBy, usageOf } from '../memory/job-rows.ts';
import { isUsed, Memories, type MemoryRow, memoriesAt, memoryRow } from '../memory/memories.ts';
import { MemoryFiles } from '../memory/memory-files.ts';
import { gitRoot } from '../memory/paths.ts';
import { enablementFor, isByProject, memoriesOf, memoryDirFor, scopeDir } from '../memory/places.ts';
import { noteOrigin } from '../memory/projects.ts';
import { declinedBefore, enterSession, openTranscript, sessionDirs } from '../memory/session-rows.ts';
import { pausesOf } from '../queue/pauses.ts';
import { ceilingsOf, type KeyCeiling, spendOf } from '../queue/spend.ts';
import { environmentOf, seeAnew } from '../queue/swept.ts';
import { describing, takeInBefore, takeInDirectory, takeInLeft } from './first-start.ts';
import { boundRun, byHand, type Parts, wallOf } from './job-bounds.ts';

/** What may be asked for with a job. */
export interface JobOptions {
  /** Default: the configured one. */
  model?: string;
  /** The inbox item that it works; default: it takes the one that a worker would, so that the two never do it twice. */
  claim?: Claim;
  /** Ends the job; what it did not commit is lost. */
  signal?: AbortSignal;
  /** Default: the app's. */
  startedBy?: StartedBy;
  /** Told what each request used as soon as that is known. */
  onUsage?(usage: Usage): void | Promise<void>;
  /** The memory to work in, where it is known already. */
  memory?: MemoryRow;
  /** The settings for its session; default: the app's. */
  config?: Config;
  /** What is learned of the user stays in that memory, whatever the settings. */
  keepsUserMemory?: boolean;
  /** A ceiling of who asked for it. */
  ceiling?: KeyCeiling;
  /** A directory in the working tree with whose team a dream shares what it changed; default: as `team` in the settings says. */
  shareFrom?: string;
  /** Told of each session that is learned again. */
  onReport?(report: ExtractReport): void;
}

/** Where a session ran; default: here. `config`: the settings for it; default: the app's. */
export type At = { cwd?: string; config?: Config };

export type App = Awaited<ReturnType<typeof openApp>>;

/** A clock that is as far from this machine's as the database's is: claims of others are measured by it. */
async function clockOf(db: Db, { clock }: Pick<Config, 'clock'>): Promise<Clock> {
  if (clock !== systemClock) return clock;
  const ms = 'select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as ms';
  const before = clock.now().getTime();
  const there = (await db.get<{ ms: number }>(ms))?.ms ?? before;
  const aheadMs = there - Math.round((before + clock.now().getTime()) / 2);
  return { now: () => new Date(clock.now().getTime() + aheadMs) };
}

export async function openApp(given: Config, parts: Parts = {}) {
  const { home } = given;
  const isLost = !given.databaseUrl && isUsed(home) && !statNow(databasePath(home))?.bytes;
  const db = await openDatabase({ home, url: given.databaseUrl });
  // The clocks of machines that share it may be apart.
  const clock = db.engine === 'sqlite' ? given.clock : await clockOf(db, given);
  const userDirOf = (of: Config) => canonicalPath(scopeDir(of, { memory: 'user', cwd: '/' }));
  const userDir = userDirOf(given);
  const describe = describing(given);
  const log = openLog({ home, maxBytes: given.logBytes, clock });
  const limits = { memoryBytes: given.memoryBytes, memories: given.maxMemories, totalBytes: given.totalMemoryBytes };
  const takeIn = (dir: string) => takeInDirectory(dir, { memories, describe });
  const memories: Memories = new Memories({ db, home, clock, limits, takeIn });
  await takeInBefore(given, { memories, describe, log });
  if (isLost) await takeInLeft(given, memories);
  // Where several machines share it, the limits and the zone that it keeps count.
  const config =
    db.engine === 'sqlite' ? given : { ...given, clock, dayMoneyUsd: undefined, ...(await ceilingsOf(db, given)) };
  const spans = tracing(config.telemetry);
  // Named each: a copy of all settings asks for the zone, which takes a tenth of a start.
  const { wallMs, environment, childMemoryMb: memoryLimitMb } = config;
  const forked = forkAgent({ wallMs, environment, memoryLimitMb });
  const runAgent = boundRun(config, spans.run(parts.runAgent ?? forked));
  const startedBy = parts.startedBy ?? 'program';

  const memoryDirOf = (at: At = {}) => memoryDirFor(at.config ?? config, at);
  const findAt = (place: string) => {
    if (isStoreId(place, config)) return memories.of(place);
    return db.engine === 'sqlite' ? memories.findDirectory(place) : memories.findPlace(place);
  };
  const memoryAt = async (
    place: string,
    { scope, cwd, isLook, config: of = config }: At & { scope: 'project' | 'user'; isLook?: boolean },
  ) => {
    if (isStoreId(place, config)) return memories.of(place);
    const root = cwd === undefined ? null : gitRoot(cwd);
    const name = scope === 'user' ? 'user' : basename(root ?? cwd ?? place);
    const row = await (db.engine === 'sqlite'
      ? memories.ofDirectory(place, { scope, name, isLook })
      : memories.ofPlace(place, { scope, name }));
    // What leads to a memory from elsewhere says nothing of it.
    const isOwn = row.dir === null || row.dir === canonicalPath(place);
    if (root !== null && isOwn && scope === 'project' && isByProject(of))
      await noteOrigin(db, row, { root, config: of });
    return row;
  };
  const memoryFor = async ({ cwd, isLook, config: of = config }: At & { isLook?: boolean } = {}) => {
    const place = memoryDirOf({ cwd, config: of });
    const scope = place === userDirOf(of) ? 'user' : 'project';
    return memoryAt(place, { scope, cwd: cwd ?? process.cwd(), isLook, config: of });
  };
  const userMemory = async (of = config) => (of.userScope ? memoryAt(userDirOf(of), { scope: 'user' }) : null);
  /** Without a key no memory is made for a job that cannot be done. */
  const memoryForWork = async (at: At) => {
    if (keySource(config) === 'none' && (await findAt(memoryDirOf(at))) === null) requireAccess(config);
    return memoryFor(at);
  };
  const writableFor = async ({ cwd, config: of = config }: At, memory: MemoryRow) => {
    const dirs = memory.dir === null ? [] : memoriesOf(of, { cwd, memory: memory.dir }).map(canonicalPath);
    return [...new Set([memory.id, ...(await memoriesAt(db, memories.machine, dirs))])];
  };
  const standing = async ({ cwd, config: of = config }: At = {}) =>
    enablementFor(of, { pauses: await pausesOf(db, clock.now()), cwd });
  const standingOf = async ({ id }: MemoryRow) => {
    const overall = await standing();
    if (!overall.enabled) return overall;
    const each = await Promise.all((await sessionDirs(db, id)).map((cwd) => standing({ cwd })));
    return (each.every(({ enabled }) => !enabled) && each[0]) || overall;
  };
  const common = ({
    config: of = config,
    model = of.model,
    signal,
    onUsage,
    startedBy: by = startedBy,
    ceiling,
  }: JobOptions) => ({
    memories,
    zone: config.zone,
    agent: {
      model,
      access: config.access,
      maxTurns: config.maxTurns,
      maxOutputTokens: config.maxOutputTokens,
      requestMs: config.requestMs,
    },
    runAgent: onUsage ? aroundRequests(runAgent, { settled: onUsage }) : runAgent,
    spendOf: (job: string) => spendOf({ db, clock, ceilings: config, model, prices: config.prices, key: ceiling }, job),
    signal: AbortSignal.any([wallOf(config.jobWallMs), ...(signal ? [signal] : [])]),
    startedBy: by,
  });
  const extractionBy = async (options: JobOptions) => {
    const { spendOf: countFor, ...deps } = common(options);
    const counted = new Map<string, ReturnType<typeof countFor>>();
    /** All requests of a job are counted together. */
    const spendFor: ExtractDeps['spendOf'] = (job) => {
      const spend = counted.get(job) ?? countFor(job);
      counted.set(job, spend);
      return spend;
    };
    return {
      ...deps,
      spendOf: spendFor,
      claim: options.claim,
      quietMs: config.quietMs,
      excerptTokens: config.excerptTokens,
      userName: config.userName,
      declinedBefore: await declinedBefore(db),
      writableFor: ({ cwd }: At, memory: MemoryRow) => writableFor({ cwd, config: options.config }, memory),
      ...(!options.keepsUserMemory && {
        userMemoryFor: async (memory: MemoryRow) => (memory.scope === 'project' ? userMemory(options.config) : null),
      }),
    };
  };
  /** Runs a job within its span, and writes into the log how it ended. */
  const told = async <T extends ExtractReport | DreamReport>(
    kind: string,
    work: () => Promise<T>,
    at: { id?: string; spend?: JobUsage } = {},
  ) => {
    const report = await spans.job(kind, at, async () => {
      const done = await work();
      const memory = 'memory' in done ? done.memory : at.id;
      const place = memory ? await memoryRow(db, memory) : undefined;
      at.id = place?.dir ?? memory ?? undefined;
      at.spend = 'spend' in done ? done.spend : await usageOf(db, done.job ?? '');
      return done;
    });
    const { outcome, error, job } = report;
    const found = 'session' in report ? { session: report.session, entries: report.entries.length } : {};
    const failed = error && { code: error.code, error: error.message };
    await log(error ? 'warn' : 'info', {
      event: 'job',
      kind,
      job,
      ...found,
      store: at.id,
      outcome,
      ...failed,
      ...(job !== null && { spend: at.spend }),
    });
    return report;
  };
  const extractBy = async (kind: string, request: ExtractRequest, options: JobOptions) => {
    const { extract } = await import('../../jobs/extract.ts');
    const run = async (each: ExtractRequest, more: JobOptions) => {
      const { memory } = more;
      const find = memory ? async () => memory : memoryForWork;
      return extract(each, { ...(await extractionBy(more)), memoryFor: find });
    };
    const work = () => (options.claim ? run(request, options) : extractByHand(request, options, run));
    const report = await told(kind, work);
    if (request.takeUp?.includes('declined')) await seeAnew(db, memories.machine, report.transcript);
    return report;
  };
  /** Opened here, so that it is known which session it is. */
  const extractByHand = async (
    request: ExtractRequest,
    options: JobOptions,
    run: (request: ExtractRequest, options: JobOptions) => Promise<ExtractReport>,
  ): Promise<ExtractReport> => {
    const where = { isLive: !request.ended, machine: memories.machine };
    const opened =
      request.opened ?? (await openTranscript(db, { ...request, ...where }).catch(onAppError((error) => error)));
    if (isAppError(opened)) return run({ ...request, opened }, options);
    // What stands in the shell of who asks is not the session's.
    const noted = await environmentOf(db, memories.machine, opened.path);
    const own = options.config ?? (await configOfSession(config, noted));
    const memory = options.memory ?? (await memoryForWork({ cwd: opened.cwd, config: own }));
    const at = { memory: memory.id, machine: opened.isKept ? null : memories.machine, at: clock.now().toISOString() };
    const { id: key } = await db.write((sql) => enterSession(sql, at, opened));
    const payload = { ended: request.ended, size: opened.sizeBytes };
    const work = (claim: Claim, signal: AbortSignal) =>
      run({ ...request, opened }, { ...options, config: own, memory, claim, signal });
    const item = { kind: 'extract', key, memory: memory.id, payload } as const;
    return byHand(self, item, { signal: options.signal, work }).catch(
      onAppError(async (error) => {
        const { busyExtract } = await import('../../jobs/extract.ts');
        return busyExtract({ session: opened.id, transcript: opened.path, memory: memory.id }, error);
      }, 'conflict'),
    );
  };
  const shareAfter = async (memory: MemoryRow, job: string | null, cwd?: string) => {
    if (job === null || (config.team !== 'write' && cwd === undefined)) return undefined;
    return (await import('./sharing.ts')).shareChanged({ config, db, memories }, memory, { job, cwd });
  };
  const self = { db, clock, config };
  return {
    ...{ config, clock, log, db, memories, startedBy },
    machine: memories.machine,
    /** Where the memory of a project is, or would be: nothing is opened or made. */
    memoryDirOf,
    /** The memory of a project, or the one for all; null where nothing is kept of it. Nothing is made. */
    findMemory: async (at?: At): Promise<MemoryRow | null> => findAt(memoryDirOf(at)),
    /** The same, made where there is none; `isLook`: in the database alone. */
    memoryFor,
    /** The user's in all projects, made where there is none; null where that scope is off. */
    userMemory: () => userMemory(),
    files: (memory: MemoryRow) => new MemoryFiles(memories, memory),
    /** Whether nocturne may work unasked for a session that ran there; without `cwd`, whether it may anywhere. */
    standing,
    /** The same for all sessions that a memory has seen: off where every one of their projects is. */
    standingOf,
    /** Ids of the memories that the agent of a session may write to. */
    writableFor,
    extract: (request: ExtractRequest, options: JobOptions = {}) => extractBy('extract', request, options),
    async dream(
      memory: MemoryRow,
      { review = config.review, ...request }: Omit<DreamRequest, 'startedBy'> & { review?: boolean },
      options: JobOptions = {},
    ): Promise<DreamReport & { shared?: ShareReport }> {
      const { dream } = await import('../../jobs/dream.ts');
      const { excerptTokens: requestTokens, holdDays, forgetDays: archiveAfterDays } = config;
      const more = { memory, requestTokens, holdDays, archiveAfterDays, needsApproval: review };
      const run = ({ claim, ...how }: JobOptions) => {
        const { startedBy: by, ...deps } = common(how);
        return dream({ ...request, claim, startedBy: by }, { ...deps, ...more });
      };
      const item = { kind: 'dream', key: memory.id, memory: memory.id, payload: {} } as const;
      const work = (claim: Claim, signal: AbortSignal) => run({ ...options, claim, signal });
      const busy = async (error: AppError) => {
        const { NOTHING_TOLD } = await import('../../jobs/dream/dream-landing.ts');
        return { ...NOTHING_TOLD, job: null, outcome: 'busy' as const, error: failureOf(error) };
      };
      const dreamed = () =>
        options.claim
          ? run(options)
          : byHand(self, item, { signal: options.signal, work }).catch(onAppError(busy, 'conflict'));
      const report = await told('dream', dreamed, { id: memory.id });
      return { ...report, shared: await shareAfter(memory, report.job, options.shareFrom) };
    },
    /** What a dream would send now, and about what it would cost. */
    async estimateDream(memory: MemoryRow, request: { instructions?: string }) {
      const { estimateDream } = await import('../../jobs/dream/dream-proposal.ts');
      const { model, zone, excerptTokens: requestTokens } = config;
      const price = priceOf(model, config.prices);
      return estimateDream(request, { memories, memory, clock, zone, requestTokens, model, price });
    },
    async learnAgain(memory: MemoryRow, request: LearnAgainRequest, options: JobOptions = {}) {
      const { learnAgain } = await import('../../jobs/extract.ts');
      const extract = (each: ExtractRequest) => extractBy('reprocess', each, { ...options, memory });
      return learnAgain(request, { sql: db, memory, extract, onReport: options.onReport });
    },
    remember: async (memory: MemoryRow, request: RememberRequest) =>
      (await import('../../jobs/edit.ts')).remember(request, { memory, memories, zone: config.zone }),
    async forget(memory: MemoryRow, request: ForgetRequest) {
      const { forget } = await import('../../jobs/forget.ts');
      const user = memory.id === (await findAt(userDir))?.id ? null : await findAt(userDir);
      return forget(request, { memories, memory, userMemory: user });
    },
    undo: async (request: UndoRequest, actor?: Actor) =>
      (await import('../../jobs/undo.ts')).undo(request, { memories, actor }),
    edit: async (of: Parameters<typeof edit>[0]) => (await import('../../jobs/edit.ts')).edit(of, { memories }),
    editInPlace: async (of: Parameters<typeof editInPlace>[0]) =>
      (await import('../../jobs/edit.ts')).editInPlace(of, { memories }),
    pin: async (of: Parameters<typeof pin>[0]) => (await import('../../jobs/edit.ts')).pin(of, { memories }),
    restore: async (of: Parameters<typeof restore>[0]) =>
      (await import('../../jobs/edit.ts')).restore(of, { memories }),
    async review(memory: MemoryRow, request: ReviewRequest) {
      const { review } = await import('../../jobs/review.ts');
      const decided = await review(request, { memories, memory, requestTokens: config.excerptTokens });
      for (const { outcome, job } of decided) if (outcome === 'accepted') await shareAfter(memory, job);
      return decided;
    },
    redact: async (request: RedactRequest) => (await import('../../jobs/redact.ts')).redact(request, { memories }),
    async close() {
      await memories.close();
      await db.close();
    },
  };
}
