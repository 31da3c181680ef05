// Where memory lives, as the settings and the scopes say, and whether nocturne may work there. No memory is made or opened.

import { dirname, isAbsolute, join, sep } from 'node:path';
import { type Config, readProjectSwitch } from '../base/config/config.ts';
import { AppError, attempt } from '../base/errors.ts';
import { canonicalPath, isDirectory, isStoreId } from '../base/files/directories.ts';
import {
  checkedDir,
  checkoutRoot,
  decideEnablement,
  type Enablement,
  gitRoot,
  pausedAt,
  projectMemoryDir,
  type Switches,
} from './paths.ts';

/** Whose memory: `project` by the chain of places, `user` and `local` in fixed ones. */
export const MEMORY_SCOPES = ['project', 'user', 'local'] as const;
export type MemoryScope = (typeof MEMORY_SCOPES)[number];

/** Where the memory of a session is kept, or would be. Throws `settings` where they name no place that can be. */
export function memoryDirFor(config: Config, { cwd }: { cwd?: string }): string {
  const { agentMemory, memoryDir, userDir } = config;
  if (memoryDir !== undefined && isStoreId(memoryDir, config)) return memoryDir;
  const { settings } = agentMemory;
  if (memoryDir === undefined && settings.problem) {
    throw new AppError('settings', `It is not known where memory lives: ${settings.problem}`, {
      remedy: `Fix the file, or name the directory with NOCTURNE_MEMORY_DIR or --memory.`,
    });
  }
  if (memoryDir !== undefined)
    return checkedDir({ path: memoryDir, from: config.memoryDirFrom ?? 'memoryDir' }, userDir);
  const setting = settings.autoMemoryDirectory;
  if (setting) return checkedDir({ path: setting, from: `autoMemoryDirectory in ${settings.path}` }, userDir);
  return projectMemoryDir(agentMemory.remoteDir ?? config.claudeDir, cwd ?? process.cwd());
}

/** The same; null where the settings cannot tell, for those to whom that is no obstacle. */
export function memoryDirIfTold(config: Config, session: { cwd?: string }): string | null {
  return attempt(
    () => memoryDirFor(config, session),
    () => null,
    'settings',
  );
}

/** Whether the project of a session tells its memory directory, and no setting. */
export function isByProject({ memoryDir, agentMemory }: Config): boolean {
  return memoryDir === undefined && !agentMemory.settings.autoMemoryDirectory;
}

/**
 * The directory of a scope: `user` is `memory/` in Claude Code's directory (`~/.claude/memory`), `local` is
 * `.claude/memory` at the top of the working tree, `project` what the chain says.
 */
export function scopeDir(config: Config, { memory, cwd }: { memory: MemoryScope; cwd: string }): string {
  if (memory === 'user') return join(config.claudeDir, 'memory');
  if (memory === 'local') return join(checkoutRoot(cwd) ?? cwd, '.claude', 'memory');
  return memoryDirFor(config, { cwd });
}

/** Where memory is kept in a database. */
export function notOfWorkingTree(): AppError {
  return new AppError('refused', "Memory is kept in a database; the working tree's own memory is no part of it.", {
    remedy: 'Leave NOCTURNE_DATABASE_URL out to work in that directory.',
  });
}

/** The memory directories on this disk that the agent of a session may write to: `memory`, those beside it, its own. */
export function memoriesOf(config: Config, { cwd, memory }: { cwd?: string; memory: string }): string[] {
  const { remoteDir } = config.agentMemory;
  const claudeDirs = [...new Set([remoteDir ?? config.claudeDir, config.claudeDir])];
  // The directory of another system has no place on this disk.
  const here = cwd !== undefined && isAbsolute(cwd) ? cwd : undefined;
  const beside = scopesBeside(config, { cwd: here ?? config.claudeDir, memory }).map(({ dir }) => dir);
  // By the agent's own settings alone; those that tell no place are no obstacle where the memory is elsewhere.
  const told = here === undefined ? null : memoryDirIfTold({ ...config, memoryDir: undefined }, { cwd: here });
  const projects = here === undefined ? [] : claudeDirs.map((dir) => projectMemoryDir(dir, here));
  return [memory, ...beside, ...(told === null ? [] : [told]), ...projects];
}

/**
 * The memories that are recalled beside a project's, each where it is: the user's and the team's, where that is on; `isElsewhere`: the user's is no directory. Where a link in the working tree leads elsewhere, what is there is not the repository's.
 */
export function scopesBeside(
  config: Config,
  { cwd, memory, isElsewhere = false }: { cwd: string; memory: string; isElsewhere?: boolean },
): { scope: 'user' | 'local'; dir: string }[] {
  const user = canonicalPath(scopeDir(config, { memory: 'user', cwd }));
  const local = canonicalPath(scopeDir(config, { memory: 'local', cwd }));
  const tree = canonicalPath(checkoutRoot(cwd) ?? cwd);
  const isRepositorys = local.startsWith(`${tree}${sep}`) && local !== user && local !== memory;
  const scopes: ('user' | 'local')[] = [
    ...(config.userScope ? ['user' as const] : []),
    ...(config.team === 'off' ? [] : ['local' as const]),
  ];
  return scopes
    .filter((scope) => (scope === 'user' ? user !== memory : isRepositorys))
    .map((scope) => ({ scope, dir: scope === 'user' ? user : local }))
    .filter(({ scope, dir }) => (isElsewhere && scope === 'user') || isDirectory(dir));
}

/** Why nobody works there unasked, until settings say otherwise. Null for what is paused, or cannot be told. */
export function whyTurnedOff({ enabled, pausedUntil, isUnknown, reason }: Enablement): string | null {
  return enabled || isUnknown || pausedUntil !== undefined ? null : reason;
}

/** See `App.standing`. */
export async function enablementFor(
  config: Config,
  { pauses, cwd }: { pauses: Switches['pauses']; cwd?: string },
): Promise<Enablement> {
  const { agentMemory: agent, ignoreAgentSwitches, projects, excludedPaths, userDir } = config;
  const hasMemoryDir = (config.memoryDir ?? agent.remoteDir ?? agent.settings.autoMemoryDirectory) !== undefined;
  const switches = { agent, ignoreAgentSwitches, projects, excludedPaths, userDir, hasMemoryDir, pauses };
  if (cwd === undefined) return decideEnablement(switches);
  const canonical = canonicalPath(cwd);
  // The directory of another system has no place on this disk.
  const isRead = isAbsolute(cwd) && !ignoreAgentSwitches;
  const projectSwitch = isRead ? await readProjectSwitch(projectDirs(cwd)) : null;
  const root = gitRoot(cwd) ?? canonical;
  const here = pauses.map((pause) => ({ ...pause, project: pausedAt(pause, root) }));
  return decideEnablement({ ...switches, pauses: here, projectSwitch }, [cwd, canonical, root]);
}

/** `.claude` of the directory and of those above it, up to the top of the working tree. */
function projectDirs(cwd: string): string[] {
  const from = canonicalPath(cwd);
  const root = checkoutRoot(from) ?? from;
  const dirs: string[] = [];
  for (let at = from; ; at = dirname(at)) {
    dirs.push(join(at, '.claude'));
    if (at === root || dirname(at) === at) return dirs;
  }
}

/** Whether nocturne has worked in a memory directory. */
export function hasLedger(dir: string): boolean {
  return isDirectory(join(dir, '.nocturne'));
}
