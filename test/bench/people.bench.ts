// How long a person waits: the start of the command line against that of Node itself, and list and search over
// 10,000 topics: as files that nocturne never saw, and where a dream knows them. What a search or a list takes beyond
// the same over three topics is what the topics cost. After `npm run build`: node test/bench/people.bench.ts

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/time.ts';
import { refreshTopics } from '../../src/memory/dream/topic-table.ts';
import { openStore } from '../../src/memory/open.ts';

const DOOR = join(import.meta.dirname, '../../dist/nocturne.js');
const RUNS = 15;
const TOPICS = 10_000;
const YESTERDAY = new Date(Date.now() - 86_400_000);
const root = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));

function medianMs(args: string[], memory: string): number {
  const env = { PATH: process.env.PATH, HOME: root, NOCTURNE_HOME: join(root, 'home'), NOCTURNE_MEMORY_DIR: memory };
  const times = Array.from({ length: RUNS }, () => {
    const start = performance.now();
    const { status, stderr } = spawnSync(process.execPath, args, { env, maxBuffer: 1 << 28, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[RUNS >> 1] as number;
}

function memoryWith(topics: number, name = `memory-${topics}`): string {
  const dir = join(root, name);
  mkdirSync(dir);
  for (let n = 0; n < topics; n++) {
    const head = `---\nname: topic-${n}\ndescription: What is known of part ${n}\ntype: project\n---\n\n`;
    const path = join(dir, `topic-${n}.md`);
    writeFileSync(path, `${head}- Part ${n} is built by team ${n % 7}.\n- It ships on 2026-12-04.\n`);
    // What was written just now is read again at every look.
    utimesSync(path, YESTERDAY, YESTERDAY);
  }
  return dir;
}

/** The same in a directory where a dream has been: the ledger knows the files, and the topics in them. */
async function knownMemoryWith(topics: number): Promise<string> {
  const dir = memoryWith(topics, `known-${topics}`);
  const store = await openStore(dir, { clock: systemClock });
  refreshTopics(store.ledger);
  store.close();
  return dir;
}

try {
  const [few, many, known] = [memoryWith(3), memoryWith(TOPICS), await knownMemoryWith(TOPICS)];
  const node = medianMs(['-e', '0'], few);
  const rows = [
    ['node -e 0', node],
    ['nocturne --version', medianMs([DOOR, '--version'], few)],
    ['nocturne list', medianMs([DOOR, 'list'], few)],
    ['nocturne search part', medianMs([DOOR, 'search', 'part'], few)],
    ['nocturne --help', medianMs([DOOR, '--help'], few)],
    [`list, ${TOPICS} topics`, medianMs([DOOR, 'list'], many)],
    [`search, ${TOPICS} topics`, medianMs([DOOR, 'search', 'team', '4321'], many)],
    [`list, ${TOPICS} known`, medianMs([DOOR, 'list'], known)],
    [`search, ${TOPICS} known`, medianMs([DOOR, 'search', 'team', '4321'], known)],
    [`rare word, ${TOPICS} known`, medianMs([DOOR, 'search', '4321'], known)],
    [`complete, ${TOPICS} topics`, medianMs([DOOR, 'complete', '--', 'pin', 'topic-99'], many)],
  ] as const;
  for (const [name, ms] of rows) {
    console.log(`${name.padEnd(26)} ${ms.toFixed(0).padStart(5)} ms  ${(ms / node).toFixed(1)} × node`);
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
