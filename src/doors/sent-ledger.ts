// A ledger that came with a repository. What it says was done, and what waits in its inbox, is nobody's word on this
// machine: it could send a worker to transcripts of other projects. Recall does not open one either.

import { join } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { statNow } from '../base/files/files.ts';
import { isTracked } from '../base/files/working-tree.ts';
import type { Home } from '../memory/home/home.ts';
import { isCheckedInDir } from '../memory/home/paths.ts';

const LEDGER = '.claude/memory/.nocturne/ledger.db';

/** Throws `refused` where git tracks the ledger of a memory directory that no command of this home has worked in before. */
export async function refuseSentLedger(
  dir: string,
  { config, home, isCheckedIn = isCheckedInDir(dir) }: { config: Config; home: Home; isCheckedIn?: boolean },
): Promise<void> {
  if (!isCheckedIn || !statNow(join(dir, '.nocturne', 'ledger.db')) || (await home.stores()).includes(dir)) return;
  const root = join(dir, '..', '..');
  if (!(await isTracked(LEDGER, { root, environment: config.environment, timeoutMs: 5_000 }))) return;
  throw new AppError('refused', `${join(root, LEDGER)} came with the repository, and is not what nocturne did here.`, {
    remedy: `Take it out of the repository: git rm -f ${LEDGER}. What belongs there is made anew.`,
  });
}
