// Runs the agent loop in a child process, so that no hang, leak or crash of it reaches the process that owns the directory.
// Promises: the same contract as the loop itself; a child has one run, and is gone before the run's promise settles, killed at the
// wall clock, at an abort, at a port's error and at its end; what it says of a run that is over is not heard. Never hands it a key
// by environment, and never throws because a child is gone.

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

/**
 * A `RunAgent` that runs each request in a child process of its own.
 * Errors, beyond the loop's: `child-crash` when the child ends by itself, runs out of memory or past `wallMs`; what a
 * port throws, as it was thrown; the reason of an aborted signal.
 */
export function forkAgent(options: ForkOptions): RunAgent {
  const { wallMs } = options;
  return async (request, ports, signal) => {
    signal?.throwIfAborted();
    const child = startChild(options);
    // It has no pipe, and is never closed.
    if (child.pid === undefined) throw crash(`could not be started: ${(await once(child, 'error'))[0].message}.`);
    const { promise: closed, resolve: onClose } = Promise.withResolvers<string>();
    // How the run went. The first word counts; it is passed on once the child is gone.
    let outcome: { ending: AgentEnding } | { error: unknown } | undefined;
    let stderr = '';
    const end = (how: NonNullable<typeof outcome>) => {
      outcome ??= how;
      child.kill('SIGKILL');
    };
    const fail = (error: unknown) => end({ error });
    // A pipe that is closed is no news: the child's exit says more.
    const tell = (message: ToChild) => child.send(message, () => undefined);
    const answer = async ({ id, port, args }: PortCall) => {
      const asked = ports[port] as (...args: unknown[]) => Promise<unknown>;
      tell({ kind: 'answer', id, value: await asked(...args) });
    };
    child.on('message', (message: FromChild) => {
      if (outcome) return;
      if (message.kind === 'call') answer(message).catch(fail);
      else end(message.kind === 'failed' ? { error: new AppError(message.code, message.message, message) } : message);
    });
    child.stderr?.on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_TAIL_CHARS);
    });
    child.once('close', (code, killedBy) => onClose(killedBy ? `by ${killedBy}` : `with exit code ${code}`));
    const wall = setTimeout(() => fail(crash(`ran past its limit of ${wallMs / 1000} s and was stopped.`)), wallMs);
    const onAbort = () => fail(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    tell({ kind: 'start', request });
    const how = await closed;
    clearTimeout(wall);
    signal?.removeEventListener('abort', onAbort);
    outcome ??= { error: crash(`ended ${how} before it had answered. ${stderr.trim()}`.trim()) };
    if ('error' in outcome) throw outcome.error;
    return outcome.ending;
  };
}

function startChild({ entry, environment, memoryLimitMb }: ForkOptions): ChildProcess {
  const child = fork(entry ?? AGENT_ENTRY, [String(memoryLimitMb + BEYOND_HEAP_MB)], {
    env: Object.fromEntries(Object.entries(environment).filter(([name]) => HANDED_ON.test(name))),
    execArgv: [`--max-old-space-size=${memoryLimitMb}`],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  // One that comes once it is gone would be thrown.
  child.on('error', () => undefined);
  child.stderr?.setEncoding('utf8');
  return child;
}

function crash(what: string): AppError {
  return new AppError('child-crash', `The agent process ${what}`);
}
