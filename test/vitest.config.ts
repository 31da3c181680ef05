import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** What starts processes, queues or a browser names one of these. */
const STARTS_PROCESSES = /node:child_process|support\/run\.ts|support\/mcp\.ts|queue\/own-\w+\.ts|\/browser\.ts/;
const HERE = import.meta.dirname;

// What workers, their threads and their children load is compiled once.
process.env.NODE_COMPILE_CACHE = join(HERE, '../node_modules/.cache/nocturne-test');

const files = readdirSync(HERE, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.test.ts'));
const isSystem = (path: string) =>
  /^(doors|queue|chaos)\//.test(path) || STARTS_PROCESSES.test(readFileSync(join(HERE, path), 'utf8'));

/** A temporary directory in memory, where there is room for one. */
function inMemory(): Record<string, string> {
  const shm = statfsSync('/dev/shm', { bigint: false });
  return shm.bavail * shm.bsize > 4 * 2 ** 30 ? { TMPDIR: '/dev/shm' } : {};
}

function temporary(): Record<string, string> {
  try {
    return inMemory();
  } catch {
    return {};
  }
}

/**
 * `fast` computes, `system` starts processes and queues and waits more than it computes: so there is one more file at once
 * than there are cores, two. Both run in one group: the first of `system` begin while the last of `fast` are still at work.
 * The files of a project share the modules that are loaded: loading them was a fourth of what a run costs. No module of
 * ours holds state that a test changes.
 */
export function projects(of: string[]) {
  const shared = {
    root: join(HERE, '..'),
    setupFiles: 'test/support/setup.ts',
    isolate: false,
    // Node loads TypeScript itself, faster than Vite's module runner; none of it is mocked.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    maxWorkers: 3,
    env: temporary(),
  };
  const include = (paths: string[]) => paths.map((path) => `test/${path}`);
  return [
    {
      extends: true as const,
      test: {
        ...shared,
        name: 'fast',
        include: include(of.filter((path) => !isSystem(path))),
      },
    },
    {
      extends: true as const,
      test: {
        ...shared,
        name: 'system',
        include: include(of.filter(isSystem)),
      },
    },
  ];
}

// What a test waits for tells of itself long before its time is over.
export default defineConfig({
  root: join(HERE, '..'),
  test: {
    globalSetup: 'test/support/build.ts',
    testTimeout: 240_000,
    hookTimeout: 240_000,
    projects: projects(files),
  },
});
