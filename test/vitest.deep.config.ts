import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mergeConfig } from 'vitest/config';
import config from './vitest.config.ts';

// The files that have a long size, with that size.
const deep = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.test.ts') && readFileSync(join(import.meta.dirname, path), 'utf8').includes('/depth.ts'),
);

const merged = mergeConfig(config, {
  test: { env: { NOCTURNE_TEST_DEPTH: 'deep' }, testTimeout: 900_000, hookTimeout: 900_000 },
});
// Not merged: that would add to the list.
merged.test.include = deep.map((path) => `test/${path.replaceAll('\\', '/')}`);
export default merged;
