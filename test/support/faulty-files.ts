// Breaks the disk on purpose: counts the calls that change it, of everything that uses `node:fs`, and fails one.
// `error`: that call alone fails, as on a full disk. `crash`: that call and all after it fail, as if the process had
// died there; the caller then opens the directory again as its heir. `after`: it dies when the call is done.

import fs from 'node:fs';

export type Fault = 'error' | 'crash' | 'after';

const NAMES = [
  'openSync',
  'writeFileSync',
  'fsyncSync',
  'renameSync',
  'linkSync',
  'mkdirSync',
  'rmSync',
  'rmdirSync',
] as const;

export interface Disk {
  /** Calls so far that change the disk. */
  calls: number;
  /** What the failed call was. */
  failed: string | null;
}

/** Runs `work` on a disk whose call number `at` (from 1) fails; 0: none does. Whatever it throws is dropped. */
export async function onFaultyDisk(fault: { at: number; kind: Fault }, work: () => Promise<unknown>): Promise<Disk> {
  const disk: Disk = { calls: 0, failed: null };
  const restore = patch((name, call) => {
    disk.calls += 1;
    const isDown = disk.failed !== null && fault.kind !== 'error';
    if (isDown || (disk.calls === fault.at && fault.kind !== 'after')) {
      disk.failed ??= name;
      throw Object.assign(new Error(`ENOSPC: no space left on device, ${name}`), { code: 'ENOSPC' });
    }
    try {
      return call();
    } finally {
      if (disk.calls === fault.at) disk.failed = name;
    }
  });
  try {
    await work();
  } catch (error) {
    if (fault.at === 0) throw error;
  } finally {
    restore();
  }
  return disk;
}

/** Kills this process at its call number `at` that changes the disk, before or after it is made. */
export function killAt(fault: { at: number; kind: 'crash' | 'after' }): void {
  let calls = 0;
  patch((_, call) => {
    calls += 1;
    if (calls === fault.at && fault.kind === 'crash') process.kill(process.pid, 'SIGKILL');
    try {
      return call();
    } finally {
      if (calls === fault.at) process.kill(process.pid, 'SIGKILL');
    }
  });
}

function patch(around: (name: string, call: () => unknown) => unknown): () => void {
  const real = Object.fromEntries(NAMES.map((name) => [name, fs[name]]));
  for (const name of NAMES) {
    const call = fs[name] as (...given: unknown[]) => unknown;
    Object.assign(fs, {
      [name]: (...given: unknown[]) => {
        // Opening to read changes nothing.
        if (name === 'openSync' && given[1] === 'r') return call.apply(fs, given);
        return around(name, () => call.apply(fs, given));
      },
    });
  }
  return () => Object.assign(fs, real);
}
