// The hook's wall time beside that of `node -e 0`, in turns, medians of 30: `npm run build && node test/bench/hook.bench.ts [runs]`.
// Both ways a hook ends: where a worker is awake, and where it has to start one. Ends with 1 past 1.6 times.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/time.ts';
import { awakeIn } from '../../src/queue/spool.ts';
import { sessionFile } from '../support/session-file.ts';

const runs = Number(process.argv[2] ?? 30);
const LIMIT = 1.6;

const dir = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
const session = sessionFile(dir);
session.add('Always use pnpm.');
const input = JSON.stringify({
  session_id: session.id,
  transcript_path: session.path,
  cwd: '/home/kim/orchard',
  hook_event_name: 'SessionEnd',
  reason: 'prompt_input_exit',
});
const { home: awake, leave } = homeWithWorker();
// A program that ends at once stands for the worker, so that its start is counted and its work is not.
const asleep = homeOf('asleep');

const measured = { node: [] as number[], spooled: [] as number[], started: [] as number[] };
for (let run = 0; run < runs + 3; run++) {
  const times = {
    node: timeOf(['-e', '0'], {}),
    spooled: timeOf(['dist/hook.js'], { NOCTURNE_HOME: awake }),
    started: timeOf(['dist/hook.js'], { NOCTURNE_HOME: asleep }),
  };
  if (run < 3) continue;
  for (const name of ['node', 'spooled', 'started'] as const) measured[name].push(times[name]);
}
leave();
const spooled = readdirSync(join(awake, 'spool')).length;
const node = median(measured.node);
process.stdout.write(`node -e 0        ${node.toFixed(1)} ms\n`);
for (const [name, times] of [
  ['worker awake', measured.spooled],
  ['worker started', measured.started],
] as const) {
  const ratio = median(times) / node;
  process.stdout.write(`hook, ${name.padEnd(15)}${median(times).toFixed(1)} ms, ${ratio.toFixed(2)} times\n`);
  if (ratio > LIMIT) process.exitCode = 1;
}
if (spooled !== runs + 3) throw new Error(`${spooled} spooled of ${runs + 3}`);
rmSync(dir, { recursive: true, maxRetries: 20, retryDelay: 200 });

function timeOf(args: string[], environment: Record<string, string>): number {
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    input,
    env: { PATH: process.env.PATH, HOME: dir, ...environment },
  });
  const ms = performance.now() - start;
  if (status !== 0 || stdout.length + stderr.length > 0) throw new Error(`${args}: ${status} ${stdout}${stderr}`);
  return ms;
}

function homeOf(name: string): string {
  const home = join(dir, name);
  mkdirSync(home);
  // A settings file that cannot be read ends every worker before it begins.
  writeFileSync(join(home, 'config.json'), 'none');
  return home;
}

function homeWithWorker() {
  const home = homeOf('awake');
  const worker = awakeIn(home, systemClock);
  worker.enter();
  return { home, leave: worker.leave };
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] as number;
}
