// What a sweep makes of one session: left alone, or in its inbox where turns of it wait.

import { sortTurns } from '../../../jobs/extract/sort-turns.ts';
import { describeError, ERRORS, isAppError } from '../../base/errors.ts';
import type { SweptTranscript } from '../../memory/home/home.ts';
import { sessionRow } from '../../memory/ledger/coverage.ts';
import type { FoundAgent, FoundSession } from '../../transcript/find-sessions.ts';
import { openSession, type Session } from '../../transcript/session.ts';
import type { App } from '../compose.ts';
import { hasLedger, memoriesOf } from '../places.ts';
import { announceSession, whyLeft } from './ingest.ts';

/** Puts a session that a sweep found into its inbox, where turns of it wait. */
export async function lookAt(
  app: App,
  file: FoundSession,
  {
    report,
    instructions,
    block,
  }: {
    report: { enqueued: { agent: FoundAgent; transcript: string; memory: string }[]; problems: string[] };
    instructions?: string;
    block(found: { path: string; reason: string }): Promise<void>;
  },
): Promise<SweptTranscript> {
  const { agent, path, sizeBytes, modifiedAt } = file;
  const look: SweptTranscript = { path, sizeBytes, modifiedAt, cwd: null, store: null, verdict: 'unreadable' };
  try {
    const session = await openSession(path, { isLive: true });
    const left = await whyLeft(app, session);
    if (left) return { ...look, cwd: session.cwd ?? null, verdict: left.verdict };
    const dir = app.memoryDirOf(session);
    const store = hasLedger(dir) ? dir : null;
    const sorted = await sort(app, { session, store });
    if (sorted.pending.size > 0) {
      const { id, cwd = null } = session;
      const found = { transcript: path, session: id, cwd, ended: false, instructions };
      const { store } = await announceSession(app, { ...found, isDueNow: true });
      report.enqueued.push({ agent, transcript: path, memory: store.id });
      return { ...look, verdict: 'enqueued' };
    }
    const isDeclined = [...sorted.states.values()].includes('declined');
    const verdict = sorted.unsettled > 0 ? 'still-open' : isDeclined ? 'declined' : 'nothing-new';
    return { ...look, cwd: session.cwd ?? null, store, verdict };
  } catch (error) {
    if (!isAppError(error)) throw error;
    const reason = describeError(error);
    // What settings, the disk or a database refused today is looked at again.
    if (ERRORS[error.code].tries === null) {
      await block({ path, reason });
      return { ...look, verdict: 'blocked' };
    }
    report.problems.push(`${path}: ${reason}`);
    return look;
  }
}

/** Which turns wait, by the ledger; where nocturne never worked, all of them. Reads on where the ledger says. */
async function sort(app: App, { session, store }: { session: Session; store: string | null }) {
  // A home that was lost knows the directory again, and with it what waits there.
  const ledger = store === null ? null : (await app.storeFor(session)).ledger;
  const memory = app.memoryDirOf(session);
  return sortTurns(session, {
    ledger,
    memories: memoriesOf(app.config, { cwd: session.cwd, memory }),
    ended: false,
    now: app.config.clock.now(),
    quietMs: app.config.quietMs,
    reopened: new Set(),
    declinedBefore: await app.home.declinedBefore(),
    from: ledger ? sessionRow(ledger, session.id)?.readPoint : undefined,
  });
}
