// The index alone, brought up to date by a job.

import type { Clock } from '../../src/base/time.ts';
import { type IndexSize, indexChange } from '../../src/memory/dream/index-change.ts';
import type { Lease } from '../../src/memory/store/leases.ts';
import type { Store } from '../../src/memory/store/store.ts';

export interface Place {
  store: Store;
  clock: Clock;
  zone: string;
}

/** Brings the index up to date with the topic files, for what a person added, renamed or removed. */
export async function rebuildIndex(place: Place, by: { lease: Lease; actor: string }): Promise<IndexSize> {
  const { store } = place;
  const index = indexChange(store);
  const current = await store.read('MEMORY.md');
  const wanted = index.memory.change(current);
  let size: IndexSize = index.size();
  if (wanted === current || size.topics.length === 0) return size;
  await store.commit({ actor: by.actor, lease: by.lease }, () => ({
    files: [index.memory, ...index.overflow()],
    rows: (transaction) => {
      size = index.finish(transaction);
    },
  }));
  return size;
}
