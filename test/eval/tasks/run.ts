// `npm run eval -- --tasks`: does a session do better that is told what nocturne remembers of the one before? Each task is
// done twice with its hooks and twice without, by the agent's program; what it took is counted from its transcript.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { AppError } from '../../../src/base/errors.ts';
import { note, print } from '../../../src/terminal/output.ts';
import { AGENTS, writeFiles } from '../../agents/homes.ts';
import installPrograms from '../../agents/install.ts';
import { processesWith } from '../../support/processes.ts';
import { seeded } from '../../support/random.ts';
import { readLines } from '../chain/needs.ts';
import { playChain } from '../chain/play.ts';
import { type TaskRun, tasksTable } from '../chain/published.ts';
import { startReader } from './reader.ts';
import { TASKS, type Task, type World, worldOf } from './world.ts';

export interface Run {
  run: number;
  task: Task;
  isTold: boolean;
}

/** Four rounds of all tasks, in each half of them told: who plays one round meets no task twice. */
export function runsOf(seed: number): Run[] {
  const random = seeded(seed);
  const shuffled = <Item>(items: Item[]) =>
    items
      .map((item) => ({ item, at: random.below(2 ** 30) }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
  const rounds = [1, 2].flatMap(() => {
    const told = new Set(shuffled(TASKS).slice(0, TASKS.length / 2));
    return [true, false].map((isTold) => shuffled(TASKS).map((task) => ({ task, isTold: told.has(task) === isTold })));
  });
  return rounds.flat().map((each, at) => ({ run: at + 1, ...each }));
}

/** What a run took. */
export interface Counted {
  failures: number;
  calls: number;
  questions: number;
  tokens: number;
  requests: number;
}

/** Counts in a transcript of Claude Code's. */
export function countIn(transcript: string): Counted {
  const records = transcript
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const blocks = records.flatMap(({ type, message }) => {
    const content = Array.isArray(message?.content) ? message.content : [];
    return content.map((block: Record<string, unknown>) => ({ by: type, ...block }));
  });
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  const usages = new Map(
    records.filter(({ type }) => type === 'assistant').map(({ message }) => [message.id, message.usage]),
  );
  const tokens = [...usages.values()].map((usage) =>
    ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'].reduce(
      (sum, name) => sum + (usage[name] ?? 0),
      0,
    ),
  );
  const asks = blocks.filter(({ by, type, text }) => by === 'assistant' && type === 'text' && /\?\s*$/.test(text));
  return {
    failures: blocks.filter(({ type, is_error }) => type === 'tool_result' && is_error).length,
    calls: calls.length,
    questions: calls.filter(({ name }) => name === 'AskUserQuestion').length + asks.length,
    tokens: tokens.reduce((sum, each) => sum + each, 0),
    requests: usages.size,
  };
}

const DOOR = join(import.meta.dirname, '../../../dist/nocturne.js');
const PLAYER = readFileSync(join(import.meta.dirname, 'PLAYER.md'), 'utf8');
/** When the task is done: days after the session before. */
const NOW = '2026-11-23T09:00:00Z';
const OPTIONS = {
  out: { type: 'string' },
  seed: { type: 'string', default: '37' },
  only: { type: 'string' },
  model: { type: 'string' },
} as const;

export async function tasks(args: string[]): Promise<void> {
  const { out, seed, only, model } = parseArgs({ args, options: OPTIONS }).values;
  const behind = process.env.ANTHROPIC_BASE_URL;
  if (!out || !behind)
    throw new AppError('bad-input', '--tasks needs --out DIR, and a model or a reader at ANTHROPIC_BASE_URL.');
  const to = resolve(out);
  mkdirSync(to, { recursive: true });
  writeFileSync(join(to, 'PLAYER.md'), PLAYER);
  await installPrograms();
  // So that the agent's program ends, too.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));
  for (const task of TASKS) {
    if (existsSync(join(to, 'memories', task.name, 'answers.jsonl'))) continue;
    note(`${task.name}: its memory is made.`);
    const world = worldOf(task);
    await remember(world, { behind, model });
    const kept = join(to, 'memories', task.name);
    for (const part of ['sessions', 'after', 'answers.jsonl'])
      cpSync(join(world.dir, part), join(kept, part), { recursive: true });
    rmSync(world.dir, { recursive: true, force: true });
  }
  const results = join(to, 'results.jsonl');
  const done = () => readLines<TaskRun & { run: number }>(results);
  const wanted = only?.split(',').map(Number);
  for (const each of runsOf(Number(seed)).filter(({ run }) => !wanted || wanted.includes(run))) {
    if (done().some(({ run }) => run === each.run)) continue;
    note(`Run ${each.run} begins.`);
    const counted = await play(each, { to, behind, model });
    const { task, isTold, run } = each;
    appendFileSync(results, `${JSON.stringify({ run, task: task.name, by: task.by, isTold, ...counted })}\n`);
  }
  print(tasksTable(done()));
}

/** The session before goes through extraction and a night: the memory lies in the world then. */
async function remember({ dir, sessions, environment }: World, { behind, model }: { behind?: string; model?: string }) {
  const { ANTHROPIC_API_KEY = 'none' } = process.env;
  const given = { ...environment, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL: behind };
  await playChain(sessions, { out: dir, model: model ?? 'claude-sonnet-4-5', environment: given });
}

async function play(
  { run, task, isTold }: Run,
  { to, behind, model }: { to: string; behind: string; model?: string },
): Promise<Counted & { fault: string; seconds: number }> {
  const world = worldOf(task);
  const { home, dir, repository } = world;
  const kept = join(to, 'runs', String(run).padStart(2, '0'));
  rmSync(kept, { recursive: true, force: true });
  const reader = await startReader({ behind, model, run, dir: join(kept, 'requests') });
  const agent = AGENTS['claude-code'];
  writeFiles(home, agent.files({ url: reader.url, project: repository }));
  const programs = process.env.NOCTURNE_TEST_AGENTS;
  const environment: NodeJS.ProcessEnv = {
    ...world.environment,
    ...agent.environment(reader.url),
    ...(model && { ANTHROPIC_API_KEY: process.env.ANTHROPIC_API_KEY }),
    ...QUIET,
    PATH: `${programs}:${world.environment.PATH}`,
  };
  const transcripts = join(home, '.claude/projects', repository.replaceAll(/[^a-zA-Z0-9]/g, '-'));
  if (isTold) {
    copyFileSync(join(to, 'memories', task.name, 'answers.jsonl'), join(dir, 'answers.jsonl'));
    await remember(world, {});
    const memory = {
      NOCTURNE_HOME: home,
      NOCTURNE_MEMORY_DIR: join(dir, 'memory'),
      NOCTURNE_NOW: NOW,
      NOCTURNE_PROMPT_MS: '60000',
    };
    Object.assign(environment, memory);
    writeFiles(home, { 'config.json': { model: 'offline' } });
    // Claude Code loads the index of the memory by itself.
    mkdirSync(transcripts, { recursive: true });
    symlinkSync(join(dir, 'memory'), join(transcripts, 'memory'));
    await promisify(execFile)(process.execPath, [DOOR, 'setup', 'claude-code', '--yes', '--schedule', 'none'], {
      cwd: repository,
      env: environment,
    });
  }
  // Not for the agent to find.
  rmSync(world.sessions, { recursive: true });
  const begun = performance.now();
  const args = ['-p', task.prompt, '--model', model ?? 'claude-sonnet-4-5', '--dangerously-skip-permissions', ...ARGS];
  const child = spawn(join(programs ?? '', 'claude'), args, {
    cwd: repository,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  process.once('exit', () => child.kill());
  let said = '';
  for (const from of [child.stdout, child.stderr]) from.on('data', (part) => (said += part));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`Run ${run}: the program ended with ${code}: ${said}`);
  const seconds = Math.round((performance.now() - begun) / 1000);
  reader.close();
  const fault = world.fault();
  for (const file of readdirSync(transcripts).filter((name) => name.endsWith('.jsonl')))
    copyFileSync(join(transcripts, file), join(kept, 'session.jsonl'));
  writeFileSync(join(kept, 'said.txt'), said);
  writeFileSync(
    join(kept, 'tree.diff'),
    world.must(`git add -AN && git diff ${world.base} && git log --oneline --all`),
  );
  while (processesWith(`HOME=${home}`).size > 0) await new Promise((later) => setTimeout(later, 200));
  rmSync(dir, { recursive: true, force: true });
  return { fault, ...countIn(readFileSync(join(kept, 'session.jsonl'), 'utf8')), seconds };
}

const ARGS = ['--tools', 'Bash,Read,Edit,Write,Glob,Grep', '--strict-mcp-config', '--disable-slash-commands'];
/** Nothing but the turns of the session is asked, and a reader may take hours. As root the program wants to hear of a sandbox. */
const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  MAX_THINKING_TOKENS: '0',
  API_TIMEOUT_MS: '21600000',
  CLAUDE_STREAM_IDLE_TIMEOUT_MS: '21600000',
  IS_SANDBOX: '1',
};
