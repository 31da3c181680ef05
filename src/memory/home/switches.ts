// Whether nocturne may work by itself: one decision that every door asks before it extracts, dreams or recalls
// unasked. What a person asks for by name is done all the same, with a note.
// Pure: what is set comes in, the decision and its reason in words go out.

import { matchesGlob, resolve } from 'node:path';

export interface Switches {
  agent: {
    /** Whether the environment turns the agent's memory off (true), or says that it is on (false). */
    isDisabled?: boolean;
    isSimple: boolean;
    isRemote: boolean;
    /** The user's own settings for it; `problem` where they cannot be read. */
    settings: { path: string; autoMemoryEnabled?: boolean; problem?: string };
  };
  /** What turns the agent's own memory off leaves nocturne on. */
  ignoreAgentSwitches: boolean;
  /** Whether somebody said where memory is kept; a remote machine keeps nothing else. */
  hasMemoryDir: boolean;
  projects: Record<string, { enabled: boolean }>;
  /** Globs. */
  excludedPaths: string[];
  /** ISO-8601 `until`; those that are over are left out. `project` null: everything. */
  pauses: { project: string | null; until: string | null; isAssumed?: boolean }[];
  userDir: string;
}

export interface Enablement {
  enabled: boolean;
  /** Why, as a sentence without its stop. */
  reason: string;
  /** Set where it is a pause: the instant at which it ends, or null for no end. */
  pausedUntil?: string | null;
  /** It is a pause that nobody made: those that there were could not be read. Memory is recalled all the same. */
  isAssumed?: boolean;
  /** Whether it is on cannot be told, for settings that cannot be read: what waits goes on waiting. */
  isUnknown?: boolean;
}

const PAUSED = 'nocturne is paused';

/** Whether a reason that was kept is that of a pause. */
export function isPause(reason: string | null): boolean {
  return reason?.startsWith(PAUSED) ?? false;
}

/** The directories that stand for where a session ran: its own, as recorded and with links resolved, and its project's. */
export type Whereabouts = [cwd: string, ...others: string[]];

/** `at` is left out for what belongs to no project. The first switch that is off is the reason. */
export function decideEnablement(switches: Switches, at?: Whereabouts): Enablement {
  const paused = switches.pauses.find(({ project }) => project === null || (at && isWithin(at, project)));
  if (paused) {
    const what = paused.project === null ? PAUSED : `${PAUSED} for ${paused.project}`;
    const until = paused.until ? `until ${paused.until}` : 'until nocturne pause --off';
    const reason = `${what} ${until}${paused.isAssumed ? ', since pauses could not be read' : ''}`;
    return { enabled: false, reason, pausedUntil: paused.until, ...(paused.isAssumed && { isAssumed: true }) };
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
function whyAgentIsOff({ agent, hasMemoryDir }: Switches): Enablement | null {
  if (agent.isDisabled === true) return off('CLAUDE_CODE_DISABLE_AUTO_MEMORY is set');
  if (agent.isDisabled === false) return null;
  if (agent.isSimple) return off('CLAUDE_CODE_SIMPLE is set');
  if (agent.isRemote && !hasMemoryDir) return off('CLAUDE_CODE_REMOTE is set and no memory directory is');
  // Whoever turned it off there must not be overheard because of a missing comma.
  const { problem, path, autoMemoryEnabled } = agent.settings;
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
