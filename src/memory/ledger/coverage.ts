// Coverage: what became of each turn, through which message. What is not here is pending.
// A turn covered under one session id is covered under every other that holds it (resumed copies).

import type { Day } from '../../time.ts';
import type { Transaction } from '../store/store.ts';
import type { Became } from '../types.ts';
import type { Ledger, Row } from './ledger.ts';

export interface Coverage {
  session: string;
  turn: string;
  /** The last message that was looked at; empty: the whole turn and all before it in its session (`standsForMore`). */
  throughMessage: string;
  became: Became;
  /** The day of the turn. */
  day: Day;
  job: string;
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

/**
 * What the ledger says of a turn, under whatever session ids. A copy that begins in the middle of a turn knows it by
 * another id, but through the same messages.
 */
export function coverageOfTurn(ledger: Ledger, turn: { id: string; messageIds: readonly string[] }): Coverage[] {
  return ledger
    .all(
      `select * from coverage where turn = ?
       union select * from coverage where through_message in (select value from json_each(?))`,
      turn.id,
      JSON.stringify(turn.messageIds),
    )
    .map(coverageOf);
}

/** The covered turns of a session, or of all sessions on a day, or all. */
export function coverageWhere(ledger: Ledger, where: { session?: string; day?: Day } = {}): Coverage[] {
  if (where.session !== undefined) {
    return ledger.all('select * from coverage where session = ?', where.session).map(coverageOf);
  }
  if (where.day !== undefined) return ledger.all('select * from coverage where day = ?', where.day).map(coverageOf);
  return ledger.all('select * from coverage').map(coverageOf);
}

/** The turns whose extraction was undone and that were not covered anew since, under any session id. */
export function undoneTurns(ledger: Ledger): string[] {
  const sql = "select turn from coverage group by turn having min(became = 'undone') = 1";
  return ledger.all(sql).map((row) => row.turn as string);
}

/** The turns of a session that were given up. */
export function givenUpTurns(ledger: Ledger, session: string): string[] {
  const sql = "select turn from coverage where session = ? and became = 'gave-up'";
  return ledger.all(sql, session).map((row) => row.turn as string);
}

/**
 * Whether a row of a rebuilt ledger stands for its whole turn and for every turn before it: something was kept from it,
 * so all before it was looked at, of which nothing is known any more.
 */
export function standsForMore(row: Coverage): boolean {
  return row.became === 'assumed' && row.throughMessage === '';
}

export function writeCoverage({ ledger, commit }: Transaction, row: Coverage): void {
  ledger.put(commit, 'coverage', {
    session: row.session,
    turn: row.turn,
    through_message: row.throughMessage,
    became: row.became,
    day: row.day,
    job: row.job,
  });
}

export function sessionRow(ledger: Ledger, id: string): SessionRow | undefined {
  const row = ledger.get('select * from session where id = ?', id);
  return row && sessionOf(row);
}

/** Where the sessions ran that this directory knows, each place once; undefined stands for those that did not say. */
export function sessionDirs(ledger: Ledger): (string | undefined)[] {
  return ledger.all('select distinct cwd from session').map((row) => (row.cwd as string | null) ?? undefined);
}

export function writeSession({ ledger, commit }: Transaction, row: SessionRow): void {
  ledger.put(commit, 'session', {
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

function sessionOf(row: Row): SessionRow {
  return {
    id: row.id as string,
    path: row.path as string,
    format: row.format as string,
    cwd: (row.cwd as string | null) ?? undefined,
    sizeBytes: row.size as number,
    modifiedAt: row.modified_at as string,
    readPoint: row.prefix_sha === null ? undefined : { byte: row.read_to as number, hash: row.prefix_sha as string },
  };
}

function coverageOf(row: Row): Coverage {
  return {
    session: row.session as string,
    turn: row.turn as string,
    throughMessage: row.through_message as string,
    became: row.became as Became,
    day: row.day as string,
    job: row.job as string,
  };
}
