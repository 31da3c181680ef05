// Which memories a caller of the server sees: those it made, those that its key names, or all of its tenant; a project's only where
// the server was asked for those. What it does not see is not there for it. And pages of lists, by the key of their last row.

import { hash } from 'node:crypto';
import { isKept } from '../../jobs/client-dream.ts';
import type { Db, Value } from '../db/sql.ts';
import type { By } from '../memory/commit.ts';
import { type MemoryRow, memoryRow } from '../memory/memories.ts';
import { MemoryFiles, type OfSecrets } from '../memory/memory-files.ts';
import { isCheckedIn } from '../memory/paths.ts';
import { isSent, type SessionRow, sessionsNamed } from '../memory/session-rows.ts';
import { forbidden, invalid, missing } from './api-shapes.ts';
import type { Asker, Call } from './endpoint.ts';

interface Flags {
  /** The key that made it. */
  owner?: string;
  allowsSecrets?: boolean;
}

function flagsOf({ flags }: Pick<MemoryRow, 'flags'>): Flags {
  return JSON.parse(flags);
}

/** Whether a repository carries the memory, so that it is changed there alone. */
export function isTeams({ dir }: MemoryRow): boolean {
  return isCheckedIn(dir);
}

export function isVisible(row: MemoryRow, { caller, deps }: Asker): boolean {
  if (row.tenant !== caller.tenant && caller.tenant !== '') return false;
  if (flagsOf(row).owner === caller.id) return true;
  if (caller.memories === 'all') return row.scope === 'store' || deps.withProjects;
  return caller.memories.includes(row.id);
}

/** The memory that a request names, as its caller sees it. Throws 404. */
export function storeOf(call: Call): Promise<MemoryRow> {
  return storeNamed(call.params.store as string, call);
}

export async function storeNamed(id: string, by: Asker): Promise<MemoryRow> {
  const { db } = by.deps.memories;
  const row = await db.get<MemoryRow>('select * from memory where id = ? and deleted_at is null', id);
  if (row && isVisible(row, by)) return row;
  throw missing('memory store');
}

/** The sessions of a name that a caller may read, the newest first: those that were sent and are kept, and those of projects. */
export async function sessionsSeen(name: string, by: Asker): Promise<{ row: SessionRow; store: MemoryRow }[]> {
  const { memories, config } = by.deps;
  const kept = { now: memories.clock.now(), days: config.sessionDays };
  const seen = [];
  for (const row of await sessionsNamed(memories.db, name)) {
    const store = await memoryRow(memories.db, row.memory);
    const mayBe = isSent(row) ? isKept(row, kept) : store?.scope === 'project';
    if (store && mayBe && isVisible(store, by)) seen.push({ row, store });
  }
  return seen;
}

/** The files of it, to be read. */
export async function filesOf(call: Call): Promise<MemoryFiles> {
  const row = await storeOf(call);
  return filesIn(row, call, { secrets: flagsOf(row).allowsSecrets ? 'keep' : 'refuse' });
}

export async function filesIn(
  { id }: MemoryRow,
  { deps: { memories } }: Asker,
  how: { secrets: OfSecrets },
): Promise<MemoryFiles> {
  return new MemoryFiles(memories, await memories.of(id), how);
}

/** The files of it, to be changed. `isArchivedFine`: what goes may go from an archived memory, too. */
export async function writableFilesOf(call: Call, { isArchivedFine = false } = {}): Promise<MemoryFiles> {
  const files = await filesOf(call);
  if (isTeams(files.memory))
    throw forbidden("A team's memory is changed in its repository alone: nocturne share, or git.");
  if (!isArchivedFine) refuseArchived(files.memory);
  return files;
}

export function refuseArchived({ archived_at: at }: MemoryRow): void {
  if (at === null) return;
  throw invalid(`This memory store was archived at ${at}: it is only read.`);
}

export function byOf({ caller }: Asker): By {
  return { job: caller.id, actor: { kind: 'api', id: caller.id } };
}

/** Where a page of a list ended, for its next one: it holds for the same list with the same filters and the same key alone. */
export function cursorOf(last: readonly Value[], of: readonly unknown[]): string {
  return `page_${Buffer.from(JSON.stringify([sumOf(of), ...last])).toString('base64url')}`;
}

/** What `cursorOf` was given; undefined for a first page. Throws 400 for a cursor of another list. */
export function placeOf(page: string | undefined, of: readonly unknown[]): string[] | undefined {
  if (page === undefined) return undefined;
  try {
    const [sum, ...last] = JSON.parse(Buffer.from(page.replace(/^page_/, ''), 'base64url').toString());
    if (sum === sumOf(of) && last.every((each: unknown) => typeof each === 'string')) return last;
  } catch {
    // What cannot be read is no cursor of this list either.
  }
  throw invalid(
    'page: it is no cursor of this list. Use next_page of the page before, with the same filters and the same key.',
  );
}

/** Rows that are read at a time until there are as many as are asked for of what the caller sees. */
const READ_AT_A_TIME = 200;

interface Listed<Row> {
  table: 'memory' | 'job';
  /** Each with its values; null: the caller has not asked for it. */
  conditions: ([sql: string, ...values: Value[]] | null)[];
  isSeen(row: Row): boolean | Promise<boolean>;
}

/** What a caller sees of a table, newest first. `after`: when what came before it was made, and its id. */
async function newestSeen<Row extends { created_at: string; id: string }>(
  db: Db,
  { table, conditions, isSeen }: Listed<Row>,
  { limit = Infinity, after }: { limit?: number; after?: string[] } = {},
): Promise<Row[]> {
  const seen: Row[] = [];
  let place = after;
  for (let isEnd = false; !isEnd && seen.length < limit; ) {
    const behind: [string, ...Value[]] | null = place ? ['(created_at, id) < (?, ?)', ...place] : null;
    const all = [...conditions, behind].filter((each) => each !== null);
    const rows = await db.all<Row>(
      `select * from ${table} where ${all.map(([sql]) => sql).join(' and ')} order by created_at desc, id desc limit ?`,
      ...all.flatMap(([, ...values]) => values),
      READ_AT_A_TIME,
    );
    for (const row of rows) if (seen.length < limit && (await isSeen(row))) seen.push(row);
    const last = rows.at(-1);
    isEnd = rows.length < READ_AT_A_TIME;
    if (last) place = [last.created_at, last.id];
  }
  return seen;
}

/** One page of such a list, as it goes over the wire. `of`: what its cursor holds for. */
export async function newestPage<Row extends { created_at: string; id: string }, Shape>(
  db: Db,
  listed: Listed<Row>,
  { limit, page, of, shape }: { limit: number; page?: string; of: readonly unknown[]; shape(row: Row): Shape },
): Promise<{ data: Shape[]; next_page: string | null }> {
  const rows = await newestSeen(db, listed, { limit: limit + 1, after: placeOf(page, of) });
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { data: rows.slice(0, limit).map(shape), next_page: last ? cursorOf([last.created_at, last.id], of) : null };
}

function sumOf(of: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(of)).slice(0, 16);
}
