// Sessions that taught nothing, or were not read at all: a person is told the reason that applied, and what to do. A project that
// turns memory off in its own settings of Claude Code is obeyed as the user's word, and nothing else of these files is read.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type TestApp, type TestAppOptions, testApp, testModel } from '../support/app.ts';
import { says } from '../support/messages-server.ts';
import { obey } from '../support/obedient.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

/** A session of a project in the home, quiet for an hour. */
function place(
  { home }: TestApp,
  { said, project = 'orchard', n = 1 }: { said: string[]; project?: string; n?: number },
) {
  const dir = join(home, `.claude/projects/-home-kim-${project}`);
  mkdirSync(dir, { recursive: true });
  const id = `1111111${n}-2222-4333-8444-555555555555`;
  const session = aSession(said, { dir, id, cwd: `/home/kim/${project}` });
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
  testing.environment.NOCTURNE_MEMORY_DIR = '';
  return testing;
}

test('where the offline model learned nothing it says what it read, what it cannot find, and what to do', async () => {
  const testing = await byProject({ variables: { NOCTURNE_MODEL: 'offline' } });
  place(testing, { said: ['Wir nehmen immer pnpm statt npm.', 'Danke.'] });
  place(testing, { said: ['Wo ist der Parser?'], n: 2 });
  const { code, stdout } = await testing.nocturne('learn');
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^Learned 0 things from 2 sessions\.\nThey had 3 turns, about [\d,]+ tokens; offline found nothing in them to keep\.\n/,
  );
  expect(stdout).toContain('takes only what is said outright, in English');
  expect(stdout).toContain('nocturne learn --again SESSION reads one again, with another model, too');
});

test('where a model learned nothing it says which, what it read, and where to look', async () => {
  const testing = await byProject({ server: await testModel(() => says('Nothing worth keeping.')) });
  const { id } = place(testing, { said: ['Where is the parser?'] });
  const { stdout } = await testing.nocturne('learn');
  expect(stdout).toContain('They had 1 turn, about ');
  expect(stdout).toContain('test-model found nothing in them to keep.');
  expect(stdout).toContain('nocturne why SESSION');
  expect((await testing.nocturne('why', id)).stdout).toContain('nothing in them was kept');
});

test('where all that a model proposed was refused, that is said', async () => {
  const evidence = [{ message: 'none', quote: 'always use yarn' }];
  const record = () => [{ type: 'feedback', strength: 'stated', text: 'Always use yarn.', evidence }];
  const testing = await byProject({ server: await testModel(obey({ record })) });
  const { id } = place(testing, { said: ['Where is the parser?'] });
  expect((await testing.nocturne('learn')).stdout).toContain('test-model proposed 1 thing, which was refused.');
  // What the model was told to do about it is not for people.
  expect((await testing.nocturne('why', id)).stdout).toMatch(/^refused {5}1 × no message none here\.$/m);
});

test('a session that is left alone is told with the reason that applied, by learn and why', async () => {
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
  expect((await runHere(['learn', '--later'], environment)).stdout).toContain('Nothing new');
  for (const [session, reason] of reasons) {
    expect(learn.stdout).toContain(`1 session is left alone: ${reason}`);
    const { next } = await jsonHere<{ next: string }>(['why', session.path], environment);
    expect(next).toBe(`Nothing by itself: ${reason}. nocturne learn ${session.path} reads it anyway.`);
  }
  // Nothing was made for them.
  expect(await app.home.stores()).toEqual([testing.dir]);
  await runHere(['learn', '--later', off.path], environment);
  const { next } = await jsonHere<{ next: string }>(['why', off.path], environment);
  expect(next).toContain('the next worker drops it, because the project /home/kim/off is turned off');

  writeFileSync(join(testing.home, 'config.json'), '{}');
  await runHere(['worker', '--once'], environment);
  expect((await runHere(['learn'], environment)).stdout).toContain('Learned 1 thing from 1 session.');
});

/** A project of git, a session in a directory of it, and the files that it brings. */
async function projectWith(files: Record<string, string>, settings: object = {}) {
  const root = tempDir();
  execFileSync('git', ['init', root], { stdio: 'ignore' });
  const cwd = join(root, 'src/deep');
  mkdirSync(cwd, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const testing = await testApp({ settings });
  const session = aSession(['Always use pnpm instead of npm.'], { cwd });
  const work = async () => {
    await testing.nocturne('learn', '--later', session.path);
    return (await testing.nocturne('worker', '--once')).stderr;
  };
  return { root, cwd, testing, session, work };
}

const OFF = '{\n  // Nothing of this leaves the room.\n  "autoMemoryEnabled": false,\n}\n';

test.for([
  ['.claude/settings.json', { '.claude/settings.json': OFF }],
  ['.claude/settings.local.json', { '.claude/settings.local.json': OFF }],
  ['src/.claude/settings.json', { 'src/.claude/settings.json': OFF, '.claude/settings.json': '{}' }],
] as const)('a session of a project with autoMemoryEnabled: false in %s is left alone, and why says so', async (of) => {
  const [path, files] = of;
  const { root, testing, session, work } = await projectWith(files);
  const reason = `autoMemoryEnabled is false in ${join(root, path)}`;
  expect((await testing.nocturne('why', session.path)).stdout).toContain(reason);
  expect(await work()).toContain(`off (${reason})`);
  expect(await testing.rows('waiting')).toEqual([]);
  expect(await testing.rows('coverage')).toEqual([]);
  // By name it is read all the same.
  expect((await testing.nocturne('learn', session.path)).stdout).toContain('1 thing learned');
});

test.for([
  ['the user takes nocturne in its place', { '.claude/settings.json': OFF }, { ignoreAgentSwitches: true }],
  [
    'the file that is not checked in says true',
    { '.claude/settings.json': OFF, '.claude/settings.local.json': '{"autoMemoryEnabled": true}' },
    {},
  ],
  ['settings without the word are broken', { '.claude/settings.json': '{ "hooks": ' }, {}],
] as const)('it is learned from where %s', async ([, files, settings]) => {
  const { work } = await projectWith(files, settings);
  expect(await work()).toContain(': learned');
});

test('a project can turn nothing on, and says nothing of where memory lives', async () => {
  const elsewhere = tempDir();
  const text = JSON.stringify({ autoMemoryEnabled: true, autoMemoryDirectory: elsewhere });
  const settings = { '.claude/settings.json': text, '.claude/settings.local.json': text };
  const { root, testing, session, work } = await projectWith(settings);
  mkdirSync(join(testing.home, '.claude'));
  const own = join(testing.home, '.claude/settings.json');
  writeFileSync(own, '{ "autoMemoryEnabled": false }');
  const { stdout } = await testing.nocturne('why', session.path);
  expect(stdout).toContain(`autoMemoryEnabled is false in ~/.claude/settings.json`);
  expect(await work()).toContain(': off (');
  writeFileSync(own, '{}');
  expect(await work()).toContain(': learned');
  const there = await runHere(['--json'], { ...testing.environment, NOCTURNE_MEMORY_DIR: '' }, { cwd: root });
  expect(JSON.parse(there.stdout).memory).not.toContain(elsewhere);
});

test('where it cannot be told what the project says, the work waits; a link to a device keeps nobody', async () => {
  const broken = await projectWith({ '.claude/settings.json': '{ "autoMemoryEnabled": fal' });
  expect(await broken.work()).toContain('autoMemoryEnabled cannot be read: ');
  expect(await broken.testing.rows('waiting')).toHaveLength(1);
  writeFileSync(join(broken.root, '.claude/settings.json'), '{ "autoMemoryEnabled": true }');
  const later = { ...broken.testing.environment, NOCTURNE_NOW: '2026-11-21T02:06:00Z' };
  expect((await runHere(['worker', '--once'], later)).stderr).toContain(': learned');

  const device = await projectWith({ '.claude/other.json': '' });
  symlinkSync('/dev/zero', join(device.root, '.claude/settings.json'));
  expect(await device.work()).toContain('it is not a regular file');
});
