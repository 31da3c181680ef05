// What crosses memory directories: entries about the user that the sessions of a project gave and that the user scope
// keeps. In the project's ledger they are entries in the state `sent`; its outbox names those of which the user scope
// may not know yet what became of them. The ledger itself puts them there (triggers in schema.ts), whoever changes the
// entry: an extraction, a reprocess, an undo, a forget. The user scope's ledger knows which directory sent what.
// Delivering is jobs/deliver.ts's business.

import type { Ledger } from './ledger.ts';

/** An entry to be looked at; `id` changes whenever something becomes of it once more. */
export interface OutboxRow {
  id: number;
  entry: string;
}

/** A memory directory that sent an entry. */
export interface Sender {
  source: string;
  /** It says so still: it did not take the entry back. */
  stands: boolean;
}

export function outboxRows(ledger: Ledger): OutboxRow[] {
  return ledger.all('select id, entry from outbox order by id');
}

/** The user scope knows: takes the rows out, save those to which more happened meanwhile. */
export function finishOutboxRows(ledger: Ledger, rows: OutboxRow[]): void {
  ledger.transaction(() => {
    for (const { id } of rows) ledger.run('delete from outbox where id = ?', id);
  });
}

/** In the user scope's ledger: who sent an entry. */
export function sendersOf(ledger: Ledger, entry: string): Sender[] {
  return ledger
    .all<{ source: string; stands: number }>(
      'select source, stands from received where entry = ? order by source',
      entry,
    )
    .map(({ source, stands }) => ({ source, stands: stands === 1 }));
}

/** In the user scope's ledger: what a directory says of an entry now. */
export function noteSender(ledger: Ledger, { entry, source, stands }: Sender & { entry: string }): void {
  ledger.replace('received', { entry, source, stands: Number(stands) });
}
