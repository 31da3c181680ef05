// The workers of a chaos run, and what befalls them and their agents.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Environment } from '../../src/base/config/config.ts';
import { agentsOf } from '../support/processes.ts';
import type { Random } from '../support/random.ts';
import { type Program, supervise } from './supervised.ts';

/** Lets a process go on after some milliseconds; one that is gone by then is left in peace. */
const WAKER = `
const [ms, pid] = process.argv.slice(1).map(Number);
setTimeout(() => { try { process.kill(pid, 'SIGCONT'); } catch (error) { if (error.code !== 'ESRCH') throw error; } }, ms);`;

export function startWorkers(count: number, { home, environment }: { home: string; environment: Environment }) {
  const programs = Array.from({ length: count }, (_, nth) => ({ name: `worker ${nth}`, args: ['worker'], home }));
  const workers = supervise<Program>(programs, { environment });
  const wakers = new Set<ChildProcess>();

  /** By a process of its own: this one may be waiting for a lock that the stopped one holds. */
  const goOnAfter = (ms: number, pid: number) => {
    const waker = spawn(process.execPath, ['-e', WAKER, String(ms), String(pid)], { stdio: 'ignore' });
    wakers.add(waker);
    waker.once('close', () => wakers.delete(waker));
  };
  return {
    ...workers,
    /** One disturbance, chosen by chance. */
    disturb(random: Random, mostStopMs: number) {
      const kind = random.pick(['kill worker', 'stop worker', 'kill agent', 'stop agent'] as const);
      const slot = random.pick(workers.slots);
      const agents = agentsOf(home);
      if (kind === 'kill worker') workers.kill(slot);
      else if (kind === 'stop worker') {
        slot.child.kill('SIGSTOP');
        goOnAfter(500 + random.below(mostStopMs), slot.child.pid as number);
      } else if (agents.length === 0) return;
      else {
        const pid = random.pick(agents);
        signal(pid, kind === 'kill agent' ? 'SIGKILL' : 'SIGSTOP');
        if (kind === 'stop agent') goOnAfter(500 + random.below(Math.min(mostStopMs, 5_000)), pid);
      }
      workers.note(kind);
    },
    async stop() {
      for (const waker of wakers) waker.kill();
      for (const pid of agentsOf(home)) signal(pid, 'SIGCONT');
      return workers.stop();
    },
  };
}

/** To a process that may be gone by now. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
