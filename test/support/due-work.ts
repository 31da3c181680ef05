// Works what is due in a test's memory directory, in this process, at any instant.

import { dueItems } from '../../src/doors/worker/desk.ts';
import { type WorkResult, workKey } from '../../src/doors/worker/work.ts';
import { type TestApp, type TestAppOptions, testApp } from './app.ts';
import { enqueueExtract } from './doors.ts';
import { HOUSE } from './temp.ts';

/** The same home and memory directory, as a process sees them that begins at `now`. */
export function laterApp(testing: TestApp, now: string | number, options: TestAppOptions = {}): Promise<TestApp> {
  const { home, dir } = testing;
  return testApp({ ...options, home, dir, now: new Date(now).toISOString() });
}

export async function workDue({ app, store }: TestApp): Promise<WorkResult[]> {
  if (HOUSE === 'next') return (await import('../next/due-work-next.ts')).workDueNext(app as never) as never;
  const results: WorkResult[] = [];
  for (let [item] = await dueItems(app, store); item; [item] = await dueItems(app, store)) {
    const result = await workKey(app, { store, kind: item.kind, key: item.key });
    if (result) results.push(result);
  }
  return results;
}

/** Puts a session into the inbox and works it. */
export async function workSession(testing: TestApp, transcript: string): Promise<WorkResult | undefined> {
  await enqueueExtract(testing.app, { transcript, ended: true });
  return (await workDue(testing))[0];
}
