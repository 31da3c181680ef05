// One item of the inbox that was claimed: whether nocturne may work there, the job itself, and what then becomes of the item: done,
// tried again and when, or given up and listed, by the rules of the table in errors.ts.
// Promises: the claim is renewed while the job runs; who lost it ends, and changes nothing more; who is told to end gives it back.

import type { ExtractRequest } from '../../jobs/extract.ts';
import { programOf } from '../agent/programs/programs.ts';
import { configOfSession, type Environment } from '../base/config/config.ts';
import { AppError, ERRORS, type Failure, failureOf, onAppError } from '../base/errors.ts';
import { statNow } from '../base/files/files.ts';
import { type MemoryRow, memoryRow } from '../memory/memories.ts';
import type { Enablement } from '../memory/paths.ts';
import { isSent, sessionRow } from '../memory/session-rows.ts';
import { type Ending, giveBack, type Item, PRIORITY, put, settle } from '../queue/inbox.ts';
import type { App, JobOptions } from './compose.ts';
import { holding } from './job-bounds.ts';

/** What an item holds, by its kind, as this program put it in. */
interface Payloads {
  /** `files`: where more than one is of the session, all that wait. */
  extract: Pick<ExtractRequest, 'ended' | 'instructions' | 'takeUp'> & { files?: string[]; environment?: Environment };
  dream: { instructions?: string };
}

export interface WorkResult {
  kind: Item['kind'];
  key: string;
  memory: MemoryRow | null;
  /** The outcome of the job, of several sessions the first that is not fine. */
  outcome: string;
  /** The instant before which it is not tried again; null: it is done, or given up. */
  delayedUntil: string | null;
  reason: string | null;
  /** What it failed with. */
  code?: Failure['code'];
  /** It is tried no more: it is listed as failed until a person retries or dismisses it. */
  isGivenUp?: boolean;
}

/** As the log calls what became of it; `lost`: another worker has its claim by now. */
const EVENTS = { done: 'done', failed: 'gave-up', waits: 'waits', fenced: 'lost' } as const;

const MINUTE_MS = 60_000;
const PAUSE_LOOK_MS = 1_000;

/** `isProbe`: it tries for all, while the breaker is half open. Null: it was told to end, and the item is given back. */
export async function workItem(
  app: App,
  item: Item,
  { signal, isProbe }: { signal: AbortSignal; isProbe: boolean },
): Promise<WorkResult | null> {
  const { db, clock, log } = app;
  const memory = item.memory === null ? null : ((await memoryRow(db, item.memory)) ?? null);
  const ending = await runHeld(app, { item, memory, isProbe }, signal);
  if (signal.aborted && ending.error) {
    await giveBack(db, item);
    return null;
  }
  const { outcome, error, why } = ending;
  const settled = await settle(db, item, ending, { now: clock.now(), isProbe });
  const { state } = settled;
  const delayedUntil = settled.state === 'waits' ? settled.until : null;
  const { kind, key } = item;
  const at = { kind, key, store: memory?.dir ?? memory?.id, outcome, code: error?.code, until: delayedUntil };
  await log(state === 'failed' ? 'error' : 'info', { event: EVENTS[state], ...at });
  return {
    ...{ kind, key, memory, outcome, delayedUntil, reason: error?.message ?? why ?? null },
    ...(error && { code: error.code }),
    ...(state === 'failed' && { isGivenUp: true }),
  };
}

/** Does the job; what uses a person's plan ends where it is paused meanwhile. */
async function runHeld(app: App, work: Work, signal: AbortSignal): Promise<Ending> {
  const { config, clock } = app;
  const hold = (over: AbortSignal) => holding(app, work.item, { signal: over, work: (held) => run(app, work, held) });
  // What is wrong with it, its job says.
  const { environment } = work.item.payload as Partial<Payloads['extract']>;
  const { model } = await configOfSession(config, environment).catch(onAppError(() => config));
  if (programOf(model) === null) return hold(signal);
  const own = new AbortController();
  let paused: Enablement | undefined;
  const look = async () => {
    const standing = work.memory && (await app.standingOf(work.memory));
    if (standing?.pausedUntil === undefined) return;
    paused ??= standing;
    own.abort(new AppError('conflict', `It was ended: ${standing.reason}.`));
  };
  const looking = setInterval(() => void look().catch(onAppError(() => undefined)), PAUSE_LOOK_MS);
  const ending = await hold(AbortSignal.any([signal, own.signal])).finally(() => clearInterval(looking));
  return paused && ending.error ? whenOff(paused, clock.now()) : ending;
}

type Work = { item: Item; memory: MemoryRow | null; isProbe: boolean };

async function run(app: App, work: Work, signal: AbortSignal): Promise<Ending> {
  try {
    return await runJob(app, work, signal);
  } catch (error) {
    return { outcome: 'failed', error: failureOf(signal.aborted ? signal.reason : error) };
  }
}

async function runJob(app: App, { item, memory, isProbe }: Work, signal: AbortSignal): Promise<Ending> {
  const { db, config, clock, memories } = app;
  if (item.job?.startsWith('drm_')) return runForClient(app, { item, memory }, signal);
  // It was deleted since.
  if (!memory) return { outcome: 'skipped', why: 'its memory is no longer there' };
  await memories.of(memory.id);
  const options: JobOptions = { claim: item, signal, memory, startedBy: item.job ? 'api' : 'hook' };
  if (item.kind === 'extract') {
    const row = await sessionRow(db, item.key);
    const { files = [], ended, instructions, takeUp, environment } = item.payload as unknown as Payloads['extract'];
    options.config = await configOfSession(config, environment);
    const standing = await app.standing({ cwd: row?.cwd ?? undefined, config: options.config });
    if (!standing.enabled) return whenOff(standing, clock.now());
    // The one that tries for all is not to be given up for that.
    const attempts = isProbe ? undefined : item.attempts;
    const request = { ended, instructions, takeUp, session: item.key, attempts, job: item.job ?? undefined };
    const keepsUserMemory = row !== undefined && isSent(row);
    const [transcript, ...others] = files.filter((path) => statNow(path) !== null).reverse();
    for (const other of others) {
      const { outcome, error, readTurns } = await app.extract({ ...request, transcript: other }, options);
      if (error) return { outcome, error, progress: readTurns };
    }
    const report = await app.extract({ ...request, transcript }, { ...options, keepsUserMemory });
    const ending = { outcome: report.outcome, error: report.error, progress: report.readTurns };
    if (report.error) return { ...ending, isGivenUp: report.gaveUpTurns > 0 && report.pendingTurns === 0 };
    if (report.openTurns === 0) return ending;
    const again = new Date(clock.now().getTime() + Math.max(config.quietMs, MINUTE_MS));
    return { ...ending, again, why: 'the session goes on' };
  }
  // An earlier build left it to a worker.
  if (item.kind !== 'dream') return { outcome: 'skipped', why: 'nocturne learn --again is done at once by now' };
  const standing = await app.standingOf(memory);
  if (!standing.enabled) return whenOff(standing, clock.now());
  const { instructions } = item.payload as unknown as Payloads['dream'];
  const report = await app.dream(memory, { instructions, job: item.job ?? undefined }, options);
  return { ...report, progress: report.operations.length + report.proposals.length };
}

/** A dream that a client of the server asked for, or what is left of one that was canceled. */
async function runForClient(
  app: App,
  { item, memory }: Pick<Work, 'item' | 'memory'>,
  signal: AbortSignal,
): Promise<Ending> {
  const { takeBackDream, workClientDream } = await import('../../jobs/client-dream.ts');
  const { memories, config, clock } = app;
  const { dreamHours: hours, sessionDays } = config;
  if (item.kind === 'undo') return takeBackDream(item.job ?? '', memories);
  const standing = memory && (await app.standingOf(memory));
  const off = standing && !standing.enabled ? whenOff(standing, clock.now()) : undefined;
  if (off?.again) return off;
  const options: JobOptions = { claim: item, signal, startedBy: 'api', keepsUserMemory: true };
  return workClientDream(item, {
    ...{ memories, hours, sessionDays, off: off?.why },
    extract: (request, of) => app.extract(request, { ...options, ...of }),
    dream: (request, of) => app.dream(of.memory, request, { ...options, ...of }),
  });
}

/**
 * What is paused waits, and is looked at again every hour; where settings that cannot be read keep from telling, every five
 * minutes. What is turned off is over.
 */
function whenOff({ pausedUntil, reason: why, isUnknown }: Enablement, now: Date): Ending {
  const off = { outcome: 'off', why };
  const again = (ms: number) => ({ ...off, again: new Date(now.getTime() + ms) });
  if (isUnknown) return again(ERRORS.settings.firstMs);
  if (pausedUntil === undefined) return off;
  const leftMs = pausedUntil === null ? Infinity : Date.parse(pausedUntil) - now.getTime();
  return again(Math.min(Math.max(leftMs, 0), 60 * MINUTE_MS));
}

/** Puts a dream into the inbox for a worker, at once. */
export function putWork({ db, clock }: App, of: { kind: 'dream'; key: string; memory: MemoryRow; payload: object }) {
  const now = clock.now();
  return db.write((sql) => put(sql, { ...of, memory: of.memory.id, priority: PRIORITY.person, notBefore: now }, now));
}
