// The sweep: finds, on this disk, sessions with turns that nothing was learned of, and puts them into the inbox, so that every hook
// is optional. Promises to open no file that is as it was when it was last looked at, and that running it again, or ending it
// anywhere, does no harm; what settings or permissions keep closed is named, and taken once it is open, however old it is then.
// Asks no model.

import { dirname, sep } from 'node:path';
import type { TakenUp } from '../../jobs/extract/pending-turns.ts';
import { configOfSession } from '../base/config/config.ts';
import { type AppError, attempt, describeError, ERRORS, isAppError, sayOfFile } from '../base/errors.ts';
import { isDirectory } from '../base/files/directories.ts';
import { statNow } from '../base/files/files.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { hasLedger, whyTurnedOff } from '../memory/places.ts';
import { keepLooks, type Look, looksOf, unseen } from '../queue/swept.ts';
import { waitingTranscripts } from '../queue/waiting-work.ts';
import { type FoundAgent, type FoundSession, findSessions } from '../transcript/find-sessions.ts';
import type { App, At } from './compose.ts';
import { type Announced, announceSession, blockedLook, openFound, sortFound, whyLeft } from './ingest.ts';

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
