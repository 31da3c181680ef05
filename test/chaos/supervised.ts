// Programs of a chaos run, each started again as soon as it ends, as a service manager does. Loads no test runner.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import type { Environment } from '../../src/base/config/config.ts';

const DOOR = join(import.meta.dirname, '../../dist/nocturne.js');
const CLOCK = join(import.meta.dirname, 'clock-ahead.js');
const COMPILED = join(import.meta.dirname, '../../node_modules/.cache/nocturne-test');
const STDERR_TAIL_CHARS = 4_000;
const START_MS = 60_000;
/** A service manager does not start one anew at once that just failed. */
const RESTART_MS = 300;

export interface Program {
  name: string;
  args: string[];
  home: string;
  /** So far its clock is ahead. */
  aheadMs?: number;
}

export interface Ended {
  name: string;
  code: number | null;
  /** The last it said. */
  said: string;
}

export interface Slot<P extends Program> {
  program: P;
  child: ChildProcess;
  ended: Promise<Ended>;
  /** Whether its end was brought about. */
  isOurs: boolean;
}

export interface Supervised<P extends Program> {
  slots: Slot<P>[];
  /** By kind of disturbance, how often it happened. */
  counts: Record<string, number>;
  /** Ends that nobody brought about, with the last words. */
  deaths: string[];
  note(kind: string): void;
  kill(slot: Slot<P>): void;
  /** When all listen. */
  allUp(): Promise<void>;
  /** SIGTERM to all, once they listen; answers how they ended. */
  stop(): Promise<Ended[]>;
}

/** `isUp`: whether one that runs listens; `isAway`: whether its last words say that what it needs is not there. */
export function supervise<P extends Program>(
  programs: P[],
  {
    environment,
    isUp = isWorking,
    isAway = () => false,
  }: { environment: Environment; isUp?(slot: Slot<P>): boolean | Promise<boolean>; isAway?(said: string): boolean },
): Supervised<P> {
  const counts: Record<string, number> = {};
  const deaths: string[] = [];
  const slots: Slot<P>[] = [];
  let isStopping = false;

  const open = (program: P, at: number) => {
    const { name, args, home, aheadMs = 0 } = program;
    const child = spawn(process.execPath, [DOOR, ...args], {
      env: {
        ...{ PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED, HOME: home, NOCTURNE_HOME: home },
        ...environment,
        ...(aheadMs !== 0 && { NODE_OPTIONS: `--import=${CLOCK}`, CLOCK_AHEAD_MS: String(aheadMs) }),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-STDERR_TAIL_CHARS);
    });
    const ended = new Promise<Ended>((resolve) => {
      child.once('close', (code, signal) => {
        resolve({ name, code, said: said.trim() });
        if (isStopping) return;
        if (!slots[at]?.isOurs && !isAway(said)) deaths.push(`${name} ended with ${code ?? signal}: ${said.trim()}`);
        setTimeout(() => isStopping || open(program, at), RESTART_MS);
      });
    });
    slots[at] = { program, child, ended, isOurs: false };
  };
  for (const [at, program] of programs.entries()) open(program, at);

  const listens = async (slot: Slot<P>) =>
    !slot.isOurs && slot.child.exitCode === null && slot.child.signalCode === null && (await isUp(slot));
  const allUp = async () => {
    const from = performance.now();
    while (performance.now() - from < START_MS) {
      if ((await Promise.all(slots.map(listens))).every(Boolean)) return;
      await after(50);
    }
  };
  return {
    ...{ slots, counts, deaths, allUp },
    note(kind) {
      counts[kind] = (counts[kind] ?? 0) + 1;
    },
    kill(slot) {
      slot.isOurs = true;
      slot.child.kill('SIGKILL');
    },
    async stop() {
      if (!isStopping) {
        for (const { child } of slots) child.kill('SIGCONT');
        // One that was just opened would die of a signal that it does not listen to yet.
        await allUp();
        isStopping = true;
        for (const { child } of slots) child.kill('SIGTERM');
      }
      return Promise.all(slots.map(({ ended }) => ended));
    },
  };
}

/** Whether the log of its home has that this worker began. */
export function isWorking({ program, child }: Slot<Program>): boolean {
  const path = join(program.home, 'logs/nocturne.log');
  const log = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return log.split('\n').some((line) => line.includes('"worker-started"') && line.includes(`"pid":${child.pid},`));
}
