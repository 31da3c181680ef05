// A dream that was canceled leaves nothing behind: what its requests had committed by then is undone, try by try. What it
// extracted stays, and so does what someone else built on since. A ledger is told that a dream is over by what leaves its
// inbox: what is worked for one of its items commits no more, because each commit looks for the item that it is made for.

import type { Config } from '../../base/config/config.ts';
import type { WorkRows } from '../../memory/ledger/inbox.ts';
import type { Store } from '../../memory/store/store.ts';
import { withLease } from '../job-bounds.ts';
import { sessionOfDream } from './dreams.ts';

/** False where someone still works on it, who commits nothing more. */
export async function takeBackDream(store: Store, { id, config }: { id: string; config: Config }): Promise<boolean> {
  await stopWork(store.work, id);
  // What is being committed just now is waited for, here and on other machines.
  await store.missing();
  await store.enterRows(() => {});
  const jobs = store.ledger.all<{ id: string }>(
    `select id from job where session = ? and kind = 'dream'
       and exists (select 1 from version where actor = 'job:' || job.id)
       and not exists (select 1 from job as other where other.undoes = job.id) order by rowid desc`,
    sessionOfDream(id),
  );
  // Loaded with the first: a worker that waits needs none of it.
  const { undo } = await import('../../../jobs/undo.ts');
  for (const { id: job } of jobs) {
    const { outcome } = await undo(
      { job, partial: true },
      {
        store,
        clock: config.clock,
        environment: config.environment,
        actor: `job:${job}`,
        withLease: (at, key, work) => withLease(at, { key, config, work }),
      },
    );
    if (outcome === 'busy') return false;
  }
  return true;
}

/** Takes what is left of a dream out of an inbox. */
export async function stopWork(work: WorkRows, dream: string): Promise<void> {
  for (const { id, key } of await work.items()) {
    if (key === dream || key.startsWith(`${dream}/`)) await work.finish(id);
  }
}
