// The hook as agents call it: a process that is given JSON and is expected to be silent.

import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import { systemClock } from '../../src/base/time.ts';
import { awakeIn, type SpoolItem } from '../../src/queue/spool.ts';

/** As it is published. */
const HOOK = join(import.meta.dirname, '../../dist/hook.js');

export interface HookOptions {
  args?: string[];
  /** Leave stdin open behind the input. */
  isOpen?: boolean;
  /** Words before the program, such as a shell that limits it. */
  under?: string[];
}

export interface HookEnded {
  code: number | null;
  signal: NodeJS.Signals | null;
  printed: string;
  ms: number;
}

export const SILENT = { code: 0, signal: null, printed: '' };

export function startHook(input: string | Buffer | object, environment: Environment, options: HookOptions = {}) {
  // Made before the hook's half second begins.
  const text = Buffer.isBuffer(input) ? input : Buffer.from(typeof input === 'string' ? input : JSON.stringify(input));
  const [command = process.execPath, ...before] = [...(options.under ?? []), process.execPath];
  const start = performance.now();
  const child = spawn(command, [...before, HOOK, ...(options.args ?? [])], {
    env: environment,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  // A hook that does not read may close the pipe.
  child.stdin.on('error', () => undefined);
  if (options.isOpen) child.stdin.write(text);
  else child.stdin.end(text);
  return { child, ended: endOf(child, start) };
}

export async function runHook(...call: Parameters<typeof startHook>): Promise<HookEnded> {
  return startHook(...call).ended;
}

/** Stands for a worker that takes in the spool, so that hooks start none. */
export function keepAwake(home: string): void {
  const awake = awakeIn(home, systemClock);
  awake.enter();
  onTestFinished(() => awake.leave());
}

/** The whole items in the spool of a home. Fails on a file that is not one. */
export function spooledIn(home: string): SpoolItem[] {
  return filesIn(join(home, 'spool'))
    .filter((name) => name.endsWith('.json'))
    .map((name): SpoolItem => JSON.parse(readFileSync(join(home, 'spool', name), 'utf8')));
}

export function hookLog(home: string): string[] {
  return filesIn(join(home, 'logs')).includes('hook.log')
    ? readFileSync(join(home, 'logs', 'hook.log'), 'utf8')
        .trimEnd()
        .split('\n')
    : [];
}

export function filesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

function endOf(child: ChildProcess, start: number): Promise<HookEnded> {
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, printed, ms: performance.now() - start }));
  });
}
