// Runs the program of an agent once: in an empty directory, with an environment of ours, the prompt on stdin.
// Promises: it and all that it started are gone when the promise settles, and soon after this process is, however that ended
// (group-leader.js); what it prints is bounded; nothing of the run is left on the disk.

import { spawn } from 'node:child_process';
import { AppError, describeError } from '../../base/errors.ts';
import { packagePath } from '../../base/files/files.ts';
import { parseObject } from '../../base/text/json.ts';
import type { Ended } from './program.ts';

/** A model's answer is a tenth of it. */
const MOST_BYTES = 4 * 2 ** 20;

export interface RunOptions {
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
    windowsHide: true,
  });
  const gone = new Promise<void>((resolve, reject) => {
    leader.once('error', (error) => reject(notStarted(title, describeError(error))));
    leader.once('exit', () => resolve());
  });
  // The leader may be the one that was killed: its group is not.
  const endGroup = () => {
    try {
      if (leader.pid !== undefined) process.kill(-leader.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  let why: unknown;
  let isEndless = false;
  const end = (reason: unknown) => {
    why ??= reason;
    endGroup();
  };
  const onAbort = () => end(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const late = new AppError('timeout', `${title} did not answer within ${limitMs / 1000} s.`);
  const timer = setTimeout(() => end(late), limitMs);
  const read = async (stream: NodeJS.ReadableStream) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of stream as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes <= MOST_BYTES) parts.push(part);
      else if (!isEndless) {
        isEndless = true;
        endGroup();
      }
    }
    return Buffer.concat(parts).toString('utf8');
  };
  // It may end without having read all.
  leader.stdin.on('error', () => {});
  leader.stdin.end(stdin);
  try {
    const pipe = leader.stdio[3] as NodeJS.ReadableStream;
    const reading = Promise.all([read(leader.stdout), read(leader.stderr), read(pipe)]);
    // Where the leader could not be started there is nothing to read.
    reading.catch(() => {});
    await gone;
    endGroup();
    const [stdout, stderr, told] = await reading;
    if (why) throw why;
    const { code = null, error } = (parseObject(told) ?? {}) as { code?: number | null; error?: string };
    if (error !== undefined) throw notStarted(title, error);
    return { code, stdout, stderr, isEndless };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    leader.stdio[3]?.destroy();
  }
}

function notStarted(title: string, found: string): AppError {
  return new AppError('no-model', `${title} could not be started: ${found}.`, {
    remedy: 'Install it again, or choose another model: nocturne setup.',
  });
}
