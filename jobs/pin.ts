// Pin: a person says that jobs leave a topic as it is, or that they may change it again. An action that undo takes back.

import type { Clock } from '../src/base/time.ts';
import { enterPersonsJob } from '../src/memory/ledger/job-rows.ts';
import type { Store } from '../src/memory/store/store.ts';
import { dropKey, setKeys } from '../src/memory/text/frontmatter.ts';
import { parseTopic } from '../src/memory/text/topic.ts';

export interface PinRequest {
  /** Of the topic's file. */
  path: string;
  pinned: boolean;
}

/** Answers whether that changed the file, and with which job it can be undone. */
export async function pin(
  { path, pinned }: PinRequest,
  { store, clock }: { store: Store; clock: Clock },
): Promise<{ changed: boolean; job: string | null }> {
  let changed = false;
  let job: string | null = null;
  const change = (current: string | null) => {
    changed = current !== null && parseTopic(path, current).pinned !== pinned;
    if (!changed || current === null) return current;
    return pinned ? setKeys(current, { pinned }) : dropKey(current, 'pinned');
  };
  await store.commit({ actor: 'person' }, () => ({
    files: [{ path, change }],
    rows(transaction) {
      const done = pinned
        ? ({ kind: 'pin', outcome: 'pinned' } as const)
        : ({ kind: 'unpin', outcome: 'unpinned' } as const);
      if (changed) job = enterPersonsJob(transaction, { ...done, now: clock.now() });
    },
  }));
  return { changed, job };
}
