// Works what is due in a test's memory, in this process, at any instant.

import { replace } from '../../src/db/sql.ts';
import type { WorkResult } from '../../src/worker/work-item.ts';
import { runWorker } from '../../src/worker/worker.ts';
import { type TestApp, type TestAppOptions, testApp } from './app.ts';
import { enqueueExtract } from './doors.ts';

/** The same home and memory directory, as a process sees them that begins at `now`. */
export function laterApp(testing: TestApp, now: string | number, options: TestAppOptions = {}): Promise<TestApp> {
  const { home, dir } = testing;
  return testApp({ ...options, home, dir, now: new Date(now).toISOString() });
}

/** Works what is due, as `worker --once` does. */
export async function workDue({ app }: Pick<TestApp, 'app'>): Promise<WorkResult[]> {
  const results: WorkResult[] = [];
  const { config, clock, db } = app;
  // No night is due: tests of nights use the worker itself.
  const night = clock.now().toISOString();
  await replace(db, 'setting', ['key'], { key: 'night', value: night });
  await runWorker(
    { ...app, config: { ...config, concurrency: 1 } },
    {
      ...{ signal: new AbortController().signal, ends: 'idle' },
      onResult: (result) => void results.push(result),
      onError(message) {
        throw new Error(message);
      },
    },
  );
  return results;
}

/** Puts a session into the inbox and works it. */
export async function workSession(testing: TestApp, transcript: string): Promise<WorkResult | undefined> {
  await enqueueExtract(testing.app, { transcript, ended: true });
  return (await workDue(testing))[0];
}
