// Whether git works on the tree that holds a directory right now: then nobody else touches its files.

import { join } from 'node:path';
import { kindOf } from '../base/files/directories.ts';
import { checkoutRoot, gitDirOf } from './paths.ts';

export function gitIsBusy(dir: string): boolean {
  const top = checkoutRoot(dir);
  const gitDir = top && gitDirOf(top);
  return gitDir !== null && kindOf(join(gitDir, 'index.lock')) !== null;
}
