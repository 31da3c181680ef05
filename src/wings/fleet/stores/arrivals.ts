// A store on its way into the database: what has arrived of it already is known, so that a move that was broken off goes on.
// Promises: nobody works in a store that has not arrived whole.

import type { Ask } from '../database.ts';
import type { Changes } from './rows.ts';

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
    `insert into store (id, name, source, state, revision, pages, page_bytes, ledger_version)
     values ($1, $2, $3, 'arriving', 0, $4, $5, $6) on conflict (name) do update
     set pages = excluded.pages, page_bytes = excluded.page_bytes, ledger_version = excluded.ledger_version
     where store.state = 'arriving' and store.source = $3 returning id`,
    [id, name, source, changes.pages.count, changes.pageBytes, changes.ledgerVersion],
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
