// What the next job would take in, and what an extraction leaves, for tests of what a session is told.

import { commit } from '../../src/memory/commit.ts';
import { putEntry } from '../../src/memory/entries.ts';
import type { Entry, MemoryType } from '../../src/memory/memory-types.ts';
import { appendEntries, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import type { TestApp } from './app.ts';

export interface Said {
  type: MemoryType;
  text: string;
  strength?: Entry['strength'];
  /** What it changes of what was known. */
  changes?: string;
  /** The line that it says again. */
  again?: string;
}

/** What was written by hand is taken in, as the next job does. */
export async function takeIn({ app }: Pick<TestApp, 'app'>): Promise<void> {
  await app.files(await app.memoryFor()).list();
}

/** An entry as an extraction leaves it. */
export async function recordIn({ app }: Pick<TestApp, 'app'>, at: string, said: Said): Promise<void> {
  const { memories, memoryFor } = app;
  const { id: memory } = await memoryFor();
  const day = at.slice(0, 10);
  const evidence = [{ message: 'm1', quote: said.text }];
  const source = { session: 's1', turn: 't1', prompt: 'p', by: 'human', at, day };
  const entry: Entry = {
    strength: 'stated',
    ...said,
    ...source,
    id: entryId({ ...evidence[0], text: said.text } as never),
    evidence,
  };
  const path = logPath(day);
  await commit(
    memories,
    { memory, paths: [path] },
    { job: 'job_1', actor: { kind: 'job', id: 'job_1' } },
    async () => ({
      files: [{ path, make: (current) => appendEntries(current, [entry], { day, zone: 'UTC' }) }],
      rows: (change) => putEntry(change, { ...entry, memory, job: 'job_1', state: 'new', reason: null }),
    }),
  );
}
