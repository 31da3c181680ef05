// Runs the agent loop in a child process, so that no hang, leak or crash of it reaches the process that owns the
// directory. Promises: the same contract as the loop itself; the child is reaped before the run's promise settles; it
// is killed at the wall clock, at an abort, at a port's error and after its ending; what it says later is not heard.
// Never hands it a key by environment, and never throws because a child is gone.

import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import type { AgentPorts, AgentRequest, RunAgent } from '../agent/types.ts';
import { AppError } from '../errors.ts';
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
}

/** What a child may know: where programs and temporary files are, how the network is reached, whose it is. No keys. */
const HANDED_ON =
  /^(PATH|HOME|USERPROFILE|TMPDIR|TEMP|TMP|SystemRoot|(HTTPS?|ALL|NO)_PROXY|NODE_USE_ENV_PROXY|NODE_USE_SYSTEM_CA|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|NOCTURNE_WORKER)$/i;

/** What a process may take beyond its heap: Node itself, the program, buffers. */
const BESIDE_HEAP_MB = 256;

const STDERR_TAIL_CHARS = 4096;

/** In the source tree this file and the child are TypeScript, in a build JavaScript. */
const AGENT_ENTRY = new URL(`./child${extname(import.meta.url)}`, import.meta.url);

/**
 * A `RunAgent` that runs each request in a process of its own.
 * Errors, beyond the loop's: `child-crash` when the child ends by itself, runs out of memory or past `wallMs`; what a
 * port throws, as it was thrown; the reason of an aborted signal.
 */
export function forkAgent(options: ForkOptions): RunAgent {
  return async (request, ports, signal) => {
    signal?.throwIfAborted();
    return runIn(startChild(options), { request, ports, signal, wallMs: options.wallMs });
  };
}

function startChild({ entry, environment, memoryLimitMb }: ForkOptions): ChildProcess {
  try {
    return fork(entry ?? AGENT_ENTRY, [String(memoryLimitMb + BESIDE_HEAP_MB)], {
      env: Object.fromEntries(Object.entries(environment).filter(([name]) => HANDED_ON.test(name))),
      execArgv: [`--max-old-space-size=${memoryLimitMb}`],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
  } catch (error) {
    throw notStarted(error);
  }
}

interface Run {
  request: AgentRequest;
  ports: AgentPorts;
  signal: AbortSignal | undefined;
  wallMs: number;
}

function runIn(child: ChildProcess, { request, ports, signal, wallMs }: Run): ReturnType<RunAgent> {
  return new Promise((resolve, reject) => {
    // How the run ended. The first word counts; it is passed on once the child is gone.
    let settle: (() => void) | undefined;
    const finish = (how: () => void) => {
      if (settle) return;
      settle = how;
      child.kill('SIGKILL');
    };
    const fail = (error: unknown) => finish(() => reject(error));

    // A pipe that is closed is no news: the child's exit says more.
    const tell = (message: ToChild) => child.send(message, () => undefined);
    const answer = async (call: PortCall) => {
      try {
        const value = await callPort(ports, call);
        if (!settle) tell({ kind: 'answer', id: call.id, value });
      } catch (error) {
        fail(error);
      }
    };
    child.on('message', (message: FromChild) => {
      if (settle) return;
      if (message.kind === 'call') void answer(message);
      else if (message.kind === 'ended') finish(() => resolve(message.ending));
      else fail(new AppError(message.code, message.message, message));
    });

    const onAbort = () => fail(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const limit = `${wallMs / 1000} s`;
    const wall = setTimeout(
      () => fail(new AppError('child-crash', `The agent process ran past its limit of ${limit} and was stopped.`)),
      wallMs,
    );

    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_TAIL_CHARS);
    });
    child.on('error', (error) => fail(notStarted(error)));
    child.once('close', (code, killedBy) => {
      clearTimeout(wall);
      signal?.removeEventListener('abort', onAbort);
      const how = killedBy ? `by ${killedBy}` : `with exit code ${code}`;
      const crash = `The agent process ended ${how} before it had answered. ${stderr.trim()}`.trim();
      (settle ?? (() => reject(new AppError('child-crash', crash))))();
    });
    tell({ kind: 'start', request });
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
  }
}

function notStarted(error: unknown): AppError {
  const found = error instanceof Error ? error.message : String(error);
  return new AppError('child-crash', `The agent process could not be started: ${found}.`, { cause: error });
}
