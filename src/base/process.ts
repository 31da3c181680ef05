// Who is alive: names a process of this machine so that a reused pid is not taken for its predecessor.

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
