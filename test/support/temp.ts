// Temporary directories that are removed when the test file is done; where no test runs, when the program is.

import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

function removeMade(): void {
  for (const dir of made) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}

if (process.env.VITEST) (await import('vitest')).afterAll(removeMade);
else process.once('exit', removeMade);

/** A new directory under the system's temporary one, by its canonical path. */
export function tempDir(parent = tmpdir()): string {
  const dir = realpathSync(mkdtempSync(join(parent, 'nocturne-test-')));
  made.push(dir);
  return dir;
}

/** The same in memory where the system has such a place: for many operations that are not about power loss. */
export function fastTempDir(): string {
  return tempDir(existsSync('/dev/shm') ? '/dev/shm' : tmpdir());
}
