// What the next job would take in, and what an extraction leaves, for tests of what a session is told.

import { commit } from '../../src/memory/commit.ts';
import { putEntry } from '../../src/memory/entries.ts';
import type { Entry } from '../../src/memory/memory-types.ts';
import { appendEntries, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import { lineId, newTopic } from '../../src/memory/text/topic.ts';
import type { App } from '../../src/worker/compose.ts';
import type { TestApp } from './app.ts';
import { record, type Said } from './night-world.ts';

/** What was written by hand is taken in, as the next job does. */
export async function takeIn({ app }: Pick<TestApp, 'app'>): Promise<void> {
  await app.files(await app.memoryFor()).list();
}

/** An entry as an extraction leaves it. */
export async function recordIn({ app }: Pick<TestApp, 'app'>, at: string, said: Said): Promise<void> {
  await record(app, (await app.memoryFor()).id, at, [said]);
}

export interface Way {
  /** What the topic says. */
  line: string;
  failed: string;
  error: string;
  worked: string;
  /** Where its calls ran. */
  cwd: string;
  path?: string;
  /** False: no night has sorted it yet. */
  isSorted?: boolean;
  found?: Entry['found'];
}

/** A way that an agent found in a session, as a night places it. */
export async function placeWay(
  { app }: { app: Pick<App, 'memories' | 'memoryFor' | 'db'> },
  { line, failed, error, worked, cwd, path = 'ways.md', isSorted = true, found = 'way' }: Way,
  memory?: string,
): Promise<void> {
  const { memories, memoryFor } = app;
  const id = memory ?? (await memoryFor()).id;
  const evidence = [
    { message: 'm1', quote: failed, by: 'assistant', proves: 'failed' as const },
    { message: 'm2', quote: error, by: 'tool', proves: 'error' as const },
    { message: 'm3', quote: worked, by: 'assistant', proves: 'worked' as const },
  ];
  const at = { session: `ses_${lineId(cwd)}`, turn: 't1', at: '2026-11-20T09:00:00Z', day: '2026-11-20', prompt: 'p' };
  const entry: Entry = {
    ...{ ...at, id: entryId({ message: 'm1', quote: failed, text: line }), type: 'project', strength: 'implied' },
    ...{ text: line, evidence, by: 'tool', found },
  };
  const said = `Found by the agent, 2026-11-20: ${line}`;
  const inTopic = (now: string | null) =>
    `${now ?? newTopic({ name: 'ways', description: 'Ways', type: 'project', lines: [] })}- ${said}\n`;
  const inLog = (now: string | null) => appendEntries(now, [entry], { day: entry.day, zone: 'UTC' });
  const file = isSorted ? { path, make: inTopic } : { path: logPath(entry.day), make: inLog };
  const by = { job: 'job_1', actor: { kind: 'job', id: 'job_1' } } as const;
  await commit(memories, { memory: id, paths: [file.path] }, by, async () => ({
    files: [file],
    rows: async (change, heads) => {
      const state = isSorted ? 'placed' : 'new';
      await putEntry(change, { ...entry, memory: id, job: 'job_1', state, reason: null });
      if (isSorted)
        await change.add('rests', [{ memory: id, file: heads[0]?.id ?? '', line: lineId(said), source: entry.id }]);
    },
  }));
  await app.db.run(
    `insert into session (id, name, memory, machine, cwd, created_at) select ?, ?, ?, ?, ?, ?
     where not exists (select 1 from session where id = ?)`,
    ...[entry.session, entry.session, id, memories.machine, cwd, entry.at, entry.session],
  );
}
