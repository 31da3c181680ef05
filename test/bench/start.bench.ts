// How long it takes to start: `npm run build && node test/bench/start.bench.ts [--runs 30] [--against DIR]`. Wall time beside
// that of `node -e 0`, in turns, medians: the hook both ways it ends (a worker is awake; it has to start one),
// `nocturne --version`, `nocturne list`, and `nocturne learn` of a session with nothing new. Ends with 1 where the hook takes more than
// 1.6 times as long as node. `--against`: another checkout that is built, whose programs run in the same turns; ends with 1
// where one of this takes more than 1.25 times as long as it does there.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/base/time.ts';
import { awakeIn } from '../../src/queue/spool.ts';
import { median } from '../support/median.ts';
import { aSession } from '../support/session-file.ts';

const { values } = parseArgs({ options: { runs: { type: 'string', default: '30' }, against: { type: 'string' } } });
const runs = Number(values.runs);
const LIMIT = { hook: 1.6, against: 1.25 };

const dir = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
const session = aSession(['Always use pnpm.', 'Thanks.'], { dir });
const input = JSON.stringify({
  session_id: session.id,
  transcript_path: session.path,
  cwd: '/home/kim/orchard',
  hook_event_name: 'SessionEnd',
  reason: 'prompt_input_exit',
});

interface Start {
  name: string;
  args: string[];
  environment: Record<string, string>;
  times: number[];
}

const ends: (() => void)[] = [];
const node: Start = { name: 'node -e 0', args: ['-e', '0'], environment: {}, times: [] };
const here = startsOf(resolve(import.meta.dirname, '../..'), 'here');
const there = values.against === undefined ? [] : startsOf(resolve(values.against), 'there');
// A program and its like elsewhere next to each other: either is the first of the two as often.
const all = [node, ...here.flatMap((start, at) => [start, ...there.slice(at, at + 1)])];
for (let run = 0; run < runs + 3; run++) {
  // Whoever comes behind another finds the machine as that one left it.
  for (const start of run % 2 === 0 ? all : all.toReversed()) {
    const ms = timeOf(start);
    if (run >= 3) start.times.push(ms);
  }
}
for (const end of ends) end();
rmSync(dir, { recursive: true, maxRetries: 20, retryDelay: 200 });

process.stdout.write(`${node.name.padEnd(24)}${median(node.times).toFixed(1)} ms\n`);
for (const [at, start] of here.entries()) {
  const other = there[at];
  const ratio = median(start.times) / median(node.times);
  const beside = other ? median(start.times) / median(other.times) : 0;
  const against = other ? `; there ${median(other.times).toFixed(1)} ms, ${beside.toFixed(2)} of that` : '';
  process.stdout.write(
    `${start.name.padEnd(24)}${median(start.times).toFixed(1)} ms, ${ratio.toFixed(2)} times node${against}\n`,
  );
  if ((start.name.startsWith('hook') && ratio > LIMIT.hook) || beside > LIMIT.against) process.exitCode = 1;
}

/** The programs of a checkout, each on a home of its own. */
function startsOf(checkout: string, name: string): Start[] {
  const dist = (program: string) => join(checkout, 'dist', program);
  const home = (kind: string) => {
    const made = join(dir, name, kind, 'home');
    mkdirSync(made, { recursive: true });
    return made;
  };
  const [awake, asleep, used] = [home('awake'), home('asleep'), home('used')];
  // A settings file that cannot be read ends every worker before it begins: its start is counted and its work is not.
  for (const each of [awake, asleep]) writeFileSync(join(each, 'config.json'), 'none');
  const worker = awakeIn(awake, systemClock);
  worker.enter();
  ends.push(() => {
    worker.leave();
    const spooled = readdirSync(join(awake, 'spool')).length;
    if (spooled !== runs + 3) throw new Error(`${spooled} spooled of ${runs + 3}`);
  });
  const extracting = { NOCTURNE_HOME: used, NOCTURNE_MEMORY_DIR: join(used, 'memory'), NOCTURNE_MODEL: 'offline' };
  const extract = [dist('nocturne.js'), 'learn', session.path];
  const starts: Start[] = [
    { name: 'hook, worker awake', args: [dist('hook.js')], environment: { NOCTURNE_HOME: awake }, times: [] },
    { name: 'hook, worker started', args: [dist('hook.js')], environment: { NOCTURNE_HOME: asleep }, times: [] },
    { name: 'nocturne --version', args: [dist('nocturne.js'), '--version'], environment: {}, times: [] },
    { name: 'list', args: [dist('nocturne.js'), 'list'], environment: extracting, times: [] },
    { name: 'extract, nothing new', args: extract, environment: extracting, times: [] },
  ];
  timeOf(starts.at(-1) as Start);
  return starts;
}

function timeOf({ name, args, environment }: Start): number {
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    input,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: dir, NOCTURNE_QUEUE_URL: '', ...environment },
  });
  const ms = performance.now() - start;
  const said = name.startsWith('hook') ? stdout + stderr : stderr;
  if (status !== 0 || said !== '') throw new Error(`${name}: ${status} ${stdout}${stderr}`);
  return ms;
}
