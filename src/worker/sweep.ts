// The sweep: finds, on this disk, sessions with turns that nothing was learned of, and puts them into the inbox, so that every hook
// is optional. Promises to open no file that is as it was when it was last looked at, and that running it again, or ending it
// anywhere, does no harm; what settings or permissions keep closed is named, and taken once it is open, however old it is then.
// Asks no model.

import { dirname, sep } from 'node:path';
import { sortTurns } from '../../jobs/extract/pending-turns.ts';
import { configOfSession } from '../base/config/config.ts';
import { type AppError, attempt, describeError, ERRORS, isAppError, sayOfFile } from '../base/errors.ts';
import { isDirectory } from '../base/files/directories.ts';
import { statNow } from '../base/files/files.ts';
import { DAY_MS } from '../base/time.ts';
import { coverageWhere } from '../memory/entries.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { hasLedger, whyTurnedOff } from '../memory/places.ts';
import { declinedBefore, sessionNamed } from '../memory/session-rows.ts';
import { keepLooks, type Look, looksOf, unseen } from '../queue/swept.ts';
import { waitingTranscripts } from '../queue/waiting-work.ts';
import { type FoundAgent, type FoundSession, findSessions } from '../transcript/find-sessions.ts';
import { openSession } from '../transcript/session.ts';
import type { App, At } from './compose.ts';
import { announceSession, blockedLook, type SkipReason, whyLeft } from './ingest.ts';

export type SweepVerdict =
  | 'enqueued'
  | 'waiting'
  | 'nothing-new'
  | 'still-open'
  | 'unreadable'
  | 'blocked'
  | 'declined'
  | 'off'
  | SkipReason;

type Counts = { found: number } & Partial<Record<SweepVerdict, number>>;

export interface SweepReport {
  /** How many sessions were found, and what became of them, by agent. */
  agents: Partial<Record<FoundAgent, Counts>>;
  /** What was put into the inbox. `memory`: its directory, or its id where it has none. */
  enqueued: { agent: FoundAgent; transcript: string; memory: string }[];
  /** What could not be read, unless an earlier sweep said the same. */
  problems: string[];
  /** How many sessions are left alone, by what turns nocturne off where they ran. */
  off?: Record<string, number>;
}

export interface SweepOptions {
  agents?: readonly FoundAgent[];
  since?: Date;
  /** Steers what to keep of what is found. */
  instructions?: string;
  signal?: AbortSignal;
  onLooked?(): void;
}

/** Verdicts that hold while the file stays as it is. */
const LASTING = new Set(['nothing-new', 'declined', 'off', 'unreadable', 'non-interactive', 'subagent', 'own']);
const LOOKS_AT_ONCE = 100;

export async function sweepSessions(app: App, options: SweepOptions = {}): Promise<SweepReport> {
  const { db, machine, clock } = app;
  const report: SweepReport = { agents: {}, enqueued: [], problems: [] };
  const now = clock.now().toISOString();
  const known = await looksOf(db, machine);
  const blocked = new Map([...known].filter(([, { verdict }]) => verdict === 'blocked'));
  let looks: Look[] = [];
  let gone: string[] = [];
  const keep = async () => {
    await keepLooks(db, machine, { looks, gone });
    [looks, gone] = [[], []];
  };
  const block = (path: string, reason: string) => {
    if (blocked.get(path)?.reason !== reason) report.problems.push(sayOfFile(path, reason));
    const { environment } = known.get(path) ?? {};
    looks.push({ ...blockedLook(path, reason, blocked.get(path)?.since ?? now), environment });
    blocked.delete(path);
  };
  const found = findAll(app, { options, blocked, onClosed: (path, error) => block(path, describeError(error)) });
  const waiting = await waitingTranscripts(db, machine);
  for (const file of found) {
    if (options.signal?.aborted) break;
    const { path, agent } = file;
    const before = known.get(path);
    let verdict: string = 'waiting';
    if (!waiting.has(path)) {
      const isKnown = before !== undefined && (await isStillTrue(app, before, file));
      const look = isKnown ? before : await lookAt(app, file, { report, options, environment: before?.environment });
      verdict = look.verdict;
      if (verdict === 'blocked') block(path, look.reason ?? '');
      else if (!isKnown && LASTING.has(verdict)) looks.push(look);
      if (verdict === 'off') await countOff(app, look, report);
    }
    if (verdict !== 'blocked' && blocked.delete(path) && !LASTING.has(verdict)) {
      gone.push(path);
      looks.push(...unseen(path, before?.environment));
    }
    report.agents[agent] ??= { found: 0 };
    const counts = report.agents[agent] as Counts;
    counts.found += 1;
    counts[verdict as SweepVerdict] = (counts[verdict as SweepVerdict] ?? 0) + 1;
    options.onLooked?.();
    if (looks.length >= LOOKS_AT_ONCE) await keep();
  }
  const isWhole = !options.agents && !options.signal?.aborted;
  // What is left of these was taken by hand, is gone, or is a directory that is open again.
  if (isWhole) gone.push(...[...blocked.keys()].filter((path) => !isCutOff(path)));
  await keep();
  return report;
}

/** What the options ask for, and what was blocked when a sweep would have found it. */
function findAll(
  { config }: App,
  ask: { options: SweepOptions; blocked: Map<string, Look>; onClosed(path: string, error: AppError): void },
): FoundSession[] {
  const { agents, since } = ask.options;
  const was = [...ask.blocked.values()];
  const sinceMs = was.map((each) => Date.parse(each.since ?? each.modifiedAt) - config.sweepDays * DAY_MS);
  const earliest = since && new Date(Math.min(since.getTime(), ...sinceMs));
  const closed = was.map(({ path }) => path);
  const found = findSessions(config.agentDirs, { agents, since: earliest, onClosed: ask.onClosed });
  const wasBlocked = (path: string) => closed.some((dir) => path === dir || path.startsWith(dir + sep));
  return found.filter(({ path, modifiedAt }) => !since || modifiedAt >= since.toISOString() || wasBlocked(path));
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

async function countOff(app: App, look: Look, report: SweepReport): Promise<void> {
  const { reason } = await app.standing(await atOf(app, look));
  report.off = { ...report.off, [reason]: (report.off?.[reason] ?? 0) + 1 };
}

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
  { agent, path, sizeBytes: size, modifiedAt }: FoundSession,
  { report, options, environment }: { report: SweepReport; options: SweepOptions } & Pick<Look, 'environment'>,
): Promise<Look> {
  const { db, memories, config } = app;
  const look: Look = { path, size, modifiedAt, cwd: null, dir: null, verdict: 'unreadable', environment };
  try {
    const own = { config: await configOfSession(config, environment) };
    const session = Object.assign(await openSession(path, { isLive: true }), own);
    look.cwd = session.cwd ?? null;
    const left = await whyLeft(app, session);
    if (left) return { ...look, verdict: left.verdict };
    const memory = (await app.findMemory(session)) ?? (await knownAgain(app, session));
    const row = memory ? await sessionNamed(db, memory.id, session.id) : undefined;
    const sorted = await sortTurns(session, {
      ...{ memories, row, memory: memory?.id ?? '', ended: false, quietMs: config.quietMs, job: null },
      ...{ reopened: new Set<string>(), takeUp: [], declinedBefore: await declinedBefore(db) },
      writable: memory ? await app.writableFor(session, memory) : [],
    });
    if (sorted.pending.size > 0) {
      const news = { session, environment, ended: false, isDueNow: true, instructions: options.instructions };
      const { memory: of } = await announceSession(app, news);
      report.enqueued.push({ agent, transcript: path, memory: of.dir ?? of.id });
      return { ...look, verdict: 'enqueued' };
    }
    const declined = row ? await coverageWhere(db, { session: row.id, reason: 'declined' }) : [];
    const isDeclined =
      sorted.byCode.some(({ reason }) => reason === 'declined') ||
      sorted.turns.some(({ id }) => declined.some((covered) => covered.id === id));
    const verdict = sorted.unsettled > 0 ? 'still-open' : isDeclined ? 'declined' : 'nothing-new';
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
