// A directory in which nobody can write until the test is done.

import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Answers whether it could be made so: root may write everywhere but on a read-only mount, which not every system allows. */
export function makeUnwritable(dir: string): boolean {
  if (process.getuid?.() !== 0) {
    const items = ['.', ...readdirSync(dir, { recursive: true, encoding: 'utf8' })].map((name) => join(dir, name));
    for (const path of items) chmodSync(path, 0o500);
    onTestFinished(() => {
      for (const path of items) chmodSync(path, 0o700);
    });
    return true;
  }
  try {
    execFileSync('mount', ['--bind', '-o', 'ro', dir, dir], { stdio: 'ignore' });
  } catch {
    return false;
  }
  onTestFinished(() => {
    execFileSync('umount', [dir], { stdio: 'ignore' });
  });
  return true;
}
