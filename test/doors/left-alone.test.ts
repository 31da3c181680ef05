// Sessions that taught nothing, or were not read at all: a person is told the reason that applied, and what to do.

import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type TestApp, type TestAppOptions, testApp, testModel } from '../support/app.ts';
import { says } from '../support/messages-server.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { sessionFile } from '../support/session-file.ts';

/** A session of a project in the home, quiet for an hour. */
function place(
  { home }: TestApp,
  { said, project = 'orchard', n = 1 }: { said: string[]; project?: string; n?: number },
) {
  const dir = join(home, `.claude/projects/-home-kim-${project}`);
  mkdirSync(dir, { recursive: true });
  const id = `1111111${n}-2222-4333-8444-555555555555`;
  const session = sessionFile(dir, { id, cwd: `/home/kim/${project}` });
  for (const prompt of said) session.add(prompt);
  quiet(session.path);
  return session;
}

function quiet(path: string): void {
  const at = new Date('2026-11-21T01:00:00Z');
  utimesSync(path, at, at);
}

/** As Claude Code marks one that a program began. */
function withoutPerson(path: string): void {
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll('"isSidechain"', '"entrypoint":"sdk-cli","isSidechain"'));
  quiet(path);
}

/** By project, in directories of their own. */
async function byProject(options: TestAppOptions = {}): Promise<TestApp> {
  const testing = await testApp(options);
  return { ...testing, environment: { ...testing.environment, NOCTURNE_MEMORY_DIR: '' } };
}

test('where the offline model learned nothing it says what it read, what it cannot find, and what to do', async () => {
  const testing = await byProject({ variables: { NOCTURNE_MODEL: 'offline' } });
  place(testing, { said: ['Wir nehmen immer pnpm statt npm.', 'Danke.'] });
  place(testing, { said: ['Wo ist der Parser?'], n: 2 });
  const { code, stdout } = await runHere(['learn'], testing.environment);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^Learned 0 things from 2 sessions\.\nThey held 3 turns, about [\d,]+ tokens; offline found nothing in them to keep\.\n/,
  );
  expect(stdout).toContain('takes only what is said outright, in English');
  expect(stdout).toContain('nocturne setup offers a model that understands them; nocturne learn --again SESSION reads');
});

test('where a model learned nothing it says which, what it read, and where to look', async () => {
  const testing = await byProject({ server: await testModel(() => says('Nothing worth keeping.')) });
  const { id } = place(testing, { said: ['Where is the parser?'] });
  const { stdout } = await runHere(['learn'], testing.environment);
  expect(stdout).toContain('They held 1 turn, about ');
  expect(stdout).toContain('test-model found nothing in them to keep.');
  expect(stdout).toContain('nocturne why SESSION');
  expect((await runHere(['why', id], testing.environment)).stdout).toContain('nothing in them was worth keeping');
});

test('a session that is left alone is told with the reason that applied, by learn, sweep, why and enqueue', async () => {
  const settings = { excludedPaths: ['/home/kim/clients'], projects: { '/home/kim/off': { enabled: false } } };
  const testing = await byProject({ settings });
  const { environment, app } = testing;
  const program = place(testing, { said: ['Always use pnpm.'] });
  withoutPerson(program.path);
  const excluded = place(testing, { said: ['Always use tabs.'], project: 'clients', n: 2 });
  const off = place(testing, { said: ['Always use bun.'], project: 'off', n: 3 });
  const reasons = [
    [program, 'no person took part (nonInteractive in config.json is off)'],
    [excluded, '/home/kim/clients is under the excluded path /home/kim/clients'],
    [off, 'the project /home/kim/off is turned off in config.json'],
  ] as const;
  // From before set-up, too: that is not what keeps them.
  await app.home.decline(new Date('2026-11-21T00:00:00Z'));
  const learn = await runHere(['learn'], environment);
  expect(learn.stdout).toContain('Nothing new: every other session of the last 7 days');
  const sweep = await runHere(['enqueue', 'extract', '--all'], environment);
  expect(sweep.stdout).toMatch(/^claude-code {2}3 found, 0 enqueued, .*1 non-interactive/);
  expect(sweep.stdout).toMatch(/ 2 off/);
  for (const [session, reason] of reasons) {
    expect(learn.stdout).toContain(`1 session is left alone: ${reason}`);
    if (session !== program) expect(sweep.stdout).toContain(`1 off: ${reason}`);
    const { next } = await jsonHere<{ next: string }>(['why', session.path], environment);
    expect(next).toBe(`Nothing by itself: ${reason}. nocturne extract ${session.path} does it all the same.`);
  }
  // Nothing was made for them.
  expect(await app.home.stores()).toEqual([testing.dir]);
  const enqueued = await runHere(['enqueue', 'extract', off.path], environment);
  expect(enqueued.stderr).toContain('a worker leaves it. nocturne extract');
  const { next } = await jsonHere<{ next: string }>(['why', off.path], environment);
  expect(next).toContain('the next worker takes it out of the inbox, since the project /home/kim/off is turned off');

  writeFileSync(join(testing.home, 'config.json'), '{}');
  await runHere(['worker', '--once'], environment);
  expect((await runHere(['learn'], environment)).stdout).toContain('Learned 1 thing from 1 session.');
  expect((await runHere(['enqueue', 'extract', '--all'], environment)).stdout).not.toContain('off');
});
