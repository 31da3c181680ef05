// Whose memory one is, as a person knows it, and how a command is told to work on it from where they stand.

import { attempt } from '../base/errors.ts';
import { isDirectory } from '../base/files/directories.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { gitRoot } from '../memory/paths.ts';
import { fromHome, shellPath } from '../terminal/phrases.ts';
import type { App } from './compose.ts';

export interface Whose {
  name: string;
  command(what: string): string;
}

/** What a memory is called where it is named: its directory, or, without one, its id. */
export function placeOf({ dir, id }: Pick<MemoryRow, 'dir' | 'id'>): string {
  return dir ?? id;
}

/** Those of projects and of the user that are in use here. */
export async function knownMemories(app: App): Promise<MemoryRow[]> {
  const rows = await app.db.all<MemoryRow>(
    "select * from memory where deleted_at is null and scope <> 'store' and (machine is null or machine = ?) order by name, id",
    app.machine,
  );
  return Promise.all(rows.filter(({ dir }) => dir === null || isDirectory(dir)).map(({ id }) => app.memories.of(id)));
}

export async function whoseMemory(
  app: Pick<App, 'config' | 'db' | 'memoryDirOf' | 'findMemory'>,
  memory: MemoryRow,
): Promise<Whose> {
  const { config, db } = app;
  if (memory.scope === 'user') return { name: 'all your projects', command: (what) => `${what} --scope user` };
  const rows = await db.all<{ cwd: string }>(
    'select distinct cwd from session where memory = ? and cwd is not null order by cwd',
    memory.id,
  );
  const [root, ...others] = new Set(rows.map(({ cwd }) => gitRoot(cwd) ?? cwd));
  const only = others.length === 0 ? root : undefined;
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
  const name = fromHome(only ?? memory.dir ?? memory.name, config);
  if (await keeps(process.cwd())) return { name, command: (what) => what };
  if (only !== undefined && (await keeps(only))) {
    return { name, command: (what) => `cd ${shellPath(only, config)} && ${what}` };
  }
  return { name, command: (what) => `${what} --memory ${shellPath(placeOf(memory), config)}` };
}
