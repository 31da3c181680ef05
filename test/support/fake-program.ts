// A program that stands where an agent's does: it prints what a test orders, as the real ones were seen to, and notes how
// it was started. Its orders lie in files beside its notes, since its environment is what is tested. A script of sh, which
// starts in a twentieth of the time that Node takes.

import { chmodSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

const programIn = (notes: string) => `#!/bin/sh
at='${notes}'
case " $* " in
  *" -p "*|" exec "*) ;;
  *) PATH=/usr/bin:/bin
     echo "$*" >> "$at/looks"
     case " $* " in *" --version "*) . "$at/version" ;; *) . "$at/status" ;; esac ;;
esac
n=1
while ! /bin/mkdir "$at/start-$n" 2> /dev/null; do n=$((n + 1)); done
start="$at/start-$n"
/usr/bin/env > "$start/env"
PATH=/usr/bin:/bin
pwd > "$start/cwd"
ls -A > "$start/names"
for each; do printf '%s\\000' "$each"; done > "$start/argv"
cat > "$start/stdin"
while ! [ -f "$at/answer-$n" ]; do n=$((n - 1)); done
. "$at/answer-$n"
`;
/** The start is whole once this is noted. */
const NOTE = 'echo "$PPID $$ $!" > "$start/ids"; mv "$start/ids" "$start/pids"';

function scriptOf({ stdout = '', stderr = '', code = 0, ...how }: Order, file: string): string {
  writeFileSync(`${file}.out`, stdout);
  writeFileSync(`${file}.err`, stderr);
  const says = `cat '${file}.err' >&2; cat '${file}.out'; exit ${code}`;
  if (how.hangs) return `trap '' TERM INT HUP; sleep 100000 & ${NOTE}; wait`;
  if (how.isEndless) return `${NOTE}; exec yes ${'x'.repeat(1_000)}`;
  if (how.leavesMs) return `perl -e 'setpgrp; exec @ARGV' sleep ${how.leavesMs / 1_000} & ${NOTE}; sleep 0.05; ${says}`;
  const alone = `mkdir "$at/turn" || : > "$at/overlap"; sleep ${(how.takesMs ?? 0) / 1_000}; rmdir "$at/turn"`;
  return `${NOTE}; ${how.takesMs ? `${alone}; ` : ''}${says}`;
}

const LOGGED_IN = {
  claude: { stdout: JSON.stringify({ loggedIn: true, authMethod: 'claude.ai', subscriptionType: 'max' }) },
  codex: { stderr: 'Logged in using ChatGPT\n' },
};
export const NOT_LOGGED_IN = { stdout: JSON.stringify({ loggedIn: false, authMethod: 'none' }), code: 1 };
export const LOGGED_IN_BY_KEY = {
  stdout: JSON.stringify({
    loggedIn: true,
    authMethod: 'claude.ai',
    apiKeySource: 'ANTHROPIC_API_KEY',
    subscriptionType: 'max',
  }),
};

export type FakeProgram = ReturnType<typeof fakeProgram>;

/** One of the oldest version that was tried, logged in on a plan, that finds nothing worth keeping. `dir`: where it lies. */
export function fakeProgram(name: 'claude' | 'codex', dir = tempDir()) {
  const notes = tempDir();
  const path = join(dir, name);
  const versions = { claude: '2.1.197 (Claude Code)\n', codex: 'codex-cli 0.169.0\n' };
  const order = (as: string, what: Order) => {
    const script = scriptOf(what, join(notes, as));
    writeFileSync(join(notes, as), as.startsWith('answer') ? script : script.replace(NOTE, ':'));
  };
  const noted = () => globSync('start-*/pids', { cwd: notes }).length;
  const startOf = (nth: number): FakeStart => {
    const read = (what: string) => readFileSync(join(notes, `start-${nth}`, what), 'utf8');
    const lines = (what: string) => read(what).split('\n').filter(Boolean);
    return {
      ...{ argv: read('argv').split('\0').slice(0, -1), cwd: read('cwd').trim(), stdin: read('stdin') },
      env: Object.fromEntries(lines('env').map((line) => line.split(/=(.*)/s).slice(0, 2))),
      ...{ names: lines('names'), pids: lines('pids').join(' ').split(' ').filter(Boolean).map(Number) },
    };
  };
  const fake = {
    /** Its directory, for PATH, and itself. */
    ...{ dir, path },
    /** How the next starts for an answer go; the last goes on for ever. */
    answers(...orders: Order[]) {
      // Those of before are counted, too.
      const before = noted();
      for (const old of globSync('answer-*', { cwd: notes })) rmSync(join(notes, old));
      for (const [at, each] of orders.entries()) order(`answer-${before + 1 + at}`, each);
    },
    /** What it says of its version and its login. */
    is(about: { version?: Order; status?: Order }) {
      for (const what of ['version', 'status'] as const) if (about[what]) order(what, about[what]);
    },
    /** Its starts so far: for answers, or (`looks`) for its version and login. */
    starts: () => Array.from({ length: noted() }, (_, at) => startOf(at + 1)),
    looks: () =>
      existsSync(join(notes, 'looks')) ? readFileSync(join(notes, 'looks'), 'utf8').split('\n').length - 1 : 0,
    /** Whether two ran at once. */
    hasOverlapped: () => existsSync(join(notes, 'overlap')),
  };
  writeFileSync(path, programIn(notes));
  chmodSync(path, 0o755);
  fake.is({ version: { stdout: versions[name] }, status: LOGGED_IN[name] });
  fake.answers(name === 'claude' ? claudeSays({ entries: [] }) : codexSays({ entries: [] }));
  return fake;
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
