// Who is awake: `$NOCTURNE_HOME/awake/`, a file for each worker that takes in the spool, so that a hook knows within a
// millisecond, and without a database, whether it has to start one.
// Promises that nothing spooled is left behind: a hook first spools and then looks here; a worker first leaves here and
// then looks into the spool once more. Loads nothing but Node's own modules, for the hook's sake.

import { join } from 'node:path';
import { listNames } from '../base/files/directories.ts';
import { readTextNow, removeFile, statNow, writeWhole } from '../base/files/files.ts';
import { isDead, thisProcess } from '../base/process.ts';
import type { Clock } from '../base/time.ts';

/** A process on another host (a container that was made anew) cannot be asked: its file tells by being renewed. */
const RENEWED_MS = 30_000;
const FORGOTTEN_MS = 4 * RENEWED_MS;

export interface Awake {
  /** Enters this process, and its file is renewed until it leaves. */
  enter(): void;
  /** Enters, unless an older worker is awake: then this one is not needed and has left. */
  enterIfNeeded(): boolean;
  leave(): void;
}

export function awakeIn(home: string, clock: Clock): Awake {
  const dir = join(home, 'awake');
  // In the order of their names the older come first.
  const name = `${String(clock.now().getTime()).padStart(15, '0')}-${process.pid}`;
  let renewal: NodeJS.Timeout | undefined;
  const write = () => writeWhole(join(dir, name), thisProcess());
  const enter = () => {
    for (const gone of listNames(dir).filter((other) => !isAwake(join(dir, other), clock))) removeFile(join(dir, gone));
    write();
    renewal ??= setInterval(write, RENEWED_MS).unref();
  };
  const leave = () => {
    clearInterval(renewal);
    renewal = undefined;
    removeFile(join(dir, name));
  };
  const hasOlder = () => listNames(dir).some((other) => other < name && isAwake(join(dir, other), clock));
  return {
    enter,
    leave,
    enterIfNeeded() {
      enter();
      if (!hasOlder()) return true;
      leave();
      // Asked again after leaving: who is still awake now will look into the spool after all that relied on this one.
      if (hasOlder()) return false;
      enter();
      return true;
    },
  };
}

export function isAnyAwake(home: string, clock: Clock): boolean {
  const dir = join(home, 'awake');
  return listNames(dir).some((name) => isAwake(join(dir, name), clock));
}

function isAwake(path: string, clock: Clock): boolean {
  const process = path.endsWith('.tmp') ? null : readTextNow(path);
  if (!process || isDead(process)) return false;
  const isHere = process.split(':')[0] === thisProcess().split(':')[0];
  return isHere || clock.now().getTime() - (statNow(path)?.modifiedMs ?? 0) < FORGOTTEN_MS;
}
