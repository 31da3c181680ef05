// A resident worker in this process, which saves the start of one and of each of its agents: for what becomes of the
// work. How a worker's process starts, ends and is killed is tested with run.ts.

import { onTestFinished } from 'vitest';
import { runAgent } from '../../src/agent/loop.ts';
import { type Environment, loadConfig } from '../../src/base/config/config.ts';
import { openApp } from '../../src/doors/compose.ts';
import { openIntake } from '../../src/doors/hook/intake.ts';
import { observeFigures } from '../../src/doors/telemetry.ts';
import { figuresOf } from '../../src/doors/worker/known-work.ts';
import { runWorker } from '../../src/doors/worker/worker.ts';
import { HOUSE } from './temp.ts';

/** Does what `nocturne worker` does with this environment. */
export async function workerHere(environment: Environment) {
  const ending = new AbortController();
  const { signal } = ending;
  /** What became of each piece of work, and what went wrong; in order. */
  const said: string[] = [];
  const onError = (message: string) => void said.push(message);
  const work = async () => {
    if (HOUSE === 'next') return (await import('../next/due-work-next.ts')).workNext(environment, signal, onError);
    const app = await openApp(await loadConfig({}, environment), { runAgent, startedBy: 'program' });
    const intake = openIntake(app, { signal, onError, isResident: true });
    const { telemetry, clock } = app.config;
    const endMetrics = telemetry ? await observeFigures(() => figuresOf(app), clock) : undefined;
    try {
      return await runWorker(app, {
        ...{ signal, takeIn: intake.takeIn, onError },
        onResult: ({ kind, key, outcome }) => void said.push(`${kind} ${key}: ${outcome}`),
      });
    } finally {
      endMetrics?.();
      await intake.end();
      await app.close();
    }
  };
  const ended = work();
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
