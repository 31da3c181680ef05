// Whose memory one is, as a person knows it, and how a command is told to work on it from where they stand.

import { attempt, onAppError } from '../base/errors.ts';
import { canonicalPath, isDirectory } from '../base/files/directories.ts';
import { HAS_SOMETHING, type MemoryRow } from '../memory/memories.ts';
import { gitRoot } from '../memory/paths.ts';
import { isByProject } from '../memory/places.ts';
import { type SameProject, sameProjects, saySame } from '../memory/same-project.ts';
import { fromHome, shellPath } from '../terminal/phrases.ts';
import type { App } from './compose.ts';
import { rootBeside } from './first-start.ts';

export interface Whose {
  /** A project by where it lies, a store by its name, else the directory. */
  name: string;
  /** The one repository, or directory, that its sessions ran in; null: none, or several. */
  root: string | null;
  command(what: string): string;
}

/** What a memory is called where it is named: its directory, or, without one, its id. */
export function placeOf({ dir, id }: Pick<MemoryRow, 'dir' | 'id'>): string {
  return dir ?? id;
}

/** Those of projects and of the user that are in use here, and hold something. */
export async function memoriesHere(app: App): Promise<MemoryRow[]> {
  // One whose directory was moved here is found by it.
  await app.findMemory().catch(onAppError(() => null, 'settings'));
  const rows = await app.db.all<MemoryRow>(
    `select * from memory where deleted_at is null and scope <> 'store' and (machine is null or machine = ?)
       and ${HAS_SOMETHING} order by name, id`,
    app.machine,
  );
  return Promise.all(rows.filter(({ dir }) => dir === null || isDirectory(dir)).map(({ id }) => app.memories.of(id)));
}

/** Memories that look like the project one stands in. `isAsked`: see `sameProjects`. */
export async function sameHere(app: App, { isAsked = false } = {}): Promise<SameProject[]> {
  const { config, db, machine } = app;
  const cwd = process.cwd();
  if (!isByProject(config)) return [];
  const [own, place] = [await app.findMemory({ cwd }), canonicalPath(app.memoryDirOf({ cwd }))];
  return sameProjects(db, { own, machine, place, isAsked, cwd });
}

/** The same, as a person is told; undefined: there is none. */
export async function sayHere(app: App): Promise<string | undefined> {
  const found = await sameHere(app);
  return found.length === 0 ? undefined : saySame(found, app.config).replace(/^t/, 'T');
}

export async function whoseMemory(
  app: Pick<App, 'config' | 'db' | 'memoryDirOf' | 'findMemory'>,
  memory: MemoryRow,
): Promise<Whose> {
  const { config, db } = app;
  const rows = await db.all<{ cwd: string }>(
    'select distinct cwd from session where memory = ? and cwd is not null order by cwd',
    memory.id,
  );
  const told = rows.map(({ cwd }) => gitRoot(cwd) ?? cwd);
  // After a restore no row tells of its sessions.
  const beside = told.length === 0 && memory.dir !== null ? await rootBeside(config, memory.dir) : null;
  const all = [...new Set(beside === null ? told : [beside])];
  // A checkout that was moved is known by where it is now.
  const standing = all.filter(isDirectory);
  const keeps = async (cwd: string) => {
    const isTold =
      isDirectory(cwd) &&
      attempt(
        () => app.memoryDirOf({ cwd }) !== '',
        () => false,
        'settings',
      );
    return isTold && (await app.findMemory({ cwd }))?.id === memory.id;
  };
  const cwd = process.cwd();
  const isHere = await keeps(cwd);
  const isMoved = standing.length === 0 && all.length > 0 && isHere && isByProject(config);
  const roots = isMoved ? [gitRoot(cwd) ?? cwd] : standing.length > 0 ? standing : all;
  const root = roots.length === 1 ? (roots[0] ?? null) : null;
  if (memory.scope === 'user') return { name: 'all your projects', root, command: (what) => `${what} --scope user` };
  const name = memory.scope === 'store' ? memory.name : fromHome(root ?? memory.dir ?? memory.name, config);
  if (isHere) return { name, root, command: (what) => what };
  if (root !== null && (await keeps(root)))
    return { name, root, command: (what) => `cd ${shellPath(root, config)} && ${what}` };
  return { name, root, command: (what) => `${what} --memory ${shellPath(placeOf(memory), config)}` };
}
