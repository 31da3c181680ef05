// Coverage: what was made of each range of a turn (its disposition). What lies behind the furthest range is pending.
// Ranges of one turn and session never overlap: a new one cuts what it covers out of those that stand.
// A turn covered under one session id is covered under every other that holds it (resumed copies).

import type { Day } from '../../base/time.ts';
import type { Disposition } from '../types.ts';
import type { Ledger, Transaction } from './ledger.ts';

export interface Coverage {
  session: string;
  turn: string;
  /** The first message that was looked at; empty: from the beginning of the turn. */
  from: string;
  /** The last message that was looked at; empty: the whole turn and all before it in its session (`standsForMore`). */
  throughMessage: string;
  disposition: Disposition;
  /** The day of the turn. */
  day: Day;
  job: string;
}

/** Positions of messages in a turn, both inclusive. */
export interface Interval {
  start: number;
  end: number;
}

export interface SessionRow {
  id: string;
  path: string;
  format: string;
  cwd?: string;
  sizeBytes: number;
  modifiedAt: string;
  /** Where to read on when it has grown: a byte, and the hash of what stands before it. All before it is covered. */
  readPoint?: { byte: number; hash: string };
}

const COVERAGE =
  'session, turn, from_message as "from", through_message as throughMessage, became as disposition, day, job';

/**
 * What the ledger says of a turn, under whatever session ids. A copy that begins in the middle of a turn knows it by
 * another id, but through the same messages.
 */
export function coverageOfTurn(ledger: Ledger, turn: { id: string; messageIds: readonly string[] }): Coverage[] {
  return ledger.all(
    `select ${COVERAGE} from coverage where turn = ?
     union select ${COVERAGE} from coverage where through_message in (select value from json_each(?))`,
    turn.id,
    JSON.stringify(turn.messageIds),
  );
}

/** The covered turns of a session, or of all sessions on a day, or all. */
export function coverageWhere(ledger: Ledger, where: { session?: string; day?: Day } = {}): Coverage[] {
  const all = `select ${COVERAGE} from coverage`;
  if (where.session !== undefined) return ledger.all(`${all} where session = ?`, where.session);
  return where.day === undefined ? ledger.all(all) : ledger.all(`${all} where day = ?`, where.day);
}

/** What became of how many turns; a turn of which several ranges are covered counts once for each fate. */
export function countDispositions(ledger: Ledger): Partial<Record<Disposition, number>> {
  const turns = 'select distinct session, turn, became from coverage';
  return Object.fromEntries(ledger.lists(`select became, count(*) from (${turns}) group by became order by became`));
}

/** Whether anything is covered as that, of a session or under any session id; what was covered again since is not. */
export function hasCovered(ledger: Ledger, became: Disposition, session?: string): boolean {
  const [ofSession, ...values] = session === undefined ? [''] : ['and session = ?', session];
  return ledger.get(`select 1 from coverage where became = ? ${ofSession} limit 1`, became, ...values) !== undefined;
}

/** Of a session that taught nothing, what there is to say first; undefined: nothing is covered. */
export function fateOf(ledger: Ledger, session: string): Disposition | undefined {
  const fates = ledger.lists('select distinct became from coverage where session = ?', session).flat();
  return FATES.find((each) => fates.includes(each));
}

const FATES: Disposition[] = [
  'gave-up',
  'undone',
  'nothing',
  'recorded',
  'assumed',
  'main-agent',
  'private',
  'declined',
];

/**
 * Whether a row of a rebuilt ledger stands for its whole turn and for every turn before it: something was kept from it,
 * so all before it was looked at, of which nothing is known any more.
 */
export function standsForMore(row: Coverage): boolean {
  return row.disposition === 'assumed' && row.throughMessage === '';
}

/**
 * Where a range lies among the messages of a turn, which this copy of it may hold only in part; null where nothing of it
 * is there. One through a message that is not there reaches beyond the end.
 */
export function intervalOf(range: Pick<Coverage, 'from' | 'throughMessage'>, ids: readonly string[]): Interval | null {
  const from = range.from === '' ? 0 : ids.indexOf(range.from);
  const through = ids.indexOf(range.throughMessage);
  if (from === -1 && through === -1) return null;
  const end = through === -1 ? ids.length : through;
  return { start: Math.min(Math.max(from, 0), end), end };
}

/** A turn with the ids of its messages, in order. */
type TurnIds = { id: string; messageIds: readonly string[] };

/** Covers a range of a turn. What other ranges of the same session said of it no longer stands. */
export function coverRange(transaction: Transaction, turn: TurnIds, range: Omit<Coverage, 'turn'>): void {
  const ids = turn.messageIds;
  const own = intervalOf(range, ids);
  const before = own ? rowsOf(transaction.ledger, range.session, turn.id) : [];
  const covered = new Set<number>();
  const rests: CoveredRange[] = [];
  for (const row of before) {
    const interval = intervalOf(row, ids);
    if (!own || !interval || interval.start > own.end || interval.end < own.start) continue;
    if (row.disposition !== 'undone' && (row.job !== range.job || row.again === 1)) {
      for (const at of placesIn(interval)) covered.add(at);
    }
    transaction.drop('coverage', { session: row.session, turn: row.turn, from_message: row.from });
    if (interval.start < own.start) rests.push({ ...row, throughMessage: ids[own.start - 1] as string });
    if (interval.end > own.end && own.end + 1 < ids.length) rests.push({ ...row, from: ids[own.end + 1] as string });
  }
  for (const rest of rests) writeCoverage(transaction, rest);
  const isWhole = own !== null && placesIn(own).every((at) => covered.has(at));
  writeCoverage(transaction, { ...range, turn: turn.id, again: Number(isWhole) });
}

function placesIn({ start, end }: Interval): number[] {
  return Array.from({ length: end - start + 1 }, (_, at) => start + at);
}

interface CoveredRange extends Coverage {
  /** 1: all of it had been covered before, by other jobs: undoing this one brings that back. */
  again: number;
}

function rowsOf(ledger: Ledger, session: string, turn: string): CoveredRange[] {
  return ledger.all(`select ${COVERAGE}, again from coverage where session = ? and turn = ?`, session, turn);
}

/** Takes a turn, and all before it in its session, for covered. */
export function assumeCovered(transaction: Transaction, at: { session: string; turn: string; day: Day }): void {
  writeCoverage(transaction, { ...at, from: '', throughMessage: '', disposition: 'assumed', job: '', again: 0 });
}

function writeCoverage(transaction: Transaction, row: CoveredRange): void {
  transaction.put('coverage', {
    session: row.session,
    turn: row.turn,
    through_message: row.throughMessage,
    became: row.disposition,
    day: row.day,
    job: row.job,
    from_message: row.from,
    again: row.again,
  });
}

type Kept = Omit<SessionRow, 'cwd' | 'readPoint'> & { cwd: string | null; byte: number; hash: string | null };

export function sessionRow(ledger: Ledger, id: string): SessionRow | undefined {
  const row = ledger.get<Kept>(
    `select id, path, format, cwd, size as sizeBytes, modified_at as modifiedAt, read_to as byte, prefix_sha as hash
     from session where id = ?`,
    id,
  );
  if (!row) return undefined;
  const { cwd, byte, hash, ...session } = row;
  return { ...session, cwd: cwd ?? undefined, readPoint: hash === null ? undefined : { byte, hash } };
}

/** Where the sessions ran that this directory knows, each place once; undefined stands for those that did not say. */
export function sessionDirs(ledger: Ledger): (string | undefined)[] {
  return ledger.all<{ cwd: string | null }>('select distinct cwd from session').map(({ cwd }) => cwd ?? undefined);
}

export interface LearnedSession {
  session: string;
  transcript: string;
  cwd: string | null;
  /** When the last job that read it ended. */
  readAt: string;
}

/** The sessions that jobs read, the latest first. */
export function learnedSessions(ledger: Ledger, limit: number): LearnedSession[] {
  return ledger.all<LearnedSession>(
    `select session.id as session, session.path as transcript, session.cwd, max(job.ended_at) as readAt
     from session join job on job.session = session.id where job.ended_at is not null
     group by session.id order by readAt desc, session.id limit ?`,
    limit,
  );
}

export function writeSession(transaction: Transaction, row: SessionRow): void {
  transaction.put('session', {
    id: row.id,
    path: row.path,
    format: row.format,
    cwd: row.cwd ?? null,
    size: row.sizeBytes,
    modified_at: row.modifiedAt,
    read_to: row.readPoint?.byte ?? null,
    prefix_sha: row.readPoint?.hash ?? null,
  });
}
