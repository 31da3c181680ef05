// Which process this is. Who is alive: a name for a process of this machine, so that a reused pid is not taken for its
// predecessor. And whose shell it was started in: agents name themselves in the environment of the shells that they start.
// Promises that an agent which does as it is told cannot speak in the person's place by calling nocturne; it is no wall
// against one that takes the variables out.
// Never told by a terminal: some agents give their shells one.

import { hostname } from 'node:os';
import { readTextNow } from './files/files.ts';

/** `host:pid:start`, where `start` is the kernel's start tick of the process (Linux), else empty. */
export type ProcessName = string;

export function thisProcess(): ProcessName {
  return `${hostname()}:${process.pid}:${statusOf(process.pid)[19] ?? ''}`;
}

/** Whether the named process runs no more. A process of another host counts as running: nothing here can tell. */
export function isDead(name: ProcessName): boolean {
  const [host, pid, start] = name.split(':');
  if (host !== hostname()) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
  const [state = '', ...fields] = statusOf(Number(pid));
  // A zombie is dead; it only waits for its parent to notice.
  return /^[ZX]$/.test(state) || (start !== '' && fields[18] !== start);
}

/** The fields of `/proc/<pid>/stat` from the state on; none on other systems. */
function statusOf(pid: number): string[] {
  // The command name before them is in brackets and may hold spaces.
  const stat = process.platform === 'linux' ? readTextNow(`/proc/${pid}/stat`) : null;
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
}

/** What each agent sets, as its own program does. `AI_AGENT` is what any other may set. */
const VARIABLES = new Map([
  ['CLAUDECODE', 'Claude Code'],
  ['CODEX_THREAD_ID', 'Codex'],
  ['CODEX_SANDBOX', 'Codex'],
  ['CODEX_CI', 'Codex'],
  ['GEMINI_CLI', 'Gemini CLI'],
  ['OPENCODE', 'opencode'],
  ['COPILOT_CLI', 'Copilot CLI'],
  ['PI_CODING_AGENT', 'pi'],
  ['CURSOR_AGENT', 'Cursor'],
  ['AI_AGENT', 'an agent'],
]);

export interface ShellAgent {
  name: string;
  /** By which it is known. */
  variable: string;
}

/** The agent whose shell has this environment; undefined: none that is known, so the person's. */
export function agentOfShell(environment: Record<string, string | undefined>): ShellAgent | undefined {
  const [known] = [...VARIABLES].filter(([variable]) => environment[variable]);
  return known && { name: known[1], variable: known[0] };
}
