// The rows of the database that a move reads and writes: of a store on its way into it, of which what has arrived already is
// known, so that a move that was broken off goes on; and of its work, which in a directory are rows of its ledger: when keys
// were worked last, what was left out, what failed. What waits to be worked is not moved.
// Promises: nobody works in a store that has not arrived whole.

import type { Ledger, Row } from '../../../memory/ledger/ledger.ts';
import type { Ask, SqlValue } from '../postgres.ts';
import type { Changes } from './store-rows.ts';

/** A store that is moved into the database; what it has already is in `arrived`. */
interface Arrival {
  id: string;
  arrived: { pages: Map<number, string>; files: Map<string, string> };
}

/**
 * Begins to move a store from `source` into the database, or goes on with it; null where the name or the id is another's, or
 * the store has arrived.
 */
export async function beginArrival(
  ask: Ask,
  { id, name, source, changes }: { id: string; name: string; source: string; changes: Omit<Changes, 'files'> },
): Promise<Arrival | null> {
  const [row] = await ask<{ id: string }>(
    `insert into store (id, name, source, state, revision, pages, page_bytes)
     values ($1, $2, $3, 'arriving', 0, $4, $5) on conflict (name) do update
     set pages = excluded.pages, page_bytes = excluded.page_bytes
     where store.state = 'arriving' and store.source = $3 returning id`,
    [id, name, source, changes.pages.count, changes.pageBytes],
  );
  if (!row) return null;
  const pages = await ask<{ number: number; sha: string }>(
    `select number, encode(sha256(bytes), 'hex') as sha from page where store = $1`,
    [row.id],
  );
  const files = await ask<{ path: string; sha: string }>(
    `select path, encode(sha256(bytes), 'hex') as sha from file where store = $1`,
    [row.id],
  );
  return {
    id: row.id,
    arrived: {
      pages: new Map(pages.map(({ number, sha }) => [number, sha])),
      files: new Map(files.map(({ path, sha }) => [path, sha])),
    },
  };
}

/** Puts pages and files of a store that arrives; a file that is null goes. */
export async function arrive(ask: Ask, id: string, { pages, files }: Pick<Changes, 'pages' | 'files'>): Promise<void> {
  const given = [...pages.changed];
  const size = given[0]?.[1].length ?? 0;
  await ask(
    `insert into page select $1, n, 0, substring($3::bytea from ((nth - 1) * $4::int + 1)::int for $4::int)
     from unnest($2::int[]) with ordinality as given (n, nth) on conflict (store, number) do update set bytes = excluded.bytes`,
    [id, given.map(([number]) => number), Buffer.concat(given.map(([, bytes]) => bytes)), size],
  );
  await ask('delete from page where store = $1 and number > $2', [id, pages.count]);
  for (const [path, bytes] of files) {
    if (bytes === null) await ask('delete from file where store = $1 and path = $2', [id, path]);
    else {
      await ask(
        'insert into file values ($1, $2, 0, $3) on conflict (store, path) do update set bytes = excluded.bytes',
        [id, path, bytes],
      );
    }
  }
}

/** From now on the store is there to work in. `sum`: of what was moved, by which its source is known again. */
export async function endArrival(ask: Ask, { id, sum }: { id: string; sum: string }): Promise<void> {
  await ask("update store set state = 'ready', source_sum = $2 where id = $1 and state = 'arriving'", [id, sum]);
}

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

/** How many sessions wait to be worked in a store, and whether someone works in it. */
export async function workIn(ask: Ask, store: string): Promise<{ waiting: number; isWorked: boolean }> {
  const [found] = await ask<{ waiting: number; isWorked: boolean }>(
    `select (select count(*)::int from work_inbox where store = $1 and kind <> 'dream') as waiting,
       exists (select from work_lease where store = $1 and owner is not null and until > clock_timestamp()) as "isWorked"`,
    [store],
  );
  return found as { waiting: number; isWorked: boolean };
}
