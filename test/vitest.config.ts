import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Tests start real processes and real queues: on a busy machine those take seconds, and what a test waits for tells of
// itself long before its time is over. They wait more than they compute, so three files at once do well on two cores.
export default defineConfig({
  root: join(import.meta.dirname, '..'),
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/build.ts',
    setupFiles: 'test/support/property-seed.ts',
    testTimeout: 240_000,
    hookTimeout: 240_000,
    maxWorkers: 3,
  },
});
