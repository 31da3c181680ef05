// The first start: what people have of an earlier nocturne is taken in, once: its home, its directories, its PostgreSQL database.
// Later starts look whether there is any, and nothing else. A directory that its home did not know is taken in when it is opened.
// And the start after a database was lost.

import { join } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { type AppError, onAppError } from '../base/errors.ts';
import { canonicalPath, listNames } from '../base/files/directories.ts';
import { statNow } from '../base/files/files.ts';
import type { Log } from '../base/logger.ts';
import { isOld } from '../db/old-database.ts';
import { databasePath } from '../db/open-database.ts';
import { CopyLock } from '../memory/copy-lock.ts';
import { type Memories, machinePath, type Scope } from '../memory/memories.ts';
import { hasLedger, memoryDirIfTold, scopeDir } from '../memory/places.ts';

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

/** Asked before it is opened, which makes one. */
export function hasLostDatabase({ home, databaseUrl }: Config): boolean {
  return (
    databaseUrl === undefined && (statNow(databasePath(home))?.bytes ?? 0) === 0 && statNow(machinePath(home)) !== null
  );
}

/** Where there was no copy of it: directories that were memories are so again. */
export async function takeInLeft(
  config: Config,
  { memories, describe, log }: { memories: Memories; describe: Describe; log: Log },
): Promise<void> {
  const { claudeDir, agentMemory } = config;
  const homes = [...new Set([agentMemory.remoteDir ?? claudeDir, claudeDir])].map((dir) => join(dir, 'projects'));
  const dirs = [
    ...[memoryDirIfTold(config, {}) ?? '', scopeDir(config, { memory: 'user', cwd: '/' })],
    ...homes.flatMap((dir) => listNames(dir).map((name) => join(dir, name, 'memory'))),
  ];
  for (const dir of [...new Set(dirs.filter(hasLedger).map(canonicalPath))]) {
    const told = (error: AppError) => log('warn', { event: 'trouble', store: dir, error: error.message });
    await memories.ofDirectory(dir, { ...describe(dir), isLook: true }).catch(onAppError(told));
  }
  const { afterRestore } = await import('../../jobs/after-restore.ts');
  await afterRestore(memories);
}

const IS_USED = 'select 1 where exists (select 1 from nocturne.store) or exists (select 1 from nocturne_home.api_key)';
