// Which memory directory belongs to a project: an override, else the place the user's own settings name, else Claude
// Code's own place for it, keyed by the canonical git root, so that all worktrees of a repository share one.
// Promises: a path that is given is absolute and no place where a mistake would hurt (a root, the user's directory, a
// network share), or an AppError `settings` says which one was found where, and what is allowed. Nothing is made.
// And whether nocturne may work by itself: one decision that every door asks before it extracts, dreams or recalls unasked
// (`decideEnablement`). What a person asks for by name is done all the same, with a note.

import { hash } from 'node:crypto';
import { basename, dirname, join, matchesGlob, resolve } from 'node:path';
import { AppError } from '../base/errors.ts';
import { canonicalPath, isDirectory, kindOf } from '../base/files/directories.ts';
import { readTextNow, statNow } from '../base/files/files.ts';

interface GivenPath {
  path: string;
  /** The option, variable or setting that names it. */
  from: string;
}

/** `<claudeDir>/projects/<sanitized canonical git root of cwd>/memory`. */
export function projectMemoryDir(claudeDir: string, cwd: string): string {
  return join(claudeDir, 'projects', sanitizePath(gitRoot(cwd) ?? cwd), 'memory');
}

/** A given path as one that can be used: absolute, `~/` expanded, NFC. Throws `settings`. */
export function checkedDir({ path, from }: GivenPath, userDir: string): string {
  const problem = problemOf(path, userDir);
  if (!problem) return absoluteOf(path, userDir);
  throw new AppError('settings', `The memory directory ${JSON.stringify(path)} (${from}) is refused: ${problem}.`, {
    remedy: 'Give an absolute path of a directory of its own, like ~/notes/memory or /srv/agents/memory.',
  });
}

/** Why a path cannot be a memory directory, as the end of a sentence; null for nothing. */
function problemOf(path: string, userDir: string): string | null {
  const unfit = /\p{Cc}/u.exec(path)?.[0];
  if (unfit !== undefined)
    return `it holds the character U+${unfit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
  if (path.trim() === '') return 'it is empty';
  if (/^(?:\\\\|\/\/)/.test(path)) return 'it is a network share or a device (UNC)';
  if (/^[A-Za-z]:[\\/]*$/.test(path)) return 'it is the root of a drive';
  if (/^~(?![\\/])/.test(path) && path !== '~') return 'it names the directory of another user by ~';
  if (path !== '~' && !/^~[\\/]/.test(path) && resolve(path) !== resolve('/', path)) return 'it is relative';
  const absolute = absoluteOf(path, userDir);
  if (absolute === dirname(absolute)) return 'it is the root of the file system';
  if (dirname(absolute) === dirname(dirname(absolute))) return 'it is right under the root of the file system';
  if (absolute === resolve(userDir)) return "it is the user's own directory";
  if (resolve(userDir).startsWith(`${absolute}/`)) return "the user's own directory is in it";
  return null;
}

function absoluteOf(path: string, userDir: string): string {
  const expanded = path === '~' || /^~[\\/]/.test(path) ? join(userDir, path.slice(1)) : path;
  return resolve(expanded.normalize('NFC'));
}

/** A path as a folder name, the way Claude Code makes it: everything but letters and digits becomes `-`. */
export function sanitizePath(path: string): string {
  const name = path.replace(/[^A-Za-z0-9]/g, '-');
  if (name.length <= 200) return name;
  return `${name.slice(0, 200)}-${hash('sha256', path).slice(0, 8)}`;
}

/**
 * The root of the repository that holds `dir`; for a worktree, that of its main checkout, or the bare repository
 * itself; null outside of one. A submodule is a repository of its own.
 */
export function gitRoot(dir: string): string | null {
  const found = findCheckout(dir);
  return found && (found.shared ?? found.top);
}

/** The top of the working tree that holds `dir`, of whichever worktree; null outside of one. */
export function checkoutRoot(dir: string): string | null {
  return findCheckout(dir)?.top ?? null;
}

/** Whether a directory is memory that a repository carries, from one who writes it to others: `.claude/memory` at the top of a working tree. */
export function isCheckedIn(dir: string | null): boolean {
  if (dir === null) return false;
  const top = dirname(dirname(dir));
  return dir === join(top, '.claude', 'memory') && checkoutRoot(top) === top && gitDirOf(top) !== null;
}

/** Where git keeps the state of the working tree at `top`; null where there is none. */
export function gitDirOf(top: string): string | null {
  const kind = kindOf(join(top, '.git'));
  if (kind !== 'file') return kind === null ? null : join(top, '.git');
  const link = /^gitdir: (.+)$/m.exec(fileText(join(top, '.git')) ?? '')?.[1];
  return link === undefined ? null : resolve(top, link.trim());
}

const MAIN = /^(?:main|master|trunk|develop|dev)$/;

/** The branch of the working tree at `top`; empty where it is the main one, or none. */
export function branchOf(top: string): string {
  const gitDir = gitDirOf(top);
  const branch = /^ref: refs\/heads\/(.+)$/m.exec((gitDir && fileText(join(gitDir, 'HEAD'))) ?? '')?.[1]?.trim() ?? '';
  return MAIN.test(branch) ? '' : branch;
}

/** Whether git works on the tree that holds a directory right now: then nobody else touches its files. */
export function gitIsBusy(dir: string): boolean {
  const top = checkoutRoot(dir);
  const gitDir = top && gitDirOf(top);
  return gitDir !== null && kindOf(join(gitDir, 'index.lock')) !== null;
}

function findCheckout(dir: string): { top: string; shared: string | null } | null {
  for (let at = canonicalPath(resolve(dir)); ; at = dirname(at)) {
    if (fileText(join(at, '.git', 'HEAD')) !== null || isBare(at)) return { top: at, shared: null };
    const link = /^gitdir: (.+)$/m.exec(fileText(join(at, '.git')) ?? '')?.[1];
    if (link) return { top: at, shared: mainCheckout(at, resolve(at, link.trim())) };
    if (dirname(at) === at) return null;
  }
}

/** What a file of git's holds; null where there is none, or a directory of that name: for git, too, that is no repository. */
function fileText(path: string): string | null {
  // On the way up most are not there, and to look costs a tenth of a read that fails.
  return kindOf(path) === null || isDirectory(path) ? null : readTextNow(path);
}

/** A repository without a working tree; inside of a `.git` directory the checkout around it counts. */
function isBare(dir: string): boolean {
  if (basename(dir) === '.git') return false;
  return fileText(join(dir, 'HEAD')) !== null && /\bbare\s*=\s*true/.test(fileText(join(dir, 'config')) ?? '');
}

/**
 * Where a worktree's git directory belongs to; null for a submodule, which has none in common with another, and where the
 * repository does not know the worktree: else a directory from elsewhere could pass for one of any repository's.
 */
function mainCheckout(top: string, gitDir: string): string | null {
  const common = fileText(join(gitDir, 'commondir'))?.trim();
  if (!common) return null;
  const shared = canonicalPath(resolve(gitDir, common));
  const known = fileText(join(gitDir, 'gitdir'))?.trim();
  if (dirname(canonicalPath(gitDir)) !== join(shared, 'worktrees') || known === undefined) return null;
  if (canonicalPath(resolve(gitDir, known)) !== join(top, '.git')) return null;
  if (basename(shared) === '.git') return dirname(shared);
  // A worktree of a submodule belongs to where the submodule is checked out.
  const worktree = /^[ \t]*worktree[ \t]*=[ \t]*(.+)$/m.exec(fileText(join(shared, 'config')) ?? '')?.[1]?.trim();
  return worktree ? canonicalPath(resolve(shared, worktree)) : shared;
}

export interface Pause {
  /** The root of a project; null: everything. */
  project: string | null;
  /** ISO-8601; null: until a person ends it. */
  until: string | null;
  /** When that directory was made: by this it is known where it was moved. */
  bornMs?: number;
}

type AgentSwitch = { path: string; autoMemoryEnabled?: boolean; problem?: string };

export interface Switches {
  agent: {
    /** Whether the environment turns the agent's memory off (true), or says that it is on (false). */
    isDisabled?: boolean;
    isSimple: boolean;
    isRemote: boolean;
    /** The user's own settings for it; `problem` where they cannot be read. */
    settings: AgentSwitch;
  };
  /** The project's own, where it says anything: it may turn memory off, never on. */
  projectSwitch?: AgentSwitch | null;
  /** What turns the agent's own memory off leaves nocturne on. */
  ignoreAgentSwitches: boolean;
  /** Whether someone said where memory is kept; a remote machine keeps nothing else. */
  hasMemoryDir: boolean;
  projects: Record<string, { enabled: boolean }>;
  /** Globs. */
  excludedPaths: string[];
  /** Those that are over are left out. */
  pauses: Pause[];
  userDir: string;
}

export interface Enablement {
  enabled: boolean;
  /** Why, as a sentence without its stop. */
  reason: string;
  /** Set where it is a pause: the instant at which it ends, or null for no end. */
  pausedUntil?: string | null;
  /** The project that alone is paused. */
  pausedProject?: string;
  /** Whether it is on cannot be told, for settings that cannot be read: what waits goes on waiting. */
  isUnknown?: boolean;
}

const PAUSED = 'nocturne is paused';

/** The command that ends a pause, for a project where one stands in it. */
export function pauseEnd(project: string | null | undefined): string {
  return `nocturne pause --off${project ? ' --project' : ''}`;
}

/** Where the project of a pause is, of which `root` may be the directory by now. */
export function pausedAt({ project, bornMs }: Pause, root: string): string | null {
  const isMoved = project !== null && bornMs && statNow(project) === null && statNow(root)?.bornMs === bornMs;
  return isMoved ? root : project;
}

/** The directories that stand for where a session ran: its own, as recorded and with links resolved, and its project's. */
export type Whereabouts = [cwd: string, ...others: string[]];

/** `at` is left out for what belongs to no project. The first switch that is off is the reason. */
export function decideEnablement(switches: Switches, at?: Whereabouts): Enablement {
  const paused = switches.pauses.find(({ project }) => project === null || (at && isWithin(at, project)));
  if (paused) {
    const { project, until } = paused;
    const reason = `${project === null ? PAUSED : `${PAUSED} for ${project}`} until ${until ?? pauseEnd(project)}`;
    return {
      enabled: false,
      reason,
      pausedUntil: until,
      ...(project !== null && { pausedProject: project }),
    };
  }
  const agent = switches.ignoreAgentSwitches ? null : whyAgentIsOff(switches);
  if (agent) return agent;
  if (at) {
    const excluded = switches.excludedPaths.find((glob) => isExcluded(at, expand(glob, switches.userDir)));
    if (excluded) return off(`${at[0]} is under the excluded path ${excluded}`);
    const project = projectOf(at, switches);
    if (project && !project.enabled) return off(`the project ${project.path} is turned off in config.json`);
  }
  return { enabled: true, reason: 'nothing turns it off' };
}

/** A word in the environment wins over the settings file, also one that says "on". */
function whyAgentIsOff({ agent, hasMemoryDir, projectSwitch }: Switches): Enablement | null {
  if (agent.isDisabled === true) return off('CLAUDE_CODE_DISABLE_AUTO_MEMORY is set');
  if (agent.isDisabled === false) return null;
  if (agent.isSimple) return off('CLAUDE_CODE_SIMPLE is set');
  if (agent.isRemote && !hasMemoryDir) return off('CLAUDE_CODE_REMOTE is set and no memory directory is');
  return whyFileSaysOff(agent.settings) ?? (projectSwitch ? whyFileSaysOff(projectSwitch) : null);
}

/** Whoever turned it off there must not be overheard because of a missing comma. */
function whyFileSaysOff({ problem, path, autoMemoryEnabled }: AgentSwitch): Enablement | null {
  if (problem) return { ...off(`autoMemoryEnabled cannot be read: ${problem.replace(/\.$/, '')}`), isUnknown: true };
  return autoMemoryEnabled === false ? off(`autoMemoryEnabled is false in ${path}`) : null;
}

function off(reason: string): Enablement {
  return { enabled: false, reason };
}

function projectOf(at: Whereabouts, { projects, userDir }: Switches): { path: string; enabled: boolean } | undefined {
  return Object.entries(projects)
    .map(([path, { enabled }]) => ({ path: resolve(expand(path, userDir)), enabled }))
    .filter(({ path }) => isWithin(at, path))
    .sort((a, b) => b.path.length - a.path.length)[0];
}

function isWithin(at: Whereabouts, path: string): boolean {
  return at.some((dir) => dir === path || dir.startsWith(path.endsWith('/') ? path : `${path}/`));
}

/** Whether a glob matches the directory or one above it. */
function isExcluded(at: Whereabouts, glob: string): boolean {
  const base = glob.replace(/\/(?:\*\*)?\/*$/, '');
  return at.some((dir) => {
    const names = dir.split('/');
    return names.some((_, count) => matchesGlob(names.slice(0, count + 1).join('/') || '/', base));
  });
}

function expand(path: string, userDir: string): string {
  return path.startsWith('~/') ? `${userDir}/${path.slice(2)}` : path;
}
