// How long a person waits at size: list, search, status, check, a dream with nothing new and a dry run, over 5,000 topics that
// rest on 20,000 entries, as the built command, median of 5; what of it is beyond the same command over an empty memory;
// and that beside one pass which stats, reads and hashes all files. Then how long `npx` of the packed tarball takes, all it
// needs being in npm's cache but not installed. After `npm run build`:
//   node test/bench/size.bench.ts [topics]

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/base/config/config.ts';
import { openApp } from '../../src/worker/compose.ts';
import { fillMemory } from '../page/filled.ts';
import { median } from '../support/median.ts';

const DOOR = join(import.meta.dirname, '../../dist/nocturne.js');
const RUNS = 5;
const topics = Number(process.argv[2] ?? 5_000);
/** Limits for 5,000 topics, and at most how many passes beyond start-up. */
const COMMANDS: [name: string, args: string[], limitMs: number, passes: number | null][] = [
  ['list', ['list'], 800, 10],
  ['search', ['search', 'port', '10077'], 1_500, 10],
  ['status', [], 500, 10],
  ['check', ['check'], 4_000, 20],
  ['dream, nothing new', ['dream'], 1_000, 20],
  ['dream --dry-run', ['dream', '--dry-run'], 2_000, null],
];

const root = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
const [large, empty, transcripts] = [join(root, 'large'), join(root, 'empty'), join(root, 'transcripts')];
const AREAS = ['billing', 'search', 'mail', 'login', 'export', 'import', 'report', 'queue', 'cache', 'audit'];
const areaOf = (n: number) => AREAS[n % AREAS.length] ?? '';

const environmentOn = (memory: string) => ({
  ...{ PATH: process.env.PATH, HOME: root, NOCTURNE_HOME: join(root, 'home'), NOCTURNE_MEMORY_DIR: memory },
  ...{ NOCTURNE_MODEL: 'offline', NOCTURNE_ZONE: 'UTC', NODE_COMPILE_CACHE: join(root, 'compiled') },
});

function runMs(args: string[], memory: string): number {
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [DOOR, ...args], {
    ...{ env: environmentOn(memory), cwd: root, maxBuffer: 1 << 28, encoding: 'utf8' },
  });
  // A search that finds nothing ends with 1.
  if (status !== 0 && args[0] !== 'search')
    throw new Error(`${args.join(' ')} ended with ${status}: ${stdout.slice(0, 2_000)}${stderr}`);
  return performance.now() - start;
}

/** Until `npx` has installed the tarball and said its version: seconds, and what it wrote. */
function npx(): { seconds: number; files: number; packages: number } {
  const [packed, cache] = [join(root, 'packed'), join(root, 'npm')];
  mkdirSync(packed);
  const env = { ...process.env, npm_config_cache: cache, npm_config_update_notifier: 'false' };
  const checkout = join(import.meta.dirname, '../..');
  const quiet = { env, stdio: ['ignore', 'pipe', 'ignore'] as ('ignore' | 'pipe')[] };
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', packed], { ...quiet, cwd: checkout });
  const tarball = join(packed, readdirSync(packed)[0] ?? '');
  const run = () =>
    execFileSync('npx', ['--yes', '--package', tarball, 'nocturne', '--version'], { ...quiet, cwd: packed });
  run();
  rmSync(join(cache, '_npx'), { recursive: true });
  const start = performance.now();
  run();
  const seconds = (performance.now() - start) / 1_000;
  const items = readdirSync(join(cache, '_npx'), { recursive: true, withFileTypes: true });
  const lock = items.find(({ name }) => name === '.package-lock.json');
  const installed = JSON.parse(readFileSync(join(lock?.parentPath ?? '', '.package-lock.json'), 'utf8')).packages;
  return { seconds, files: items.filter((each) => each.isFile()).length, packages: Object.keys(installed).length };
}

function passMs(): number {
  const start = performance.now();
  for (const item of readdirSync(large, { recursive: true, withFileTypes: true })) {
    if (!item.isFile() || item.parentPath.includes('.nocturne')) continue;
    const path = join(item.parentPath, item.name);
    statSync(path);
    createHash('sha256').update(readFileSync(path)).digest('hex');
  }
  return performance.now() - start;
}

try {
  for (const dir of [large, empty, transcripts]) mkdirSync(dir, { mode: 0o700 });
  const app = await openApp(await loadConfig({}, environmentOn(large)));
  await fillMemory(
    { app, store: await app.memoryFor() },
    {
      ...{ topics, lines: 4, sessions: topics / 5, nights: topics / 25, proposals: 0, transcripts, now: new Date() },
      topic: (n) => `${areaOf(n)}-${n}`,
      says: (_, n) => `The ${areaOf(n)} service ${n} of team ${n % 37} listens on port ${10_000 + n} in staging.`,
    },
  );
  await app.close();
  // The first dream after it makes the index; what it wrote is then no longer fresh.
  for (const dir of [large, empty]) runMs(['dream'], dir);
  spawnSync('sleep', ['2.1']);
  const pass = median(Array.from({ length: RUNS }, passMs));
  console.log(`${topics} topics; one pass over all files ${pass.toFixed(0)} ms; load ${loadavg()[0]?.toFixed(1)}`);
  for (const [name, args, limitMs, passes] of COMMANDS) {
    for (const dir of [large, empty]) runMs(args, dir);
    const [full, start]: [number[], number[]] = [[], []];
    // In turns, so that what else the machine does weighs on both.
    for (let round = 0; round < RUNS; round += 1) {
      start.push(runMs(args, empty));
      full.push(runMs(args, large));
    }
    const [ms, beyond] = [median(full), Math.max(0, median(full) - median(start))];
    const holds = ms <= limitMs && (passes === null || beyond <= passes * pass);
    const bound = `limit ${limitMs} ms${passes === null ? '' : ` and ${passes} ×`}: ${holds ? 'holds' : 'MISSED'}`;
    console.log(
      `${name.padEnd(20)}${ms.toFixed(0).padStart(6)} ms, beyond start-up ${beyond.toFixed(0).padStart(6)} ms, ${(beyond / pass).toFixed(1).padStart(5)} × the pass  ${bound}`,
    );
  }
  const { seconds, files, packages } = npx();
  console.log(
    `npx of the tarball  ${seconds.toFixed(1)} s with a warm cache, ${packages} packages in ${files} files, ` +
      `load ${loadavg()[0]?.toFixed(1)}  limit 20 s: ${seconds <= 20 ? 'holds' : 'MISSED'}`,
  );
} finally {
  rmSync(root, { recursive: true, force: true });
}
