// A store moves into the database, or out of it into a directory.
// Promises: the source stays as it is until it is removed, which is a step of its own; what has arrived is compared with the
// source before it counts: every file, version, row and id; a move that was broken off goes on where it was, and what was
// changed meanwhile is not lost: it is told, and the move done again takes it along. A team's memory is not moved: the
// repository carries it.

import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { AppError } from '../../../base/errors.ts';
import {
  isDirectory,
  listNames,
  removeEmptyDirectories,
  removeTree,
  syncTree,
} from '../../../base/files/directories.ts';
import { makeDirectory, moveFile, readBytesNow, removeFile } from '../../../base/files/files.ts';
import { isCheckedInDir } from '../../../memory/home/paths.ts';
import { isLeased } from '../../../memory/ledger/job-rows.ts';
import { type Ledger, newId, openLedger, type Row } from '../../../memory/ledger/ledger.ts';
import { shaOf } from '../../../memory/ledger/version-rows.ts';
import { openStore } from '../../../memory/open.ts';
import type { Store } from '../../../memory/store/store.ts';
import type { Ask } from '../postgres.ts';
import type { FleetStores } from './fleet-stores.ts';
import { pageBytesOf, pagesOfFile } from './log-pages.ts';
import { arrive, beginArrival, bringWork, endArrival, sendWork, WORK_TABLES, workIn } from './move-rows.ts';
import { ReadingCopy } from './reading-copy.ts';
import { moveUses } from './recalls.ts';
import type { Fetch } from './stage.ts';
import {
  bytesOf,
  type Changes,
  readStore,
  releaseStore,
  removeStore,
  type StoreRow,
  storeFrom,
  storeRows,
  takeStore,
} from './store-rows.ts';

export interface Moved {
  outcome: 'moved' | 'removed';
  store: string;
  name: string;
  files: number;
  /** Of the ledger, in all tables. */
  rows: number;
  /** Bytes of pages and files that were sent or read now: less where a move goes on. */
  bytes: number;
  /** What stays in a directory that was removed, as it is none of the memory's. */
  left: string[];
}

/** Named before each is taken; tests end the process there. */
export type MoveStep = 'snapshot' | 'send' | 'compare' | 'end' | 'remove';

export interface Moving {
  stores: FleetStores;
  now: Date;
  /** Whether the source is removed once it has arrived. */
  removes: boolean;
  onStep?(step: MoveStep): void;
}

const BATCH_PAGES = 1_024;
const MOVE_LEASE_MS = 10 * 60_000;

/** Moves the memory of a directory into the database, under a name of its own there. */
export async function moveToDatabase(
  { dir, name, id = newId('memstore') }: { dir: string; name: string; id?: string },
  { stores, now, removes, onStep }: Moving,
): Promise<Moved> {
  if (!isDirectory(dir)) throw new AppError('bad-input', `There is no memory directory at ${dir}.`);
  if (isCheckedInDir(dir)) {
    throw new AppError('refused', `${dir} is a team's memory, which the repository carries: it is not moved.`);
  }
  const { ask } = stores.database;
  const store = await openStore(dir);
  try {
    await refuseInUse(store, now);
    const source = `${hostname()}:${store.dir}`;
    const before = censusOf(store);
    const rows = [...before.tables.values()].reduce((sum, table) => sum + table.rows, 0);
    const moved: Moved = { outcome: 'moved', store: id, name, files: before.files.size, rows, bytes: 0, left: [] };
    const known = await storeFrom(ask, source);
    if (known?.state === 'ready') {
      // It has arrived, and may have been worked in since.
      if (known.sum !== sumOf(before)) throw changedSince(store.dir, known.name);
      Object.assign(moved, { store: known.id, name: known.name });
    } else {
      onStep?.('snapshot');
      const changes = snapshotOf(store, join(stores.deps.place.root, `moving-${id}`));
      const arrival = await beginArrival(ask, { id, name: known?.name ?? name, source, changes });
      if (!arrival) {
        throw new AppError('bad-input', `The database has a store with the name ${name} already.`, {
          remedy: 'Give this one another: --name.',
        });
      }
      Object.assign(moved, { store: arrival.id, name: known?.name ?? name });
      onStep?.('send');
      for (const part of lacking(changes, arrival.arrived)) {
        await arrive(ask, arrival.id, part);
        moved.bytes += bytesOf(part);
        onStep?.('send');
      }
      onStep?.('compare');
      const copy = await copyOf(stores, arrival.id);
      try {
        await store.missing();
        const differs = difference(censusOf(store), censusOf(copy));
        if (differs) throw changedMeanwhile(store.dir, differs);
      } finally {
        copy.discard();
      }
      onStep?.('end');
      await sendWork(ask, arrival.id, store.ledger);
      await endArrival(ask, { id: arrival.id, sum: sumOf(before) });
    }
    if (!removes) return moved;
    onStep?.('remove');
    return { ...moved, outcome: 'removed', left: removeMemory(store, [...before.files.keys()]) };
  } finally {
    store.close();
  }
}

/** What is brought there from rows of its own: what was brought before is no difference. */
const KEPT_BESIDE = [...WORK_TABLES, 'topic_use'];

/** Moves a store of the database into a directory that is not there yet, or holds exactly this store. */
export async function moveToDirectory(
  { given, dir }: { given: string; dir: string },
  { stores, removes, onStep }: Moving,
): Promise<Moved> {
  const { ask } = stores.database;
  const { id, name } = oneStore(await storeRows(ask), given);
  await refuseWorkedIn(ask, { id, name });
  const taken = await takeStore(ask, { store: id, owner: `${hostname()}/move`, leaseMs: MOVE_LEASE_MS });
  if (!taken) {
    throw new AppError('conflict', `Another process writes to ${name}.`, { remedy: 'Try again when it is done.' });
  }
  let isThere = true;
  try {
    const copy = await copyOf(stores, id);
    try {
      if (listNames(dir).length === 0) {
        // Beside the directory, so that it is renamed into place.
        const beside = join(dirname(dir), `.${basename(dir)}.moving`);
        removeTree(beside);
        onStep?.('send');
        const made = (await copyOf(stores, id, beside)).handOver();
        syncTree(made);
        removeTree(dir);
        makeDirectory(dirname(dir));
        moveFile(made, dir);
        removeTree(beside);
      }
      onStep?.('compare');
      const store = await openStore(dir);
      const found = censusOf(store, KEPT_BESIDE);
      try {
        const differs = difference(found, censusOf(copy, KEPT_BESIDE));
        if (differs) throw notSame(dir, name, differs);
        await bringWork(ask, id, store.ledger);
        await moveUses(ask, { store: id, copy: copy.ledger, to: store.ledger });
      } finally {
        store.close();
      }
      const rows = [...found.tables.values()].reduce((sum, table) => sum + table.rows, 0);
      const bytes = copy.row.pages * copy.row.pageBytes;
      const moved: Moved = { outcome: 'moved', store: id, name, files: found.files.size, rows, bytes, left: [] };
      if (!removes) return moved;
      onStep?.('remove');
      await refuseWorkedIn(ask, { id, name });
      if (!(await removeStore(ask, { lease: taken.lease, on: taken.row }))) {
        throw new AppError('fenced', `${name} was taken over meanwhile; it was not removed.`);
      }
      isThere = false;
      return { ...moved, outcome: 'removed' };
    } finally {
      copy.discard();
    }
  } finally {
    if (isThere) await releaseStore(ask, taken.lease).catch(() => {});
  }
}

/** What waits in the database goes with the store there, and nobody would ever work it. */
async function refuseWorkedIn(ask: Ask, { id, name }: { id: string; name: string }): Promise<void> {
  const { waiting, isWorked } = await workIn(ask, id);
  if (isWorked) {
    throw new AppError('conflict', `A worker works on ${name}.`, { remedy: 'Move it when that is done.' });
  }
  if (waiting === 0) return;
  throw new AppError('refused', `${waiting} sessions wait to be extracted into ${name}.`, {
    remedy: 'Let a worker extract them; then move.',
  });
}

async function refuseInUse(store: Store, now: Date): Promise<void> {
  const missing = await store.missing();
  if (missing.length > 0) {
    throw new AppError('refused', `${missing.length} files of ${store.dir} are missing, ${missing[0]} among them.`, {
      remedy: 'Put them back, or take them as meant with nocturne dream --accept-missing; then move.',
    });
  }
  if (isLeased(store.ledger, { prefix: '', now })) {
    throw new AppError('conflict', `A worker works on ${store.dir}.`, { remedy: 'Move it when that is done.' });
  }
  const waiting = store.ledger.get<{ n: number }>("select count(*) as n from inbox where kind = 'extract'")?.n ?? 0;
  if (waiting === 0) return;
  throw new AppError(
    'refused',
    `${waiting} sessions wait to be extracted into ${store.dir}; they are on this machine.`,
    {
      remedy: 'Extract them first (nocturne worker --once); then move.',
    },
  );
}

/** The ledger without what belongs to this machine, as pages, and the files that it names. */
function snapshotOf(store: Store, beside: string): Changes {
  removeTree(beside);
  try {
    makeDirectory(join(beside, '.nocturne'));
    const path = join(beside, '.nocturne', 'ledger.db');
    store.ledger.copyTo(path);
    const ledger = openLedger(beside, undefined, { isCopy: true });
    const files: Changes['files'] = new Map();
    try {
      ledger.run('update memory set seen_modified = null, seen_changed = null');
      ledger.run('update lease set owner = null');
      ledger.run('delete from history_look');
      const heads = ledger.all<{ path: string; content: Buffer }>(
        `select memory.path, version.content from memory join version on version.id = memory.head
         where memory.path is not null and version.content is not null`,
      );
      for (const { path, content } of heads) files.set(path, content);
      ledger.emptyLog();
    } finally {
      ledger.close();
    }
    // Nobody has it open any more.
    const bytes = readBytesNow(path) as Buffer;
    return { pages: pagesOfFile(bytes), pageBytes: pageBytesOf(bytes), files };
  } finally {
    removeTree(beside);
  }
}

/** What has not arrived, in parts. */
function* lacking(
  { pages, files }: Changes,
  arrived: { pages: Map<number, string>; files: Map<string, string> },
): Generator<Pick<Changes, 'pages' | 'files'>> {
  const changed = [...pages.changed].filter(([number, bytes]) => arrived.pages.get(number) !== shaOf(bytes));
  const ofFiles: [string, Buffer | null][] = [...files].filter(
    ([path, bytes]) => arrived.files.get(path) !== shaOf(bytes),
  );
  for (const path of arrived.files.keys()) if (!files.has(path)) ofFiles.push([path, null]);
  for (let at = 0; at === 0 || at < Math.max(changed.length, ofFiles.length); at += BATCH_PAGES) {
    yield {
      pages: { count: pages.count, changed: new Map(changed.slice(at, at + BATCH_PAGES)) },
      files: new Map(ofFiles.slice(at, at + BATCH_PAGES)),
    };
  }
}

/** A copy, in whatever state the store is. */
function copyOf({ database, deps }: FleetStores, id: string, root = deps.place.root): Promise<ReadingCopy> {
  const fetch: Fetch = async (since, to) => {
    const row = await readStore(database, { id, since }, to);
    if (!row) throw new AppError('bad-input', `There is no memory store ${id} in the database.`);
    return row;
  };
  return ReadingCopy.make(id, fetch, { ...deps.place, root });
}

function oneStore(rows: StoreRow[], given: string): StoreRow {
  const found = rows.find(({ id, name }) => id === given || name === given);
  if (found?.state === 'ready') return found;
  throw new AppError('bad-input', `There is no memory store ${JSON.stringify(given)} in the database.`, {
    remedy: rows.length === 0 ? undefined : `There are: ${rows.map(({ name }) => name).join(', ')}.`,
  });
}

/** Removes the files of a memory and its state; answers what is left. */
function removeMemory(store: Store, paths: string[]): string[] {
  const { dir } = store;
  store.close();
  for (const path of paths) removeFile(join(dir, path));
  removeTree(join(dir, '.nocturne'));
  removeEmptyDirectories(dir);
  return listNames(dir);
}

function changedMeanwhile(dir: string, differs: string): AppError {
  return new AppError('conflict', `${dir} was changed while it was moved: ${differs}.`, {
    remedy: 'Nothing counts as moved. Run the same command again; it goes on from here.',
  });
}

function changedSince(dir: string, name: string): AppError {
  return new AppError('refused', `${dir} was changed since it was moved into the database as ${name}.`, {
    remedy: 'Nothing was changed or removed. Keep what is new in it elsewhere, then remove the directory yourself.',
  });
}

function notSame(dir: string, name: string, differs: string): AppError {
  return new AppError('refused', `${dir} does not hold what ${name} holds in the database: ${differs}.`, {
    remedy: 'Nothing was changed or removed. Name a directory that is not there yet.',
  });
}

/** What two stores are compared by: a sum for each file and each table, and how much there is. */
export interface Census {
  files: Map<string, string | null>;
  tables: Map<string, { rows: number; sum: string }>;
}

/** What is known of files by their dates, on one machine. */
const OF_A_MACHINE = ['history_look'];
/** Columns that say something of one machine, by table. */
const MACHINE_COLUMNS: Record<string, string[]> = {
  memory: ['seen_modified', 'seen_changed'],
  lease: ['owner', 'until'],
};

/** `leavingOut`: tables that are not compared. */
export function censusOf({ dir, ledger }: Pick<Store, 'dir' | 'ledger'>, leavingOut: string[] = []): Census {
  const heads = ledger.all<{ path: string }>(
    `select memory.path from memory join version on version.id = memory.head
     where memory.path is not null and version.sha is not null`,
  );
  const files = new Map(heads.map(({ path }) => [path, shaOf(readBytesNow(join(dir, path)))]));
  const tables = tablesOf(ledger).filter((table) => !leavingOut.includes(table));
  return { files, tables: new Map(tables.map((table) => [table, censusOfTable(ledger, table)])) };
}

/** The first difference, as a sentence without its stop; null where there is none. */
export function difference(a: Census, b: Census): string | null {
  for (const path of new Set([...a.files.keys(), ...b.files.keys()])) {
    if (a.files.get(path) !== b.files.get(path)) return `the file ${path} differs`;
  }
  for (const table of new Set([...a.tables.keys(), ...b.tables.keys()])) {
    const [here, there] = [a.tables.get(table), b.tables.get(table)];
    if (here?.sum !== there?.sum) return `rows of ${table} differ (${here?.rows ?? 'none'}, ${there?.rows ?? 'none'})`;
  }
  return null;
}

/** One sum of all. */
export function sumOf({ files, tables }: Census): string {
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  return shaOf(JSON.stringify([sorted, [...tables].map(([table, { sum }]) => [table, sum])]));
}

/** By name; what a full-text index keeps is in tables beside it. */
function tablesOf(ledger: Ledger): string[] {
  const sql = `select name from main.sqlite_master where type = 'table' and sql not like 'create virtual table%' order by name`;
  return ledger.all<{ name: string }>(sql).flatMap(({ name }) => (OF_A_MACHINE.includes(name) ? [] : name));
}

function censusOfTable(ledger: Ledger, table: string): { rows: number; sum: string } {
  const leftOut = MACHINE_COLUMNS[table] ?? [];
  const rows = ledger.all<Row>(`select * from main."${table}"`).map((row) => sumOfRow(row, leftOut));
  return { rows: rows.length, sum: shaOf(rows.sort().join()) };
}

function sumOfRow(row: Row, leftOut: string[]): string {
  const sum = createHash('sha256');
  for (const [column, value] of Object.entries(row)) {
    if (leftOut.includes(column)) continue;
    const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value));
    sum.update(`${column}:${value === null ? 'null' : typeof value}:${bytes.length}:`).update(bytes);
  }
  return sum.digest('hex');
}
