// What the database keeps of a memory store: its ledger as SQLite pages, its files as bytes, and one row that says at which
// revision it is and who may write. Nothing is shared between stores.
// Promises: each function is one statement, so it is done whole or not at all, whatever becomes of the process that asked; a
// revision is only made by who holds the fence, on the revision that it saw; what a revision replaces stands in no row.
// Leases are by the database's time. What is done to them does not wait for the database's disk: a revision does, and what came
// before it with it. Where the database dies in between, a lease of before counts no more: it may be taken again under the same
// fence, so its owner is compared, too.

import type { Lease } from '../../../memory/ledger/job-rows.ts';
import type { Ask, Database } from '../postgres.ts';
import type { Pages } from './log-pages.ts';

/** A member that was not seen for so long counts as gone. */
export const MEMBER_GONE_MS = 60_000;
/** Of the commits that were checked in, so many revisions back are remembered. */
const REMEMBERED_REVISIONS = 1_000;
/** Bytes that are asked for at once. */
const BATCH_BYTES = 4 * 2 ** 20;

export interface StoreRow {
  id: string;
  name: string;
  /** `arriving` until a move into the database is done; `removed` while it is put aside. */
  state: 'arriving' | 'ready' | 'removed';
  revision: number;
  lineage: string;
  /** Pages of the ledger, and bytes of each. */
  pages: number;
  pageBytes: number;
}

/** The right to make the next revision of a store. */
export interface StoreLease {
  store: string;
  owner: string;
  fence: number;
}

/** The transaction of a statement in which this was asked is at its end before it is on the database's disk. */
const HURRYING = `hurrying as materialized (select set_config('synchronous_commit', 'off', true))`;
const HURRIES = 'exists (select from hurrying)';

const ROW = `id, name, state, revision, lineage, pages, page_bytes as "pageBytes"`;

export async function storeRow(ask: Ask, id: string): Promise<StoreRow | null> {
  return (await ask<StoreRow>(`select ${ROW} from store where id = $1`, [id]))[0] ?? null;
}

/** `source`: the machine and its directory that a store stands for; null: none. */
export async function storeRows(ask: Ask): Promise<(StoreRow & { source: string | null })[]> {
  return ask(`select ${ROW}, source from store order by created_at, id`);
}

/** Takes the lease, and answers the row as it is now; null where another holds it, or there is no such store to write. */
export async function takeStore(
  ask: Ask,
  { store, owner, leaseMs }: { store: string; owner: string; leaseMs: number },
): Promise<{ row: StoreRow; lease: StoreLease } | null> {
  const [row] = await ask<StoreRow & { fence: number }>(
    `with ${HURRYING}
     update store set fence = fence + 1, owner = $2, until = clock_timestamp() + $3 * interval '1 millisecond'
     where ${HURRIES} and id = $1 and state = 'ready' and (owner is null or until < clock_timestamp()) returning ${ROW}, fence`,
    [store, owner, leaseMs],
  );
  return row ? { row, lease: { store, owner, fence: row.fence } } : null;
}

/** Makes the lease last longer; false where it is lost. */
export async function renewStore(ask: Ask, { store, owner, fence }: StoreLease, leaseMs: number): Promise<boolean> {
  const renewed = await ask(
    `with ${HURRYING} update store set until = clock_timestamp() + $4 * interval '1 millisecond'
     where ${HURRIES} and id = $1 and fence = $2 and owner = $3 returning 1 as one`,
    [store, fence, owner, leaseMs],
  );
  return renewed.length === 1;
}

export async function releaseStore(ask: Ask, { store, owner, fence }: StoreLease): Promise<void> {
  await ask(
    `with ${HURRYING} update store set owner = null, until = null
     where ${HURRIES} and id = $1 and fence = $2 and owner = $3`,
    [store, fence, owner],
  );
}

/** What a commit changed. */
export interface Changes {
  pages: Pages;
  pageBytes: number;
  /** Null: the file is gone. */
  files: Map<string, Buffer | null>;
  /** How often something was forgotten, as the ledger counts. */
  forgotten?: number;
}

/** The bytes of a change as they are sent. */
export function bytesOf({ pages, files }: Pick<Changes, 'pages' | 'files'>): number {
  const ofFiles = [...files.values()].reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0);
  return [...pages.changed.values()].reduce((sum, bytes) => sum + bytes.length, ofFiles);
}

/** The lease under which work is done that ends in a change, where it is a row of the database (work/tables.ts). */
export type WorkLease = Pick<Lease, 'key' | 'owner' | 'fence' | 'item'>;

/**
 * Makes the next revision of a store and lets the lease go; answers its number. Null where the store is at another revision
 * by now, its lease or that of the work (`only`) was taken by another, or the work's item is gone: nothing is changed.
 */
export async function checkIn(
  ask: Ask,
  { lease, on, id, changes, only }: { lease: StoreLease; on: StoreRow; id: string; changes: Changes; only?: WorkLease },
): Promise<number | null> {
  const numbers = [...changes.pages.changed.keys()];
  const kept = [...changes.files].filter((file): file is [string, Buffer] => file[1] !== null);
  const gone = [...changes.files].flatMap(([path, bytes]) => (bytes === null ? path : []));
  let end = 1;
  const starts = kept.map(([, bytes]) => {
    end += bytes.length;
    return end - bytes.length;
  });
  // Locked, so that nobody takes it, nor the item that is worked, before the change is there.
  const held = only
    ? 'select from work_lease where store = $1 and key = $17 and owner = $18 and fence = $19 for share'
    : 'select';
  const wanted =
    only?.item === undefined ? 'select' : 'select from work_inbox where store = $1 and id = $20::bigint for share';
  const [made] = await ask<{ revision: number }>(
    `with held as materialized (${held}), wanted as materialized (${wanted}), made as (
       update store set revision = revision + 1, pages = $5::int, page_bytes = $6::int, owner = null, until = null,
         forgotten = greatest(forgotten, $16::int)
       where id = $1 and state = 'ready' and revision = $2 and lineage = $3 and fence = $4 and owner = $15
         and exists (select from held) and exists (select from wanted) returning id as store, revision),
     fewer_pages as (delete from page using made where page.store = made.store and number > $5),
     new_pages as (insert into page select store, n, revision, substring($8::bytea from ((nth - 1) * $6::int + 1)::int for $6::int)
       from made, unnest($7::int[]) with ordinality as given (n, nth)
       on conflict (store, number) do update set revision = excluded.revision, bytes = excluded.bytes),
     fewer_files as (delete from file using made where file.store = made.store and path = any($9::text[])),
     new_files as (insert into file select store, path, revision, substring($13::bytea from start for size)
       from made, unnest($10::text[], $11::int[], $12::int[]) as given (path, start, size)
       on conflict (store, path) do update set revision = excluded.revision, bytes = excluded.bytes),
     fewer_checkins as (delete from checkin using made
       where checkin.store = made.store and checkin.revision < made.revision - ${REMEMBERED_REVISIONS}),
     unrecalled as (delete from recalled using made, store
       where recalled.store = made.store and store.id = made.store and store.forgotten < $16::int),
     noted as (insert into checkin select store, $14, revision from made)
     select revision from made`,
    [
      ...[lease.store, on.revision, on.lineage, lease.fence],
      ...[changes.pages.count, changes.pageBytes],
      ...[numbers, Buffer.concat([...changes.pages.changed.values()])],
      ...[gone, kept.map(([path]) => path), starts, kept.map(([, bytes]) => bytes.length)],
      ...[Buffer.concat(kept.map(([, bytes]) => bytes)), id, lease.owner, changes.forgotten ?? 0],
      ...(only ? [only.key, only.owner, only.fence] : []),
      ...(only?.item === undefined ? [] : [only.item]),
    ],
  );
  return made?.revision ?? null;
}

/**
 * The revision of a commit that was checked in although its answer was lost, or null, so that nothing changes it any more: what
 * may still be under way in the database is waited for, or finds its fence gone.
 */
export async function wasCheckedIn(ask: Ask, { store, owner, fence }: StoreLease, id: string): Promise<number | null> {
  await ask(
    'update store set fence = fence + 1, owner = null, until = null where id = $1 and fence = $2 and owner = $3',
    [store, fence, owner],
  );
  // A lease that another took since waited for it, too. This is asked apart: the statement above sees only what was before it.
  const [row] = await ask<{ revision: number }>('select revision from checkin where store = $1 and id = $2', [
    store,
    id,
  ]);
  return row?.revision ?? null;
}

/** Says that a process is alive. */
export async function beSeen(ask: Ask, member: string): Promise<void> {
  await ask(
    'insert into member values ($1, clock_timestamp()) on conflict (id) do update set seen_at = excluded.seen_at',
    [member],
  );
}

export async function leave(ask: Ask, member: string): Promise<void> {
  await ask('delete from member where id = $1', [member]);
}

/** Told what a store holds, in this order. */
export interface Reading {
  onRow(row: StoreRow): void;
  /** Pages one after the other. */
  onPages(numbers: number[], bytes: Buffer): void;
  /** Of all files, read or not. */
  onPaths(paths: Set<string>): void;
  onFile(path: string, bytes: Buffer): void;
}

/** Reads the row and what was made after revision `since`; -1: all. Null where the store is not there. */
export async function readStore(
  database: Pick<Database, 'readAtOnce'>,
  { id, since, isLedgerAlone = false }: { id: string; since: number; isLedgerAlone?: boolean },
  to: Reading,
): Promise<StoreRow | null> {
  return database.readAtOnce(async (ask) => {
    const row = await storeRow(ask, id);
    if (!row) return null;
    to.onRow(row);
    const most = Math.max(1, Math.floor(BATCH_BYTES / row.pageBytes));
    for (let last = 0, isMore = true; isMore; ) {
      const [found] = await ask<{ numbers: number[] | null; bytes: Buffer }>(
        `select array_agg(number order by number) as numbers, string_agg(bytes, ''::bytea order by number) as bytes
         from (select number, bytes from page where store = $1 and revision > $2 and number > $3 order by number limit $4) as found`,
        [id, since, last, most],
      );
      const numbers = found?.numbers ?? [];
      if (found && numbers.length > 0) to.onPages(numbers, found.bytes);
      last = numbers.at(-1) ?? 0;
      isMore = numbers.length === most;
    }
    if (isLedgerAlone) return row;
    const files = await ask<{ path: string; size: number; revision: number }>(
      'select path, length(bytes) as size, revision from file where store = $1 order by path',
      [id],
    );
    to.onPaths(new Set(files.map(({ path }) => path)));
    for (const batch of batchesOf(files.filter(({ revision }) => revision > since))) {
      const [found] = await ask<{ bytes: Buffer }>(
        `select string_agg(bytes, ''::bytea order by path) as bytes from file where store = $1 and path = any($2::text[])`,
        [id, batch.map(({ path }) => path)],
      );
      let at = 0;
      for (const { path, size } of batch) {
        to.onFile(path, found?.bytes.subarray(at, at + size) ?? Buffer.alloc(0));
        at += size;
      }
    }
    return row;
  });
}

/** The store that was moved from this source, or is being moved. */
export async function storeFrom(
  ask: Ask,
  source: string,
): Promise<{ id: string; name: string; state: StoreRow['state']; sum: string | null } | null> {
  return (
    (
      await ask<{ id: string; name: string; state: StoreRow['state']; sum: string | null }>(
        'select id, name, state, source_sum as sum from store where source = $1',
        [source],
      )
    )[0] ?? null
  );
}

export interface NewStore {
  id: string;
  /** Default: its id. */
  name?: string;
  source?: string;
  tenant?: string | null;
  ledger: Omit<Changes, 'files'>;
  /** The store whose files it has, at this revision; default: none. */
  files?: { of: string; revision: number; lineage: string };
}

/**
 * Adds a store that is ready. `isAdded`: not where its id, name or source is another's, which stays as it is; `isAt`: not where
 * the store whose files it is to have is at another revision by now.
 */
export async function addStore(
  ask: Ask,
  { id, name = id, source, tenant, ledger, files }: NewStore,
): Promise<{ isAdded: boolean; isAt: boolean }> {
  const { pages, pageBytes } = ledger;
  const origin = files ? 'select from store where id = $9 and revision = $10 and lineage = $11' : 'select';
  const copied = files
    ? ', files as (insert into file select id, path, 0, bytes from made, (select path, bytes from file where store = $9) as found)'
    : '';
  const [found] = await ask<{ isAdded: boolean; isAt: boolean }>(
    `with origin as materialized (${origin}),
     made as (insert into store (id, name, source, tenant, state, revision, pages, page_bytes)
       select $1, $2, $3, $4, 'ready', 0, $5, $6::int from origin on conflict do nothing returning id),
     pages as (insert into page select id, n, 0, substring($8::bytea from ((nth - 1) * $6::int + 1)::int for $6::int)
       from made, unnest($7::int[]) with ordinality as given (n, nth))${copied}
     select exists (select from made) as "isAdded", exists (select from origin) as "isAt"`,
    [
      ...[id, name, source ?? null, tenant ?? null, pages.count, pageBytes],
      ...[[...pages.changed.keys()], Buffer.concat([...pages.changed.values()])],
      ...(files ? [files.of, files.revision, files.lineage] : []),
    ],
  );
  return found as { isAdded: boolean; isAt: boolean };
}

/** Of these processes, those that no member is of which was seen lately. */
export async function goneProcesses(ask: Ask, processes: string[]): Promise<Set<string>> {
  const gone = await ask<{ process: string }>(
    `select process from unnest($1::text[]) as given (process) where not exists (select from member
       where split_part(id, '/', 1) = process and seen_at > clock_timestamp() - $2 * interval '1 millisecond')`,
    [processes, MEMBER_GONE_MS],
  );
  return new Set(gone.map(({ process }) => process));
}

/** Removes a store with all that it holds, under the lease and at this revision; false where it is another by now. */
export async function removeStore(ask: Ask, { lease, on }: { lease: StoreLease; on: StoreRow }): Promise<boolean> {
  const gone = await ask(
    `with gone as (delete from store where id = $1 and fence = $2 and revision = $3
       and not exists (select from work_inbox where store = $1 and kind <> 'dream') returning id),
     pages as (delete from page using gone where store = gone.id),
     files as (delete from file using gone where store = gone.id),
     checkins as (delete from checkin using gone where store = gone.id)
     select id from gone`,
    [lease.store, lease.fence, on.revision],
  );
  return gone.length === 1;
}

function batchesOf<File extends { size: number }>(files: File[]): File[][] {
  const batches: File[][] = [];
  let room = 0;
  for (const file of files) {
    if (room < file.size || batches.length === 0) {
      batches.push([]);
      room = BATCH_BYTES;
    }
    batches.at(-1)?.push(file);
    room -= file.size;
  }
  return batches;
}
