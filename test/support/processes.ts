// Which processes of nocturne run on this machine. Linux only, but for `isRunning`; zombies are dead.

import { readdirSync, readFileSync } from 'node:fs';

/** Those that have these words in their environment, by pid, with what each was started as. */
export function processesWith(words: string): Map<number, string> {
  const found = new Map<number, string>();
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    if (!about(pid, 'environ').split('\0').includes(words) || areGone([pid])) continue;
    found.set(pid, about(pid, 'cmdline').replaceAll('\0', ' ').trim());
  }
  return found;
}

/** The forked agents of workers on this home that are alive, by pid. */
export function agentsOf(home: string): number[] {
  return [...processesWith(`HOME=${home}`)]
    .filter(([, command]) => /\/forked-child\.[jt]s/.test(command))
    .map(([pid]) => pid);
}

/** Whether none of these processes is there any more; what has ended and was not waited for is gone. */
export function areGone(pids: number[]): boolean {
  return pids.every((pid) => /^$|\) [ZX] /.test(about(pid, 'stat')));
}

/** Whether it is there, on any system. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie is dead too: whoever inherited it may never collect it.
    return process.platform !== 'linux' || !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Of a process that may be gone by now. */
function about(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error) return '';
    throw error;
  }
}
