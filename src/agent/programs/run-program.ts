// Runs the program of an agent once: in an empty directory, with an environment of ours, the prompt on stdin.
// Promises: it and all of its group are killed when the promise settles, and soon after this process ends, however that ended
// (group-leader.js); what it prints is bounded, and what has left the group cannot make anyone wait.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, describeError } from '../../base/errors.ts';
import { packagePath } from '../../base/files/files.ts';
import { parseObject } from '../../base/text/json.ts';
import type { Ended } from './programs.ts';

/** A model's answer is a tenth of it. */
const MOST_BYTES = 4 * 2 ** 20;
/** What was printed is read to its end within so long: a process that left the group may hold the pipes. */
const READ_WITHIN_MS = 1_000;

interface RunOptions {
  path: string;
  args: string[];
  environment: Record<string, string>;
  cwd: string;
  stdin?: string;
  limitMs: number;
  /** For messages. */
  title: string;
  signal?: AbortSignal;
}

const LEADER = import.meta.url.endsWith('.ts')
  ? packagePath('src', 'agent', 'programs', 'group-leader.js')
  : packagePath('dist', 'lib', 'group-leader.js');

/**
 * Answers how it ended; `isEndless`: it printed more than it may, and was ended. Errors: `timeout` past `limitMs`, `no-model`
 * where it cannot be started, the reason of an aborted signal.
 */
export async function runProgram(options: RunOptions): Promise<Ended & { isEndless: boolean }> {
  const { path, args, environment, cwd, stdin = '', limitMs, title, signal } = options;
  signal?.throwIfAborted();
  const leader = spawn(process.execPath, [LEADER, path, ...args], {
    cwd,
    env: environment,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  const closed = once(leader, 'close').catch(() => {});
  const gone = new Promise<void>((resolve, reject) => {
    leader.once('error', (error) => reject(notStarted(title, describeError(error))));
    leader.once('exit', () => resolve());
  });
  // Where the leader is what was killed, its group is there all the same.
  const endGroup = () => {
    try {
      if (leader.pid !== undefined) process.kill(-leader.pid, 'SIGKILL');
    } catch (error) {
      // EPERM: on macOS a group that has ended and was not waited for.
      if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  };
  let why: unknown;
  let isEndless = false;
  const end = (reason: unknown) => {
    why ??= reason;
    endGroup();
  };
  const collect = (stream: NodeJS.ReadableStream) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    stream.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes <= MOST_BYTES) parts.push(part);
      else if (!isEndless) {
        isEndless = true;
        endGroup();
      }
    });
    return () => Buffer.concat(parts).toString('utf8');
  };
  const [stdout, stderr] = [collect(leader.stdout), collect(leader.stderr)];
  const told = collect(leader.stdio[3] as NodeJS.ReadableStream);
  // It may end without having read all; how it ended says more.
  for (const stream of leader.stdio) stream?.on('error', () => {});
  const onAbort = () => end(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const late = new AppError('timeout', `${title} did not answer within ${limitMs / 1000} s.`);
  const timer = setTimeout(() => end(late), limitMs);
  leader.stdin.end(stdin);
  try {
    await gone;
    // Where the leader was killed, or a child of the program holds its pipes.
    endGroup();
    await Promise.race([closed, sleep(READ_WITHIN_MS, undefined, { ref: false })]);
    if (why) throw why;
    const { code = null, error } = (parseObject(told()) ?? {}) as { code?: number | null; error?: string };
    if (error !== undefined) throw notStarted(title, error);
    return { code, stdout: stdout(), stderr: stderr(), isEndless };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    for (const stream of leader.stdio) stream?.destroy();
  }
}

function notStarted(title: string, found: string): AppError {
  return new AppError('no-model', `${title} could not be started: ${found}.`, {
    remedy: 'Install it again, or choose another model: nocturne setup.',
  });
}
