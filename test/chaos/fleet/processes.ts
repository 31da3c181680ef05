// The workers and servers of a fleet, each with a home of its own, started again as soon as it ends, as a service manager
// does; and what befalls them. Loads no test runner.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import type { Environment } from '../../../src/base/config/config.ts';
import { refusedPort } from '../../queue/servers.ts';
import type { Random } from '../../support/random.ts';

export const DOOR = join(import.meta.dirname, '../../../dist/nocturne.js');
const COMPILED = join(import.meta.dirname, '../../../node_modules/.cache/nocturne-test');
const STDERR_TAIL_CHARS = 4_000;
const START_MS = 60_000;
/** A service manager does not start one anew at once that just failed. */
const RESTART_MS = 300;
/** Of one that cannot begin, or go on, while what all share is away: it says so and its supervisor starts it anew. */
const IS_AWAY = /cannot be reached|Cannot reach|ECONNREFUSED|shutting down|starting up|terminat|not answer/i;

export interface FleetOptions {
  root: string;
  workers: number;
  servers: number;
  /** What each is given besides its home. */
  environment: Environment;
  settings: object;
}

interface Slot {
  name: string;
  kind: 'worker' | 'server';
  home: string;
  /** Of a server. */
  url?: string;
  args: string[];
  child: ChildProcess;
  ended: Promise<number | null>;
  isOurs: boolean;
}

export interface Fleet {
  /** The servers' URLs. */
  urls: string[];
  /** By kind of disturbance, how often it happened. */
  counts: Record<string, number>;
  /** Ends that nobody brought about, with the last words. */
  deaths: string[];
  /** When all servers answer. */
  ready(): Promise<void>;
  /** When all workers listen, too. */
  allUp(): Promise<void>;
  /** One disturbance, chosen by chance; one that stops does so for up to so long. */
  disturb(random: Random, mostStopMs: number): void;
  /** SIGTERM to all; answers how they ended. */
  stop(): Promise<{ name: string; code: number | null }[]>;
}

export function homeWith(root: string, { name, settings }: { name: string; settings: object }): string {
  const home = join(root, name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'config.json'), JSON.stringify(settings));
  return home;
}

export function environmentOf(home: string, environment: Environment): Environment {
  return { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED, HOME: home, NOCTURNE_HOME: home, ...environment };
}

export async function startFleet({ root, workers, servers, environment, settings }: FleetOptions): Promise<Fleet> {
  const counts: Record<string, number> = {};
  const deaths: string[] = [];
  const slots: Slot[] = [];
  const urls: string[] = [];
  let isStopping = false;

  const open = (slot: Omit<Slot, 'child' | 'ended' | 'isOurs'>, at: number) => {
    const child = spawn(process.execPath, [DOOR, ...slot.args], {
      env: environmentOf(slot.home, environment),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-STDERR_TAIL_CHARS);
    });
    const ended = new Promise<number | null>((resolve) => {
      child.once('close', (code, signal) => {
        resolve(code);
        if (isStopping) return;
        if (!slots[at]?.isOurs && !IS_AWAY.test(said)) {
          deaths.push(`${slot.name} ended with ${code ?? signal}: ${said.trim()}`);
        }
        setTimeout(() => isStopping || open(slot, at), RESTART_MS);
      });
    });
    slots[at] = { ...slot, child, ended, isOurs: false };
  };
  for (let nth = 0; nth < workers; nth += 1) {
    const name = `worker-${nth}`;
    open({ name, kind: 'worker', home: homeWith(root, { name, settings }), args: ['worker'] }, slots.length);
  }
  for (let nth = 0; nth < servers; nth += 1) {
    const name = `server-${nth}`;
    const port = String(await refusedPort());
    const url = `http://127.0.0.1:${port}`;
    urls.push(url);
    const args = ['serve', '--no-worker', '--port', port, '--creates', '0', '--reads', '0'];
    open({ name, kind: 'server', home: homeWith(root, { name, settings }), url, args }, slots.length);
  }

  const isUp = async ({ home, url, child }: Slot) => {
    if (child.exitCode !== null || child.signalCode !== null) return false;
    return url === undefined ? logOf(home).includes(`"pid":${child.pid},"event":"worker-started"`) : answers(url);
  };
  const allUp = async () => {
    const from = performance.now();
    while (!(await Promise.all(slots.map(isUp))).every(Boolean) && performance.now() - from < START_MS) await after(50);
  };
  const note = (kind: string) => {
    counts[kind] = (counts[kind] ?? 0) + 1;
  };
  const answers = (url: string) =>
    fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  return {
    urls,
    counts,
    deaths,
    allUp,
    async ready() {
      for (const from = performance.now(); ; await after(50)) {
        if ((await Promise.all(urls.map(answers))).every(Boolean)) return;
        if (performance.now() - from > START_MS) throw new Error(`A server does not come up: ${deaths.join('\n')}`);
      }
    },
    disturb(random, mostStopMs) {
      const kind = random.pick(['kill', 'kill', 'stop'] as const);
      const slot = random.pick(slots);
      note(`${kind} ${slot.kind}`);
      if (kind === 'kill') {
        slot.isOurs = true;
        slot.child.kill('SIGKILL');
        return;
      }
      slot.child.kill('SIGSTOP');
      setTimeout(() => slot.child.kill('SIGCONT'), 300 + random.below(mostStopMs));
    },
    async stop() {
      if (!isStopping) {
        for (const { child } of slots) child.kill('SIGCONT');
        // One that was just opened would die of a signal that it does not listen to yet.
        await allUp();
        isStopping = true;
        for (const { child } of slots) child.kill('SIGTERM');
      }
      return Promise.all(slots.map(async ({ name, ended }) => ({ name, code: await ended })));
    },
  };
}

function logOf(home: string): string {
  const path = join(home, 'logs/nocturne.log');
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
