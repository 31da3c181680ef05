// What bounds a job: as many runs at once as there may be, whatever becomes of them.

import { expect, test } from 'vitest';
import type { AgentRequest, RunAgent } from '../../src/agent/agent-types.ts';
import { atMost } from '../../src/worker/job-bounds.ts';
import { recordingPorts } from '../support/agent-ports.ts';

/** Runs that last until they are ended, by their inputs. */
function boundRuns(most: number) {
  const running = new Map<string, PromiseWithResolvers<'done'>>();
  const run: RunAgent = ({ input }) => {
    running.set(input, Promise.withResolvers());
    return (running.get(input) as PromiseWithResolvers<'done'>).promise;
  };
  const bound = atMost(most, run);
  return {
    running,
    start: (input: string, signal?: AbortSignal) => bound({ input } as AgentRequest, recordingPorts(), signal),
  };
}

test('so many runs are under way at once, and one that failed gives its place to the next in order', async () => {
  const { running, start } = boundRuns(2);
  const [first, second, third, fourth] = ['1', '2', '3', '4'].map((input) => start(input));
  expect([...running.keys()]).toEqual(['1', '2']);
  running.get('1')?.reject(new Error('reset'));
  await expect(first).rejects.toThrow('reset');
  await new Promise(setImmediate);
  expect([...running.keys()]).toEqual(['1', '2', '3']);
  running.get('2')?.resolve('done');
  running.get('3')?.resolve('done');
  await Promise.all([second, third]);
  await new Promise(setImmediate);
  running.get('4')?.resolve('done');
  expect(await fourth).toBe('done');
});

test('a run that is ended while it waits begins no more, and takes the place of none', async () => {
  const { running, start } = boundRuns(1);
  const first = start('1');
  const end = new AbortController();
  const ended = start('2', end.signal);
  const third = start('3');
  end.abort(new Error('told to end'));
  await expect(ended).rejects.toThrow('told to end');
  running.get('1')?.resolve('done');
  await first;
  await new Promise(setImmediate);
  expect([...running.keys()]).toEqual(['1', '3']);
  running.get('3')?.resolve('done');
  expect(await third).toBe('done');
});
