// A resident worker in this process, which saves the start of one and of each of its agents: for what becomes of the
// work. How a worker's process starts, ends and is killed is tested with run.ts.

import { onTestFinished } from 'vitest';
import { runAgent } from '../../src/agent/loop.ts';
import { type Environment, loadConfig } from '../../src/base/config/config.ts';
import { sessionRow } from '../../src/memory/session-rows.ts';
import { openApp } from '../../src/worker/compose.ts';
import { runWorker } from '../../src/worker/worker.ts';

/** Does what `nocturne worker` does with this environment. */
export async function workerHere(environment: Environment) {
  const ending = new AbortController();
  const { signal } = ending;
  /** What became of each piece of work, and what went wrong; in order. */
  const said: string[] = [];
  const onError = (message: string) => void said.push(message);
  const ended = workUntil(environment, signal, onError);
  // Told by `stop`.
  ended.catch(() => undefined);
  /** Ends it in order. */
  const stop = () => {
    ending.abort(new Error('the test ends the worker'));
    return ended;
  };
  onTestFinished(async () => {
    await stop();
  });
  return { said, stop };
}

/** Does what `nocturne worker` does with this environment, until `signal`. */
async function workUntil(environment: Environment, signal: AbortSignal, say: (line: string) => void) {
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
