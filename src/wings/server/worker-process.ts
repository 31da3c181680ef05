// The worker beside a server: a process of its own, which does what clients ask a model for. Either outlives the other.
// Promises: none is started where one of this home lives; one that ended is started again while the server lives.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { openLog } from '../../base/files/files.ts';
import type { WingApp } from '../../doors/wing.ts';

const LOOK_MS = 15_000;

/** `door`: the file of the command line. Answers what ends the looking, not the worker. */
export function keepWorker({ config, home }: Pick<WingApp, 'config' | 'home'>, door: string): () => void {
  let started: ReturnType<typeof spawn> | undefined;
  const look = async () => {
    const isThere = started !== undefined && started.exitCode === null && started.signalCode === null;
    if (isThere || (await home.workers()).length > 0) return;
    const log = openLog(join(config.home, 'logs', 'worker.log'));
    started = spawn(process.execPath, [door, 'worker'], {
      cwd: config.home,
      detached: true,
      env: { ...config.environment, NOCTURNE_HOME: config.home },
      stdio: ['ignore', log, log],
      windowsHide: true,
    });
    started.on('error', () => {});
    started.unref();
  };
  // Where it cannot be told, it is looked again.
  const tryToLook = () => void look().catch(() => {});
  tryToLook();
  const looking = setInterval(tryToLook, LOOK_MS).unref();
  return () => clearInterval(looking);
}
