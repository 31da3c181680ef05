// Runs the agent loop in child processes, so that no hang, leak or crash of it reaches the process that owns the
// directory. A start costs several times what a run does apart from the model, so children are kept between runs.
// Promises: the same contract as the loop itself; a child serves one memory directory alone, one run at a time, and is
// kept only after a run that ended well, for at most so many runs and so long idle; in every other case it is reaped before
// the run's promise settles; it is killed at the wall clock, at an abort and at a port's error; what it says of a run that
// is over, or while it is idle, is not heard; idle ones keep no process alive. Never hands it a key by environment, and
// never throws because a child is gone.

import { type ChildProcess, fork } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { AppError } from '../../base/errors.ts';
import { packagePath } from '../../base/files/files.ts';
import type { AgentPorts, AgentRequest, RunAgent } from '../types.ts';
import type { FromChild, PortCall, ToChild } from './child.ts';

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
  /** Bounds of these, in place of the usual. */
  warm?: Partial<WarmOptions>;
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
    ? packagePath('src', 'agent', 'child', 'child.ts')
    : packagePath('dist', 'lib', 'child.js'),
);

/** A child that was given no work for so long is ended, and one that has had so many runs. */
const WARM = { runs: 20, idleMs: 60_000 };

export type ForkedAgent = RunAgent & {
  /** Ends the children that wait for another run. */
  close(): void;
};

/**
 * A `RunAgent` that runs each request in a child process, which it keeps for the next request of the same memory
 * directory where the run ended well.
 * Errors, beyond the loop's: `child-crash` when the child ends by itself, runs out of memory or past `wallMs`; what a
 * port throws, as it was thrown; the reason of an aborted signal.
 */
export function forkAgent(options: ForkOptions): ForkedAgent {
  const warm = new WarmChildren({ ...WARM, most: options.maxIdle ?? 0, ...options.warm });
  const start = (memory: string | undefined): Child => ({ process: startChild(options), memory, runs: 0 });
  const run: RunAgent = async ({ memory, ...request }, ports, signal) => {
    signal?.throwIfAborted();
    const given = { request, ports, signal, wallMs: options.wallMs, warm };
    const kept = memory === undefined ? undefined : warm.take(memory);
    try {
      return await runIn(kept ?? start(memory), given);
    } catch (error) {
      // It ended, for whatever reason, before it heard of the run.
      if (error instanceof Unheard) return runIn(start(memory), given);
      throw error;
    }
  };
  return Object.assign(run, { close: () => warm.close() });
}

function startChild({ entry, environment, memoryLimitMb }: ForkOptions): ChildProcess {
  try {
    const child = fork(entry ?? AGENT_ENTRY, [String(memoryLimitMb + BEYOND_HEAP_MB)], {
      env: Object.fromEntries(Object.entries(environment).filter(([name]) => HANDED_ON.test(name))),
      execArgv: [`--max-old-space-size=${memoryLimitMb}`],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    // An error between runs belongs to no run, and would be thrown.
    child.on('error', () => undefined);
    child.stderr?.setEncoding('utf8');
    return child;
  } catch (error) {
    throw notStarted(error);
  }
}

/** A child that had served another run ended without a word about this one. */
class Unheard extends Error {}

interface Run {
  request: AgentRequest;
  ports: AgentPorts;
  signal: AbortSignal | undefined;
  wallMs: number;
  warm: WarmChildren;
}

function runIn(child: Child, { request, ports, signal, wallMs, warm }: Run): ReturnType<RunAgent> {
  const { process } = child;
  child.runs += 1;
  const run = child.runs;
  return new Promise((resolve, reject) => {
    // How the run ended. The first word counts; it is passed on once the child is gone, or is free for another run.
    let settle: (() => void) | undefined;
    let hasSpoken = false;
    let isClean = true;
    const finish = (how: () => void) => {
      if (settle) return;
      settle = how;
      process.kill('SIGKILL');
    };
    const fail = (error: unknown) => finish(() => reject(error));

    // A pipe that is closed is no news: the child's exit says more.
    const tell = (message: ToChild) => process.send(message, () => undefined);
    const answer = async (call: PortCall) => {
      try {
        const value = await callPort(ports, call);
        if (!settle) tell({ kind: 'answer', run, id: call.id, value });
      } catch (error) {
        fail(error);
      }
    };
    const onMessage = (message: FromChild) => {
      if (settle) return;
      if (message.run !== run) {
        isClean = false;
        return;
      }
      hasSpoken = true;
      if (message.kind === 'call') void answer(message);
      else if (message.kind === 'failed') fail(new AppError(message.code, message.message, message));
      else if (!message.isReady || !isClean) finish(() => resolve(message.ending));
      else {
        settle = () => undefined;
        release();
        warm.giveBack(child);
        resolve(message.ending);
      }
    };

    const onAbort = () => fail(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const limit = `${wallMs / 1000} s`;
    const wall = setTimeout(
      () => fail(new AppError('child-crash', `The agent process ran past its limit of ${limit} and was stopped.`)),
      wallMs,
    );

    let stderr = '';
    const onWords = (text: string) => {
      stderr = (stderr + text).slice(-STDERR_TAIL_CHARS);
    };
    const onError = (error: unknown) => fail(notStarted(error));
    const onClose = (code: number | null, killedBy: NodeJS.Signals | null) => {
      release();
      const how = killedBy ? `by ${killedBy}` : `with exit code ${code}`;
      const crash = `The agent process ended ${how} before it had answered. ${stderr.trim()}`.trim();
      const isUnheard = run > 1 && !hasSpoken;
      (settle ?? (() => reject(isUnheard ? new Unheard() : new AppError('child-crash', crash))))();
    };
    const release = () => {
      clearTimeout(wall);
      signal?.removeEventListener('abort', onAbort);
      process.off('message', onMessage).off('error', onError).off('close', onClose).stderr?.off('data', onWords);
    };
    process.stderr?.on('data', onWords);
    process.on('message', onMessage).on('error', onError).once('close', onClose);
    tell({ kind: 'start', run, request });
  });
}

async function callPort(ports: AgentPorts, call: PortCall): Promise<unknown> {
  switch (call.port) {
    case 'callTool':
      return ports.callTool(...call.args);
    case 'reserve':
      return ports.reserve(...call.args);
    case 'settle':
      return ports.settle(...call.args);
    case 'runProgram':
      return ports.runProgram?.(...call.args);
  }
}

function notStarted(error: unknown): AppError {
  const found = error instanceof Error ? error.message : String(error);
  return new AppError('child-crash', `The agent process could not be started: ${found}.`, { cause: error });
}

interface WarmOptions {
  /** How many may be idle at once. */
  most: number;
  /** Runs of one child. */
  runs: number;
  idleMs: number;
}

interface Child {
  process: ChildProcess;
  /** The memory directory; undefined: it is not kept. */
  memory: string | undefined;
  /** How many runs were begun. */
  runs: number;
}

interface Idle {
  child: Child;
  /** From here on it is no idle child any more. */
  leave(): void;
}

class WarmChildren {
  /** The longest idle first. */
  readonly #idle: Idle[] = [];
  readonly #options: WarmOptions;

  constructor(options: WarmOptions) {
    this.#options = options;
  }

  /** One that has served this directory, the last used; undefined: there is none. */
  take(memory: string): Child | undefined {
    const found = this.#idle.findLast(({ child }) => child.memory === memory);
    found?.leave();
    return found?.child;
  }

  /** Takes one back after a run that ended well, or ends it. */
  giveBack(child: Child): void {
    const { most, runs, idleMs } = this.#options;
    const { process, memory } = child;
    if (memory === undefined || child.runs >= runs || most === 0) {
      process.kill('SIGKILL');
      return;
    }
    const end = () => {
      idle.leave();
      process.kill('SIGKILL');
    };
    const timer = setTimeout(end, idleMs).unref();
    const events = ['message', 'error', 'exit', 'disconnect'] as const;
    const hold = (isHeld: boolean) => {
      for (const each of [process, process.channel, process.stderr as { ref?(): void; unref?(): void } | null]) {
        if (isHeld) each?.ref?.();
        else each?.unref?.();
      }
    };
    const idle: Idle = {
      child,
      leave: () => {
        clearTimeout(timer);
        for (const event of events) process.off(event, end);
        this.#idle.splice(this.#idle.indexOf(idle), 1);
        hold(true);
      },
    };
    for (const event of events) process.on(event, end);
    hold(false);
    this.#idle.push(idle);
    if (this.#idle.length > most) this.#endFirst();
  }

  /** Ends all that are idle. */
  close(): void {
    while (this.#idle.length > 0) this.#endFirst();
  }

  #endFirst(): void {
    const [first] = this.#idle;
    first?.leave();
    first?.child.process.kill('SIGKILL');
  }
}
