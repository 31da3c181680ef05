import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { projects, WaitingSpread } from './vitest.config.ts';

// The files that have a long size, with that size.
const deep = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter(
    (path) =>
      path.endsWith('.test.ts') &&
      !path.startsWith('agents/') &&
      /\/depth\.ts|ENGINE_TAKEN/.test(readFileSync(join(import.meta.dirname, path), 'utf8')),
  );

// Read by the workers, and by build.ts, which says the size.
process.env.NOCTURNE_TEST_DEPTH = 'deep';

export default defineConfig({
  root: join(import.meta.dirname, '..'),
  test: {
    globalSetup: 'test/support/build.ts',
    testTimeout: 900_000,
    hookTimeout: 900_000,
    sequence: { sequencer: WaitingSpread },
    projects: projects(deep, { isDeep: true }),
  },
});
