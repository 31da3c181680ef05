// Commits what one run of the extractor found: log entries and coverage, in one commit; or coverage alone. Turns that
// another run covered meanwhile are left out, so that work done twice at once is committed once. What is about the user,
// where the user scope keeps that, goes into no log here: it is `sent`, and so in the outbox with the same commit.

import { type Clock, type Day, dayOf } from '../../src/base/time.ts';
import { indexFollowing } from '../../src/memory/dream/index-follow.ts';
import {
  coverageOfTurn,
  coverRange,
  intervalOf,
  type SessionRow,
  sessionRow,
  writeSession,
} from '../../src/memory/ledger/coverage.ts';
import {
  type EntryRow,
  entriesOfSession,
  entryRow,
  isForgotten,
  isInLog,
  writeEntry,
} from '../../src/memory/ledger/entries.ts';
import type { Lease } from '../../src/memory/ledger/job-rows.ts';
import type { Ledger } from '../../src/memory/ledger/ledger.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { changeLogs, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import type { Disposition } from '../../src/memory/types.ts';
import type { FoundEntry } from '../../src/rules/entry-rules.ts';
import { readPointAt, type Session } from '../../src/transcript/session.ts';
import type { CitedMessages, Proposed } from './propose.ts';
import { nameOf, type PendingTurn } from './turn-parts.ts';

export interface CommitDeps {
  /** The memory in which entries about the user are kept; null, and by default: the store. */
  userMemoryOf?(store: Store): Promise<string | null>;
  clock: Clock;
  zone: string;
}

/** What every commit of a job is made with. */
export interface CommitAt {
  session: Session;
  store: Store;
  lease: Lease;
  job: string;
  rows: SessionRows;
}

export interface ReportedEntry {
  id: string;
  type: string;
  text: string;
  evidence: { message: string; quote: string; speaker: string; at: string | null }[];
  session: string;
  turn: string;
  /** The memory directory it goes to, where that is not the session's: the user scope. */
  memory?: string;
}

/**
 * Commits what the extractor recorded. `reopened`: turns that were extracted before; what they gave is replaced. Answers the
 * entries of these turns, new ones and those that were found again.
 */
export async function commitExcerpt(
  {
    turns: offered,
    left,
    found: recorded,
    cited,
    prompt,
  }: Pick<Proposed, 'turns' | 'left' | 'found' | 'cited' | 'prompt'>,
  { session, store, lease, job, rows, reopened }: CommitAt & { reopened: ReadonlySet<string> },
  { userMemoryOf, clock, zone }: CommitDeps,
): Promise<ReportedEntry[]> {
  const userMemory = (await userMemoryOf?.(store)) ?? undefined;
  const sendsUser = userMemory !== undefined && userMemory !== store.id;
  const kept: EntryRow[] = [];
  await store.commit({ actor: `job:${job}`, lease }, (ledger) => {
    const turns = offered.filter((pending) => isUntouched(ledger, pending, job));
    const dayOfTurn = new Map(turns.map(({ turn }) => [turn.id, dayOf(turn.at ?? clock.now(), zone)]));
    const entries = recorded.flatMap((found): EntryRow[] => {
      const day = dayOfTurn.get(found.turn);
      if (!day) return [];
      const state = sendsUser && found.type === 'user' ? 'sent' : 'new';
      const [{ message, quote }] = found.evidence as [FoundEntry['evidence'][number]];
      const { type, strength, text, evidence, changes, again, by, turn, at = clock.now().toISOString() } = found;
      const more = { ...(changes && { changes }), ...(again && { again }) };
      // What a person had forgotten is dropped without a word: no report reminds them of it.
      if (isForgotten(ledger, { session: session.id, text, at, message, quote })) return [];
      const said = { type, strength, text, evidence, ...more, by, session: session.id, turn, at };
      return [{ id: entryId({ message, quote, text }), ...said, day, prompt, job, state }];
    });
    const before = replaceable(ledger, { session, turns, reopened });
    const known = new Set(entries.map(({ id }) => id).filter((id) => isKept(ledger, id)));
    kept.push(...entries.map((entry) => (known.has(entry.id) && entryRow(ledger, entry.id)) || entry));
    const again = new Set(entries.map(({ id }) => id));
    const added = entries.filter(({ id }) => !known.has(id));
    const replaced = before.filter(({ id }) => !again.has(id));
    const withdrawn = replaced.filter(({ state }) => state === 'sent');
    // A log is read as a day was, not as a model listed what it found.
    const inOrder = added.filter(isInLog).toSorted((a, b) => a.at.localeCompare(b.at));
    const logged = { remove: replaced.filter(isInLog), add: inOrder, zone };
    const files = changeLogs(logged, (removed) => withdrawn.push(...removed));
    const index = indexFollowing(store);
    return {
      files: [...files, ...index.files],
      rows(transaction) {
        index.finish(transaction);
        writeSession(transaction, left === offered.length ? rows.atEnd : rows.meanwhile);
        for (const entry of withdrawn) writeEntry(transaction, { ...entry, state: 'withdrawn' });
        for (const entry of added) writeEntry(transaction, entry);
        for (const { turn, from, throughMessage } of turns) {
          const disposition = entries.some((entry) => entry.turn === turn.id) ? 'recorded' : 'nothing';
          const day = dayOfTurn.get(turn.id) as Day;
          coverRange(transaction, turn, { session: session.id, from, throughMessage, disposition, day, job });
        }
      },
    };
  });
  return kept.map((entry) => reportedEntry(entry, { cited, userMemory }));
}

function reportedEntry(
  entry: EntryRow,
  { cited, userMemory }: { cited: CitedMessages; userMemory?: string },
): ReportedEntry {
  const { id, type, text, session, turn } = entry;
  const evidence = entry.evidence.map(({ message, quote }) => {
    const source = cited.get(message);
    return { message, quote, speaker: source?.speaker ?? entry.by, at: source?.at ?? null };
  });
  const place = entry.state === 'sent' && userMemory ? { memory: userMemory } : {};
  return { id, type, text, evidence, session, turn, ...place };
}

/** Covers turns without extracting them: private ones, what the main agent wrote down itself, what is given up. */
export async function coverTurns(
  turns: Partial<Record<Disposition, PendingTurn[]>>,
  { session, store, lease, job, rows, isLast }: CommitAt & { isLast: boolean },
  { clock, zone }: CommitDeps,
): Promise<void> {
  await store.commit({ actor: `job:${job}`, lease }, () => ({
    files: [],
    rows(transaction) {
      writeSession(transaction, isLast ? rows.atEnd : rows.meanwhile);
      for (const [disposition, covered] of Object.entries(turns) as [Disposition, PendingTurn[]][]) {
        for (const { turn, from, throughMessage } of covered) {
          const day = dayOf(turn.at ?? clock.now(), zone);
          coverRange(transaction, turn, { session: session.id, from, throughMessage, disposition, day, job });
        }
      }
    },
  }));
}

/** What turns' logs cannot be written for is found before a model is paid for what goes there. */
export async function rehearseCommit(
  turns: PendingTurn[],
  { store, lease, job }: CommitAt,
  { clock, zone }: CommitDeps,
): Promise<void> {
  const days = new Set(turns.map(({ turn }) => dayOf(turn.at ?? clock.now(), zone)));
  await store.rehearse({ actor: `job:${job}`, lease }, [...days].map(logPath));
}

/**
 * What the ledger is told of a session while a job commits, and when all of it is committed: only then may the next
 * reading begin where the last turn begins.
 */
interface SessionRows {
  meanwhile: SessionRow;
  atEnd: SessionRow;
}

/** `lastTurnByte`: where the last turn begins; null where the next reading has to be from the beginning. */
export async function sessionRows(
  { session, store }: { session: Session; store: Store },
  { lastTurnByte }: { lastTurnByte: number | null },
): Promise<SessionRows> {
  const { id, path, format, cwd, sizeBytes, modifiedAt } = session;
  const row: SessionRow = { id, path, format, cwd, sizeBytes, modifiedAt };
  const point = lastTurnByte === null ? null : await readPointAt(path, lastTurnByte);
  return {
    meanwhile: { ...row, readPoint: sessionRow(store.ledger, id)?.readPoint },
    atEnd: { ...row, readPoint: point ?? undefined },
  };
}

/** The entries that a reopened turn gave before, as far as it is looked at again. */
function replaceable(
  ledger: Ledger,
  { session, turns, reopened }: { session: Session; turns: PendingTurn[]; reopened: ReadonlySet<string> },
): EntryRow[] {
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

function isKept(ledger: Ledger, id: string): boolean {
  const state = entryRow(ledger, id)?.state;
  return state !== undefined && state !== 'withdrawn';
}

/** Whether the ledger says nothing new of the range since it was sorted, this job apart. */
function isUntouched(ledger: Ledger, { turn, seen, ...range }: PendingTurn, job: string): boolean {
  const before = new Set(seen);
  const own = intervalOf(range, turn.messageIds);
  return coverageOfTurn(ledger, turn).every((row) => {
    const interval = intervalOf(row, turn.messageIds);
    const isBeside = !own || !interval || interval.end < own.start || interval.start > own.end;
    return isBeside || row.job === job || before.has(nameOf(row));
  });
}
