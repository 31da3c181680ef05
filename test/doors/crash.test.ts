import { expect, test } from 'vitest';
import { testApp, testModel } from '../support/app.ts';
import { enqueueExtract } from '../support/doors.ts';
import { says } from '../support/messages-server.ts';
import { memoryOf, sixSessions } from '../support/nights.ts';
import { agentsOf } from '../support/processes.ts';
import { start, until, whileRuns } from '../support/run.ts';

// Kills at every step of a job are killed/killed.test.ts's, those of resident workers at random chaos/chaos.test.ts's.

const onLinux = process.platform === 'linux';
const sessions = sixSessions();

test('killed while its agent waits for the model, a worker takes the agent along, and the next one asks anew', async () => {
  const late = Promise.withResolvers<void>();
  const quote = 'Never commit to main directly.';
  // With a look beside it, the model is asked once more.
  const record = (message: string) => ({
    tools: [
      {
        name: 'record_entries',
        input: { entries: [{ type: 'feedback', strength: 'stated', text: quote, evidence: [{ message, quote }] }] },
      },
      { name: 'memory', input: { command: 'view', path: '/memories' } },
    ],
  });
  const model = await testModel(async (request, call) => {
    if (call === 2) await late.promise;
    return request.messages.length > 1 ? says('Done.') : record('20000001-2222-4333-8444-555555555555');
  });
  const testing = await testApp({ server: model });
  await enqueueExtract(testing.app, { transcript: sessions[2] as string, ended: true });
  const worker = start(['worker', '--once'], testing.environment);
  await whileRuns(worker, model.received(2));
  if (onLinux) expect(agentsOf(testing.home)).toHaveLength(1);
  worker.kill('SIGKILL');
  await worker.ended;
  if (onLinux) await until(() => agentsOf(testing.home).length === 0);
  late.resolve();
  expect(await testing.store.list()).toEqual([]);
  expect(await testing.nocturne('worker', '--once')).toMatchObject({ code: 0 });
  expect(model.requests).toHaveLength(4);
  const { files, coverage, waiting } = await memoryOf(testing);
  expect(files['logs/2026/11/2026-11-12.md']?.filter((line) => line.startsWith('- '))).toEqual([
    `- 09:00 **feedback** ${quote}`,
  ]);
  expect({ coverage: coverage.length, waiting }).toEqual({ coverage: 1, waiting: 0 });
});
