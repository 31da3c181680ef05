// A program that stands where an agent's does: it prints what a test orders, as the real ones were seen to, and notes how
// it was started. Its orders lie in a file beside it, since its environment is what is tested.

import { appendFileSync, chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from './temp.ts';

/** How a start of it goes on, after it has read its stdin. */
export interface Order {
  stdout?: string;
  stderr?: string;
  code?: number;
  /** It prints without an end. */
  isEndless?: true;
  /** It waits, for an answer to a question say, and hears no polite signal; beside it a child does the same. */
  hangs?: true;
  /** It takes so long; where another did so at once, that is noted. */
  takesMs?: number;
  /** A child that has left its group holds its pipes for so long. */
  leavesMs?: number;
}

export interface FakeStart {
  argv: string[];
  env: Record<string, string>;
  cwd: string;
  /** What was in its directory. */
  names: string[];
  stdin: string;
  /** Of the process that leads its group, of its own, and of the child that it left. */
  pids: number[];
}

export interface FakeProgram {
  /** Its directory, for PATH, and itself. */
  dir: string;
  path: string;
  /** How the next starts for an answer go; the last goes on for ever. */
  answers(...orders: Order[]): void;
  /** What it says of its version and its login. */
  is(about: { version?: Order; status?: Order }): void;
  /** Its starts so far: for answers, or for its version and login. */
  starts(): FakeStart[];
  looks(): number;
  /** Whether two ran at once. */
  hasOverlapped(): boolean;
}

const PROGRAM = `#!${process.execPath}
const { appendFileSync, mkdirSync, readdirSync, readFileSync, rmdirSync } = require('node:fs');
const { spawn } = require('node:child_process');
const beside = (name) => __dirname + '/' + name;
const argv = process.argv.slice(2);
const { version, status, answers } = JSON.parse(readFileSync(beside('orders.json'), 'utf8'));
const print = ({ stdout = '', stderr = '', code = 0 }) => {
  process.stderr.write(stderr);
  process.stdout.write(stdout, () => (process.exitCode = code));
};
const isAsked = argv.includes('-p') || argv[0] === 'exec';
if (!isAsked) {
  appendFileSync(beside('looks'), JSON.stringify(argv) + '\\n');
  print(argv.includes('--version') ? version : status);
} else {
  const names = readdirSync('.');
  const stdin = readFileSync(0, 'utf8');
  const before = readFileSync(beside('starts'), 'utf8').split('\\n').length - 1;
  const order = answers[Math.min(before, answers.length - 1)];
  const pids = [process.ppid, process.pid];
  if (order.hangs || order.leavesMs) {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
    const ms = order.leavesMs ?? 1e8;
    const options = { stdio: order.leavesMs ? 'inherit' : 'ignore', detached: order.leavesMs !== undefined };
    pids.push(spawn(process.execPath, ['-e', 'setTimeout(() => {}, ' + ms + ')'], options).pid);
  }
  appendFileSync(beside('starts'), JSON.stringify({ argv, env: process.env, cwd: process.cwd(), names, stdin, pids }) + '\\n');
  if (order.hangs) setInterval(() => {}, 1e6);
  else if (order.isEndless) {
    const more = () => { while (process.stdout.write('x'.repeat(65536))); };
    process.stdout.on('drain', more);
    more();
  } else {
    print(order);
    if (order.leavesMs) setTimeout(() => process.exit(order.code ?? 0), 50);
  }
}
`;

const LOGGED_IN = {
  claude: { stdout: JSON.stringify({ loggedIn: true, authMethod: 'claude.ai', subscriptionType: 'max' }) },
  codex: { stderr: 'Logged in using ChatGPT\n' },
};
export const NOT_LOGGED_IN = { stdout: JSON.stringify({ loggedIn: false, authMethod: 'none' }), code: 1 };
export const LOGGED_IN_BY_KEY = {
  stdout: JSON.stringify({ loggedIn: true, authMethod: 'claude.ai', apiKeySource: '/login managed key' }),
};

/** One of the oldest version that was tried, logged in on a plan, that finds nothing worth keeping. */
export function fakeProgram(name: 'claude' | 'codex'): FakeProgram {
  const dir = tempDir();
  const path = join(dir, name);
  const nothing = name === 'claude' ? claudeSays({ entries: [] }) : codexSays({ entries: [] });
  const versions = { claude: '2.1.197 (Claude Code)\n', codex: 'codex-cli 0.169.0\n' };
  let orders: { version: Order; status: Order; answers: Order[] } = {
    ...{ version: { stdout: versions[name] }, status: LOGGED_IN[name], answers: [nothing] },
  };
  const write = (changes: Partial<typeof orders>) => {
    orders = { ...orders, ...changes };
    writeFileSync(join(dir, 'orders.json'), JSON.stringify(orders));
  };
  const lines = (file: string) => readFileSync(join(dir, file), 'utf8').split('\n').filter(Boolean);
  writeFileSync(path, PROGRAM);
  chmodSync(path, 0o755);
  for (const file of ['starts', 'looks']) appendFileSync(join(dir, file), '');
  write({});
  return {
    dir,
    path,
    answers: (...answers) => {
      // Those of before are counted, too.
      const before = lines('starts').map(() => nothing);
      write({ answers: [...before, ...answers] });
    },
    is: write,
    starts: () => lines('starts').map((line) => JSON.parse(line)),
    looks: () => lines('looks').length,
    hasOverlapped: () => existsSync(join(dir, 'overlap')),
  };
}

/** What Claude Code prints where it has an answer: 1,000 tokens in, 30 written to and 20 read from the cache, 50 out. */
export function claudeSays(output: unknown, more: object = {}): Order {
  const usage = {
    ...{ input_tokens: 1_000, cache_creation_input_tokens: 30 },
    ...{ cache_read_input_tokens: 20, output_tokens: 50 },
  };
  const result = typeof output === 'string' ? { result: output } : { structured_output: output };
  return {
    stdout: `${JSON.stringify({
      ...{ type: 'result', subtype: 'success', is_error: false, api_error_status: null, num_turns: 2 },
      ...{ ...result, stop_reason: 'tool_use', usage, modelUsage: { 'claude-sonnet-4-5': {} }, ...more },
    })}\n`,
  };
}

/** What it prints where it has none. */
export function claudeFails(said: string, status: number | null = null): Order {
  const usage = { input_tokens: 0, output_tokens: 0 };
  const { stdout } = claudeSays(said, { is_error: true, api_error_status: status, usage, modelUsage: {} });
  return { stdout, code: 1 };
}

/** What Codex prints where it has an answer: 12,000 tokens in, of which 4,000 cached, 60 out. */
export function codexSays(output: unknown): Order {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  const usage = { input_tokens: 12_000, cached_input_tokens: 4_000, output_tokens: 60, reasoning_output_tokens: 20 };
  const events = [
    { type: 'thread.started', thread_id: 't' },
    { type: 'turn.started' },
    { type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text } },
    { type: 'turn.completed', usage },
  ];
  return { stdout: events.map((event) => `${JSON.stringify(event)}\n`).join('') };
}

/** Whether none of these processes is there any more; what has ended and was not waited for is gone. */
export function areGone(pids: number[]): boolean {
  return pids.every((pid) => {
    const stat = `/proc/${pid}/stat`;
    if (existsSync('/proc/self')) return !existsSync(stat) || /\) [ZX] /.test(statOf(stat));
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  });
}

function statOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return 'it is) X gone';
  }
}
