// Sessions into the inbox, whoever noticed them. From the spool: what hooks have said becomes a row of its session and work that
// waits, in one transaction. The sweep: finds, on this disk, sessions with turns that nothing was learned of, so that every hook is
// optional. `announceSession`: how the news of a session gets there.
// Promises that a spool file goes only after the inbox has the work, so that a crash repeats and never loses it, and that however many
// hooks named a session it waits once, at a pace; that a sweep opens no file that is as it was when it was last looked at, and that
// running it again, or ending it anywhere, does no harm. What settings, permissions or a missing directory keep from being taken stays,
// is named (`blocked`), and is taken once it is open, however old it is then. Never starts work, asks no model.

import { dirname, sep } from 'node:path';
import { type SortedTurns, type SortOptions, sortTurns, type TakenUp } from '../../jobs/extract/pending-turns.ts';
import { type Config, configOfSession, type Environment } from '../base/config/config.ts';
import { type AppError, attempt, describeError, ERRORS, isAppError, sayOfFile } from '../base/errors.ts';
import { canonicalPath, isDirectory } from '../base/files/directories.ts';
import { removeFile, statNow } from '../base/files/files.ts';
import { DAY_MS } from '../base/time.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { hasLedger, isByProject, whyTurnedOff } from '../memory/places.ts';
import { declinedBefore, enterSession, keepPieces, sessionNamed } from '../memory/session-rows.ts';
import { announce, inboxRow, type Put } from '../queue/inbox.ts';
import { kindOfEvent, readSpool, removeAbandoned, type Spooled, type SpoolItem, sessionName } from '../queue/spool.ts';
import { keepLooks, type Look, looksOf, seeAnew, unseen } from '../queue/swept.ts';
import { waitingTranscripts } from '../queue/waiting-work.ts';
import { FOUND_AGENTS, type FoundAgent, type FoundSession, findSessions } from '../transcript/find-sessions.ts';
import { isInteractive, openSession, type Session } from '../transcript/session.ts';
import type { App, At } from './compose.ts';

/** Takes in what is in the spool. What names a transcript that is not there yet stays until its debounce is over. */
export async function ingestSpool(app: App, onProblem: (message: string) => void) {
  const { home, clock } = app.config;
  const spooled = readSpool(home, onProblem);
  removeAbandoned(home, clock.now());
  const began = spooled.filter(({ item }) => kindOfEvent(item.event) === 'start');
  const looks = began.flatMap(({ item: { transcript, environment } }) => unseen(transcript, environment));
  if (looks.length > 0) await keepLooks(app.db, app.machine, { looks });
  for (const { file } of began) removeFile(file);
  const sessions = Map.groupBy(
    spooled.filter((each) => !began.includes(each)),
    ({ item }) => `${item.agent}\n${item.session ?? item.transcript}`,
  );
  const announced: Announced[] = [];
  let lagging = 0;
  for (const calls of sessions.values()) {
    const became = await ingestSession(app, calls, onProblem);
    if (became === 'lagging') lagging += 1;
    else if (became) announced.push(became);
  }
  return {
    /** Sessions that wait now. */
    announced,
    /** How many sessions there are whose transcript may still come. */
    lagging,
    /** A session began somewhere: time to look for what no hook told of. */
    sessionBegan: began.length > 0,
  };
}

/** A directory that is gone may be a disk that is not there; after so long it is not coming back. */
const CUT_OFF_MS = 30 * DAY_MS;

/** Puts the session of one or more hook calls, in their order, into the inbox; null: nothing waits of it. */
async function ingestSession(
  app: App,
  calls: Spooled[],
  onProblem: (message: string) => void,
): Promise<Announced | 'lagging' | null> {
  const { config, db, machine } = app;
  const { item } = calls.at(-1) as Spooled;
  const { environment } = item;
  const now = config.clock.now();
  const at = new Date(item.at);
  const sinceMs = now.getTime() - at.getTime();
  const name = sessionName(item);
  const told = <Key extends 'transcript' | 'cwd'>(key: Key) => calls.findLast((each) => each.item[key])?.item[key];
  const transcript = told('transcript') ?? null;
  const done = async (path = transcript) => {
    if (path) await keepLooks(db, machine, { gone: [path], looks: unseen(path, environment) });
    for (const { file } of calls) removeFile(file);
  };
  try {
    const own = await configOfSession(config, environment);
    const opened = await openSession(transcript ?? findTranscript(own, item), { isLive: true });
    const session = Object.assign(opened, { cwd: opened.cwd ?? told('cwd') ?? undefined, config: own });
    const reason = (await reasonToSkip(app, session)) ?? whyTurnedOff(await app.standing(session));
    if (reason) onProblem(`${name} is skipped: ${reason}.`);
    const announced = reason ? null : await announceSession(app, { session, ended: hasEnded(calls), at, environment });
    await done(session.path);
    return announced;
  } catch (error) {
    if (!isAppError(error)) throw error;
    const isGone = error.code === 'transcript-gone';
    if (isGone && Math.abs(sinceMs) < config.debounceMs) return 'lagging';
    const isCutOff = isGone && transcript !== null && !isDirectory(dirname(transcript));
    const isBlocked = ERRORS[error.code].tries === null || (isCutOff && sinceMs < CUT_OFF_MS);
    const reason = describeError(error);
    onProblem(`${name} ${isBlocked ? 'waits' : 'is skipped'}: ${reason}`);
    if (!isBlocked) await done();
    else if (transcript)
      await keepLooks(db, machine, { looks: [{ ...blockedLook(transcript, reason, item.at), environment }] });
    return null;
  }
}

function blockedLook(path: string, reason: string, since: string) {
  return { path, size: 0, modifiedAt: since, verdict: 'blocked', cwd: null, dir: null, reason, since };
}

/** Where the agent did not tell the path it is found by the session's id. */
function findTranscript(config: Config, { agent, session }: SpoolItem): string {
  if (session === null) return '';
  const agents = FOUND_AGENTS.filter((found) => found === agent);
  return findSessions(config.agentDirs, { agents, named: session })[0]?.path ?? '';
}

/** The session was over, and nothing was added to its transcript since. */
function hasEnded(calls: Spooled[]): boolean {
  const { item: last } = calls.at(-1) as Spooled;
  return calls.some(({ item: { event, size } }) => kindOfEvent(event) === 'end' && size === last.size);
}

/** A session that was found on this disk, with the settings for it. */
export async function openFound({ config }: Pick<App, 'config'>, path: string, environment?: Environment) {
  const own = { config: await configOfSession(config, environment) };
  return Object.assign(await openSession(path, { isLive: true }), own);
}

/** What is known of its turns. `isWhole`: from its beginning on. */
export async function sortFound(
  app: App,
  session: Session & At,
  of: Pick<SortOptions, 'ended'> & { memory: MemoryRow | null; isWhole?: boolean; takeUp?: readonly TakenUp[] },
): Promise<SortedTurns> {
  const { db, memories, config } = app;
  const { memory, ended, isWhole = false, takeUp = [] } = of;
  return sortTurns(session, {
    ...{ memories, memory: memory?.id ?? '', ended, takeUp, quietMs: config.quietMs, job: null },
    row: memory && !isWhole ? await sessionNamed(db, memory.id, session.id) : undefined,
    writable: memory ? await app.writableFor(session, memory) : [],
    reopened: new Set<string>(),
    declinedBefore: await declinedBefore(db),
  });
}

type SkipReason = 'non-interactive' | 'subagent' | 'own' | 'no-project';

/** Why hooks and sweeps leave a session alone, as far as its file tells; null: they do not. */
async function reasonToSkip({ config }: Pick<App, 'config'>, session: Session): Promise<SkipReason | null> {
  if (session.subagent) return 'subagent';
  const home = canonicalPath(config.home) + sep;
  if (session.cwd && (canonicalPath(session.cwd) + sep).startsWith(home)) return 'own';
  if (!config.nonInteractive && !isInteractive(session)) return 'non-interactive';
  return null;
}

const WHY_LEFT: Record<SkipReason, string> = {
  'non-interactive': 'no person took part (nonInteractive in config.json is off)',
  subagent: 'a subagent ran it',
  own: "nocturne's own agent ran it",
  'no-project': 'no file says in which project it ran',
};

/**
 * Why nothing takes a session that was found, as a sentence without its stop: by its file, or where nocturne is turned off.
 * Null: it is taken, now, when a pause is over, or when settings can be read again.
 */
export async function whyLeft(
  app: Pick<App, 'config' | 'standing'>,
  session: Session & At,
): Promise<{ verdict: SkipReason | 'off'; why: string } | null> {
  const isOfNoProject = session.cwd === undefined && isByProject(session.config ?? app.config);
  const verdict = (await reasonToSkip(app, session)) ?? (isOfNoProject ? 'no-project' : null);
  if (verdict) return { verdict, why: WHY_LEFT[verdict] };
  const why = whyTurnedOff(await app.standing(session));
  return why === null ? null : { verdict: 'off', why };
}

export interface SessionNews {
  session: Session & At;
  /** By what its hook said `session.config` is what it is. */
  environment?: Environment;
  /** The memory that it belongs to; default: that of its directory, which is made where there is none. */
  memory?: MemoryRow;
  /** The session is over: its last turn is settled, and it is not held back by `throttleMs`. */
  ended: boolean;
  /** When the news came; default: now. */
  at?: Date;
  /** It was found, or a person asks for it: due at once. */
  isDueNow?: boolean;
  /** A person asks for it: what was declined or given up before, too. */
  takeUp?: readonly TakenUp[];
  /** Default: those of what waits already. */
  instructions?: string;
  /** Keeps a redacted copy, for agents that delete their sessions. Default: where other machines may work it. */
  keepsCopy?: boolean;
}

export interface Announced extends Put {
  kind: 'extract';
  /** The id of the session's row. */
  key: string;
  memory: MemoryRow;
}

/**
 * Puts a session into the inbox, due `debounceMs` after its last news and not more often than every `throttleMs`. News that comes
 * while it waits is merged; what comes while it is worked is worked after it. A transcript that has grown gives back tries.
 */
export async function announceSession(app: App, news: SessionNews): Promise<Announced> {
  const { db, clock, config, machine } = app;
  const { session, ended, instructions, at, environment } = news;
  const memory = news.memory ?? (await app.memoryFor(session));
  const now = clock.now();
  const { debounceMs, throttleMs } = news.isDueNow ? { debounceMs: 0, throttleMs: 0 } : config;
  const pace = { now, at, debounceMs, throttleMs, isLast: ended };
  const known = await sessionNamed(db, memory.id, session.id);
  const enter = () =>
    db.write((sql) => enterSession(sql, { memory: memory.id, machine, at: now.toISOString() }, session));
  if (news.keepsCopy ?? db.engine === 'postgres') await keepPieces(db, (await enter()).id, session);
  if (news.takeUp?.includes('declined')) await seeAnew(db, machine, session.path);
  return db.write(async (sql) => {
    const { id } = await enterSession(sql, { memory: memory.id, machine, at: now.toISOString() }, session);
    const before = await inboxRow(sql, { kind: 'extract', key: id });
    const size = session.sizeBytes;
    const hasGrown = before?.state === 'failed' && JSON.parse(before.payload).size !== size;
    const takeUp = [...(news.takeUp ?? []), ...(hasGrown ? ['gave_up'] : [])];
    // Two files may be of one session: arrays of messages that begin alike. All that wait are read.
    const waiting: string[] =
      before?.state === 'waiting' && known?.machine === machine
        ? [...(JSON.parse(before.payload).files ?? []), known.path ?? '']
        : [];
    const others = [...new Set(waiting)].filter((path) => path !== session.path && statNow(path) !== null);
    const payload = {
      ended,
      size,
      ...(instructions !== undefined && { instructions }),
      ...(environment && { environment }),
      ...(takeUp.length > 0 && { takeUp }),
      ...(others.length > 0 && { files: [...others, session.path] }),
    };
    const put = await announce(sql, { kind: 'extract', key: id, memory: memory.id, payload }, pace);
    return { ...put, kind: 'extract', key: id, memory };
  });
}

interface SweepReport {
  enqueued: Announced[];
  /** What could not be read, unless an earlier sweep said the same. */
  problems: string[];
}

interface SweepOptions {
  agents?: readonly FoundAgent[];
  since?: Date;
  /** Steers what to keep of what is found. */
  instructions?: string;
  /** A person asked: also what was there before set-up. Default: not. */
  takeUp?: readonly TakenUp[];
  signal?: AbortSignal;
}

/** Verdicts that hold while the file stays as it is. */
const LASTING = new Set(['nothing-new', 'off', 'unreadable', 'non-interactive', 'subagent', 'own']);

export async function sweepSessions(app: App, options: SweepOptions = {}): Promise<SweepReport> {
  const { db, machine, clock, config } = app;
  const { agents, since, signal } = options;
  const report: SweepReport = { enqueued: [], problems: [] };
  const now = clock.now().toISOString();
  const known = await looksOf(db, machine);
  const blocked = new Map([...known].filter(([, { verdict }]) => verdict === 'blocked'));
  const closed = [...blocked.keys()];
  const looks: Look[] = [];
  const gone: string[] = [];
  const block = (path: string, reason: string) => {
    if (blocked.get(path)?.reason !== reason) report.problems.push(sayOfFile(path, reason));
    const { environment } = known.get(path) ?? {};
    looks.push({ ...blockedLook(path, reason, blocked.get(path)?.since ?? now), environment });
    blocked.delete(path);
  };
  const onClosed = (path: string, error: AppError) => block(path, describeError(error));
  const found = findSessions(config.agentDirs, { agents, onClosed });
  // What was closed is taken once it is open, however old it is then.
  const wasClosed = (path: string) => closed.some((each) => path === each || path.startsWith(each + sep));
  const waiting = await waitingTranscripts(db, machine);
  for (const file of found) {
    if (signal?.aborted) break;
    const { path, modifiedAt } = file;
    if (since && modifiedAt < since.toISOString() && !wasClosed(path)) continue;
    const before = known.get(path);
    const isTakenUp = options.takeUp && before?.verdict === 'nothing-new';
    if (before && !isTakenUp && (await isStillTrue(app, before, file))) continue;
    const look = waiting.has(path)
      ? null
      : await lookAt(app, file, { report, options, environment: before?.environment });
    if (look?.verdict === 'blocked') {
      block(path, look.reason ?? '');
      continue;
    }
    const wasBlocked = blocked.delete(path);
    if (look && LASTING.has(look.verdict)) looks.push(look);
    else if (wasBlocked) {
      gone.push(path);
      looks.push(...unseen(path, before?.environment));
    }
  }
  // What is left of these was taken by hand, is gone, or is a directory that is open again.
  if (!agents && !signal?.aborted) gone.push(...[...blocked.keys()].filter((path) => !isCutOff(path)));
  await keepLooks(db, machine, { looks, gone });
  return report;
}

/** Whether it cannot be told if it is there. */
function isCutOff(path: string): boolean {
  return attempt(
    () => statNow(path) === null && !isDirectory(dirname(path)),
    () => true,
    'storage',
  );
}

const atOf = async ({ config }: App, { cwd, environment }: Look): Promise<At> => ({
  cwd: cwd ?? undefined,
  config: await configOfSession(config, environment),
});

/** Whether an earlier verdict still stands: the same file, the same memory, the same settings. */
async function isStillTrue(app: App, look: Look, file: FoundSession): Promise<boolean> {
  if (look.size !== file.sizeBytes || look.modifiedAt !== file.modifiedAt) return false;
  if (look.verdict === 'non-interactive') return !app.config.nonInteractive;
  // It may be unreadable for what its environment says.
  if (look.verdict !== 'off' && look.dir === null) return true;
  const at = await atOf(app, look);
  if (look.verdict === 'off') return whyTurnedOff(await app.standing(at)) !== null;
  // Settings that cannot be read: until they are mended it stands.
  const isSame = attempt(
    () => look.dir === app.memoryDirOf(at),
    () => null,
  );
  return isSame === null || (isSame && (await app.findMemory(at)) !== null);
}

/** A home that was lost knows a memory's directory again, which says that it is one. */
function knownAgain(app: App, { cwd, config }: At): Promise<MemoryRow> | null {
  const at = { cwd, config };
  return app.db.engine === 'sqlite' && hasLedger(app.memoryDirOf(at)) ? app.memoryFor(at) : null;
}

/** Puts a session that was found into the inbox, where turns of it wait. */
async function lookAt(
  app: App,
  { path, sizeBytes: size, modifiedAt }: FoundSession,
  { report, options, environment }: { report: SweepReport; options: SweepOptions } & Pick<Look, 'environment'>,
): Promise<Look> {
  const look: Look = { path, size, modifiedAt, cwd: null, dir: null, verdict: 'unreadable', environment };
  try {
    const session = await openFound(app, path, environment);
    look.cwd = session.cwd ?? null;
    const left = await whyLeft(app, session);
    if (left) return { ...look, verdict: left.verdict };
    const memory = (await app.findMemory(session)) ?? (await knownAgain(app, session));
    const { takeUp, instructions } = options;
    const sorted = await sortFound(app, session, { memory, ended: false, takeUp });
    if (sorted.pending.size > 0) {
      const news = { session, environment, ended: false, isDueNow: true, instructions, takeUp };
      report.enqueued.push(await announceSession(app, news));
      return { ...look, verdict: 'enqueued' };
    }
    const verdict = sorted.unsettled > 0 ? 'still-open' : 'nothing-new';
    return { ...look, dir: memory ? app.memoryDirOf(session) : null, verdict };
  } catch (error) {
    if (!isAppError(error)) throw error;
    const reason = describeError(error);
    // What settings, the disk or a database refused today is looked at again.
    if (ERRORS[error.code].tries === null) return { ...look, verdict: 'blocked', reason };
    report.problems.push(sayOfFile(path, reason));
    return look;
  }
}
