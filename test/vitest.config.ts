import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What starts processes, queues or a browser names one of these. */
const STARTS_PROCESSES = /node:child_process|support\/run\.ts|support\/mcp\.ts|queue\/own-\w+\.ts|\/browser\.ts/;
const HERE = import.meta.dirname;

// What workers, their threads and their children load is compiled once.
process.env.NODE_COMPILE_CACHE = join(HERE, '../node_modules/.cache/nocturne-test');

const files = readdirSync(HERE, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  // Those of the agents' own programs are a run of their own (vitest.agents.config.ts).
  .filter((path) => path.endsWith('.test.ts') && !path.startsWith('agents/'));
const isSystem = (path: string) =>
  /^(doors|queue|chaos)\//.test(path) || STARTS_PROCESSES.test(readFileSync(join(HERE, path), 'utf8'));

/** A temporary directory in memory, where there is room for one. */
function inMemory(): Record<string, string> {
  const shm = statfsSync('/dev/shm', { bigint: false });
  return shm.bavail * shm.bsize > 4 * 2 ** 30 ? { TMPDIR: '/dev/shm' } : {};
}

export function temporary(): Record<string, string> {
  try {
    return inMemory();
  } catch {
    return {};
  }
}

/** What is asked of memory in PostgreSQL, too, in the deep run. */
const ON_POSTGRES = readFileSync(join(HERE, 'on-postgres.txt'), 'utf8').split('\n').filter(Boolean);

/**
 * Some files compute, others start processes and queues and wait more than they compute: so there are twice as many at once as
 * there are cores, two. All files of a project share the modules that are loaded: loading them was a fourth of what a run costs.
 * No module of ours holds state that a test changes. `FAST=1`: only files that compute.
 */
export function projects(of: string[], { isDeep = false } = {}) {
  const shared = {
    root: join(HERE, '..'),
    setupFiles: 'test/support/setup.ts',
    isolate: false,
    // Node loads TypeScript itself, faster than Vite's module runner; none of it is mocked.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Most code runs a few times: compiled at once without optimizing, and with room from the start for what is soon garbage, it costs a fifth less.
    execArgv: ['--always-sparkplug', '--min-semi-space-size=64', '--max-semi-space-size=64'],
    maxWorkers: 4,
    env: temporary(),
  };
  const include = (paths: string[]) => paths.map((path) => `test/${path}`);
  const isMeant = process.env.FAST ? (path: string) => !isSystem(path) : () => true;
  const onEngine = (name: string, paths: string[], env = {}) => ({
    extends: true as const,
    test: { ...shared, name, include: include(paths.filter(isMeant)), env: { ...shared.env, ...env } },
  });
  if (!isDeep) return [onEngine('sqlite', of)];
  return [onEngine('sqlite', of), onEngine('postgres', ON_POSTGRES, { NOCTURNE_TEST_ENGINE: 'postgres' })];
}

/** These wait more than they compute, for locks, leases, browsers and processes. */
const WAITING =
  /\/(?:chaos|ended-programs|fleet|forked|hook|hostile|killed|live|model-programs|once|outage|page|queues|worker)\.test\.ts$/;

/** One after the other: a worker that is done ends where the next file is another project's, and what it loaded with it. */
const PROJECTS = ['postgres', 'sqlite'];

/** Files that wait are spread over those of their project that compute: at once, they would leave both cores idle. */
export class WaitingSpread extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const ranks = new Map<TestSpecification, number>();
    const groups = Map.groupBy(sorted, ({ project, moduleId }) => `${project.name} ${WAITING.test(moduleId)}`);
    for (const group of groups.values())
      for (const [at, file] of group.entries())
        ranks.set(file, PROJECTS.indexOf(file.project.name) + at / group.length);
    return sorted.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
  }
}

// What a test waits for tells of itself long before its time is over.
export default defineConfig({
  root: join(HERE, '..'),
  test: {
    globalSetup: 'test/support/build.ts',
    testTimeout: 240_000,
    hookTimeout: 240_000,
    sequence: { sequencer: WaitingSpread },
    projects: projects(files),
  },
});
