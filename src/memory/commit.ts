// The one commit: files and rows of one or several memories change together, or not at all.
//
// 1. Take the locks of their working copies, in one order for all.
// 2. Look at the files that the plan names, and at all of them now and then: what was edited past nocturne becomes a version first.
// 3. One transaction: lock the memories, check the claim, run the plan on what stands, write versions, rows, and what rows were.
//    Its end is the commit point; where the answer to it is lost, it was done completely or not at all.
// 4. Bring the files to their new heads. A crash or an error here leaves that to the next look.
//
// Promises: a plan sees what stands at the moment of the commit, and a guard that refuses takes all of it back; who has lost its
// claim changes nothing; every state of a file is a version; an edit made meanwhile survives, and where lines collide it wins.

import { AppError } from '../base/errors.ts';
import type { Clock } from '../base/time.ts';
import type { Db, Row, Sql } from '../db/sql.ts';
import { bytesOf, rawText } from './edit-text.ts';
import {
  type Actor,
  addVersion,
  checkChange,
  checkPrecondition,
  type FileGuard,
  type Head,
  headAt,
  headOf,
  isSame,
  type Limits,
  type Precondition,
} from './file-rows.ts';
import { Change } from './undo-rows.ts';
import type { WorkingCopy } from './working-copy.ts';

export interface FileChange {
  /** Relative to the memory, with `/`. */
  path: string;
  /** Where the file stood until now. It moves to `path`, which must be free, and keeps its id. */
  from?: string;
  /**
   * The id of the file that is meant, which may have been deleted, as who takes a version of it back knows it; default: the
   * one that stands there.
   */
  file?: string;
  /** From what stands there (null: no file) to what shall stand there (null: none), once the files before it are changed. */
  make(current: string | null): string | null | Promise<string | null>;
  /** What must stand there, else nothing is done. */
  if?: Precondition;
}

export interface Plan {
  /** Each path once. */
  files: FileChange[];
  /** Writes rows; those that can be taken back by `change.put` and `change.drop`, others by `change.sql`. */
  rows?(change: Change, files: (Staged | null)[]): Promise<void>;
}

/** The plan, with further rows behind its own. */
export function withRows({ files, rows }: Plan, more: NonNullable<Plan['rows']>): Plan {
  return {
    files,
    async rows(change, heads) {
      await rows?.(change, heads);
      await more(change, heads);
    },
  };
}

/** A file of a plan as it is now; `before`: what stood there. */
export type Staged = Head & { before: string };

/** Work that was claimed; without it a commit is made whoever works there. */
export type Claim = { id: number; owner: string; fence: number };

export interface By {
  /** What the change belongs to: it is the unit of undo. */
  job: string;
  actor: Actor;
  claim?: Claim;
}

export interface Committed {
  /** Of each file of the plan, in its order, what it is now; null where none is. */
  files: (Head | null)[];
  /** Paths where an edit made past nocturne won over lines of this commit; those are kept as a version. */
  collisions: string[];
}

export interface CommitDeps {
  db: Db;
  clock: Clock;
  limits: Limits;
  /** The working copy of a memory, where it is on this machine. */
  copyOf(memory: string): WorkingCopy | null;
}

/** A memory that a commit changes, and the files that its plan is known to touch; `all`: it may be any. */
export type Target = { memory: string; paths: readonly string[] | 'all' };

/** One memory; the plan runs inside the transaction, and awaits nothing but `sql`. */
export async function commit(
  deps: CommitDeps,
  target: Target,
  by: By,
  plan: (sql: Sql) => Promise<Plan>,
): Promise<Committed> {
  const [committed] = await commitAll(deps, [target], by, async (sql) => [await plan(sql)]);
  return committed as Committed;
}

/** Several memories at once, each with its plan, in the order of the targets; without a plan nothing is done. */
export async function commitAll(
  deps: CommitDeps,
  targets: readonly Target[],
  by: By,
  plan: (sql: Sql) => Promise<Plan[]>,
): Promise<Committed[]> {
  // 1.
  const copies = targets.map(({ memory }) => deps.copyOf(memory));
  return holdAll(copies, async () => {
    // 2.
    for (const [at, copy] of copies.entries()) {
      const paths = targets[at]?.paths;
      await copy?.look(paths === 'all' ? undefined : paths);
    }
    // 3.
    const committed = await inTransaction(deps, targets, by, plan);
    // 4.
    for (const [at, copy] of copies.entries()) committed[at]?.collisions.push(...((await copy?.bring()) ?? []));
    return committed;
  });
}

/** Looks at the files of a memory that may have been edited past nocturne, and brings what is behind. */
export async function lookInto(deps: CommitDeps, { memory, paths }: Target): Promise<void> {
  const copy = deps.copyOf(memory);
  const some = paths === 'all' ? undefined : paths;
  // Who only reads waits for no one, unless there is something to do; on a full disk nothing can be done.
  if (!copy || deps.db.trouble || (await copy.isSettled(some))) return;
  await copy.hold(async () => {
    await copy.look(some);
    await copy.bring();
  });
}

/** In the order of their memories, so that two commits never wait for each other. */
function holdAll<T>(copies: readonly (WorkingCopy | null)[], work: () => Promise<T>): Promise<T> {
  const sorted = [...new Set(copies.filter((copy) => copy !== null))].sort((a, b) => (a.memory < b.memory ? -1 : 1));
  return sorted.reduceRight<() => Promise<T>>((inner, copy) => () => copy.hold(inner), work)();
}

async function inTransaction(
  { db, clock, limits }: CommitDeps,
  targets: readonly Target[],
  by: By,
  plan: (sql: Sql) => Promise<Plan[]>,
): Promise<Committed[]> {
  const at = clock.now().toISOString();
  return db.write(async (sql) => {
    const archived = new Set<string>();
    for (const { memory } of [...targets].sort((a, b) => (a.memory < b.memory ? -1 : 1)))
      if (await lockMemory(sql, { memory, lock: db.lock.wait })) archived.add(memory);
    if (by.claim) await checkClaim(sql, by.claim, db.lock.wait);
    const change = new Change(sql, { job: by.job, at });
    const committed: Committed[] = [];
    for (const [n, { files, rows }] of (await plan(sql)).entries()) {
      const memory = targets[n]?.memory as string;
      const guard: FileGuard = { sql, memory, actor: by.actor, limits, isArchived: archived.has(memory) };
      const heads: (Staged | null)[] = [];
      for (const file of files) heads.push(await stage(file, change, guard));
      await rows?.(change, heads);
      committed.push({ files: heads, collisions: [] });
    }
    await change.end();
    return committed;
  });
}

/** Answers whether it is archived. Errors: `bad-input` where there is none. */
async function lockMemory(sql: Sql, { memory, lock }: { memory: string; lock: string }): Promise<boolean> {
  const row = await sql.get<Row>(`select deleted_at, archived_at from memory where id = ?${lock}`, memory);
  if (row && row.deleted_at === null) return row.archived_at !== null;
  throw noMemory(memory);
}

export function noMemory(id: string): AppError {
  return new AppError('bad-input', `There is no memory ${id}.`, {
    remedy: 'nocturne list --all shows them.',
  });
}

async function checkClaim(sql: Sql, { id, owner, fence }: Claim, lock: string): Promise<void> {
  const row = await sql.get(`select 1 from inbox where id = ? and owner = ? and fence = ?${lock}`, id, owner, fence);
  if (!row) throw new AppError('fenced', 'This work was taken over by another worker, so nothing of it is written.');
}

/** Writes the new version of a file, past its guards; answers what it is now. */
async function stage(file: FileChange, change: Change, guard: FileGuard): Promise<Staged | null> {
  const from = file.from ?? file.path;
  const { sql, memory } = guard;
  const head = file.file === undefined ? await headAt(sql, memory, from) : await headOf(sql, memory, file.file);
  const current = head?.content ?? null;
  const text = current && rawText(current);
  if (file.if) checkPrecondition(from, head, file.if);
  const after = await file.make(text);
  // Only what was no text before may be none after.
  const mayBeBytes = file.file !== undefined || text?.isWellFormed() === false;
  const content = after === null ? null : mayBeBytes ? bytesOf(after) : Buffer.from(after);
  const isMove = file.from !== undefined && head?.path !== file.path;
  const before = text ?? '';
  if (isSame(content, current) && !isMove) return head && { ...head, before };
  const path = isMove || !head?.path ? file.path.normalize('NFC') : head.path;
  await checkChange({ path, from: head?.path ?? null, before: text, after, content, isMove }, guard);
  const { file: id } = await addVersion({ memory, file: head, path, content, change, actor: guard.actor });
  const now = content === null ? null : await headOf(sql, memory, id);
  return now && { ...now, before };
}
