import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Tests start real processes and real queues: on a busy machine those take seconds. They wait more than they compute,
// so three files at once do well on two cores.
export default defineConfig({
  root: join(import.meta.dirname, '..'),
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/build.ts',
    setupFiles: 'test/support/property-seed.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 3,
  },
});
