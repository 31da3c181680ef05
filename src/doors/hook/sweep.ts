// The sweep: finds, on this disk, sessions with turns that nobody has extracted, and puts them into their inboxes, so
// that every hook is optional. Promises to open no file that is as it was when it was last looked at, and that running
// it again, or ending it anywhere, does no harm; what settings or permissions keep closed is named in the home, and taken
// once it is open, however old it is then. Asks no model.

import { dirname, sep } from 'node:path';
import { type AppError, attempt, describeError } from '../../base/errors.ts';
import { isDirectory } from '../../base/files/directories.ts';
import { statNow } from '../../base/files/files.ts';
import { DAY_MS } from '../../base/time.ts';
import type { BlockedPath, SweptTranscript } from '../../memory/home/home.ts';
import { type FoundAgent, type FoundSession, findSessions } from '../../transcript/find-sessions.ts';
import type { App } from '../compose.ts';
import { hasLedger, whyTurnedOff } from '../places.ts';
import type { SkipReason } from './ingest.ts';

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

export interface SweepReport {
  /** How many sessions were found, and what became of them, by agent. */
  agents: Partial<Record<FoundAgent, { found: number } & Partial<Record<SweepVerdict, number>>>>;
  /** What was put into an inbox. */
  enqueued: { agent: FoundAgent; transcript: string; memory: string }[];
  /** What could not be read. */
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
  /** Called once, with how many there are, and then after each. */
  onFound?(count: number): void;
  onLooked?(): void;
}

/** Verdicts that hold while the file stays as it is. */
const LASTING: ReadonlySet<SweepVerdict> = new Set([
  'nothing-new',
  'declined',
  'off',
  'unreadable',
  'non-interactive',
  'subagent',
  'own',
]);

const LOOKS_AT_ONCE = 100;
export async function sweepSessions(app: App, options: SweepOptions = {}): Promise<SweepReport> {
  const report: SweepReport = { agents: {}, enqueued: [], problems: [] };
  const onProblem = (message: string) => report.problems.push(message);
  const now = app.config.clock.now().toISOString();
  const blocked = new Map((await app.home.blocked.all()).map((each) => [each.path, each]));
  const closed: { path: string; reason: string }[] = [];
  const found = findAll(app, { options, blocked, onClosed: (path, reason) => closed.push({ path, reason }) });
  async function block({ path, reason }: { path: string; reason: string }) {
    onProblem(`${path}: ${reason}`);
    await app.home.blocked.add({ path, reason, since: now });
    blocked.delete(path);
  }
  for (const each of closed) await block(each);
  options.onFound?.(found.length);
  await app.desk.deliver(onProblem);
  const looks = new Map((await app.home.swept.all()).map((look) => [look.path, look]));
  const waiting = new Set<string>();
  for (const store of await app.desk.busy(onProblem)) {
    for (const { payload } of await store.work.items()) {
      const { transcript } = Object(payload) as { transcript?: unknown };
      if (typeof transcript === 'string') waiting.add(transcript);
    }
  }
  const lookAt = async (file: FoundSession) => {
    // Loaded with the first: a sweep that finds nothing new reads no session.
    const { lookAt } = await import('./look-at.ts');
    return lookAt(app, file, { report, instructions: options.instructions, block });
  };
  let unsaved: SweptTranscript[] = [];
  for (const file of found) {
    if (options.signal?.aborted) break;
    const known = looks.get(file.path);
    let verdict: SweepVerdict;
    if (waiting.has(file.path)) verdict = 'waiting';
    else {
      const isKnown = known && (await isStillTrue(app, known, file));
      const look = isKnown ? known : await lookAt(file);
      verdict = look.verdict as SweepVerdict;
      if (!isKnown && LASTING.has(verdict)) unsaved.push(look);
      if (verdict === 'off') await countOff(app, look, report);
    }
    if (verdict !== 'blocked' && blocked.delete(file.path)) await app.home.blocked.remove(file.path);
    report.agents[file.agent] ??= { found: 0 };
    const counts = report.agents[file.agent] as { found: number } & Partial<Record<SweepVerdict, number>>;
    counts.found += 1;
    counts[verdict] = (counts[verdict] ?? 0) + 1;
    options.onLooked?.();
    if (unsaved.length < LOOKS_AT_ONCE) continue;
    await app.home.swept.remember(unsaved);
    unsaved = [];
  }
  await app.home.swept.remember(unsaved);
  const isWhole = !options.agents && !options.signal?.aborted;
  // What is left of these was taken by hand, is gone, or is a directory that is open again.
  if (isWhole) for (const { path } of blocked.values()) if (!isCutOff(path)) await app.home.blocked.remove(path);
  return report;
}

/** What the options ask for, and what was blocked when a sweep would have found it. */
function findAll(
  app: App,
  ask: { options: SweepOptions; blocked: Map<string, BlockedPath>; onClosed(path: string, reason: string): void },
): FoundSession[] {
  const { agents, since } = ask.options;
  const onClosed = (path: string, error: AppError) => ask.onClosed(path, describeError(error));
  const days = app.config.sweepDays * DAY_MS;
  const sinceMs = [...ask.blocked.values()].map((each) => Date.parse(each.since) - days);
  const earliest = since && new Date(Math.min(since.getTime(), ...sinceMs));
  const found = findSessions(app.config.agentDirs, { agents, since: earliest, onClosed });
  const wasBlocked = (path: string) =>
    ask.blocked.has(path) || [...ask.blocked.keys()].some((dir) => path.startsWith(dir + sep));
  return found.filter(({ path, modifiedAt }) => !since || modifiedAt >= since.toISOString() || wasBlocked(path));
}

/** Whether nobody can tell if it is there. */
function isCutOff(path: string): boolean {
  return attempt(
    () => statNow(path) === null && !isDirectory(dirname(path)),
    () => true,
    'storage',
  );
}

async function countOff(app: App, { cwd }: SweptTranscript, report: SweepReport): Promise<void> {
  const { reason } = await app.standing({ cwd: cwd ?? undefined });
  report.off = { ...report.off, [reason]: (report.off?.[reason] ?? 0) + 1 };
}

/** Whether an earlier verdict still stands: the same file, the same memory directory, the same settings. */
async function isStillTrue(app: App, look: SweptTranscript, file: FoundSession): Promise<boolean> {
  if (look.sizeBytes !== file.sizeBytes || look.modifiedAt !== file.modifiedAt) return false;
  if (look.verdict === 'off') return whyTurnedOff(await app.standing({ cwd: look.cwd ?? undefined })) !== null;
  if (look.verdict === 'non-interactive') return !app.config.nonInteractive;
  if (look.store === null) return true;
  const { store, cwd } = look;
  // Settings that cannot be read: until they are mended it stands.
  return attempt(
    () => store === app.memoryDirOf({ cwd: cwd ?? undefined }) && hasLedger(store),
    () => true,
  );
}
