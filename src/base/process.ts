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

/** What decides for the session alone in whose environment it stands: where its memory is, whether, and by which model. */
const OF_SESSION =
  /^(?:NOCTURNE_(?:MEMORY_DIR|MODEL)|CLAUDE_COWORK_MEMORY_PATH_OVERRIDE|CLAUDE_CODE_(?:DISABLE_AUTO_MEMORY|SIMPLE))$/;
/** The same of where agents keep their files, by which a worker finds other sessions, too. */
const OF_AGENTS = /^(?:CLAUDE_CODE_REMOTE(?:_MEMORY_DIR)?|CLAUDE_CONFIG_DIR|(?:CODEX|GEMINI_CLI|COPILOT)_HOME)$/;

type Variables = Record<string, string | undefined>;

/** Of the environment of a hook what is kept with its session. */
export function environmentOfSession(all: Variables): Variables {
  const decides = ([name, value]: [string, unknown]) => value && (OF_SESSION.test(name) || OF_AGENTS.test(name));
  return Object.fromEntries(Object.entries(all).filter(decides));
}

/** What of it the worker is given that the hook starts: it works the sessions of others, too. */
export function environmentOfWorker(all: Variables): Variables {
  const own = Object.entries(all).filter(([name]) => !OF_SESSION.test(name));
  return { ...Object.fromEntries(own), NOCTURNE_WORKER: '1', NOCTURNE_FALLBACK_MODEL: all.NOCTURNE_MODEL };
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
