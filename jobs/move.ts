// Move: a memory goes from this machine's database into the one that machines share, or back.
//
// 1. Put it aside where it is: nobody commits to it any more, and `undo` with its id brings it back.
// 2. In one transaction there: every row of it, in place of what an earlier move left.
//
// Promises: a memory counts in one database only, and there whole; the source keeps its rows, as of what was deleted, and its
// files; broken off, it is called again. What was spent counts for the day where it was; a team's memory is git's to carry.

import type { Config } from '../src/base/config/config.ts';
import { AppError } from '../src/base/errors.ts';
import { canonicalPath, isDirectory, listFiles } from '../src/base/files/directories.ts';
import { openDatabase } from '../src/db/open-database.ts';
import { type Db, insert, type Row, replace, type Sql } from '../src/db/sql.ts';
import { lookInto } from '../src/memory/commit.ts';
import { Memories, type MemoryRow } from '../src/memory/memories.ts';
import { isCheckedIn } from '../src/memory/paths.ts';
import { memoryDirFor } from '../src/memory/places.ts';

interface MoveReport {
  memory: string;
  name: string;
  files: number;
  /** Of all its tables. */
  rows: number;
  /** Its working copy, or the directory that stands for it now; null: none on this machine. */
  dir: string | null;
}

interface Table {
  name: string;
  /** `#` stands for the id of the memory. */
  where: string;
  order: string;
  /** Columns that each database has for itself. */
  own?: string[];
}

const CHANGES = `select change from version where memory = # union
  select change.id from change join job on job.id = change.job where job.memory = #`;

/** In the order in which they refer to one another. */
const TABLES: Table[] = [
  { name: 'file', where: 'memory = #', order: 'id', own: ['placed', 'seen', 'missing_since'] },
  { name: 'job', where: 'memory = #', order: 'created_at, id' },
  { name: 'version', where: 'memory = #', order: 'seq', own: ['seq'] },
  { name: 'change', where: `id in (${CHANGES})`, order: 'n', own: ['n'] },
  { name: 'session', where: 'memory = #', order: 'id' },
  { name: 'piece', where: 'session in (select id from session where memory = #)', order: 'session, n' },
  { name: 'turn', where: 'memory = #', order: 'session, id, begins' },
  { name: 'entry', where: 'memory = #', order: 'id' },
  { name: 'rests', where: 'memory = #', order: 'file, line, source' },
  { name: 'line', where: 'memory = #', order: 'file, text', own: ['id'] },
  { name: 'proposal', where: 'memory = #', order: 'id' },
  {
    name: 'undo',
    // Of a change of several memories, what it did to this one; `key` is a list that begins with an id.
    where: `change in (${CHANGES}) and (tbl in ('entry', 'rests', 'snapshot_base') and key like '["' || # || '"%'
      or tbl = 'turn' and substr(key, 3, 32) in (select id from session where memory = #)
      or tbl = 'proposal' and substr(key, 3, length(key) - 4) in (select id from proposal where memory = #))`,
    order: 'change, n',
  },
  { name: 'inbox', where: 'memory = #', order: 'kind, key', own: ['id', 'owner', 'until'] },
  { name: 'recalled', where: 'memory = #', order: 'session, request' },
  { name: 'topic_use', where: 'memory = #', order: 'file' },
  { name: 'snapshot_base', where: 'memory = #', order: 'path' },
  { name: 'call', where: 'job in (select id from job where memory = #)', order: 'id' },
];
const MEMORY: Table = { name: 'memory', where: 'id = #', order: 'id' };
/** Columns, never filled, of a database that was made before they went. */
const FORMER = ['read_to', 'prefix_sha', 'ignored', 'seen_at', 'paused_until'];
const AT_ONCE = 64;

/** `given`: its id, its name or its directory; default: what is kept of this project. */
export async function betweenDatabases(
  given: string | undefined,
  config: Config,
  target: 'database' | 'home',
): Promise<MoveReport> {
  const { home, clock, databaseUrl } = config;
  const opened: Db[] = [];
  const open = async (url?: string) => {
    const db = await openDatabase({ home, url });
    opened.push(db);
    return new Memories({ db, home, clock });
  };
  try {
    const [here, shared] = [await open(), await open(databaseUrl)];
    const [from, to] = target === 'database' ? [here, shared] : [shared, here];
    try {
      return await move(await idOf(given, { from, to, config }), { from, to });
    } finally {
      await from.close();
      await to.close();
    }
  } finally {
    for (const db of opened) await db.close();
  }
}

async function idOf(
  given: string | undefined,
  { from, to, config }: { from: Memories; to: Memories; config: Config },
): Promise<string> {
  const dir = canonicalPath(given ?? memoryDirFor(config, {}));
  const select = `select distinct memory.id from memory left join place on place.memory = memory.id and place.machine = ?
    where (memory.id = ? or memory.name = ? or place.path = ? or memory.machine = ? and dir = ?)`;
  const values = [from.machine, given ?? '', given ?? '', dir, from.machine, dir];
  const ids = (sql: Sql, more: string) => sql.all<{ id: string }>(`${select} and ${more}`, ...values);
  const found = await ids(from.db, 'deleted_at is null');
  // One whose move was broken off.
  const aside = found.length > 0 ? found : await ids(from.db, 'deleted_at is not null order by memory.id');
  const [first, ...others] = aside;
  if (first && others.length === 0) return first.id;
  const what = `There ${first ? `are ${aside.length} memories` : 'is no memory'} ${given ?? dir}`;
  const remedy = first ? `Give an id: ${aside.map(({ id }) => id).join(', ')}.` : 'nocturne stores list shows them.';
  throw new AppError('bad-input', `${what} in ${from.db.name}, to go to ${to.db.name}.`, { remedy });
}

export async function move(id: string, { from, to }: { from: Memories; to: Memories }): Promise<MoveReport> {
  const { source: known, there } = await sourceOf(id, { from, to });
  const { name } = known;
  if (known.deleted_at === null) {
    await from.of(id);
    await lookInto(from, { memory: id, paths: 'all' });
  }
  // 1.
  const at = from.clock.now().toISOString();
  const source = await from.db.write(async (sql) => {
    await sql.get(`select 1 from memory where id = ?${from.db.lock.wait}`, id);
    const waiting = await sql.get("select kind from inbox where memory = ? and state = 'waiting'", id);
    if (waiting)
      throw new AppError('refused', `There is work waiting or running on ${name}.`, {
        remedy: 'Let a worker do it (nocturne worker --once), and move it then.',
      });
    await sql.run('update memory set deleted_at = coalesce(deleted_at, ?) where id = ?', at, id);
    return (await sql.get<MemoryRow>('select * from memory where id = ?', id)) as MemoryRow;
  });
  // 2.
  let mayCount = false;
  try {
    const dir = await placeFor({ source, there }, { from, to });
    mayCount = true;
    const rows = await to.db.write((sql) => bring({ source, dir }, { sql, from: from.db, to }));
    await to.of(id);
    await lookInto(to, { memory: id, paths: 'all' });
    return { memory: id, name, files: source.files, rows, dir };
  } catch (error) {
    // Where it is not known whether it counts there it stays aside here.
    const counts = 'select 1 from memory where id = ? and deleted_at is null';
    const isThere = mayCount && (await to.db.get(counts, id).catch(() => true));
    if (!isThere) await from.db.run('update memory set deleted_at = null where id = ?', id);
    throw error;
  }
}

/** Writes it there, in place of what is left of it; answers how many rows. */
async function bring(
  { source, dir }: { source: MemoryRow; dir: string | null },
  { sql, from, to: { db, machine } }: { sql: Sql; from: Sql; to: Memories },
): Promise<number> {
  const { id } = source;
  const isDirectory = db.engine === 'sqlite' && dir !== null;
  const placed = isDirectory ? await stateOfFiles(sql, id) : undefined;
  for (const { name, where } of TABLES.toReversed()) {
    const { text, values } = filled(where, id);
    // Another memory may have a part in a change.
    if (name !== 'change') await sql.run(`delete from ${name} where ${text}`, ...values);
  }
  const place = isDirectory ? { dir, machine } : NOWHERE;
  const [row] = await pageOf(from, MEMORY, id, 0);
  await replace(sql, 'memory', ['id'], { ...row, ...place, deleted_at: null });
  let count = 1;
  for (const table of TABLES) {
    for (let at = 0; ; ) {
      const page = await pageOf(from, table, id, at);
      const rows = table.name === 'file' ? page.map((row) => ({ ...row, ...stateIn(placed, row) })) : page;
      const or = table.name === 'change' ? 'on conflict (id) do update set undone_by = excluded.undone_by' : '';
      await insert(sql, table.name, rows, or);
      count += page.length;
      at += page.length;
      if (page.length < AT_ONCE) break;
    }
  }
  if (db.engine === 'postgres' && dir !== null)
    await replace(sql, 'place', ['machine', 'path'], { machine, path: dir, memory: id });
  return count;
}

const NOWHERE = { dir: null, machine: null };

async function sourceOf(id: string, { from, to }: { from: Memories; to: Memories }) {
  const select = 'select * from memory where id = ?';
  const [source, there] = [await from.db.get<MemoryRow>(select, id), await to.db.get<MemoryRow>(select, id)];
  if (there && there.deleted_at === null) {
    throw new AppError('refused', `${there.name} is in ${to.db.name} already.`, {
      remedy: 'The one that is used is there; the old copy here is kept until versionDays are over.',
    });
  }
  if (!source) {
    throw new AppError('bad-input', `There is no memory ${id} in ${from.db.name}.`, {
      remedy: 'nocturne stores list shows them all.',
    });
  }
  if (isCheckedIn(source.dir))
    throw new AppError('refused', `${source.dir} is a team's memory, which the repository carries: it is not moved.`);
  return { source, there };
}

/** The directory of this machine that it has there. Errors: `refused` where something else is in it. */
async function placeFor(
  { source, there }: { source: MemoryRow; there: MemoryRow | undefined },
  { from, to }: { from: Memories; to: Memories },
): Promise<string | null> {
  if (from.db.engine === 'sqlite') return source.dir;
  const select = 'select path from place where memory = ? and machine = ? order by path';
  const known = await from.db.get<{ path: string }>(select, source.id, from.machine);
  const dir = there?.dir ?? known?.path ?? null;
  if (dir === null) return null;
  const live = 'select 1 from memory where machine = ? and dir = ? and deleted_at is null';
  const isOthers = (await to.db.get(live, to.machine, dir)) !== undefined;
  const isNew = there?.dir == null && isDirectory(dir);
  const isUsed = isOthers || (isNew && listFiles(dir).some((path) => path.endsWith('.md')));
  if (isUsed)
    throw new AppError('refused', `${dir} has another memory in it.`, { remedy: 'Move that directory away first.' });
  return dir;
}

type FileState = Row & { id: string };

/** How the files of the working copy stood when the memory was put aside. */
async function stateOfFiles(sql: Sql, memory: string): Promise<Map<string, FileState>> {
  const rows = await sql.all<FileState>('select id, placed, seen, missing_since from file where memory = ?', memory);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Files as they stand in the directory there. */
function stateIn(fill: Map<string, FileState> | undefined, { id }: Row): Row {
  if (!fill) return { placed: null };
  return fill.get(String(id)) ?? { placed: '', seen: null, missing_since: null };
}

async function pageOf(sql: Sql, { name, where, order, own = [] }: Table, memory: string, at: number): Promise<Row[]> {
  const { text, values } = filled(where, memory);
  const select = `select * from ${name} where ${text} order by ${order} limit ${AT_ONCE} offset ?`;
  const rows = await sql.all<Row>(select, ...values, at);
  for (const row of rows) for (const column of [...own, ...FORMER]) delete row[column];
  return rows;
}

function filled(where: string, memory: string) {
  const values = [...where.matchAll(/#/g)].map(() => memory);
  return { text: where.replaceAll('#', '?'), values };
}
