// The first start: what people have of an earlier nocturne is taken in, once: its home, its directories, its PostgreSQL database.
// Later starts look whether there is any, and nothing else. A directory that its home did not know is taken in when it is opened.
// And the start after a database was lost.

import { basename, dirname, join } from 'node:path';
import type { Restored } from '../../jobs/after-restore.ts';
import type { Config } from '../base/config/config.ts';
import { onAppError } from '../base/errors.ts';
import { canonicalPath, listNames } from '../base/files/directories.ts';
import type { Log } from '../base/logger.ts';
import { isOld } from '../db/old-database.ts';
import type { Memories, Scope } from '../memory/memories.ts';
import { gitRoot } from '../memory/paths.ts';
import { hasLedger, memoryDirIfTold, scopeDir } from '../memory/places.ts';
import { noteOrigin } from '../memory/projects.ts';
import { CopyLock } from '../memory/working-copy.ts';
import { openSession } from '../transcript/session.ts';

export type Describe = (dir: string) => { scope: Scope; name: string };

/** Runs `work` while no other process of this home takes anything in. */
async function alone<T>(home: string, work: () => Promise<T>): Promise<T> {
  const lock = new CopyLock(home, 'take-in');
  return lock.hold(work).finally(() => lock.close());
}

export function takeInDirectory(
  dir: string,
  { memories, describe }: { memories: Memories; describe: Describe },
): Promise<void> {
  return alone(memories.home, async () => {
    const { takeIn } = await import('../../jobs/take-in.ts');
    await takeIn({ dir, ...describe(dir) }, memories);
  });
}

export async function takeInBefore(
  { home }: Pick<Config, 'home'>,
  { memories, describe, log }: { memories: Memories; describe: Describe; log: Log },
): Promise<void> {
  const { db } = memories;
  if (db.engine === 'postgres') {
    const there = await db.get<{ there: string | null }>("select to_regclass('nocturne.store') as there");
    if (there?.there == null || !(await db.get(IS_USED))) return;
    const { takeInFleet } = await import('../../jobs/take-in/home-rows.ts');
    return takeInFleet({ memories, describe });
  }
  if (!isOld(join(home, 'home.db'))) return;
  const { takeInHome } = await import('../../jobs/take-in/home-rows.ts');
  const left = await alone(home, () => takeInHome(home, { memories, describe }));
  for (const { place, why } of left)
    await log('warn', { event: 'trouble', store: place, error: `It was not taken in: ${why}` });
}

/** What a memory in this directory is, as far as the directory tells. */
export function describing(config: Config): Describe {
  const userDir = canonicalPath(scopeDir(config, { memory: 'user', cwd: '/' }));
  return (dir) =>
    dir === userDir ? { scope: 'user', name: 'user' } : { scope: 'project', name: basename(dirname(dir)) };
}

/** Of a home whose database was lost: directories that were memories, and in a copy of it are not yet, are so again. */
export async function takeInLeft(config: Config, memories: Memories): Promise<Restored> {
  const describe = describing(config);
  const projects = join(config.agentMemory.remoteDir ?? config.claudeDir, 'projects');
  const others = [memoryDirIfTold(config, {}) ?? '', scopeDir(config, { memory: 'user', cwd: '/' })];
  const dirs = [...others, ...listNames(projects).map((name) => join(projects, name, 'memory'))];
  const read = async (dir: string) => {
    // In its clones too.
    const root = await rootBeside(config, dir);
    const named = root === null ? describe(dir) : { ...describe(dir), name: basename(root) };
    const row = await memories.ofDirectory(dir, { ...named, isLook: true });
    if (root !== null) await noteOrigin(memories.db, row, { root, config });
  };
  for (const dir of dirs.filter(hasLedger).map(canonicalPath)) await read(dir).catch(onAppError(() => {}));
  const { afterRestore } = await import('../../jobs/after-restore.ts');
  return afterRestore(memories);
}

/** The repository that a memory is of, by a session that lies beside it; null: none tells. */
export async function rootBeside(config: Config, dir: string): Promise<string | null> {
  const file = listNames(dirname(dir)).findLast((name) => name.endsWith('.jsonl'));
  const open = (path: string) => openSession(path, { isLive: true }).catch(onAppError(() => null));
  const { cwd = '/' } = (file && (await open(join(dirname(dir), file)))) || {};
  return canonicalPath(memoryDirIfTold(config, { cwd }) ?? '') === dir ? gitRoot(cwd) : null;
}

const IS_USED = 'select 1 where exists (select 1 from nocturne.store) or exists (select 1 from nocturne_home.api_key)';
