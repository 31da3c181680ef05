// The workers of a chaos run, each restarted as soon as it ends, as a service manager does; and what befalls them.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import type { Environment } from '../../src/base/config/config.ts';
import { agentsOf } from '../support/processes.ts';
import type { Random } from '../support/random.ts';

const DOOR = join(import.meta.dirname, '../../dist/nocturne.js');
const COMPILED = join(import.meta.dirname, '../../node_modules/.cache/nocturne-test');
const STDERR_TAIL_CHARS = 4_000;
const MOST_START_MS = 30_000;
/** Lets a process go on after some milliseconds; one that is gone by then is left in peace. */
const WAKER = `
const [ms, pid] = process.argv.slice(1).map(Number);
setTimeout(() => { try { process.kill(pid, 'SIGCONT'); } catch (error) { if (error.code !== 'ESRCH') throw error; } }, ms);`;

export interface Workers {
  /** By kind of disturbance, how often it happened. */
  counts: Record<string, number>;
  /** Ends of workers that nobody brought about, with the last they said. */
  deaths: string[];
  /** One disturbance, chosen by chance. */
  disturb(random: Random): void;
  /** SIGTERM to all; resolves with their exit codes and the last they said. */
  stop(): Promise<{ code: number | null; said: string }[]>;
}

export function startWorkers(
  count: number,
  { home, environment }: { home: string; environment: Environment },
): Workers {
  const counts: Record<string, number> = {};
  const deaths: string[] = [];
  const slots: { child: ChildProcess; ended: Promise<{ code: number | null; said: string }>; isOurs: boolean }[] = [];
  const wakers = new Set<ChildProcess>();
  let isStopping = false;

  const open = (slot: number) => {
    const child = spawn(process.execPath, [DOOR, 'worker'], {
      env: { NODE_COMPILE_CACHE: COMPILED, ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-STDERR_TAIL_CHARS);
    });
    const ended = new Promise<{ code: number | null; said: string }>((resolve) => {
      child.once('close', (code) => {
        resolve({ code, said: said.trim() });
        if (isStopping) return;
        if (slots[slot]?.isOurs !== true) deaths.push(`worker ended with ${code}: ${said.trim()}`);
        open(slot);
      });
    });
    slots[slot] = { child, ended, isOurs: false };
  };
  for (let slot = 0; slot < count; slot += 1) open(slot);

  const note = (kind: string) => {
    counts[kind] = (counts[kind] ?? 0) + 1;
  };
  /** By a process of its own: this one may be waiting for a lock that the stopped one holds. */
  const goOnAfter = (ms: number, pid: number) => {
    const waker = spawn(process.execPath, ['-e', WAKER, String(ms), String(pid)], { stdio: 'ignore' });
    wakers.add(waker);
    waker.once('close', () => wakers.delete(waker));
  };
  return {
    counts,
    deaths,
    disturb(random) {
      const kind = random.pick(['kill worker', 'stop worker', 'kill agent', 'stop agent'] as const);
      const slot = random.pick(slots);
      const agents = agentsOf(home);
      if (kind === 'kill worker') {
        slot.isOurs = true;
        slot.child.kill('SIGKILL');
      } else if (kind === 'stop worker') {
        slot.child.kill('SIGSTOP');
        goOnAfter(500 + random.below(14_000), slot.child.pid as number);
      } else if (agents.length === 0) {
        return;
      } else if (kind === 'kill agent') {
        signal(random.pick(agents), 'SIGKILL');
      } else {
        const pid = random.pick(agents);
        signal(pid, 'SIGSTOP');
        goOnAfter(500 + random.below(5_000), pid);
      }
      note(kind);
    },
    async stop() {
      for (const waker of wakers) waker.kill();
      for (const { child } of slots) child.kill('SIGCONT');
      // One that was just opened would die of a signal that it does not listen to yet.
      const isUp = ({ child }: (typeof slots)[number]) =>
        child.exitCode !== null || child.signalCode !== null || begunIn(home).includes(`"pid":${child.pid},`);
      const from = performance.now();
      while (!slots.every(isUp) && performance.now() - from < MOST_START_MS) await after(50);
      isStopping = true;
      for (const { child } of slots) child.kill('SIGTERM');
      for (const pid of agentsOf(home)) signal(pid, 'SIGCONT');
      return Promise.all(slots.map(({ ended }) => ended));
    },
  };
}

/** What the log has of workers that began. */
function begunIn(home: string): string {
  const path = join(home, 'logs/nocturne.log');
  return (existsSync(path) ? readFileSync(path, 'utf8') : '')
    .split('\n')
    .filter((line) => line.includes('"worker-started"'))
    .join('\n');
}

/** To a process that may be gone by now. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
