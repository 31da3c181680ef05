// Temporary directories that are removed when the test file is done (setup.ts); where no test runs, when the program is.
// In memory where the system has a place for that (vitest.config.ts): syncing to a disk is a tenth of the suite's
// processor time, and no test cuts the power.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const made: string[] = [];

if (!process.env.VITEST) process.once('exit', removeTempDirs);

/** Whether memory is kept in PostgreSQL, without directories. */
export const ON_POSTGRES = process.env.NOCTURNE_TEST_ENGINE === 'postgres';

/** A new directory under the system's temporary one, by its canonical path. */
export function tempDir(parent = tmpdir()): string {
  const dir = realpathSync(mkdtempSync(join(parent, 'nocturne-test-')));
  made.push(dir);
  return dir;
}

/** Writes these files, by their paths in it, into a directory; default: a new one. Answers the directory. */
export function dirWith(files: Record<string, string | Buffer>, dir = tempDir()): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
  return dir;
}

export function removeTempDirs(): void {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}
