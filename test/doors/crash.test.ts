import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { listFiles } from '../../src/base/files/directories.ts';
import { noOwnRedis, ownRedis } from '../queue/own-redis.ts';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { sized, waysTaken } from '../support/depth.ts';
import { enqueueDream, enqueueExtract } from '../support/doors.ts';
import { says } from '../support/messages-server.ts';
import { isIdle, memoryOf, sixSessions } from '../support/nights.ts';
import { agentsOf } from '../support/processes.ts';
import { type Running, run, start, until, whileRuns } from '../support/run.ts';
import { dirWith } from '../support/temp.ts';

const DIES_AT = join(import.meta.dirname, '../support/dies-at.ts');
/** Most of what is done is written into the one database, by which no step is counted. */
const STEPS = sized({ quick: 16, deep: 5 });
const onLinux = process.platform === 'linux';
const sessions = sixSessions();

async function nightOf(transcripts: string[], options: Parameters<typeof testApp>[0] = {}): Promise<TestApp> {
  const testing = await testApp(options);
  for (const transcript of transcripts) await enqueueExtract(testing.app, { transcript, ended: true });
  await enqueueDream(testing.app, testing.store);
  return testing;
}

async function memoryWithoutKill(transcripts: string[]): ReturnType<typeof memoryOf> {
  const testing = await nightOf(transcripts);
  await testing.nocturne('worker', '--once');
  expect(await isIdle(testing)).toBe(true);
  return memoryOf(testing);
}

/** Works on after a kill and expects what would have been there without it, and nothing else. */
async function expectRecovery<Held>(
  testing: TestApp,
  { expected, held }: { expected: Held; held(testing: TestApp): Promise<Held> },
): Promise<void> {
  if (onLinux) await until(() => agentsOf(testing.home).length === 0);
  expect(await testing.nocturne('worker', '--once')).toMatchObject({ code: 0 });
  expect(await held(testing)).toEqual(expected);
  const aside = /^\.nocturne\/aside\/mem_\w+\.[0-9a-f]{64}(?:\.\d+){1,2}$/;
  const own =
    /^\.nocturne\/(?:\.gitignore|id|lock\.db(?:-journal|-wal|-shm)?|ledger\.db(?:-wal|-shm)?|dreams\/[\d-]+\.json)$/;
  const odd = listFiles(testing.dir).filter((path) => !path.endsWith('.md') && !aside.test(path) && !own.test(path));
  expect(odd).toEqual([]);
}

/** What the project and the user scope hold, and what waits between them. */
async function bothMemoriesOf(testing: TestApp) {
  const dir = join(testing.home, '.claude/memory');
  return {
    project: await memoryOf(testing),
    user: await memoryOf({ ...testing, store: await testing.app.store(dir), dir }),
  };
}

/**
 * What is about the user goes on to the user scope. A person's own files stand where the night will write, so that its
 * commits replace and do not only add.
 */
async function handWrittenNight(): Promise<TestApp> {
  const testing = await nightOf(sessions.slice(1, 2), { settings: { userScope: true } });
  const byHand = {
    'logs/2026/11/2026-11-11.md': '# 2026-11-11\n\n- **project** Kim owns the harvest report.\n',
    'MEMORY.md': '# My memory\n\n- [Mine](mine.md) — my own words\n',
    'project-facts.md': '---\nname: project-facts\ndescription: Facts\ntype: project\n---\n\n- It is about apples.\n',
  };
  dirWith(byHand, testing.dir);
  return testing;
}

test('a worker killed at a step of its commits leaves what the next one brings to the same memory', async () => {
  const undisturbed = await handWrittenNight();
  await undisturbed.nocturne('worker', '--once');
  const expected = await bothMemoriesOf(undisturbed);
  expect(expected.project.files['project-facts.md']).toEqual(
    expect.arrayContaining(['- It is about apples.', '- The release deadline is 2026-12-04.']),
  );
  expect(expected.user.files['logs/2026/11/2026-11-11.md']?.filter((line) => line.startsWith('- '))).toEqual([
    '- 09:00 **user** The user prefers short answers.',
  ]);
  let kills = 0;
  for (let step = 3, wasKilled = true; wasKilled; step += STEPS) {
    const testing = await handWrittenNight();
    const environment = { ...testing.environment, NOCTURNE_TEST_DIES_AT: String(step) };
    const { signal } = await run(['worker', '--once'], environment, { nodeArgs: ['--import', DIES_AT] });
    wasKilled = signal === 'SIGKILL';
    if (wasKilled) kills += 1;
    await expectRecovery(testing, { expected, held: bothMemoriesOf });
  }
  expect(kills).toBeGreaterThan(sized({ quick: 1, deep: 4 }));
});

async function expectNoLossIn(testing: TestApp): Promise<void> {
  const expected = await memoryWithoutKill(sessions);
  const begun = async () => (await testing.rows('jobs')).length;
  const kill = async (worker: Running) => {
    worker.kill('SIGKILL');
    expect(await worker.ended).toMatchObject({ signal: 'SIGKILL' });
    expect(await testing.app.home.workers.all()).toEqual([]);
  };
  const opening = start(['worker'], testing.environment);
  await until(async () => (await testing.app.home.workers.all()).length > 0);
  await kill(opening);
  for (let delayMs = 0; delayMs <= 600 && !(await isIdle(testing)); delayMs += sized({ quick: 600, deep: 120 })) {
    const before = await begun();
    const worker = start(['worker'], testing.environment);
    await until(async () => (await begun()) > before);
    await after(delayMs);
    await kill(worker);
  }
  await expectRecovery(testing, { expected, held: memoryOf });
}

const queues = {
  redis: { reason: noOwnRedis(), make: ownRedis },
  'no queue': { reason: null, make: async () => ({ url: '', close: async () => {} }) },
};

for (const [kind, { reason, make }] of Object.entries(queues)) {
  test.skipIf(reason || !waysTaken(Object.keys(queues)).includes(kind))(
    `a resident worker on ${kind} killed again and again, as it opens and ever later in its work, loses and doubles nothing ${reason ?? ''}`,
    async () => {
      const testing = await nightOf(sessions);
      const { url, close } = await make();
      onTestFinished(close);
      testing.environment.NOCTURNE_QUEUE_URL = url;
      await expectNoLossIn(testing);
    },
  );
}

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
