// What a store that is moved takes along of its work: when keys were worked last, what was left out, what failed. In a
// directory these are rows of its ledger, in the database rows of their own. What waits to be worked is not moved.

import type { Ledger, Row } from '../../../memory/ledger/ledger.ts';
import type { Ask, SqlValue } from '../database.ts';

const COLUMNS = {
  worked: ['kind', 'key', 'at'],
  skip: ['kind', 'reason', 'times', 'at'],
  failure: ['kind', 'key', 'state', 'code', 'message', 'attempts', 'failures', 'input', 'at', 'payload'],
};

/** The tables of a ledger that are not looked into while its store is in the database. */
export const WORK_TABLES = [...Object.keys(COLUMNS), 'inbox', 'lease'];

/** Into the database; what is there already stays. */
export async function sendWork(ask: Ask, store: string, ledger: Ledger): Promise<void> {
  for (const [table, columns] of Object.entries(COLUMNS)) {
    for (const row of ledger.all<Record<string, SqlValue>>(`select ${columns.join(', ')} from "${table}"`)) {
      const values = columns.map((column) => row[column] ?? null);
      const places = values.map((_, n) => `$${n + 2}`);
      await ask(
        `insert into ${table} (store, ${columns.join(', ')}) values ($1, ${places.join(', ')}) on conflict do nothing`,
        [store, ...values],
      );
    }
  }
}

/** Out of it again, in place of what the ledger has. */
export async function bringWork(ask: Ask, store: string, ledger: Ledger): Promise<void> {
  const found = await Promise.all(
    Object.entries(COLUMNS).map(async ([table, columns]) => {
      const rows = await ask<Row>(`select ${columns.join(', ')} from ${table} where store = $1`, [store]);
      return { table, rows };
    }),
  );
  ledger.transaction(() => {
    for (const { table, rows } of found) {
      ledger.run(`delete from "${table}"`);
      for (const row of rows) ledger.replace(table, row);
    }
  });
}

/** How many sessions wait to be worked in a store, and whether somebody works in it. */
export async function workIn(ask: Ask, store: string): Promise<{ waiting: number; isWorked: boolean }> {
  const [found] = await ask<{ waiting: number; isWorked: boolean }>(
    `select (select count(*)::int from work_inbox where store = $1 and kind <> 'dream') as waiting,
       exists (select from work_lease where store = $1 and owner is not null and until > clock_timestamp()) as "isWorked"`,
    [store],
  );
  return found as { waiting: number; isWorked: boolean };
}
