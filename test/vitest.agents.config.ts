import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { temporary } from './vitest.config.ts';

// The agents' own programs, in terminals: they mostly wait, so all run at once.
export default defineConfig({
  root: join(import.meta.dirname, '..'),
  test: {
    globalSetup: 'test/agents/install.ts',
    setupFiles: 'test/support/setup.ts',
    include: ['test/agents/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    maxWorkers: 4,
    env: temporary(),
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
});
