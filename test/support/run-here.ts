// The command line in this process, which saves the start of one: what it prints and how it ends, at a terminal or
// not. For what commands do; how a process of theirs starts and ends is tested with run.ts.

import { Readable } from 'node:stream';
import { WriteStream } from 'node:tty';
import { vi } from 'vitest';
import { runAgent } from '../../src/agent/loop.ts';
import type { Environment } from '../../src/base/config/config.ts';
import { agentOfShell } from '../../src/base/process.ts';
import { main } from '../../src/cli/cli.ts';

export interface EndedHere {
  code: number;
  stdout: string;
  stderr: string;
}

export interface HereOptions {
  /** What stdin holds; default: nothing. */
  stdin?: string | Uint8Array;
  /** What is typed next, once so much was written to stderr; undefined: nothing yet. */
  answer?(stderr: string): string | undefined;
  /** All three streams are a terminal, so many `columns` wide. */
  isTerminal?: boolean;
  /** Default: 80. */
  columns?: number;
  /** Where it runs. */
  cwd?: string;
  /** The agent runs in a process of its own, as it does for users. Default: in this one. */
  isForked?: boolean;
}

const OURS = /^(NOCTURNE|ANTHROPIC|CLAUDE)_|^(VISUAL|EDITOR|REDIS_URL|NO_COLOR|FORCE_COLOR)$/;
const isOurs = (name: string) => OURS.test(name) || agentOfShell({ [name]: '1' }) !== undefined;
/** What a worker listens to, for as long as its process is there. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Runs `nocturne ARGS` to its end with this environment; one at a time. */
export function runHere(args: string[], environment: Environment, options: HereOptions = {}): Promise<EndedHere> {
  const parts = options.isForked ? {} : { runAgent };
  return hereWith(() => main(['node', 'nocturne', ...args], parts), environment, options);
}

/** Runs a program to its end as if it were a process of its own, with this environment; one at a time. */
export async function hereWith(
  program: () => Promise<unknown>,
  environment: Environment,
  { stdin = '', answer, isTerminal = false, columns = 80, cwd }: HereOptions = {},
): Promise<EndedHere> {
  for (const name of Object.keys(process.env).filter(isOurs)) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const written = { stdout: '', stderr: '' };
  const input = Object.assign(new Readable({ read() {} }), { isTTY: isTerminal });
  if (stdin !== '') input.push(stdin);
  if (!answer) input.push(null);
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(input as unknown as typeof process.stdin);
  const restore = (['stdout', 'stderr'] as const).flatMap((name) => [
    replace(process[name], 'isTTY', isTerminal),
    replace(process[name], 'columns', columns),
    replace(process[name], 'getColorDepth', WriteStream.prototype.getColorDepth),
    replace(process[name], 'write', (text: string) => {
      written[name] += text;
      const typed = name === 'stderr' ? answer?.(written.stderr) : undefined;
      if (typed !== undefined) setImmediate(() => input.push(typed));
      return true;
    }),
  ]);
  const heard = SIGNALS.map((name) => ({ name, before: process.listeners(name) }));
  const cwdBefore = process.cwd();
  process.exitCode = undefined;
  try {
    if (cwd !== undefined) process.chdir(cwd);
    await program();
    return { code: Number(process.exitCode ?? 0), ...written };
  } finally {
    if (cwd !== undefined) process.chdir(cwdBefore);
    process.exitCode = undefined;
    for (const back of restore) back();
    for (const { name, before } of heard)
      for (const each of process.listeners(name)) if (!before.includes(each)) process.off(name, each);
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  }
}

/** Runs it with `--json` and reads stdout as one JSON value per line, which must be all there is. */
export async function runJsonHere<T>(args: string[], environment: Environment) {
  const ended = await runHere([...args, '--json'], environment);
  const values = ended.stdout.split('\n').filter(Boolean);
  return { ...ended, values: values.map((line): T => JSON.parse(line)) };
}

/** Runs it with `--json` and reads stdout as one JSON value. */
export async function jsonHere<T>(args: string[], environment: Environment, options: HereOptions = {}): Promise<T> {
  const { stdout, stderr } = await runHere([...args, '--json'], environment, options);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

function replace(on: object, name: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(on, name);
  Object.defineProperty(on, name, { value, configurable: true, writable: true });
  return () => {
    if (before) Object.defineProperty(on, name, before);
    else Reflect.deleteProperty(on, name);
  };
}
