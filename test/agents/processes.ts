// Which processes of this machine have something in their environment. Linux only; zombies are dead.

import { readdirSync, readFileSync } from 'node:fs';

/** By pid, with what each was started as. */
export function processesWith(words: string): Map<number, string> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const found = new Map<number, string>();
  for (const pid of pids) {
    const about = (file: string) => textOf(`/proc/${pid}/${file}`);
    if (!about('environ').split('\0').includes(words) || /\) [ZX] /.test(about('stat'))) continue;
    found.set(Number(pid), about('cmdline').replaceAll('\0', ' ').trim());
  }
  return found;
}

/** Of a process that may be gone by now. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error) return '';
    throw error;
  }
}
