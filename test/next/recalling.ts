// What a session is told, by the house that a test is run on.

import { appendEntries, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import type { Entry } from '../../src/memory/types.ts';
import { commit } from '../../src/next/memory/commit.ts';
import { putEntry } from '../../src/next/memory/entries.ts';
import type { App } from '../../src/next/worker/compose.ts';
import type { TestApp } from '../support/app.ts';
import { record, type Said } from '../support/recorded.ts';
import { HOUSE } from '../support/temp.ts';

type Session = Pick<typeof import('../../src/doors/recall-session.ts'), 'answerHook' | 'recallFor'>;
type Prompt = Pick<typeof import('../../src/doors/recall-prompt.ts'), 'answerPrompt'>;

export const { answerHook, recallFor } = (
  HOUSE === 'next'
    ? await import('../../src/next/hook/start-recall.ts')
    : await import('../../src/doors/recall-session.ts')
) as Session;

export const { answerPrompt } = (
  HOUSE === 'next'
    ? await import('../../src/next/hook/prompt-recall.ts')
    : await import('../../src/doors/recall-prompt.ts')
) as Prompt;

/** What was written by hand is taken in, as the next job does. */
export async function takeIn({ app, store }: TestApp): Promise<void> {
  if (HOUSE === 'old') await store.commit({ actor: 'person' }, () => ({ files: [] }));
  else
    await nextOf(app)
      .files(await nextOf(app).memoryFor())
      .list();
}

/** An entry as an extraction leaves it. */
export async function recordIn({ app, store }: TestApp, at: string, said: Said): Promise<void> {
  if (HOUSE === 'old') return void (await record(store, at, [said]));
  const { memories, memoryFor } = nextOf(app);
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

function nextOf(app: unknown): App {
  return app as App;
}
