// How long recall takes with 10,000 topics, beyond the start of the process: what a SessionStart hook costs, with the
// names checked in a working tree of 2,000 files, with a query, and again in the same session.
// `node test/bench/recall.bench.ts [topics]`.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/base/config/config.ts';
import { systemClock } from '../../src/base/time.ts';
import { type RecallOptions, recallFor } from '../../src/doors/recall.ts';
import { openStore } from '../../src/memory/open.ts';
import { buildIndex, indexTopic } from '../../src/memory/text/index-file.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';

const topics = Number(process.argv[2] ?? 10_000);
const root = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
const [dir, tree] = [join(root, 'memory'), join(root, 'tree')];
mkdirSync(dir);
mkdirSync(tree);

const types = ['user', 'feedback', 'project', 'reference'];
function text(n: number): string {
  const lines = Array.from(
    { length: 8 },
    (_, line) =>
      `- Line ${line} of topic ${n}: \`callNumber${n}()\` in \`src/file-${n % 3_000}.ts\` does what is wanted.\n`,
  );
  return `---\nname: topic-${n}\ndescription: What was decided about subject ${n}\ntype: ${types[n % 4]}\n---\n${lines.join('')}`;
}

const files = new Map(Array.from({ length: topics }, (_, n) => [`topic-${n}.md`, text(n)]));
for (const [path, body] of files) writeFileSync(join(dir, path), body);
const built = buildIndex({
  current: null,
  generatedBefore: new Set(),
  topics: [...files].map(([path, body]) => indexTopic(path, body)),
});
writeFileSync(join(dir, 'MEMORY.md'), built.text);
mkdirSync(join(dir, 'index'));
for (const { path, text } of built.overflow) writeFileSync(join(dir, path), text);
mkdirSync(join(tree, 'src'));
for (let n = 0; n < 2_000; n++) {
  writeFileSync(join(tree, `src/file-${n}.ts`), `export function callNumber${n}() {\n${'  work();\n'.repeat(100)}}\n`);
}
execFileSync('git', ['init', '-q', tree]);
execFileSync('git', ['-C', tree, 'add', '.']);
// Twice, with the time between in which a file counts as just written: the ledger then knows how every file looks.
(await openStore(dir, { clock: systemClock })).close();
await new Promise((resolve) => setTimeout(resolve, 2_100));
(await openStore(dir, { clock: systemClock })).close();

const environment = { PATH: process.env.PATH, HOME: root, NOCTURNE_HOME: join(root, 'home'), NOCTURNE_MEMORY_DIR: dir };
const config = await loadConfig({}, environment);

async function measure(name: string, options: RecallOptions): Promise<void> {
  const took: number[] = [];
  const cpu: number[] = [];
  let result = await recallFor(config, options);
  for (let round = 0; round < 15; round++) {
    const start = performance.now();
    const busy = process.cpuUsage();
    result = await recallFor(config, options);
    took.push(performance.now() - start);
    const { user, system } = process.cpuUsage(busy);
    cpu.push((user + system) / 1_000);
  }
  console.log(
    `${name.padEnd(34)} median ${medianOf(took).toFixed(0)} ms (${medianOf(cpu).toFixed(0)} ms of CPU); ${result.topics.length} topics, ` +
      `${result.text.length} characters, ${estimateTokens(result.text)} tokens of ${options.tokens ?? config.recallTokens}`,
  );
}

/** Wall time of `nocturne recall` as a process of its own, over a memory directory, in milliseconds. */
function processMs(memory: string): number {
  const door = join(import.meta.dirname, '../../src/doors/cli/nocturne.js');
  const env = { ...environment, NOCTURNE_MEMORY_DIR: memory, NODE_COMPILE_CACHE: join(root, 'compiled') };
  const start = performance.now();
  execFileSync(process.execPath, [door, 'recall'], { env, cwd: root, stdio: 'ignore' });
  return performance.now() - start;
}

const medianOf = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] as number;

// In turns, so that what else the machine does weighs on both.
const full: number[] = [];
const empty: number[] = [];
for (let round = 0; round < 11; round++) {
  empty.push(processMs(join(root, 'nothing')));
  full.push(processMs(dir));
}
const beyond = medianOf(full) - medianOf(empty);
console.log(
  `${topics} topics; nocturne recall as a process: ${medianOf(full).toFixed(0)} ms, of which start-up ` +
    `${medianOf(empty).toFixed(0)} ms, recall ${beyond.toFixed(0)} ms (medians of 11)`,
);
await measure('recall', { cwd: root });
await measure('for Claude Code', { cwd: root, agent: 'claude-code' });
await measure('with a query', { cwd: root, query: 'what was decided about subject 7777' });
await measure('with names checked in a tree', { cwd: tree });
await measure('again in the same session', { cwd: tree, session: 'bench' });
await measure('within 4,000 tokens', { cwd: root, tokens: 4_000 });
rmSync(root, { recursive: true });
