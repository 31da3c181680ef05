// Runs the agent loop in child processes, so that no hang, leak or crash of it reaches the process that owns the
// directory. A start costs many times what a run does apart from the model, so children are kept between runs.
// Promises: the same contract as the loop itself; a child serves one memory directory alone, one run at a time, and is
// kept only after a run that ended well, for at most so many runs and so long idle; else it is gone before the run's
// promise settles, killed at the wall clock, at an abort and at a port's error; what it says of a run that is over is not
// heard; idle ones keep no process alive. Never hands it a key by environment, and never throws because a child is gone.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { AppError } from '../base/errors.ts';
import { packagePath } from '../base/files/files.ts';
import type { AgentEnding, RunAgent } from './agent-types.ts';
import type { FromChild, PortCall, ToChild } from './forked-child.ts';

export interface ForkOptions {
  /** How long one run may take, in milliseconds of wall time. */
  wallMs: number;
  /** The child's heap limit in MiB. */
  memoryLimitMb: number;
  /** The parent's environment. Only what a network client needs of it is handed on. */
  environment: Record<string, string | undefined>;
  /** The child's program; default: the agent loop. */
  entry?: URL;
  /** How many children may wait for another run; default: none. */
  maxIdle?: number;
  /** Runs of one child; default: 20. */
  runs?: number;
  /** A child that is given no work for so long is ended; default: ten minutes. */
  idleMs?: number;
}

/** What a child may know: where programs, what is compiled and temporary files are, how the network is reached, whose it is. No keys. */
const HANDED_ON =
  /^(PATH|HOME|USERPROFILE|TMPDIR|TEMP|TMP|SystemRoot|(HTTPS?|ALL|NO)_PROXY|NODE_USE_ENV_PROXY|NODE_USE_SYSTEM_CA|NODE_COMPILE_CACHE|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|NOCTURNE_WORKER)$/i;

/** What a process may take beyond its heap: Node itself, the program, buffers. */
const BEYOND_HEAP_MB = 256;

const STDERR_TAIL_CHARS = 4096;

/** Not told from where this file is, which the build packs into others. */
const AGENT_ENTRY = pathToFileURL(
  import.meta.url.endsWith('.ts')
    ? packagePath('src', 'agent', 'forked-child.ts')
    : packagePath('dist', 'lib', 'forked-child.js'),
);

export type ForkedAgent = RunAgent & {
  /** Ends the children that wait for another run. */
  close(): void;
};

interface Child {
  process: ChildProcess;
  /** The memory directory; undefined: it is not kept. */
  memory: string | undefined;
  /** How many runs were begun. */
  runs: number;
  /** Ends it when it was idle for too long. */
  timer?: NodeJS.Timeout;
}

/**
 * A `RunAgent` that runs each request in a child process, which it keeps for the next request of the same memory
 * directory where the run ended well.
 * Errors, beyond the loop's: `child-crash` when the child ends by itself, runs out of memory or past `wallMs`; what a
 * port throws, as it was thrown; the reason of an aborted signal.
 */
export function forkAgent(options: ForkOptions): ForkedAgent {
  const { wallMs, maxIdle = 0, runs = 20, idleMs = 600_000 } = options;
  /** The last used first. */
  let idle: Child[] = [];

  const leave = (child: Child) => {
    clearTimeout(child.timer);
    idle = idle.filter((each) => each !== child);
  };
  const end = (child: Child) => {
    leave(child);
    child.process.kill('SIGKILL');
  };
  const take = (memory: string | undefined): Child => {
    const kept = idle.find((each) => memory !== undefined && each.memory === memory);
    const child = kept ?? { process: startChild(options), memory, runs: 0 };
    if (kept) holdParent(kept.process, 'ref');
    else child.process.once('close', () => leave(child));
    leave(child);
    child.runs += 1;
    return child;
  };
  const keep = (child: Child) => {
    if (child.memory === undefined || child.runs >= runs) return end(child);
    holdParent(child.process, 'unref');
    child.timer = setTimeout(end, idleMs, child).unref();
    idle.unshift(child);
    for (const longest of idle.slice(maxIdle)) end(longest);
  };

  const agent: RunAgent = async ({ memory, ...request }, ports, signal) => {
    signal?.throwIfAborted();
    const child = take(memory);
    const { process, runs: run } = child;
    // It has no pipe, and is never closed.
    if (process.pid === undefined) throw crash(`could not be started: ${(await once(process, 'error'))[0].message}.`);
    const { promise, resolve, reject } = Promise.withResolvers<AgentEnding>();
    // How the run failed. The first word counts; it is passed on once the child is gone.
    let failure: { error: unknown } | undefined;
    let hasSpoken = false;
    let isOver = false;
    let stderr = '';
    const fail = (error: unknown) => {
      if (isOver) return;
      failure ??= { error };
      process.kill('SIGKILL');
    };
    // A pipe that is closed is no news: the child's exit says more.
    const tell = (message: ToChild) => process.send(message, () => undefined);
    const answer = async ({ id, port, args }: PortCall) => {
      const asked = ports[port] as (...args: unknown[]) => Promise<unknown>;
      tell({ kind: 'answer', id, value: await asked(...args) });
    };
    const onMessage = (message: FromChild) => {
      if (failure || message.run !== run) return;
      hasSpoken = true;
      if (message.kind === 'call') answer(message).catch(fail);
      else if (message.kind === 'failed') fail(new AppError(message.code, message.message, message));
      else {
        release();
        keep(child);
        resolve(message.ending);
      }
    };
    const onClose = (code: number | null, killedBy: NodeJS.Signals | null) => {
      release();
      const how = killedBy ? `by ${killedBy}` : `with exit code ${code}`;
      if (failure) reject(failure.error);
      // It was kept, and ended before it heard of this run.
      else if (run > 1 && !hasSpoken) resolve(agent({ memory, ...request }, ports, signal));
      else reject(crash(`ended ${how} before it had answered. ${stderr.trim()}`.trim()));
    };
    const onWords = (text: string) => {
      stderr = (stderr + text).slice(-STDERR_TAIL_CHARS);
    };
    const onAbort = () => fail(signal?.reason);
    const wall = setTimeout(() => fail(crash(`ran past its limit of ${wallMs / 1000} s and was stopped.`)), wallMs);
    const release = () => {
      isOver = true;
      clearTimeout(wall);
      signal?.removeEventListener('abort', onAbort);
      process.off('message', onMessage).off('close', onClose).stderr?.off('data', onWords);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    process.on('message', onMessage).once('close', onClose).stderr?.on('data', onWords);
    tell({ kind: 'start', run, request });
    return promise;
  };
  const close = () => void idle.map(end);
  return Object.assign(agent, { close });
}

function startChild({ entry, environment, memoryLimitMb }: ForkOptions): ChildProcess {
  const child = fork(entry ?? AGENT_ENTRY, [String(memoryLimitMb + BEYOND_HEAP_MB)], {
    env: Object.fromEntries(Object.entries(environment).filter(([name]) => HANDED_ON.test(name))),
    execArgv: [`--max-old-space-size=${memoryLimitMb}`],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  // An error between runs belongs to no run, and would be thrown.
  child.on('error', () => undefined);
  child.stderr?.setEncoding('utf8');
  return child;
}

/** Whether the child, and what it may say, keeps this process alive. */
function holdParent(child: ChildProcess, how: 'ref' | 'unref'): void {
  const pipe = child.stderr as { ref?(): void; unref?(): void } | null;
  for (const each of [child, child.channel, pipe]) each?.[how]?.();
}

function crash(what: string): AppError {
  return new AppError('child-crash', `The agent process ${what}`);
}
