// Commits what one run of the extractor found: log entries and coverage, in one commit. Turns that another run covered
// meanwhile are left out, so that work done twice at once is committed once. What is about the user, where the user
// scope keeps that, goes into no log here: it is `sent`, and so in the outbox with the same commit.

import type { FoundEntry } from '../../src/agent/entry-checks.ts';
import { type Clock, type Day, dayOf } from '../../src/base/time.ts';
import { coverRange, type SessionRow, writeSession } from '../../src/memory/ledger/coverage.ts';
import {
  type EntryRow,
  entriesOfSession,
  entryRow,
  isForgotten,
  isInLog,
  writeEntry,
} from '../../src/memory/ledger/entries.ts';
import type { Lease } from '../../src/memory/ledger/leases.ts';
import type { Ledger } from '../../src/memory/ledger/ledger.ts';
import type { FileChange, Store } from '../../src/memory/store/store.ts';
import { appendEntries, entryId, logPath, parseLog, removeEntries } from '../../src/memory/text/daily-log.ts';
import type { Session } from '../../src/transcript/session.ts';
import { isUntouched, type PendingTurn } from './pending-turns.ts';

export interface ExcerptResult {
  session: Session;
  row: SessionRow;
  turns: PendingTurn[];
  found: FoundEntry[];
  /** Turns that were extracted before: what they gave then is replaced. */
  reopened: Set<string>;
  job: string;
  prompt: string;
  lease: Lease;
}

export interface CommitDeps {
  store: Store;
  /** Where entries about the user are kept, if not in the store; canonical. */
  userMemory?: string;
  clock: Clock;
  zone: string;
}

/** Answers the entries of the committed turns: new ones, and those that were found again. */
export async function commitExcerpt(
  result: ExcerptResult,
  { store, userMemory = store.dir, clock, zone }: CommitDeps,
): Promise<EntryRow[]> {
  const sendsUser = userMemory !== store.dir;
  const kept: EntryRow[] = [];
  await store.commit({ actor: `job:${result.job}`, lease: result.lease }, (ledger) => {
    const turns = result.turns.filter((pending) => isUntouched(ledger, pending, result.job));
    const dayOfTurn = new Map(turns.map(({ turn }) => [turn.id, dayOf(turn.at ?? clock.now(), zone)]));
    const entries = result.found.flatMap((found) => {
      const day = dayOfTurn.get(found.turn);
      const entry = day && entryOf(found, { result, day, now: clock.now() });
      if (!entry || wasForgotten(ledger, entry)) return [];
      return [sendsUser && entry.type === 'user' ? { ...entry, state: 'sent' as const } : entry];
    });
    const before = replaceable(ledger, result, turns);
    const known = new Set(entries.map((entry) => entry.id).filter((id) => isKept(ledger, id)));
    kept.push(...entries.map((entry) => (known.has(entry.id) && entryRow(ledger, entry.id)) || entry));
    const again = new Set(entries.map((entry) => entry.id));
    const replaced = before.filter((entry) => !again.has(entry.id));
    const withdrawn = replaced.filter(({ state }) => state === 'sent');
    const days = new Set([...entries, ...before].filter(isInLog).map((entry) => entry.day));
    const files = [...days].sort().map((day): FileChange => {
      const added = entries.filter((entry) => entry.day === day && isInLog(entry) && !known.has(entry.id));
      const old = replaced.filter((entry) => entry.day === day && isInLog(entry));
      return {
        path: logPath(day),
        change(current) {
          const own = new Set(ownIds(current, day));
          const gone = old.filter((entry) => own.has(entry.id));
          withdrawn.push(...gone);
          const rest = gone.length > 0 ? removeEntries(current ?? '', new Set(gone.map((entry) => entry.id))) : current;
          return added.length > 0 ? appendEntries(rest, added, { day, zone }) : rest;
        },
      };
    });
    return {
      files,
      rows(transaction) {
        writeSession(transaction, result.row);
        for (const entry of withdrawn) writeEntry(transaction, { ...entry, state: 'withdrawn' });
        for (const entry of entries) if (!known.has(entry.id)) writeEntry(transaction, entry);
        for (const { turn, from, throughMessage } of turns) {
          const disposition = entries.some((entry) => entry.turn === turn.id) ? 'recorded' : 'nothing';
          const day = dayOfTurn.get(turn.id) as Day;
          coverRange(transaction, turn, {
            session: result.session.id,
            from,
            throughMessage,
            disposition,
            day,
            job: result.job,
          });
        }
      },
    };
  });
  return kept;
}

/** The entries that a reopened turn gave before, as far as it is looked at again. */
function replaceable(ledger: Ledger, { session, reopened }: ExcerptResult, turns: PendingTurn[]): EntryRow[] {
  const ranges = new Map(turns.map((pending) => [pending.turn.id, pending]));
  return entriesOfSession(ledger, session.id).filter((entry) => {
    const range = ranges.get(entry.turn);
    if (!range || !reopened.has(entry.turn)) return false;
    if (entry.state === 'withdrawn' || entry.state === 'forgotten') return false;
    const ids = range.turn.messageIds;
    const at = ids.indexOf(entry.evidence[0]?.message ?? '');
    return at === -1 || range.from === '' || at >= ids.indexOf(range.from);
  });
}

/** What a person had forgotten is dropped without a word: nobody is to be reminded of it. */
function wasForgotten(ledger: Ledger, { session, text, at, evidence }: EntryRow): boolean {
  const { message, quote } = evidence[0] ?? { message: '', quote: '' };
  return isForgotten(ledger, { session, text, at, message, quote });
}

function isKept(ledger: Ledger, id: string): boolean {
  const state = entryRow(ledger, id)?.state;
  return state !== undefined && state !== 'withdrawn';
}

/** The entries in a log that are still as nocturne wrote them; what a person edited is the person's. */
function ownIds(log: string | null, day: Day): string[] {
  return parseLog(log ?? '', day).flatMap((item) => (item.kind === 'own' && !item.edited ? [item.id] : []));
}

function entryOf(found: FoundEntry, { result, day, now }: { result: ExcerptResult; day: Day; now: Date }): EntryRow {
  const [first] = found.evidence;
  return {
    id: entryId({ message: first?.message ?? '', quote: first?.quote ?? '', text: found.text }),
    type: found.type,
    strength: found.strength,
    text: found.text,
    evidence: found.evidence,
    ...(found.changes && { changes: found.changes }),
    by: found.by,
    session: result.session.id,
    turn: found.turn,
    at: found.at ?? now.toISOString(),
    day,
    prompt: result.prompt,
    job: result.job,
    state: 'new',
  };
}
