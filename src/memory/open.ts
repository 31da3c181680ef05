// How a memory directory is opened: the store above the ledger, and all that may have to be repaired before it is used.
// Promises: what a crash left half done is finished; what the files know and the ledger does not is told to it; edits
// made meanwhile are taken in, losses that look like an accident are told apart from deletions, and what a merge of git
// left is resolved, now and after every later edit; jobs whose process died are ended. A ledger that is damaged is
// refused here: `check --repair` rebuilds it (jobs/check-memory.ts). So is one that came with a repository: what it says was
// done, and what waits in its inbox, proves nothing on this machine; it could send a worker to transcripts of other
// projects. Recall does not open one either.

import { join, resolve } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { canonicalPath } from '../base/files/directories.ts';
import { makeDirectory, type Stat, statNow } from '../base/files/files.ts';
import { isTracked } from '../base/files/working-tree.ts';
import { type Clock, systemClock } from '../base/time.ts';
import { resolveMerges } from './conflicts/resolve-merges.ts';
import { rebuildWhereBehind } from './history/rebuild.ts';
import type { Home } from './home/home.ts';
import { isCheckedInDir } from './home/paths.ts';
import { endInterrupted } from './ledger/job-rows.ts';
import { openLedger, type StartedBy } from './ledger/ledger.ts';
import { refuseLinkedState } from './store/confine.ts';
import { DirectoryStore, type Limits, type Store } from './store/store.ts';

export interface StoreOptions {
  /** Default: the system's. */
  clock?: Clock;
  limits?: Partial<Limits>;
  /** Git carries it with a repository, so others write there; default: whether it is `.claude/memory` at the top of a working tree. */
  isCheckedIn?: boolean;
  /** How long another process that works there is waited for; default: 15 s. */
  lockWaitMs?: number;
  /**
   * It is this process's own copy of a store that is kept elsewhere: what differs from its head is no edit but breaks the
   * copy (`isBrokenCopy`), jobs of other machines are left alone, nothing waits for the disk, and the ledger's log is
   * emptied by `Ledger.emptyLog` alone. How each file looked when it was last found to be its head is kept here, by path.
   */
  looks?: Map<string, Stat>;
  /** Whose actions are done through it; default: a program's. */
  startedBy?: StartedBy;
}

/**
 * Opens a memory directory, making it where it is missing, and finishes what a crash left half done; to be closed. Throws
 * `storage` where the directory cannot be used, `conflict` where another process has been writing there for 15 s.
 */
export async function openStore(
  dir: string,
  { clock = systemClock, limits, lockWaitMs, looks, isCheckedIn, startedBy }: StoreOptions = {},
): Promise<Store> {
  makeDirectory(dir);
  const root = canonicalPath(resolve(dir));
  const isRepositorys = isCheckedIn ?? isCheckedInDir(root);
  if (isRepositorys) refuseLinkedState(root);
  // Brings the files to what was committed.
  const store = new DirectoryStore(root, {
    ledger: openLedger(root, startedBy, { isCopy: looks !== undefined }),
    clock,
    limits,
    lockWaitMs,
    isCheckedIn: isRepositorys,
    looks,
    resolveEdits: resolveMerges,
  });
  try {
    // How the files of one machine looked, when a dream last read them, is no other's to know.
    if (looks) store.ledger.run('create temp table history_look (path text primary key, look text not null)');
    // Before external edits are taken in: a ledger that is behind the files is known by what it remembers of them.
    else await rebuildWhereBehind(store);
    await store.missing();
    if (!looks) endInterrupted(store.ledger, clock.now());
  } catch (error) {
    store.close();
    throw error;
  }
  return store;
}

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
    remedy: `Take it out of the repository: git rm -f ${LEDGER}. What belongs there is made again.`,
  });
}
