// Review at the command line: one by one at a terminal, by options for scripts, and how others tell that something waits.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ShownProposal } from '../../jobs/dream/dream-approval.ts';
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

test('one by one at a terminal: each with its reason, its quote and its diff, and a key for every answer', async () => {
  const testing = await proposed();
  const { environment, dir } = testing;
  const stdin = ['x', 'a', 's', 'e', 'Bugs go to Linear, under ORCHARD.', 'r', 'Not for the memory.'].join('\n');
  const { code, stderr } = await runHere(['review'], environment, { stdin: `${stdin}\n`, isTerminal: true });
  expect(code).toBe(0);
  for (const said of [
    '[a]ccept [r]eject [e]dit [s]kip [q]uit',
    '“The release deadline is 2026-12-04.” — you, 2026-11-20 09:00',
    '+- The release deadline is 2026-12-04.',
    '(4 of 4)',
    'nocturne undo job_',
  ])
    expect(stderr.replace(/\u001b\[\d+m/g, '')).toContain(said);
  const read = (topic: string) => readFileSync(join(dir, `${topic}.md`), 'utf8');
  expect(read('project-facts')).toContain('- The release deadline is 2026-12-04.');
  // Skipped, and still there.
  const left = await jsonHere<ShownProposal[]>(['review'], environment);
  expect(left.map(({ topic }) => topic)).toEqual(['references.md']);
  expect(read('user-profile')).toContain('- Bugs go to Linear, under ORCHARD.');
  expect(existsSync(join(dir, 'working-agreements.md'))).toBe(false);
});

test('an edit begins with the text that is proposed', async () => {
  const { environment, dir } = await proposed(PROMPTS.slice(2, 3));
  const typed = ['e\n', ' Ask Kim.\n'];
  let asked = 0;
  const { code } = await runHere(['review'], environment, {
    isTerminal: true,
    answer(shown) {
      const count = shown.match(/\[q\]uit: |words: /g)?.length ?? 0;
      if (count === asked) return undefined;
      asked = count;
      return typed.shift();
    },
  });
  expect({ code, left: typed }).toEqual({ code: 0, left: [] });
  const text = readFileSync(join(dir, 'project-facts.md'), 'utf8');
  expect(text).toContain('- The release deadline is 2026-12-04. Ask Kim.');
});

test('quitting, or the end of the input, decides nothing more', async () => {
  const { environment } = await proposed(PROMPTS.slice(0, 2));
  for (const stdin of ['q\n', 's\n']) {
    expect(await runHere(['review'], environment, { stdin, isTerminal: true })).toMatchObject({ code: 0 });
    expect(await jsonHere<ShownProposal[]>(['review'], environment)).toHaveLength(2);
  }
});

test('scripts list, show, accept, reject and reword by id', async () => {
  const testing = await proposed();
  const { environment, dir } = testing;
  const [facts, profile] = [idOf(testing, 'project-facts'), idOf(testing, 'user-profile')];
  const list = await runHere(['review'], environment);
  expect(list.stdout.split('\n')).toContain(`${facts}  add to project-facts.md: The release deadline is 2026-12-04.`);
  expect((await runHere(['review', '--show', facts], environment)).stdout).toContain('+++ project-facts.md');
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
  const id = idOf(testing, 'working-agreements');
  await runHere(['review', '--edit', id, '--text', '- Use pnpm here, not npm, always.'], environment);
  expect(readFileSync(join(dir, 'working-agreements.md'), 'utf8')).toContain('\n- Use pnpm here, not npm, always.');
  expect(await runHere(['review', '--list'], environment)).toMatchObject({
    code: 0,
    stdout: `Nothing waits for your answer in ${dir}.\n`,
  });
});

test('words that cannot be a line leave the question where it was', async () => {
  const testing = await proposed(PROMPTS.slice(0, 1));
  const words = ['e', '', 'e', 'Never npm. --> or so', 'e', 'w'.repeat(1_001), 'e', 'Always pnpm here.'];
  const typed = await runHere(['review'], testing.environment, { stdin: `${words.join('\n')}\n`, isTerminal: true });
  expect(typed).toMatchObject({ code: 0, stderr: expect.stringMatching(/edited; nocturne undo job_/) });
  for (const said of [
    'No text was given. To leave it out, reject it.',
    'That cannot be a line: it must not hold a comment.',
    'That cannot be a line: it must have at most 1000 characters.',
  ])
    expect(typed.stderr).toContain(said);
  expect(readFileSync(join(testing.dir, 'working-agreements.md'), 'utf8')).toContain('- Always pnpm here.');
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

test('a dream that works meanwhile is told of at the terminal', async () => {
  const testing = await proposed(PROMPTS.slice(0, 1));
  const stdin = 'a\n';
  const { code, stderr } = await whileDreaming(testing, () =>
    runHere(['review'], testing.environment, { stdin, isTerminal: true }),
  );
  expect(code).toBe(75);
  expect(stderr).toContain('A dream is running on this memory; try again when it has ended.');
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
  [['--text', 'x']],
  [['--accept', 'prop_00000000', '--reject-all']],
  [['--accept-all', '--reject-all']],
  [['--reject', 'prop_00000000', '--accept-all']],
  [['--edit', 'prop_00000000', '--text', 'x', '--reject-all']],
  [['--show', 'prop_00000000']],
])('review %j is refused', async (args) => {
  const { environment } = await testApp();
  const { code, stdout } = await runHere(['review', ...args], environment);
  expect([code, stdout]).toEqual([expect.toBeOneOf([1, 2]), '']);
});

test('looking decides nothing: an option that shows does not go with one that decides', async () => {
  const { environment, shown } = await proposed(PROMPTS.slice(0, 1));
  const id = shown[0]?.id ?? '';
  for (const args of [
    ['--show', id, '--accept-all'],
    ['--list', '--accept', id],
    ['--list', '--reject-all'],
  ]) {
    const { code, stderr } = await runHere(['review', ...args], environment);
    expect([code, stderr]).toEqual([2, expect.stringContaining('cannot be used with option')]);
  }
  expect(await jsonHere<ShownProposal[]>(['review'], environment)).toHaveLength(1);
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
