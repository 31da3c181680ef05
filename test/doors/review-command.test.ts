// Review at the command line: what waits, what a person says of it, and how others tell that something waits.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ShownProposal } from '../../jobs/review.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const PROMPTS = [
  'Always use pnpm instead of npm.',
  'I prefer short answers.',
  'The release deadline is 2026-12-04.',
  'Bugs are tracked in Linear under the ORCHARD project.',
];
const SESSION = '11111111-2222-4333-8444-555555555555';

/** A memory with a dream's proposals, one of each type, topic by topic. */
async function proposed(prompts = PROMPTS): Promise<TestApp & { shown: ShownProposal[] }> {
  const testing = await testApp();
  await testing.nocturne('learn', aSession(prompts, { id: SESSION }).path);
  await testing.nocturne('dream', '--review');
  return { ...testing, shown: await testing.json<ShownProposal[]>('review') };
}

const idOf = ({ shown }: { shown: ShownProposal[] }, topic: string) =>
  shown.find((each) => each.topic === `${topic}.md`)?.id ?? '';

test('each is shown whole, and accepted and rejected by its id', async () => {
  const testing = await proposed();
  const { environment, dir } = testing;
  const [facts, profile] = [idOf(testing, 'project-facts'), idOf(testing, 'user-profile')];
  const { stdout } = await runHere(['review'], environment);
  for (const said of [
    `${facts}: add to project-facts.md`,
    '“The release deadline is 2026-12-04.” — you, 2026-11-20 09:00',
    '+++ project-facts.md',
    '+- The release deadline is 2026-12-04.',
    'nocturne review --accept ID',
  ])
    expect(stdout).toContain(said);
  expect(await jsonHere(['review', '--accept', facts, profile], environment)).toMatchObject({
    outcome: 'reviewed',
    decided: [
      { id: facts, outcome: 'accepted' },
      { id: profile, outcome: 'accepted' },
    ],
  });
  const rejected = await runHere(
    ['review', '--reject', idOf(testing, 'references'), '--because', 'We left it.'],
    environment,
  );
  expect(rejected).toMatchObject({ code: 0, stdout: expect.stringContaining('rejected') });
  await runHere(['review', '--accept-all'], environment);
  expect(readFileSync(join(dir, 'working-agreements.md'), 'utf8')).toContain('\n- Always use pnpm');
  expect(await runHere(['review'], environment)).toMatchObject({
    code: 0,
    stdout: `Nothing waits for your answer in ${dir}.\n`,
  });
});

/** While another process dreams there. */
async function whileDreaming<T>(testing: TestApp, work: () => Promise<T>): Promise<T> {
  const { take } = await import('../../src/queue/inbox.ts');
  const { app } = testing;
  const { id } = await app.memoryFor();
  const item = { kind: 'dream', key: id, memory: id, payload: {} } as const;
  await take(app.db, { owner: 'elsewhere:1:1', item, now: app.clock.now() });
  return work();
}

test('a dream that works meanwhile is told of', async () => {
  const testing = await proposed(PROMPTS.slice(0, 1));
  const { code, stdout } = await whileDreaming(testing, () => runHere(['review', '--accept-all'], testing.environment));
  expect(code).toBe(75);
  expect(stdout).toContain('Another job works on this memory; try again when it has ended.');
});

test('what is stale or unknown is told with exit code 3 and changes nothing', async () => {
  const testing = await proposed(PROMPTS.slice(0, 1));
  const logs = join(testing.dir, 'logs');
  const log = join(logs, String(readdirSync(logs, { recursive: true }).find((name) => String(name).endsWith('.md'))));
  writeFileSync(log, readFileSync(log, 'utf8').replace('.\n', ', as far as that goes.\n'));
  const ended = await runHere(['review', '--accept-all'], testing.environment);
  expect(ended).toMatchObject({ code: 3, stdout: expect.stringContaining('was changed since.') });
  expect(existsSync(join(testing.dir, 'working-agreements.md'))).toBe(false);
  expect(await runHere(['review', '--accept', 'prop_00000000'], testing.environment)).toMatchObject({ code: 3 });
});

test.each([
  [['--because', 'x']],
  [['--accept', 'prop_00000000', '--reject-all']],
  [['--accept-all', '--reject-all']],
  [['--reject', 'prop_00000000', '--accept-all']],
])('review %j is refused', async (args) => {
  const { environment } = await testApp();
  const { code, stdout } = await runHere(['review', ...args], environment);
  expect([code, stdout]).toEqual([expect.toBeOneOf([1, 2]), '']);
});

test('status, doctor, why, explain, list and recall tell of what waits, until somebody decided', async () => {
  const testing = await proposed(PROMPTS.slice(0, 1));
  const { environment, shown } = testing;
  const [proposal] = shown;
  const entry = proposal?.entries[0]?.id ?? '';
  const said = async (...args: string[]) => {
    const { code, stdout } = await runHere(args, environment);
    return { code, stdout };
  };
  expect(await said()).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('waits for your answer.\n    nocturne review\n'),
  });
  expect((await said('doctor')).stdout).toMatch(
    /^ok {4}review: 1 proposed change in .* waits for your answer: nocturne review\b/m,
  );
  expect((await said('why', SESSION)).stdout).toContain(`(add, ${proposal?.id}) waits for your answer`);
  expect((await said('why', entry)).stdout).toContain(`(add, ${proposal?.id}) waits for your answer`);
  expect((await said('list')).stdout).toContain('Always use pnpm instead of npm.');
  expect((await said('next')).stdout).toContain('Always use pnpm instead of npm.');
  await said('review', '--reject-all', '--because', 'We use yarn.');
  expect(await said()).toMatchObject({ code: 0 });
  expect((await said('why', SESSION)).stdout).toContain('We use yarn.');
  expect((await said('why', entry)).stdout).toContain('We use yarn.');
  expect((await said('why')).stdout).toContain('We use yarn.');
});

test('--no-review does at once what the setting would let wait, and --review the other way round', async () => {
  const testing = await testApp({ settings: { review: true } });
  await runHere(['remember', 'Always use pnpm instead of npm.'], testing.environment);
  const { stdout } = await runHere(['dream'], testing.environment);
  expect(stdout).toContain('1 waits for your answer: nocturne review');
  await runHere(['remember', 'I prefer short answers.', '--type', 'user'], testing.environment);
  expect(await jsonHere(['dream', '--no-review'], testing.environment)).toMatchObject({
    outcome: 'dreamed',
    proposals: [],
  });
  expect(await jsonHere<ShownProposal[]>(['review'], testing.environment)).toHaveLength(1);
  const unset = { ...testing.environment, NOCTURNE_HOME: tempDir(), NOCTURNE_MEMORY_DIR: tempDir() };
  await runHere(['remember', 'Never commit to main directly.'], unset);
  expect(await jsonHere(['dream', '--review'], unset)).toMatchObject({
    outcome: 'proposed',
    proposals: [expect.any(String)],
  });
});
