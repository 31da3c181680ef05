// The command line as its users run it: a process of its own, what it prints, and how it ends.
// A process that a test leaves behind is killed when the test is done.

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';

/** What `nocturne` is: the build, which is made before the first test (build.ts). */
export const DOOR = join(import.meta.dirname, '../../dist/nocturne.js');
/** Halves the CPU time that a start costs. */
export const COMPILED = join(import.meta.dirname, '../../node_modules/.cache/nocturne-test');

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface StartOptions {
  cwd?: string;
  /** Options of Node itself. */
  nodeArgs?: string[];
}

export type Running = ReturnType<typeof start>;

/** Starts `nocturne ARGS`. */
export function start(args: string[], environment: Environment, options: StartOptions = {}) {
  const child = spawn(process.execPath, [...(options.nodeArgs ?? []), DOOR, ...args], {
    cwd: options.cwd,
    env: { NODE_COMPILE_CACHE: COMPILED, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const ended = endOf(child).then(({ code, signal }) => ({ code, signal, stdout: stdout(), stderr: stderr() }));
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const kill = (signal: NodeJS.Signals) => child.kill(signal);
  return { pid: child.pid as number, kill, stdout, stderr, ended };
}

/** Runs `nocturne ARGS` to its end. */
export function run(args: string[], environment: Environment, options: StartOptions = {}): Promise<Ended> {
  return start(args, environment, options).ended;
}

/** Runs it and reads stdout as one JSON value per line, which must be all there is. */
export async function runJson<T>(args: string[], environment: Environment, options: StartOptions = {}) {
  const ended = await run([...args, '--json'], environment, options);
  const values = ended.stdout.split('\n').filter(Boolean);
  return { ...ended, values: values.map((line): T => JSON.parse(line)) };
}

/** Waits for what a process is to do; fails with what it said where it ends before. */
export function whileRuns<T>({ ended }: Running, what: Promise<T>): Promise<T> {
  const early = ended.then(({ code, signal, stderr }): never => {
    throw new Error(`The process ended early, with ${code ?? signal}: ${stderr}`);
  });
  return Promise.race([what, early]);
}

/** Until `holds` answers true; fails after `timeoutMs`. */
export function until(holds: () => boolean | Promise<boolean>, timeoutMs = 120_000): Promise<unknown> {
  return vi.waitUntil(holds, { timeout: timeoutMs, interval: 20 });
}

/** Ends a worker as a service manager does, and waits for it. */
export function stop(worker: Running): Promise<Ended> {
  worker.kill('SIGTERM');
  return worker.ended;
}

function endOf(child: ChildProcess): Promise<Pick<Ended, 'code' | 'signal'>> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}
