// What test/support/due-work.ts and worker-here.ts do, in the next house.

import { runAgent } from '../../src/agent/loop.ts';
import { type Environment, loadConfig } from '../../src/base/config/config.ts';
import { replace } from '../../src/next/db/sql.ts';
import { sessionRow } from '../../src/next/memory/session-rows.ts';
import { type App, openApp } from '../../src/next/worker/compose.ts';
import type { WorkResult } from '../../src/next/worker/work-item.ts';
import { runWorker } from '../../src/next/worker/worker.ts';

/** Works what is due, as `worker --once` does. */
export async function workDueNext(app: App): Promise<WorkResult[]> {
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

/** Does what `nocturne worker` does with this environment, until `signal`. */
export async function workNext(environment: Environment, signal: AbortSignal, say: (line: string) => void) {
  const app = await openApp(await loadConfig({}, environment), { runAgent, startedBy: 'program' });
  let saying = Promise.resolve();
  const work = async () => {
    try {
      await runWorker(app, {
        signal,
        onError: say,
        onResult({ kind, key, outcome }) {
          saying = saying.then(async () => {
            const session = kind === 'extract' ? await sessionRow(app.db, key) : undefined;
            say(`${kind} ${session?.name ?? key}: ${outcome}`);
          });
        },
      });
    } finally {
      await saying;
      await app.close();
    }
  };
  return work();
}
