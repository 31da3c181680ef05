// How long recall takes with 10,000 topics, each line of which rests on an entry: what a session's start costs beyond the start of
// the process, and in this one; a call that failed, with 2,000 lines that agents found; and with 5,000 topics the hook that
// answers a prompt, start included, beside `node -e 0`. `npm run build && node test/bench/recall.bench.ts [topics]`.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/base/config/config.ts';
import { insert } from '../../src/db/sql.ts';
import { recallFor } from '../../src/hook/start-recall.ts';
import { buildIndex } from '../../src/memory/text/index-file.ts';
import { locateLines, parseTopic } from '../../src/memory/text/topic.ts';
import { openApp } from '../../src/worker/compose.ts';
import { median } from '../support/median.ts';

const topics = Number(process.argv[2] ?? 10_000);
const root = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
const dir = join(root, 'memory');
mkdirSync(dir);

const types = ['user', 'feedback', 'project', 'reference'];
function text(n: number): string {
  const lines = Array.from(
    { length: 8 },
    (_, line) =>
      `- Line ${line} of topic ${n}: \`callNumber${n}()\` in \`src/file-${n % 3_000}.ts\` does what is wanted.\n`,
  );
  return `---\nname: topic-${n}\ndescription: What was decided about subject ${n}\ntype: ${types[n % 4]}\n---\n${lines.join('')}`;
}

function writeMemory(dir: string, count: number): void {
  const files = new Map(Array.from({ length: count }, (_, n) => [`topic-${n}.md`, text(n)]));
  for (const [path, body] of files) writeFileSync(join(dir, path), body);
  const built = buildIndex({
    current: null,
    generatedBefore: new Set(),
    topics: [...files].map(([path, body]) => parseTopic(path, body)),
  });
  writeFileSync(join(dir, 'MEMORY.md'), built.text);
}

writeMemory(dir, topics);
// Twice, with the time between in which a file counts as just written: the database then knows how every file looks.
const home = join(root, 'home');
const environment = { ...{ PATH: process.env.PATH, HOME: root, NOCTURNE_HOME: home, NOCTURNE_MEMORY_DIR: dir } };
const config = await loadConfig({}, environment);
await takeIn(dir);
await new Promise((resolve) => setTimeout(resolve, 2_100));
await takeIn(dir);
await restLines();

/** An entry behind each line, as nights leave it: of 2,000 topics the first is a way that an agent found. */
async function restLines(): Promise<void> {
  const app = await openApp({ ...config, memoryDir: dir });
  const { id: memory } = await app.memoryFor();
  const [session, at] = ['ses_bench', '2026-11-20T09:00:00Z'];
  const files = await app.db.all<{ id: string; path: string }>(
    "select id, path from file where memory = ? and path like 'topic-%'",
    memory,
  );
  await app.db.write(async (sql) => {
    await insert(sql, 'session', [{ id: session, name: 'bench', memory, cwd: root, created_at: at }]);
    for (const { id: file, path } of files) {
      const topic = Number(/\d+/.exec(path)?.[0]);
      const rows = locateLines(text(topic)).map((line, n) => {
        const isFound = n === 0 && topic < 2_000;
        const quotes = [
          { message: 'm1', quote: `tool-${topic} build`, by: 'assistant', proves: 'failed' },
          { message: 'm2', quote: `tool-${topic} finds no subject ${topic} there`, by: 'tool', proves: 'error' },
          { message: 'm3', quote: `tool-${topic} build --all`, by: 'assistant', proves: 'worked' },
        ];
        const by = { session, turn: 't', at, day: '2026-11-20', prompt: 'p', job: 'job_bench', state: 'placed' };
        const found = { strength: 'implied', said_by: 'tool', found: 'way', quotes: JSON.stringify(quotes) };
        const said = isFound ? found : { strength: 'stated', said_by: 'human', found: null, quotes: '[]' };
        return {
          line: line.id,
          row: { ...by, ...said, memory, id: `e_${topic}_${n}`, type: 'project', text: line.text },
        };
      });
      const rests = rows.map(({ line, row: { id: source } }) => ({ memory, file, line, source }));
      await insert(
        sql,
        'entry',
        rows.map(({ row }) => row),
      );
      await insert(sql, 'rests', rests);
    }
  });
  await app.close();
}

/** What stands in a directory becomes versions, as at the next job. */
async function takeIn(memoryDir: string): Promise<void> {
  const app = await openApp({ ...config, memoryDir });
  await app.files(await app.memoryFor()).list();
  await app.close();
}

/** Wall time of `nocturne next` as a process of its own, over a memory directory, in milliseconds. */
function processMs(memory: string): number {
  const door = join(import.meta.dirname, '../../src/cli/nocturne.js');
  const env = { ...environment, NOCTURNE_MEMORY_DIR: memory, NODE_COMPILE_CACHE: join(root, 'compiled') };
  const start = performance.now();
  execFileSync(process.execPath, [door, 'next'], { env, cwd: root, stdio: 'ignore' });
  return performance.now() - start;
}

// In turns, so that what else the machine does weighs on both.
const full: number[] = [];
const empty: number[] = [];
for (let round = 0; round < 11; round++) {
  empty.push(processMs(join(root, 'nothing')));
  full.push(processMs(dir));
}
const beyond = median(full) - median(empty);
console.log(
  `${topics} topics; nocturne next as a process: ${median(full).toFixed(0)} ms, of which start-up ` +
    `${median(empty).toFixed(0)} ms, recall ${beyond.toFixed(0)} ms (medians of 11)`,
);
const here: number[] = [];
for (let round = 0; round < 15; round++) {
  const start = performance.now();
  await recallFor(config, { cwd: root });
  here.push(performance.now() - start);
}
console.log(`recall in a process that runs: ${median(here).toFixed(0)} ms (median of 15)`);
measureFailures();
await measurePrompts();
rmSync(root, { recursive: true });

/** The hook as an agent calls it at a call that failed, of which memory knows a way, or nothing. */
function measureFailures(): void {
  const env = { ...environment, NOCTURNE_PROMPT_MS: '60000' };
  const ask = (command: string, error: string, session: string) => {
    const input = JSON.stringify({
      ...{ session_id: session, transcript_path: '/none.jsonl', cwd: root, hook_event_name: 'PostToolUseFailure' },
      ...{ tool_name: 'Bash', tool_input: { command }, error: `Exit code 1\n${error}`, is_interrupt: false },
    });
    const start = performance.now();
    const { stdout } = spawnSync(process.execPath, ['dist/hook.js', 'claude-code'], { env, input });
    return { ms: performance.now() - start, said: stdout.toString() };
  };
  const [known, unknown]: [number[], number[]] = [[], []];
  for (let run = 0; run < 30; run++) {
    const { ms, said } = ask(`tool-${run} build`, `tool-${run} finds no subject ${run} there`, `failed-${run}`);
    if (!said.includes(`callNumber${run}()`)) throw new Error(`the hook said ${JSON.stringify(said)}`);
    known.push(ms);
    unknown.push(ask('nobody knows', 'nothing is known of this error', `unknown-${run}`).ms);
  }
  console.log(
    `a call that failed, ${topics} topics, 2,000 found lines: known ${median(known).toFixed(0)} ms, unknown ${median(unknown).toFixed(0)} ms`,
  );
}

/** The hook as an agent calls it, each time for another session, so that it has something to say. */
async function measurePrompts(): Promise<void> {
  const [count, runs] = [5_000, 60];
  const memory = join(root, 'prompts');
  mkdirSync(memory);
  writeMemory(memory, count);
  await takeIn(memory);
  writeFileSync(join(home, 'config.json'), JSON.stringify({ recallPrompts: true }));
  const env = { ...environment, NOCTURNE_MEMORY_DIR: memory, NOCTURNE_PROMPT_MS: '60000' };
  const took = (args: string[], input: string) => {
    const start = performance.now();
    const { status, stdout } = spawnSync(process.execPath, args, { env, input });
    if (status !== 0) throw new Error(`${args}: ${status}`);
    return { ms: performance.now() - start, said: stdout.toString() };
  };
  const [node, hook]: [number[], number[]] = [[], []];
  for (let run = 0; run < runs; run++) {
    const input = JSON.stringify({
      ...{ session_id: `bench-${run}`, transcript_path: '/none.jsonl', cwd: root, hook_event_name: 'UserPromptSubmit' },
      prompt: `What does callNumber${run * 80}() of topic ${run * 80} do?`,
    });
    node.push(took(['-e', '0'], '').ms);
    const { ms, said } = took(['dist/hook.js', 'claude-code'], input);
    if (!said.includes(`callNumber${run * 80}()`)) throw new Error(`the hook said ${JSON.stringify(said)}`);
    hook.push(ms);
  }
  const p95 = hook.sort((a, b) => a - b)[Math.ceil(runs * 0.95) - 1] as number;
  const base = median(node);
  console.log(
    `a prompt, ${count} topics: node -e 0 ${base.toFixed(0)} ms; the hook median ${median(hook).toFixed(0)} ms ` +
      `(${(median(hook) / base).toFixed(1)} times), p95 ${p95.toFixed(0)} ms (${(p95 / base).toFixed(1)} times; it says nothing past 300 ms)`,
  );
}
