// Builds, before the first test, what the tests' processes run, unless it is there and newer than its sources: a
// built command starts in a fifth of the time that its source takes, and it is what users run.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
/** The build writes it last. */
const BUILT = join(root, 'dist/nocturne.js');

export default function setUp(): () => Promise<void> {
  buildOnce();
  const databases = join(tmpdir(), `nocturne_test_${process.pid}_${Date.now().toString(36)}`);
  // Read by the workers (own-database.ts), and here once they are done.
  process.env.NOCTURNE_TEST_DATABASES = databases;
  return async () => {
    if (!existsSync(databases)) return;
    await (await import('./own-database.ts')).dropDatabases();
    rmSync(databases);
  };
}

function buildOnce(): void {
  console.log(
    `Sizes of the long tests: ${process.env.NOCTURNE_TEST_DEPTH ?? 'quick (npm run test:deep runs the others)'}.`,
  );
  const builtMs = statSync(BUILT, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = ['src', 'jobs', 'package.json'].map((name) => join(root, name));
  if (sources.every((path) => newestIn(path) < builtMs)) return;
  execFileSync(process.execPath, ['src/checkout/build.js'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}

function newestIn(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newestIn(join(path, name))));
}
