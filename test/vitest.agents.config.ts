import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { temporary } from './vitest.config.ts';

// The agents' own programs, in terminals: they mostly wait, so three run at once; more starve each other on two cores.
export default defineConfig({
  root: join(import.meta.dirname, '..'),
  test: {
    globalSetup: 'test/agents/install.ts',
    setupFiles: 'test/support/setup.ts',
    include: ['test/agents/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    maxWorkers: 3,
    env: temporary(),
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
});
