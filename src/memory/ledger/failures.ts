// What failed in a memory directory: for each key the last failure, how many there were in a row, and whether it was
// given up. It is dropped when the work is done; work that was given up stays until somebody retries or dismisses it.
// New input (`input`: for a session the size of its transcript) begins the counting anew.

import type { JobKind } from './inbox.ts';
import { jsonOf, type Ledger, type Row } from './ledger.ts';

export interface FailureRow {
  kind: JobKind;
  key: string;
  /** `retrying`: it waits in the inbox. `failed`: it was given up and waits for a person. */
  state: 'retrying' | 'failed';
  /** An `ErrorCode`, as the nocturne that wrote it knew them. */
  code: string;
  message: string;
  /** Tries that were used up. */
  attempts: number;
  /** Failures in a row, also those that used up no try. */
  failures: number;
  input: string | null;
  at: string;
  /** What to put into the inbox again. */
  payload: unknown;
}

export function writeFailure(ledger: Ledger, failure: FailureRow): void {
  const { kind, key, state, code, message, attempts, failures, input, at, payload } = failure;
  ledger.run(
    `insert or replace into failure (kind, key, state, code, message, attempts, failures, input, at, payload)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    kind,
    key,
    state,
    code,
    message,
    attempts,
    failures,
    input,
    at,
    JSON.stringify(payload),
  );
}

export function dropFailure(ledger: Ledger, { kind, key }: { kind: JobKind; key: string }): void {
  ledger.run('delete from failure where kind = ? and key = ?', kind, key);
}

export function failureRow(ledger: Ledger, kind: JobKind, key: string): FailureRow | undefined {
  const row = ledger.get('select * from failure where kind = ? and key = ?', kind, key);
  return row && rowOf(row);
}

/** All failures, the latest first. */
export function failureRows(ledger: Ledger): FailureRow[] {
  return ledger.all('select * from failure order by at desc, key').map(rowOf);
}

function rowOf(row: Row): FailureRow {
  return {
    kind: row.kind as JobKind,
    key: row.key as string,
    state: row.state as FailureRow['state'],
    code: row.code as string,
    message: row.message as string,
    attempts: row.attempts as number,
    failures: row.failures as number,
    input: row.input as string | null,
    at: row.at as string,
    payload: jsonOf(row.payload),
  };
}
