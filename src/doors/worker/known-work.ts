// The work of all memory directories that this home knows, as their ledgers tell it: what waits, what failed. Opens
// the ledgers alone, so that looking at a directory changes nothing in it.

import { resolve } from 'node:path';
import type { Config } from '../../base/config/config.ts';
import { describeError, isAppError } from '../../base/errors.ts';
import { isDirectory } from '../../base/files/directories.ts';
import { dayOf } from '../../base/time.ts';
import type { Home } from '../../memory/home/home.ts';
import { type FailureRow, type InboxItem, type WorkRows, workRowsOf } from '../../memory/ledger/inbox.ts';
import { countLeased, type JobKind } from '../../memory/ledger/job-rows.ts';
import { findLedger, type Ledger } from '../../memory/ledger/ledger.ts';
import type { Keeping, WorkFigures } from '../keeping.ts';
import type { Figures } from '../telemetry.ts';

export interface KnownWork {
  kind: JobKind;
  key: string;
  /** What waits in the inbox; none: it was given up. */
  item?: InboxItem;
  failure?: FailureRow;
}

/**
 * Calls `look` with the ledger of each known directory, or of `only` that one, and what it is called: its directory, or its id
 * where memory is kept elsewhere; of that those are known that stand for directories of this machine. Answers what could not
 * be opened.
 */
export async function eachLedger(
  { home, keeping }: { home: Home; keeping: Keeping | null },
  { only, look }: { only?: string; look(ledger: Ledger, dir: string, work: WorkRows): Promise<void> | void },
): Promise<{ dir: string; message: string }[]> {
  if (keeping) {
    const here = async () => (await keeping.stores()).flatMap(({ id, isHere }) => (isHere ? id : []));
    return lookAtEach(only ? [only] : await here(), async (place) => {
      const store = await keeping.findStore(place);
      if (store) await look(store.ledger, store.id, store.work);
    });
  }
  return lookAtEach(only ? [only] : await home.stores(), async (dir) => {
    const ledger = only || isDirectory(dir) ? findLedger(dir) : null;
    try {
      if (ledger) await look(ledger, dir, workRowsOf(ledger));
    } finally {
      ledger?.close();
    }
  });
}

/** The same of all stores that several machines share. */
export async function everyLedger(
  keeping: Keeping,
  look: (ledger: Ledger, id: string) => void,
): Promise<{ dir: string; message: string }[]> {
  const ids = (await keeping.stores()).map(({ id }) => id);
  return lookAtEach(ids, async (id) => keeping.lookIntoLedger?.(id, (ledger) => look(ledger, id)));
}

async function lookAtEach(
  places: string[],
  look: (place: string) => Promise<void>,
): Promise<{ dir: string; message: string }[]> {
  const unreadable: { dir: string; message: string }[] = [];
  for (const place of places) {
    try {
      await look(place);
    } catch (error) {
      if (!isAppError(error, 'storage') && !isAppError(error, 'conflict')) throw error;
      unreadable.push({ dir: place, message: describeError(error) });
    }
  }
  return unreadable;
}

export async function knownWork(work: WorkRows): Promise<KnownWork[]> {
  const failures = new Map((await work.failures()).map((row) => [`${row.kind} ${row.key}`, row]));
  const waiting = (await work.items()).map((item): KnownWork => {
    const { kind, key } = item;
    const failure = failures.get(`${kind} ${key}`);
    failures.delete(`${kind} ${key}`);
    return { kind, key, item, failure };
  });
  return [
    ...waiting,
    ...[...failures.values()].map(({ kind, key, ...row }) => ({ kind, key, failure: { ...row, kind, key } })),
  ];
}

/** Whether a person means this work: by its key, its session (the beginning of its id will do), or its transcript. */
export function isMeant({ kind, key, item, failure }: KnownWork, what: string): boolean {
  if (key === what) return true;
  if (kind !== 'extract') return false;
  return isSessionMeant(sessionOf(key), what) || transcriptOf(item ?? failure) === resolve(what);
}

export function isSessionMeant(session: string, what: string): boolean {
  return session === what || (what.length >= 4 && session.startsWith(what));
}

/** The session of an extraction's key. */
export function sessionOf(key: string): string {
  return key.slice(0, key.lastIndexOf('@'));
}

export function transcriptOf(work: { payload: unknown } | undefined): string | undefined {
  const payload = work?.payload;
  const hasPath = typeof payload === 'object' && payload !== null && 'transcript' in payload;
  return hasPath ? String(payload.transcript) : undefined;
}

/** The figures of an app; where several machines share the memory, of all of it. */
export async function figuresOf({
  home,
  config,
  keeping,
}: {
  home: Home;
  config: Config;
  keeping: Keeping | null;
}): Promise<Figures> {
  const now = config.clock.now();
  const spend = await home.days.spendOf(dayOf(now, config.zone));
  return {
    ...(await (keeping?.figures?.() ?? figuresOfLedgers(home, now))),
    tokens: spend.usedTokens + spend.reservedTokens,
    microUsd: spend.usedMicroUsd + spend.reservedMicroUsd,
  };
}

/** Of the memory directories that a home knows; what cannot be opened counts nothing. */
async function figuresOfLedgers(home: Home, now: Date): Promise<WorkFigures> {
  const found: WorkFigures = { waiting: 0, oldestSince: null, leases: 0 };
  await eachLedger(
    { home, keeping: null },
    {
      look(ledger) {
        const inbox = ledger.get<{ items: number; since: string | null }>(
          'select count(*) as items, min(coalesce(since, not_before)) as since from inbox',
        );
        found.waiting += inbox?.items ?? 0;
        const since = inbox?.since ?? null;
        if (since !== null && (found.oldestSince === null || since < found.oldestSince)) found.oldestSince = since;
        found.leases += countLeased(ledger, now);
      },
    },
  );
  return found;
}
