// Which processes of nocturne run on this machine. Linux only.

import { readdirSync, readFileSync } from 'node:fs';

/** The forked agents of workers on this home that are alive, by pid. Zombies are dead. */
export function agentsOf(home: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const about = (file: string) => textOf(`/proc/${pid}/${file}`);
      const isAgent = /\/forked-child\.[jt]s/.test(about('cmdline')) && about('environ').includes(`HOME=${home}\0`);
      return isAgent && !/\) [ZX] /.test(about('stat'));
    });
}

/** A file of a process that may be gone by now. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error) return '';
    throw error;
  }
}
